"""What profwrap records of MindSpore's collectives on CPUs: 2 ranks that know what they asked for.

By the MindSpore of scripts/setup --mindspore-wheel; skipped without it.
"""

import json
import unittest

import msrun
import support

support.mindspore_python()
h5py = support.require_h5py()

OPERATIONS = """
import numpy
import mindspore as ms
from mindspore import ops
from mindspore.communication import get_rank, init

ms.set_context(mode=ms.PYNATIVE_MODE)
ms.set_device("CPU")
init()
rank = get_rank()
ones = ms.Tensor(numpy.ones(5000, numpy.float32))
print(ops.AllReduce()(ones).asnumpy()[0])
print(ops.AllReduce()(ms.Tensor(numpy.ones(14, numpy.float32))).asnumpy()[0])
ops.AllGather()(ms.Tensor(numpy.ones((3, 10), numpy.float32))).asnumpy()
ops.Broadcast(1)((ones,))[0].asnumpy()


@ms.jit
def graph(x):
    return ops.AllReduce()(x)


for _ in range(3):
    graph(ones).asnumpy()
"""


LATE = """
import os
import time

import numpy
import mindspore as ms
from mindspore import ops
from mindspore.communication import get_rank, init

ms.set_device("CPU")
if os.environ.get("MS_NODE_ID") == "1":  # the scheduler has none
    time.sleep(5)
init()
print(get_rank())
for _ in range(20):
    ops.AllReduce()(ms.Tensor(numpy.ones(14, numpy.float32))).asnumpy()
"""


def rows(path, table="events/comm"):
    with h5py.File(path) as file:
        data = file[table]
        enums = {name: {number: text for text, number in
                        (h5py.check_enum_dtype(data.dtype[name]) or {}).items()}
                 for name in data.dtype.names}
        return [{name: enums[name].get(row[name], row[name]) for name in data.dtype.names}
                for row in data[:]]


class Collectives(support.TempDirTest):
    def test_operations(self):
        out = msrun.run(self, OPERATIONS, options=["--no-merge"])
        for rank in (0, 1):
            with self.subTest(rank=rank):
                self.check(rank, f"{out}/rank-{rank:05d}.h5")

    def check(self, rank, path):
        found = rows(path)
        self.assertEqual({row["source"] for row in found}, {"mccl"})
        init = found.pop(0)
        self.assertEqual((init["op"], init["comm"], init["flags"]), ("Init", -1, 0))
        self.assertTrue(init["start"] < init["end"] <= found[0]["start"], (init, found[0]))
        root = (0, 20000) if rank == 0 else (20000, 0)
        wanted = [("Allreduce", 20000, 20000, -1), ("Allreduce", 56, 56, -1), ("Allgather", 120, 240, -1),
                  ("Bcast", *root, 1), *[("Allreduce", 20000, 20000, -1)] * 3]
        self.assertEqual([(row["op"], row["sent_bytes"], row["recv_bytes"], row["peer"])
                          for row in found], wanted)
        self.assertEqual([row["seq"] for row in found], list(range(7)))
        for row in found:
            self.assertGreater(row["end"], row["start"])
        groups = rows(path, "comms")
        self.assertEqual([(int(g["size"]), int(g["my_rank"]), int(g["collectives"])) for g in groups],
                         [(2, rank, 7)])
        self.assertEqual([int(row["world_rank"]) for row in rows(path, "comm_members")], [0, 1])


    def test_a_worker_that_comes_late_to_init_is_named(self):
        out = msrun.run(self, LATE)
        with open(f"{out}/report.json", encoding="utf-8") as file:
            report = json.load(file)
        named = [row for row in report["stragglers"] if row["part"] == "start"]
        self.assertEqual([(row["rank"], row["cause"]) for row in named], [(1, "late_start")], report["job"])
        self.assertIn("before it entered MindSpore's init()", report["job"]["headline"])
        self.assertGreater(named[0]["lost_ns"], 3e9)
        part = next(row for row in report["parts"]["rows"] if row["part"] == "init")
        self.assertEqual(part["words"], "in MindSpore's init()")
        self.assertGreater(part["wait_ns"], 1.5e9)  # a mean of two ranks, of which one waits for nearly 5 s


if __name__ == "__main__":
    unittest.main(verbosity=2)
