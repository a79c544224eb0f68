"""What profwrap records of MindSpore's collectives on CPUs: 2 ranks that know what they asked for.

By the MindSpore of scripts/setup --mindspore-wheel; skipped without it.
"""

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


if __name__ == "__main__":
    unittest.main(verbosity=2)
