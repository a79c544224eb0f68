"""What of the files of MindSpore's profiler becomes operators: files as MindSpore 2.10 writes them on CPUs,
whole and damaged. Without MindSpore."""

import json
import os
import random
import time
import unittest

import support
from fake_probe import FakeProbe

from profwrap import _mindspore_operators

TIMES = """\
Default/net/BiasAdd-op0;HostCpuOps;{0},0.02,0 {1},0.5,0 
MatMul;HostCpuOps;{2},1.5,0 
Default/a/Mul-op0;HostCpuOps;{3},0.1,0 
Default/b/Mul-op0;HostCpuOps;{3},0.1,0 
"""

DETAIL = """\
op_side,op_type,op_name,full_op_name,op_occurrences,op_total_time(ms),op_avg_time(ms),total_proportion,subgraph,pid
Host,BiasAdd,BiasAdd-op0,Default/net/BiasAdd-op0,2,0.52,0.26,0.4,Default,7
Host,MatMul,MatMul,MatMul,1,1.5,1.5,0.5,Default,7
Host,Mul,Mul-op0,Default/a/Mul-op0,1,0.1,0.1,0.1,Default,7
"""

FRAMEWORK = """\
;;746532247;
BiasAdd;BiasAdd-op0;746532247;input_1:[8, 64];input_2:[64];input_3:NoShape;
BiasAdd;BiasAdd-op0;746532247;input_1:[8, 64];input_2:[64];input_3:NoShape;
Mul;Mul-op0;746532247;input_1:[8, 8];input_2:[];
Mul;Mul-op0;746532247;input_1:[8, 8];input_2:[8, 8];
"""


class OperatorsTest(support.TempDirTest):
    def setUp(self):
        super().setUp()
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)
        self.addCleanup(setattr, _mindspore_operators, "totals", _mindspore_operators.totals)
        _mindspore_operators.totals = _mindspore_operators.Totals()
        self.day = time.time_ns()

    def write(self, times, detail=DETAIL, framework=FRAMEWORK):
        for name, text in (("op_execute_timestamp_0.txt", times), ("op_detail_info_0.csv", detail),
                           ("framework_0.txt", framework)):
            with open(self.path("cpu_" + name), "w", encoding="utf-8") as file:
                file.write(text)

    def record(self):
        """(what it answers, (name, type, shapes, ms after self.day, length in us, lane) of each)."""
        done = _mindspore_operators.record(self.tmp)
        raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - (time.time_ns() - self.day)
        rows = [(name, kind, shapes, round((start - raw) / 1e6), round((end - start) / 1e3),
                 lane - _mindspore_operators._LANE)
                for _, name, kind, shapes, start, end, lane, _ in self.probe.take("op_past")]
        return done, rows

    def test_as_mindspore_writes_them(self):
        self.write(TIMES.format(*(self.day + n * 1_000_000 for n in (-90, -80, -40, -60))))
        done, rows = self.record()
        self.assertEqual((done.operators, done.left_out), (5, 0))
        self.assertLess(done.error_ns, 10_000_000)
        bias = "Default/net/BiasAdd-op0", "BiasAdd", "[[8, 64], [64], NoShape]"
        self.assertEqual(rows, [
            (*bias, -90, 20, 0),
            (*bias, -80, 500, 0),
            ("Default/a/Mul-op0", "Mul", None, -60, 100, 0),  # two shapes have this short name
            ("Default/b/Mul-op0", "Mul", None, -60, 100, 1),  # at the same time
            ("MatMul", "MatMul", None, -40, 1500, 0),
        ])
        self.assertEqual(json.loads(_mindspore_operators.analyse("BiasAdd-op0")), {
            "BiasAdd-op0": [{"op_side": "cpu", "input_shape": "[8, 64], [64], NoShape", "op_occurrences": 2,
                             "op_total_time(us)": 520.0, "op_avg_time(us)": 260.0}],
            "device_id": 0,
        })

    def test_lines_that_cannot_be_read(self):
        self.write(f"A;HostCpuOps;{self.day},1,0 x,1,0 5 {self.day},-1,0 {self.day},nan,0 -5,1,0 7,1e400,0\n"
                   "no line\n;;\nB;C\n\x00\xff", "op_side\n\"", ";;;;;\nX;;:\n;\n")
        done, rows = self.record()
        self.assertEqual((done.operators, done.left_out), (1, 6))
        self.assertEqual([row[:3] for row in rows], [("A", "A", None)])

    def test_no_files(self):
        self.assertEqual(self.record()[0][:2], (0, 0))
        self.assertEqual(_mindspore_operators.record(self.path("nowhere"))[:2], (0, 0))

    def test_lanes(self):
        """In a lane no two overlap, and none is used without need."""
        for seed in range(50):
            chance = random.Random(seed)
            starts = sorted(chance.randrange(1000) for _ in range(60))
            events = [_mindspore_operators._Event(at, at + chance.randrange(80), "a") for at in starts]
            ends = {}
            for event, lane in _mindspore_operators._with_lanes(events):
                self.assertLessEqual(ends.get(lane, 0), event.start)
                ends[lane] = event.end
            most = max(sum(one.start <= at < one.end for one in events) for at in range(1100))
            self.assertLessEqual(len(ends), most + 1)  # those of no length need one, too

    def test_too_many_at_once(self):
        self.write("".join(f"a{n};HostCpuOps;{self.day},5,0\n" for n in range(70)), "", "")
        done, rows = self.record()
        self.assertEqual((done.operators, done.left_out, len(rows)), (64, 6, 64))

    def test_without_profwrap(self):
        self.write(TIMES.format(*[self.day] * 4))
        self.probe.remove()
        self.assertEqual(_mindspore_operators.record(self.tmp)[:2], (0, 5))
        self.assertTrue(os.path.exists(self.tmp))


if __name__ == "__main__":
    unittest.main(verbosity=2)
