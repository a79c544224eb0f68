"""Parquet files and data frames have the values that h5py reads from the files of a run."""

import glob
import json
import os
import sys
import tempfile
import unittest

import support

support.use_interop()

import h5py
import numpy
import pyarrow.dataset
import pyarrow.parquet

import profwrap
import profwrap.parquet

RANKS = 3


def datasets(path):
    """{path: dataset's rows and its dtype} of the tables of a file."""
    found = {}

    def add(name, node):
        if isinstance(node, h5py.Dataset) and node.dtype.names:
            found["/" + name] = node[()].reshape(-1)

    with h5py.File(path) as file:
        file.visititems(add)
        return found, [text.decode() for text in file["strings"][()]] if "strings" in file else []


def plain(column):
    """A column of h5py as load() gives it, but for rows of /strings: enumerations as names, texts."""
    names = h5py.check_enum_dtype(column.dtype)
    if names is not None:
        by_value = {value: name for name, value in names.items()}
        return [by_value[value] for value in column.tolist()]
    if column.dtype.kind == "S":
        return [text.decode() for text in column.tolist()]
    return column.tolist()


class ParquetTest(support.TempDirTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.out = os.path.join(folder.name, "run")
        support.run(support.PROFWRAP, "sim", "--ranks", str(RANKS), "--steps", "6", "--gpu", "--queues", cls.out)
        support.run(support.PROFWRAP, "merge", "-q", cls.out)
        cls.run_ = profwrap.load(cls.out, frames="numpy")

    def same(self, table, rows, strings, what):
        """An Arrow table has the rows of a dataset."""
        self.assertGreaterEqual(set(table.column_names), set(rows.dtype.names), what)
        self.assertEqual(len(table), len(rows), what)
        for name in rows.dtype.names:
            found, wanted = table[name].to_pylist(), plain(rows[name])
            if wanted and isinstance(found[0], str) and not isinstance(wanted[0], str):
                wanted = [strings[row] for row in wanted]
            numpy.testing.assert_array_equal(found, wanted, f"{what} {name}")

    def test_every_table_of_the_cluster_file(self):
        profwrap.parquet.write(self.run_, self.path("out"))
        tables, _ = datasets(os.path.join(self.out, "cluster.h5"))
        written = {os.path.basename(path)[: -len(".parquet")] for path in glob.glob(self.path("out/*.parquet"))}
        self.assertEqual(written, {path[1:] for path in tables})
        for path, rows in tables.items():
            self.same(pyarrow.parquet.read_table(self.path(f"out{path}.parquet")), rows, [], path)
        trace = pyarrow.parquet.read_table(self.path("out/step_trace.parquet"))
        self.assertEqual(trace["rank"].to_pylist()[: RANKS + 1], [0, 1, 2, 0])

    def test_every_table_of_the_ranks_as_datasets(self):
        profwrap.parquet.write(self.run_, self.path("out"), clock="local")
        compared = set()
        for rank in range(RANKS):
            tables, strings = datasets(os.path.join(self.out, f"rank-{rank:05d}.h5"))
            for path, rows in tables.items():
                name = path[1:].replace("/", "_")
                whole = pyarrow.dataset.dataset(self.path(f"out/rank/{name}"), partitioning="hive")
                table = whole.to_table(filter=pyarrow.dataset.field("rank") == rank)
                self.same(table, rows, strings, f"{path} of rank {rank}")
                compared.add(path)
        self.assertGreaterEqual(compared, {"/events/comm", "/events/kernel", "/samples/queue", "/steps"})

    def test_times_of_the_cluster_clock(self):
        profwrap.parquet.write(self.run_, self.path("out"))
        path = self.path("out/rank/events_comm/rank=2/part-0.parquet")
        table = pyarrow.parquet.ParquetFile(path).read()
        wanted = self.run_.rank(2).events("comm", clock="cluster")
        self.assertEqual(table["start"].to_pylist(), wanted["start"].tolist())
        self.assertEqual(table.schema.metadata[b"profwrap.clock"], b"cluster")

    def test_units_and_meanings(self):
        profwrap.parquet.write(self.run_, self.path("out"))
        schema = pyarrow.parquet.read_schema(self.path("out/steps.parquet"))
        with h5py.File(os.path.join(self.out, "cluster.h5")) as file:
            units, meanings = (json.loads(file["steps"].attrs[name]) for name in ("units", "meanings"))
        self.assertEqual(units["duration_ns"], "ns")
        for field in schema:
            found = {key.decode(): text.decode() for key, text in field.metadata.items()}
            self.assertEqual(found.pop("unit", None), units.get(field.name))
            self.assertEqual(found, {"meaning": meanings[field.name]})
        self.assertEqual(schema.metadata[b"profwrap.table"], b"/steps")
        comm = pyarrow.parquet.read_schema(self.path("out/rank/events_comm/rank=2/part-0.parquet"))
        self.assertEqual(comm.field("sent_bytes").metadata[b"unit"], b"bytes")
        self.assertIn(b"without", comm.field("op").metadata[b"meaning"])

    def test_command(self):
        script = os.path.join(support.MODULE_DIR, "profwrap", "parquet.py")
        self.assertTrue(os.path.exists(script))
        words = [sys.executable, "-m", "profwrap.parquet", self.out, self.path("out")]
        self.assertIn("tables in ", support.run(*words))
        support.run(*words, status=1)  # it is not empty any more
        support.run(*words[:3], "--clock", "wall", self.out, self.path("x"), status=2)

    def frames(self, library, frame, columns):
        """Tables of the run and of a rank are of that library, with numpy's values."""
        run = profwrap.load(self.out, frames=library)
        for table, wanted in ((run.step_trace, self.run_.step_trace), (run.stragglers, self.run_.stragglers),
                              (run.rank(1).events("comm"), self.run_.rank(1).events("comm"))):
            self.assertIsInstance(table, frame)
            self.assertEqual(columns(table), list(wanted.dtype.names))
            for name in wanted.dtype.names:
                self.assertEqual(list(table[name].to_pylist() if library == "arrow" else table[name]),
                                 wanted[name].tolist(), name)

    def test_polars(self):
        import polars

        self.frames("polars", polars.DataFrame, lambda table: table.columns)
        run = profwrap.load(self.out, frames="polars")
        comm = run.rank(0).events("comm")
        self.assertEqual(comm.schema["op"], polars.String)
        self.assertGreater(comm.filter(polars.col("op") == "Allreduce").height, 0)

    def test_pandas(self):
        import pandas

        self.frames("pandas", pandas.DataFrame, lambda table: list(table.columns))

    def test_arrow(self):
        self.frames("arrow", pyarrow.Table, lambda table: table.column_names)

    def test_wrong_words(self):
        with self.assertRaises(ValueError):
            profwrap.load(self.out, frames="excel")
        with self.assertRaises(ValueError):
            profwrap.load(self.out, pandas=True, frames="polars")


if __name__ == "__main__":
    unittest.main()
