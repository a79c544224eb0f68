"""DynamicProfilerMonitor of profwrap.mindspore in a running job of 2 ranks: its file changes, and both
record the same steps.

By the MindSpore of scripts/setup --mindspore-wheel; skipped without it.
"""

import json
import unittest

import msrun
import support

support.mindspore_python()
h5py = support.require_h5py()

# The ranks go on, in step with each other, until the window is over on rank 0, which wrote the file at
# step 10.
TRAINING = """
import json, os, sys, time
import numpy
import mindspore as ms
from mindspore import nn, ops
from mindspore.communication import get_rank, init
from profwrap.mindspore import DynamicProfilerMonitor

ms.set_context(mode=ms.PYNATIVE_MODE)
ms.set_device("CPU")
init()
rank, folder = get_rank(), sys.argv[1]
net, loss = nn.Dense(6, 2), nn.MSELoss()
optimizer = nn.SGD(net.trainable_params(), 0.01)
gradients = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)
x, y = ops.ones((4, 6)), ops.ones((4, 2))
monitor = DynamicProfilerMonitor(folder, poll_interval=1)
end, step, is_over = time.monotonic() + 240, 0, False
while not is_over and time.monotonic() < end:
    optimizer(gradients(x, y)[1])
    monitor.step()
    step += 1
    if rank == 0 and step == 10:
        with open(folder + "/profiler_config.json", "w") as file:
            json.dump({"start_step": 13, "stop_step": 16}, file)
    window = monitor._monitor._window
    done = numpy.array([rank == 0 and window is not None and step > window.last + 3], numpy.float32)
    is_over = float(ops.AllReduce()(ms.Tensor(done)).asnumpy()[0]) > 0
print(type(window), window)
"""


class Monitor(support.TempDirTest):
    def test_same_steps_on_both_ranks(self):
        out = msrun.run(self, TRAINING, self.path("config"))
        recorded = []
        for rank in (0, 1):
            with h5py.File(f"{out}/rank-{rank:05d}.h5") as file:
                active = h5py.check_enum_dtype(file["steps"].dtype["recorded"])["active"]
                recorded.append([int(row["step"]) for row in file["steps"][:]
                                 if row["recorded"] == active])
        self.assertEqual(recorded[0], recorded[1])
        self.assertEqual(len(recorded[0]), 4, recorded)
        self.assertGreaterEqual(recorded[0][0], 13)
        with open(f"{out}/report.json", encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["job"]["ranks"], 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
