"""The example collector: the records of its part in the application and its samples are in the
file."""

import unittest

import support

support.require_h5py()

import profwrap

SCRIPT = """
import ctypes, time
mark = ctypes.CDLL(None).pw_null_mark
mark.argtypes, mark.restype = [ctypes.c_int64], None
for value in (1, 2, -40):
    mark(value)
time.sleep(0.2)
"""


class NullCollectorTest(support.TempDirTest):
    def counts(self, *options):
        support.profile(self.path("out"), SCRIPT, *options)
        table = profwrap.load(self.path("out"), pandas=False).rank(0).overhead
        return {row["name"]: row["value"] for row in table}

    def test_counts_marks_and_samples(self):
        counts = self.counts("--activities", "null", "--sample-hz", "100")
        self.assertEqual(counts["null_marks"], 3)
        self.assertEqual(counts["null_value_sum"], -37)
        self.assertGreater(counts["null_samples"], 1)

    def test_is_off_unless_asked_for(self):
        self.assertNotIn("null_marks", self.counts())


unittest.main()
