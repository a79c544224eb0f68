"""load(): the tables of a small real run, the clock map, and incomplete directories."""

import html
import os
import shutil
import tempfile
import unittest
from unittest import mock

import support

h5py = support.require_h5py()
import numpy

import profwrap
from profwrap import _present

try:
    import pandas
except ImportError:
    pandas = None

STEPS, RANKS = 8, 2


def setUpModule():
    global folder, out
    folder = tempfile.TemporaryDirectory()
    out = os.path.join(folder.name, "out")
    launcher = os.environ.get("PW_MPIEXEC") or "mpirun"
    train = os.path.join(support.BUILD, "examples", "train")
    support.run(
        *(launcher, "-np", str(RANKS), support.PROFWRAP, "-q", "-o", out),
        *(train, "--steps", str(STEPS)),
    )


def tearDownModule():
    folder.cleanup()


class RunTest(unittest.TestCase):
    def setUp(self):
        self.run_ = profwrap.load(out, pandas=False)

    def test_attributes(self):
        self.assertEqual(self.run_.rank_numbers, [0, 1])
        self.assertEqual(self.run_.attributes["nsteps"], STEPS)
        self.assertEqual(self.run_.attributes["format"], "profwrap-cluster")
        self.assertEqual(self.run_.rank(1).attributes["exit_code"], 0)

    def test_ask(self):
        with mock.patch.dict(os.environ, PATH=os.path.dirname(support.PROFWRAP) + ":" + os.environ["PATH"]):
            self.assertEqual(self.run_.ask()["answer"], self.run_.report["job"]["headline"])
            rank = self.run_.ask("rank", rank=1)
            (mean,) = [row for row in rank["rows"] if row["id"] == "mean/step_trace/1"]
            own = self.run_.step_trace["own_ns"][(self.run_.step_trace["rank"] == 1)]
            used = numpy.flatnonzero(self.run_.steps["recorded"] == "active")
            self.assertAlmostEqual(mean["own_ns"], own[used].mean(), delta=1)
            pages = self.run_.ask("phase", phase="forward", from_=1)
            self.assertEqual((pages["from"], len(pages["rows"])), (1, RANKS - 1))
            for wrong in ({"rank": 9}, {"rank": "x"}, {}):
                with self.assertRaisesRegex(ValueError, "rank"):
                    self.run_.ask("rank", **wrong)
        with mock.patch.dict(os.environ, PATH="/nowhere"), self.assertRaises(FileNotFoundError):
            self.run_.ask()

    def test_every_cluster_table_has_the_file_s_columns(self):
        with h5py.File(os.path.join(out, "cluster.h5")) as file:
            paths = [name for name in file if isinstance(file[name], h5py.Dataset)]
            self.assertIn("step_trace", paths)
            for name in paths:
                table = getattr(self.run_, name)
                first = {"bin_trace": "bin", "part_trace": "part"}.get(name, "step")
                places = (first, "rank") if file[name].ndim == 2 else ()
                self.assertEqual(table.dtype.names, places + file[name].dtype.names)
                self.assertEqual(len(table), file[name].size)

    def test_bins_and_parts_of_the_run(self):
        """The first dimension is not the step, whether it is longer or shorter than the number of
        steps."""
        with h5py.File(os.path.join(out, "cluster.h5")) as file:
            bins = file["bin_trace"].shape[0]
            cpu = int(file["bin_trace"]["cpu_ns"][bins - 1, 1])
            setup = int(file["part_trace"]["total_ns"][2, 1])
        table = self.run_.table("bin_trace")
        self.assertEqual(len(table), bins * RANKS)
        last = table[(table["bin"] == bins - 1) & (table["rank"] == 1)]
        self.assertEqual([int(n) for n in last["cpu_ns"]], [cpu])
        parts = self.run_.table("part_trace")
        self.assertEqual(len(parts), 7 * RANKS)
        found = parts[(parts["part"] == "setup") & (parts["rank"] == 1)]
        self.assertEqual([int(n) for n in found["total_ns"]], [setup])

    def test_grids_are_rows_of_step_and_rank(self):
        trace = self.run_.step_trace
        self.assertEqual(list(zip(trace["step"], trace["rank"]))[:3], [(0, 0), (0, 1), (1, 0)])
        with h5py.File(os.path.join(out, "cluster.h5")) as file:
            cell = file["step_trace"][5, 1]
        self.assertEqual(trace["own_ns"][5 * RANKS + 1], cell["own_ns"])

    def test_enumerations_are_names(self):
        self.assertIn("Iallreduce", set(self.run_.collective_stats["op"]))
        comm = self.run_.rank(0).events("comm")
        self.assertLessEqual({"Waitall", "Iallreduce", "Init_thread"}, set(comm["op"]))
        self.assertEqual(set(comm["source"]), {"mpi"})

    def test_names_are_text(self):
        rank = self.run_.rank(1)
        ranges = rank.events("range")
        names = set(ranges["name"][ranges["kind"] == "phase"])
        self.assertLessEqual({"data", "forward", "backward"}, names)
        self.assertIn("MPI_COMM_WORLD", rank.comms["name"])
        self.assertIn("MPI_COMM_WORLD", rank.strings)

    def test_rank_tables(self):
        rank = self.run_.rank(0)
        self.assertEqual(list(rank.steps()["step"]), list(range(STEPS)))
        self.assertIn("rss_bytes", rank.samples().dtype.names)
        self.assertIn("event_cost", rank.overhead["name"])
        self.assertEqual(rank.clock.dtype.names, ("local_ns", "offset_ns", "error_ns"))
        with self.assertRaises(KeyError):
            rank.table("/nothing")
        with self.assertRaises(KeyError):
            rank.table("/events")
        with self.assertRaises(KeyError):
            self.run_.rank(RANKS)
        with self.assertRaises(ValueError):
            rank.steps(clock="wall")

    def test_units_and_meanings(self):
        for table, column, unit, word in (
            (self.run_.describe("/steps"), "duration_ns", "ns", "step"),
            (self.run_.describe("bin_trace"), "cpu_ns", "ns", "main thread"),
            (self.run_.describe("ranks"), "hostname", "", ""),
            (self.run_.rank(1).describe("events/comm"), "recv_bytes", "bytes", "received"),
        ):
            self.assertEqual(table.dtype.names, ("column", "unit", "meaning"))
            row = table[list(table["column"]).index(column)]
            self.assertEqual(row["unit"], unit)
            self.assertIn(word, str(row["meaning"]))
        with self.assertRaises(KeyError):
            self.run_.rank(0).describe("/nothing")

    def test_units_without_a_cluster_file(self):
        with tempfile.TemporaryDirectory() as alone:
            shutil.copy(os.path.join(out, "rank-00001.h5"), alone)
            table = profwrap.load(alone, pandas=False).rank(1).describe("/steps")
        self.assertEqual(table["unit"].tolist(), ["", "ns", "ns", ""])
        self.assertEqual(set(table["meaning"]), {""})

    @unittest.skipUnless(pandas, "pandas is not installed")
    def test_pandas_have_units_and_meanings(self):
        run = profwrap.load(out)
        self.assertEqual(run.step_trace.attrs["units"]["wait_ns"], "ns")
        self.assertIn("wait_ns", run.step_trace.attrs["meanings"])
        comm = run.rank(0).events("comm")
        self.assertEqual(comm[comm["peer"] < 0].attrs["units"]["inside_ns"], "ns")
        self.assertIn("MPI calls", comm.attrs["meanings"]["inside_ns"])

    @unittest.skipUnless(pandas, "pandas is not installed")
    def test_pandas(self):
        run = profwrap.load(out)
        self.assertIsInstance(run.step_trace, pandas.DataFrame)
        self.assertEqual(len(run.step_trace), STEPS * RANKS)
        rows = run.collective_stats.query("op == 'Iallreduce'")
        self.assertGreater(len(rows), 0)
        self.assertGreater(run.step_trace.groupby("rank").own_ns.mean()[1], 0)

    @unittest.skipIf(pandas, "pandas is installed")
    def test_without_pandas(self):
        self.assertIsInstance(profwrap.load(out).ranks, numpy.ndarray)
        with self.assertRaises(ImportError):
            profwrap.load(out, pandas=True)


