"""What of the files of MindData's profiler becomes sizes of queues: files as MindSpore 2.10 writes them,
whole and damaged. Without MindSpore."""

import json
import unittest

import support
from fake_probe import FakeProbe

from profwrap import _mindspore_data

# Of each batch: three times, and the size of the queue after it was taken.
ITERATOR = """\
0 1 1 0 1000
0 2 1 25 1000
0 0 1 25 1000
1 16 1 0 1000
0 2 2 0 1100
1 16 2 0 1100
0 2 3 0 1200
1 16 3 4 1200
"""

OPERATORS = [
    {"op_id": 0, "op_type": "EpochCtrlOp", "children": [1], "metrics": None},
    {"op_id": 1, "op_type": "BatchOp", "children": [2],
     "metrics": {"output_queue": {"length": 16, "size": [9, 9, 9]}}},
    {"op_id": 2, "op_type": "MapOp", "children": [3],
     "metrics": {"output_queue": {"length": 8, "size": [1, 2, 3]}}},
    {"op_id": 3, "op_type": "GeneratorOp",
     "metrics": {"output_queue": {"length": 8, "size": [0, 0, 8]}}},
]


class QueuesTest(support.TempDirTest):
    def setUp(self):
        super().setUp()
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)

    def write(self, operators=OPERATORS, iterator=ITERATOR, times=(1000, 1100, 1200), **cpu):
        for name, text in (
            ("dataset_iterator_profiling_0.txt", iterator),
            ("pipeline_profiling_0.json", json.dumps({"op_info": operators, "sampling_interval": 100})),
            ("minddata_cpu_utilization_0.json", json.dumps({"time_stamp": times, **cpu})),
        ):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

    def record(self, begin_ms=0):
        _mindspore_data.record(self.tmp, begin_ms, lambda ms: ms * 1000)
        return self.probe.take()

    def test_as_minddata_writes_them(self):
        self.write()
        told = self.record(1050)
        self.assertEqual(told, [
            ("queue_past", "MindData", 1, 16, 1100000),  # it was ready, and none was left
            ("queue_past", "MindData", 5, 16, 1200000),
            ("metadata", "pipeline", "GeneratorOp [GeneratorOp 3] MapOp [MapOp 2] BatchOp [MindData]"),
            ("queue_past", "GeneratorOp 3", 0, 8, 1100000), ("queue_past", "GeneratorOp 3", 8, 8, 1200000),
            ("queue_past", "MapOp 2", 2, 8, 1100000), ("queue_past", "MapOp 2", 3, 8, 1200000),
        ])
        self.assertEqual(self.record()[0], ("queue_past", "MindData", 0, 16, 1000000))  # it waited

    def test_cpus_of_operators(self):
        # Percents of 8 CPUs; the first sample was before the window. EpochCtrlOp fills no queue.
        used = {0: ([9, 9, 9], [9, 9, 9]), 1: ([50, 0, 1], [50, 0, 0]), 2: ([0, 20, 30], [0, 4, 6]),
                3: ([0, 0, 0], [0, 0, 0])}
        cpu = {"cpu_processor_num": 8, "op_info": [
            {"op_id": op, "metrics": {"user_utilization": user, "sys_utilization": system}}
            for op, (user, system) in used.items()]}
        self.write(**cpu)
        told = [one for one in self.record(1050) if one[1] == "pipeline_cpus"]
        self.assertEqual(told, [("metadata", "pipeline_cpus", "0.000 2.400 0.040")])
        for broken in ({**cpu, "op_info": cpu["op_info"][:3]}, {**cpu, "op_info": []}, {"op_info": cpu["op_info"]}):
            self.write(**broken)
            self.assertNotIn("pipeline_cpus", [one[1] for one in self.record(1050)])

    def test_a_pipeline_that_is_no_chain(self):
        zipped = [{"op_id": 0, "op_type": "ZipOp", "children": [1, 2], "metrics": None},
                  {"op_id": 1, "op_type": "A", "metrics": None}, {"op_id": 2, "op_type": "B", "metrics": None}]
        for operators in (zipped, [], OPERATORS[:1] + OPERATORS[2:]):
            self.write(operators)
            told = self.record() if operators != OPERATORS[:1] + OPERATORS[2:] else []
            self.assertEqual({one[1] for one in told} - {"MindData"}, set())

    def test_lines_that_cannot_be_read(self):
        self.write(iterator="1 16 1\nx\n1 a 1 2 3\n0 2 7 x 5\n1 16 7 3 5\n\n1 16 8 1 6")
        sizes = [one for one in self.record() if one[1] == "MindData"]
        self.assertEqual(sizes, [("queue_past", "MindData", 0, 16, 5000), ("queue_past", "MindData", 0, 16, 6000)])

    def test_no_files(self):
        self.assertEqual(self.record(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
