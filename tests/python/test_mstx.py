"""Ranges and marks of mstx: what is recorded, and that the calls return the same as without
profwrap."""

import threading
import types
import unittest

import support
from fake_probe import FakeProbe

from profwrap import _mindspore_cost, _mstx


class Standin:
    """A class like those of MindSpore and torch_npu. It returns IDs with a profiler, and 0 without
    one."""

    has_profiler = True
    given = 0
    calls = []

    @staticmethod
    def mark(message, stream=None, domain="default"):
        Standin.calls.append(("mark", message, stream, domain))
        return "marked"

    @staticmethod
    def range_start(message, stream=None, domain="default"):
        if message == "raises":
            raise KeyError(message)
        Standin.given += 1
        return Standin.given if Standin.has_profiler else 0

    @staticmethod
    def range_end(range_id, domain="default"):
        Standin.calls.append(("end", range_id, domain))


class MstxTest(unittest.TestCase):
    def setUp(self):
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)
        self.now = 0
        self.addCleanup(setattr, _mstx, "ranges", _mstx.ranges)
        _mstx.ranges = _mstx.Ranges(self.clock)
        self.addCleanup(setattr, Standin, "has_profiler", True)
        Standin.given, Standin.calls = 0, []
        self.detach = _mstx.attach(Standin)
        self.addCleanup(self.detach)
        self.failures = _mindspore_cost.cost.failures

    def tearDown(self):
        self.assertEqual(_mindspore_cost.cost.failures, self.failures)

    def clock(self):
        self.now += 10
        return self.now

    def recorded(self):
        """(name, type, start, end, lane counted from 0) of each range."""
        return [(name, kind, start, end, lane - _mstx._LANE)
                for _, name, kind, _, start, end, lane, _ in self.probe.take("op_past")]

    def test_with_a_profiler_its_ids_are_the_programs(self):
        first = Standin.range_start("step")
        second = Standin.range_start("inner", None, "mine")
        Standin.range_end(second, "mine")
        Standin.range_end(first)
        self.assertEqual((first, second), (1, 2))
        self.assertEqual(Standin.calls, [("end", 2, "mine"), ("end", 1, "default")])
        self.assertEqual(self.recorded(),
                         [("inner", "mstx mine", 20, 30, 0), ("step", "mstx", 10, 40, 0)])

    def test_without_a_profiler_ids_are_ours(self):
        Standin.has_profiler = False
        first, second = Standin.range_start("a"), Standin.range_start(message="b", domain="mine")
        self.assertNotEqual(first, second)
        Standin.range_end(first)
        Standin.range_end(range_id=second)
        self.assertEqual(Standin.calls, [("end", 0, "default"), ("end", 0, "default")])
        self.assertEqual([row[:4] for row in self.recorded()],
                         [("a", "mstx", 10, 30), ("b", "mstx mine", 20, 40)])

    def test_ranges_that_overlap_have_lanes_of_their_own(self):
        a, b = Standin.range_start("a"), Standin.range_start("b")
        c = Standin.range_start("c")
        for one in (a, c, b):
            Standin.range_end(one)
        Standin.range_end(Standin.range_start("later"))
        rows = self.recorded()
        self.assertEqual([(row[0], row[4]) for row in rows], [("a", 0), ("c", 1), ("b", 1), ("later", 0)])
        self.check_lanes(rows)

    def check_lanes(self, rows):
        """The ranges of a lane nest, and the inner one comes first."""
        for i, one in enumerate(rows):
            for other in rows[i + 1:]:
                if one[4] == other[4]:
                    is_apart = one[3] <= other[2]
                    is_inside = other[2] <= one[2] and one[3] <= other[3]
                    self.assertTrue(is_apart or is_inside, (one, other))

    def test_any_order(self):
        import random

        for seed in range(200):
            chance, is_open = random.Random(seed), []
            for number in range(40):
                if is_open and chance.random() < 0.5:
                    Standin.range_end(is_open.pop(chance.randrange(len(is_open))))
                else:
                    is_open.append(Standin.range_start(str(number)))
            for one in is_open:
                Standin.range_end(one)
            rows = self.recorded()
            self.assertGreater(len(rows), 19)
            self.check_lanes(rows)

    def test_another_thread_ends_it(self):
        key = Standin.range_start("across")
        Standin.range_end(Standin.range_start("here"))
        thread = threading.Thread(target=Standin.range_end, args=(key,))
        thread.start()
        thread.join()
        self.assertEqual(self.recorded(), [("here", "mstx", 20, 30, 0), ("across", "mstx", 10, 40, 1)])

    def test_marks(self):
        self.assertEqual(Standin.mark("here"), "marked")
        Standin.mark("there", None, domain="mine")
        self.assertEqual(self.probe.take(), [("mark", "here", None), ("mark", "there", "mine")])
        self.assertEqual(Standin.calls, [("mark", "here", None, "default"), ("mark", "there", None, "mine")])

    def test_what_mstx_refuses_is_not_recorded(self):
        for wrong in ("", None, 5, b"bytes"):
            Standin.mark(wrong)
            Standin.range_end(Standin.range_start(wrong))
        Standin.range_end(99)
        Standin.range_end(None)
        self.assertRaises(TypeError, Standin.range_start)
        self.assertRaises(TypeError, Standin.range_end)
        self.assertRaises(KeyError, Standin.range_start, "raises")
        self.assertEqual(self.probe.take(), [])

    def test_ended_twice(self):
        key = Standin.range_start("a")
        Standin.range_end(key)
        Standin.range_end(key)
        self.assertEqual(len(self.recorded()), 1)

    def test_ranges_that_never_end(self):
        for _ in range(3 * _mstx._OPEN):
            last = Standin.range_start("leak")
        self.assertLessEqual(len(_mstx.ranges._open), _mstx._OPEN)
        Standin.range_end(last)
        self.assertEqual(len(self.recorded()), 1)

    def test_too_many_lanes(self):
        keys = [Standin.range_start("a") for _ in range(_mstx._LANES + 5)]
        for key in keys:  # each overlaps all others
            Standin.range_end(key)
        self.assertEqual(len(self.recorded()), _mstx._LANES)
        self.assertEqual(_mindspore_cost.cost.failures, self.failures + 5)
        self.failures += 5

    def test_taken_off(self):
        self.detach()
        Standin.range_end(Standin.range_start("a"))
        Standin.mark("b")
        self.assertEqual(self.probe.take(), [])

    def test_torch_npu_without_mstx(self):
        _mstx.on_torch_npu(types.SimpleNamespace())
        self.assertEqual(_mindspore_cost.cost.failures, self.failures + 1)
        self.failures += 1