class PresentTest(unittest.TestCase):
    """The functions that users call first."""

    def setUp(self):
        self.run_ = profwrap.load(out, pandas=False)

    def test_summary(self):
        rows = {str(row["what"]): str(row["value"]) for row in self.run_.summary()}
        self.assertEqual(rows["headline"], self.run_.report["job"]["headline"])
        self.assertEqual((rows["ranks"], rows["steps"]), (str(RANKS), str(STEPS)))
        self.assertRegex(rows["mean step"], r"^[\d.]+ ms$")

    def test_timeline(self):
        rank = self.run_.rank(1)
        table = self.run_.timeline(1, clock="local")
        count = len(rank.steps()) + sum(len(rank.events(k)) for k in ("range", "comm", "gap"))
        self.assertEqual(len(table), count)
        self.assertTrue((numpy.diff(table["start"]) >= 0).all())
        steps = table[table["kind"] == "step"]
        self.assertEqual(list(steps["name"]), [f"step {n}" for n in range(STEPS)])
        first = list(table["name"]).index("step 0")
        inside = table[first + 1]  # what begins with the step comes after it
        self.assertEqual(inside["kind"], "phase")
        self.assertIn("Iallreduce", set(table["name"][table["kind"] == "comm"]))
        numpy.testing.assert_array_equal(
            self.run_.timeline(1)["start"], rank.timeline("cluster")["start"]
        )

    def test_what_begins_together_is_in_the_order_of_nesting(self):
        def rows(*values, **more):
            fields = {"start": "i8", "end": "i8", **more}
            return numpy.array(list(values), dtype=list(fields.items()))

        columns = _present.timeline(
            rows((0, 50, 7), step="i8"),
            rows((0, 20, "inner", "user"), (0, 90, "outer", "user"), name="U8", kind="U8"),
            rows(op="U8"),
            rows((10, 11, "limit"), reason="U8"),
        )
        self.assertEqual(list(columns["name"]), ["outer", "step 7", "inner", "limit"])
        self.assertEqual(list(columns["kind"]), ["user", "step", "user", "gap"])

    def test_html(self):
        text = self.run_._repr_html_()
        self.assertIn(html.escape(self.run_.report["job"]["headline"]), text)
        self.assertEqual(text.count("<table>"), text.count("</table>"))
        self.assertIn(html.escape(self.run_.report["job"]["command"]), text)
        self.assertIn("<td>0</td>", self.run_.rank(0)._repr_html_())

    def test_html_is_escaped(self):
        rank = self.run_.rank(0)
        rank.attributes["command"] = "<script>"
        self.assertIn("&lt;script&gt;", rank._repr_html_())

    def test_tables_are_attributes(self):
        self.assertIn("collectives", dir(self.run_))
        self.assertFalse(hasattr(self.run_, "no_such_table"))
        self.assertFalse(hasattr(self.run_, "_repr_mimebundle_"))


