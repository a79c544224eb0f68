"""load() with wrong files raises FileError, in one line that names the file. Its memory is in
proportion to the file."""

import os
import shutil
import subprocess
import sys
import unittest
import unittest.mock

import support

h5py = support.require_h5py()
import numpy

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "fuzz"))
import profwrap
import reading

CORPUS = os.path.join(support.SOURCE, "tests", "fuzz", "corpus")
MORE_BYTES = 512 << 20

PEAK = """
import resource, sys
sys.path.insert(0, sys.argv[2])
import reading
wrong = reading.read_everything(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10, *wrong, sep="\\n")
"""


class HostileTest(support.TempDirTest):
    def setUp(self):
        super().setUp()
        self.rank = self.path("rank-00001.h5")
        self.cluster = self.path("cluster.h5")
        shutil.copy(os.path.join(CORPUS, "rank", "halo-1"), self.rank)
        shutil.copy(os.path.join(CORPUS, "cluster", "halo"), self.cluster)

    def read(self, path, clock="local"):
        return profwrap.load(self.tmp, pandas=False).rank(1).table(path, clock)

    def refused(self, words, ask, path=None):
        with self.assertRaisesRegex(profwrap.FileError, words) as caught:
            ask()
        self.assertIn(path or self.rank, str(caught.exception))
        self.assertEqual(len(str(caught.exception).splitlines()), 1)

    def replace(self, name, rows, **how):
        with h5py.File(self.rank, "r+") as file:
            del file[name]
            file.create_dataset(name, data=rows, **how)

    def rows(self, name):
        with h5py.File(self.rank) as file:
            return file[name][()]

    def read_in_a_child(self):
        """Reads the file in a child. Returns the message, after a check of the peak memory."""
        folder = os.path.join(support.SOURCE, "tests", "fuzz")
        said = support.run(sys.executable, "-c", PEAK, self.tmp, folder).splitlines()
        most = max(os.path.getsize(self.path(name)) for name in os.listdir(self.tmp))
        self.assertLess(int(said[0]), most + MORE_BYTES)
        self.assertEqual(said[1:], [])

    def test_good_files_are_read(self):
        self.assertEqual(reading.read_everything(self.tmp), [])
        self.assertGreater(len(self.read("/events/comm")), 0)

    def test_no_hdf5(self):
        for text in (b"", b"\x89HDF\r\n\x1a\n", b"some text"):
            with open(self.rank, "wb") as file:
                file.write(text)
            self.refused("damaged", lambda: profwrap.load(self.tmp).rank(1))
        self.assertTrue(issubclass(profwrap.FileError, (OSError, ValueError)))

    def test_a_pipe(self):
        os.remove(self.rank)
        os.mkfifo(self.rank)
        self.refused("not a regular file", lambda: profwrap.load(self.tmp).rank(1))

    def test_files_that_are_cut(self):
        with open(self.rank, "rb") as file:
            whole = file.read()
        for size in range(0, len(whole), len(whole) // 40):
            with open(self.rank, "wb") as file:
                file.write(whole[:size])
            self.assertEqual(reading.read_everything(self.tmp), [], f"cut at {size}")

    def test_more_rows_than_the_file_stores(self):
        kind = self.rows("steps").dtype
        for shape, chunk in (((2**60,), (64,)), ((10**6,), (1,)), ((2**30, 2**30), (1, 64))):
            with h5py.File(self.rank, "r+") as file:
                del file["steps"]
                file.create_dataset("steps", shape, kind, chunks=chunk)
            self.refused("more rows than it stores", lambda: self.read("/steps"))

    def test_fields_that_are_others(self):
        comm = self.rows("events/comm")
        strange = h5py.enum_dtype({"no": -1, "far": 2**60}, basetype="i8")
        fields = [(n, strange if n == "op" else comm.dtype[n]) for n in comm.dtype.names]
        rows = numpy.zeros(3, dtype=fields)
        rows["op"] = (-1, 2**60, 5)
        self.replace("events/comm", rows)
        self.assertEqual(list(self.read("/events/comm")["op"]), ["no", "far", "?"])
        self.replace("comms", numpy.array([(-5,), (2**40,)], dtype=[("name", "i8")]))
        self.assertEqual(list(self.read("/comms")["name"]), ["?", "?"])
        self.replace("comms", numpy.array([(numpy.nan,), (1e30,)], dtype=[("name", "f8")]))
        self.assertEqual(reading.read_everything(self.tmp), [])
        self.replace("steps", numpy.zeros(3, dtype=[("end", "i8", (4,))]))
        self.refused("unknown fields", lambda: self.read("/steps"))
        self.replace("clock", numpy.zeros(3, dtype=[("end", "i8")]))
        os.remove(self.cluster)
        self.refused("damaged", lambda: self.read("/events/comm", "cluster"))

    def test_fields_that_are_not_there(self):
        for name in ("steps", "events/range", "events/comm", "events/gap"):
            rows = self.rows(name)
            self.replace(name, numpy.zeros(3, dtype=[("other", "i8")]))
            self.refused("damaged", lambda: profwrap.load(self.tmp).timeline(1, clock="local"))
            self.replace(name, rows)

    def test_a_format_that_is_a_text(self):
        with h5py.File(self.rank, "r+") as file:
            file.attrs["format_version"] = numpy.bytes_(b"\x1b[2J\n1")
        self.refused(r"has format \?\[2J\?1, but", lambda: profwrap.load(self.tmp).rank(1))

    def test_links_to_elsewhere(self):
        shutil.copy(self.rank, self.path("other"))
        for link in (h5py.ExternalLink("other", "/steps"), h5py.SoftLink("/clock")):
            with h5py.File(self.rank, "r+") as file:
                del file["steps"]
                file["steps"] = link
            with self.assertRaises(KeyError):
                self.read("/steps")

    def test_grids_that_do_not_fit(self):
        with h5py.File(self.cluster, "r+") as file:
            rows = file["ranks"][()]
            del file["ranks"]
            file["ranks"] = rows[:1]
        self.refused("each rank", lambda: profwrap.load(self.tmp).step_trace, self.cluster)

    def test_reports_that_are_none(self):
        for text in ("[]", "{", "[" * 10**6, '{"job": 3}', "\xff", '{"steps": {"mean_ns": "x"}}'):
            with open(self.path("report.json"), "w", encoding="latin-1") as file:
                file.write(text)
            self.refused("report.json", profwrap.load(self.tmp).summary, self.path("report.json"))

    def test_rows_that_deflate_well(self):
        kind = self.rows("events/comm").dtype
        rows = numpy.zeros((200 << 20) // kind.itemsize, dtype=kind)
        self.replace("events/comm", rows, chunks=(1 << 16,), compression=9, shuffle=True)
        self.refused("PROFWRAP_READ_MEMORY", lambda: self.read("/events/comm"))
        self.read_in_a_child()

    def test_a_million_calls(self):
        kind = self.rows("events/comm").dtype
        rows = numpy.zeros(10**6, dtype=kind)
        rows["start"] = numpy.arange(len(rows))
        rows["end"] = rows["start"] + 1
        self.replace("events/comm", rows, chunks=(1 << 14,), compression=1, shuffle=True)
        self.assertEqual(len(self.read("/events/comm")), len(rows))
        self.read_in_a_child()

    def test_a_file_that_is_locked(self):
        hold = (
            "import fcntl, sys; file = open(sys.argv[1], 'r+b');"
            "fcntl.flock(file, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"
        )
        command = [sys.executable, "-c", hold, self.rank]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            holder.stdout.readline()
            with self.assertRaises(BlockingIOError) as caught:
                self.read("/events/comm")
            self.assertEqual(caught.exception.filename, self.rank)
            self.assertNotIn("damaged", str(caught.exception))
            holder.stdin.close()
        self.assertGreater(len(self.read("/events/comm")), 0)

    def test_sizes_in_the_variable(self):
        for text in ("8g", "8G", "1000m", "3000000000"):
            with unittest.mock.patch.dict(os.environ, PROFWRAP_READ_MEMORY=text):
                self.assertGreater(len(self.read("/events/comm")), 0)
        for text in ("8 G", "-1", "0", "G", "8GB", "much"):
            with unittest.mock.patch.dict(os.environ, PROFWRAP_READ_MEMORY=text):
                with self.assertRaisesRegex(ValueError, "PROFWRAP_READ_MEMORY") as caught:
                    self.read("/events/comm")
                self.assertNotIsInstance(caught.exception, profwrap.FileError)

    def test_rows_that_claim_the_same_text(self):
        rows, text = 1000, "x" * 10000
        with h5py.File(self.rank, "r+") as file:
            del file["strings"]
            texts = file.create_dataset("strings", (rows,), h5py.string_dtype())
            texts[0] = text
            place = texts.id.get_offset()
        self.assertEqual(profwrap.load(self.tmp).rank(1).strings[:2], [text, ""])
        with open(self.rank, "r+b") as file:
            file.seek(place)
            reference = file.read(16)  # length, address of the heap, index in it
            file.seek(place)
            file.write(reference * rows)
        self.refused("more text than it stores", lambda: profwrap.load(self.tmp).rank(1).strings)

    def test_a_long_text_in_many_rows(self):
        kind = self.rows("events/range").dtype
        rows = numpy.zeros(20000, dtype=kind)
        with h5py.File(self.rank, "r+") as file:
            del file["strings"]
            texts = ["x" * 60000, "short"]
            file.create_dataset("strings", data=texts, dtype=h5py.string_dtype())
        self.replace("events/range", rows)
        self.assertEqual(set(map(len, self.read("/events/range")["name"])), {60000})
        self.read_in_a_child()
        rows["name"][...] = 1
        for name in ("domain", "category", "shapes"):
            rows[name] = 1
        self.replace("events/range", rows)
        self.assertEqual(set(self.read("/events/range")["name"]), {"short"})


unittest.main()