TORCH_NPU = """
class mstx:
    @staticmethod
    def mark(message, stream=None, domain="default"):
        pass
    @staticmethod
    def range_start(message, stream=None, domain="default"):
        return 0
    @staticmethod
    def range_end(range_id, domain="default"):
        assert range_id == 0
"""

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import torch_npu
outer = torch_npu.npu.mstx.range_start("outer")
inner = torch_npu.npu.mstx.range_start("inner", domain="mine")
torch_npu.npu.mstx.mark("here")
torch_npu.npu.mstx.range_end(inner, "mine")
torch_npu.npu.mstx.range_end(outer)
"""


class ProbeTest(support.TempDirTest):
    def test_torch_npu_in_the_rank_file(self):
        """The package torch_npu is replaced by one that has only mstx."""
        h5py = support.require_h5py()
        support.os.makedirs(self.path("torch_npu"))
        for name, text in (("__init__", "from . import npu"), ("npu", TORCH_NPU)):
            with open(self.path(f"torch_npu/{name}.py"), "w", encoding="utf-8") as file:
                file.write(text)
        support.run(support.PROFWRAP, "--no-merge", "--quiet", "-o", self.path("out"),
                    support.sys.executable, "-c", PROGRAM, self.tmp)
        with h5py.File(self.path("out/rank-00000.h5")) as file:
            strings = [text.decode() for text in file["strings"][()]]
            table = file["events/range"]
            kinds = {value: name for name, value in h5py.check_enum_dtype(table.dtype["kind"]).items()}
            rows = sorted((strings[row["name"]], kinds[row["kind"]], strings[row["category"]])
                          for row in table[()])
        self.assertEqual(rows, [("here", "mark", ""), ("inner", "operator", "mstx mine"),
                                ("outer", "operator", "mstx")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