NOTES = """
import profwrap
with profwrap.op("matmul", "math", [[2, 3], [3, 4]]):
    profwrap.memory(64)
profwrap.queue("batches", 1, 4)
profwrap.metadata("model", "first")
profwrap.metadata("config", {"lr": [0.5]})
profwrap.metadata("broken", "{no JSON")
profwrap.metadata("model", "last")
"""


class NotesTest(support.TempDirTest):
    """The text that a program has recorded about itself."""

    def setUp(self):
        super().setUp()
        support.profile(self.path("out"), NOTES)
        self.rank = profwrap.load(self.path("out"), pandas=False).rank(0)

    def test_operators(self):
        (row,) = self.rank.events("range")
        self.assertEqual(
            [str(row[name]) for name in ("name", "category", "kind", "shapes", "stack")],
            ["matmul", "math", "operator", "[[2, 3], [3, 4]]", ""],
        )
        self.assertEqual(row["alloc_bytes"], 64)

    def test_samples(self):
        (queue,), (memory,) = self.rank.samples("queue"), self.rank.samples("memory")
        self.assertEqual((str(queue["queue"]), queue["size"], queue["capacity"]), ("batches", 1, 4))
        self.assertEqual((memory["device"], memory["total_bytes"]), (-1, 64))

    def test_metadata(self):
        wanted = {"model": "last", "config": {"lr": [0.5]}, "broken": "{no JSON"}
        self.assertEqual(self.rank.metadata, wanted)

    def test_without_a_merge(self):
        run = profwrap.load(self.path("out"))
        self.assertIn("no report.json", run._repr_html_())
        with self.assertRaisesRegex(AttributeError, "cluster.h5"):
            run.no_such_table
        with self.assertRaisesRegex(FileNotFoundError, "profwrap report"):
            run.summary()


class CopyTest(support.TempDirTest):
    """Incomplete runs, made from copies of the real one."""

    def setUp(self):
        super().setUp()
        shutil.copytree(out, self.path("run"), symlinks=True)

    def change(self, rank, knots, domain=None):
        """Gives a rank's own /clock these knots, in a run that was not merged."""
        if os.path.exists(self.path("run/cluster.h5")):
            os.remove(self.path("run/cluster.h5"))
        with h5py.File(self.path(f"run/rank-{rank:05d}.h5"), "r+") as file:
            dtype = file["/clock"].dtype
            del file["/clock"]
            file["/clock"] = numpy.array(knots, dtype=dtype)
            if domain:
                file.attrs["clock_domain"] = numpy.bytes_(domain)
        return profwrap.load(self.path("run"), pandas=False).rank(rank)

    def test_clock_map(self):
        first, last = profwrap.load(out, pandas=False).rank(1).steps()["start"][[0, -1]]
        rank = self.change(1, [(first, 1000, 5), (last, 3000, 5)])
        local, cluster = rank.steps(), rank.steps(clock="cluster")
        share = (local["start"] - first) / (last - first)
        wanted = local["start"] + 1000 + (2000 * share).astype("int64")
        numpy.testing.assert_array_equal(cluster["start"], wanted)
        # Past the last knot and before the first, the offset is held.
        self.assertEqual(cluster["end"][-1] - local["end"][-1], 3000)
        before = local["start"][0] - 10**6
        comm, moved = rank.events("comm"), rank.events("comm", clock="cluster")
        early = comm["start"] < before
        numpy.testing.assert_array_equal((moved["start"] - comm["start"])[early], 1000)
        # 0 is no time but "the operation blocked".
        numpy.testing.assert_array_equal(moved["wait_start"] == 0, comm["wait_start"] == 0)

    def test_merged_clock_map(self):
        with h5py.File(self.path("run/cluster.h5"), "r+") as file:
            dtype = file["/clock_knots"].dtype
            del file["/clock_knots"]
            file["/clock_knots"] = numpy.array([(0, 5, 700, 3)], dtype=dtype)
        rank = profwrap.load(self.path("run"), pandas=False).rank(1)
        local, cluster = rank.steps(), rank.steps(clock="cluster")
        numpy.testing.assert_array_equal(cluster["start"], local["start"] + 700)

    def test_times_far_from_each_other_stay_exact(self):
        rank = self.change(1, [(0, 10**18 + 1, 5)])
        local, cluster = rank.steps(), rank.steps(clock="cluster")
        numpy.testing.assert_array_equal(cluster["start"], local["start"] + 10**18 + 1)

    def test_clock_without_knots(self):
        same = self.change(1, [])
        numpy.testing.assert_array_equal(same.steps(clock="cluster"), same.steps())
        other = self.change(1, [], domain="another boot")
        with self.assertRaisesRegex(ValueError, "not synchronised"):
            other.steps(clock="cluster")
        self.assertEqual(len(other.steps()), STEPS)

    def test_without_cluster_file(self):
        os.remove(self.path("run/cluster.h5"))
        run = profwrap.load(self.path("run"))
        self.assertEqual(len(run.rank(0).steps()), STEPS)
        with self.assertRaisesRegex(FileNotFoundError, "profwrap merge"):
            run.stragglers

    def test_rank_that_was_not_closed(self):
        name = self.path("run/rank-00001.h5")
        os.rename(name, name + ".part")
        self.assertEqual(len(profwrap.load(self.path("run")).rank(1).steps()), STEPS)

    def test_newer_format(self):
        with h5py.File(self.path("run/rank-00000.h5"), "r+") as file:
            file.attrs["format_version"] = 2
        with self.assertRaisesRegex(ValueError, "format 2"):
            profwrap.load(self.path("run")).rank(0)

    def test_table_that_this_module_does_not_know(self):
        with h5py.File(self.path("run/cluster.h5"), "r+") as file:
            rows = [(b"aten::mm", 3, 2_000_000)]
            dtype = [("name", "S16"), ("calls", "i8"), ("self_ns", "i8")]
            if "operators" in file:
                del file["operators"]
            file["operators"] = numpy.array(rows, dtype=dtype)
        run = profwrap.load(self.path("run"), pandas=False)
        self.assertEqual(run.operators.tolist(), [("aten::mm", 3, 2_000_000)])
        self.assertIn("<td>aten::mm</td><td>3</td><td>2 ms</td>", run._repr_html_())

    def test_windows(self):
        with h5py.File(self.path("run/rank-00000.h5"), "r+") as file:
            if "windows" in file:
                del file["windows"]
            file["windows"] = numpy.array([(3, 9)], dtype=[("start", "i8"), ("end", "i8")])
        rank = profwrap.load(self.path("run"), pandas=False).rank(0)
        self.assertEqual(rank.windows().tolist(), [(3, 9)])

    def test_rank_without_metadata(self):
        with h5py.File(self.path("run/rank-00000.h5"), "r+") as file:
            del file["metadata"]
        self.assertEqual(profwrap.load(self.path("run")).rank(0).metadata, {})

    def test_not_a_run(self):
        with self.assertRaises(FileNotFoundError):
            profwrap.load(self.path("nowhere"))
        os.mkdir(self.path("empty"))
        with self.assertRaises(FileNotFoundError):
            profwrap.load(self.path("empty"))

    def test_the_last_epoch_or_the_one_that_is_asked_for(self):
        shutil.copytree(out, self.path("run/epoch-2"), symlinks=True)
        os.makedirs(self.path("run/epoch-03"))  # no epoch's name
        load = lambda *path, **how: profwrap.load(self.path(*path), pandas=False, **how).path
        self.assertEqual(load("run"), self.path("run/epoch-2"))
        self.assertEqual(load("run", epoch=0), self.path("run"))
        self.assertEqual(load("run", epoch=2), self.path("run/epoch-2"))
        self.assertEqual(load("run/epoch-2"), self.path("run/epoch-2"))
        self.assertEqual(load("run/cluster.h5"), self.path("run"))
        with self.assertRaisesRegex(FileNotFoundError, "no epoch 1 .* its last is 2"):
            load("run", epoch=1)

    def test_cluster_file_as_path(self):
        run = profwrap.load(self.path("run/cluster.h5"))
        self.assertEqual(len(run.ranks), RANKS)


unittest.main()
