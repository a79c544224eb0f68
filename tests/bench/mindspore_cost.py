"""What recording a MindSpore training without a change costs, beside MindSpore's own profiler.

    mindspore_cost.py PROFWRAP

In one process, short rounds of steps with and without the hooks follow each other; the figure is the
median of the rounds' ratios of wall time, with its 95 % confidence interval (of order statistics).
Processor time beside it: others may use the machine. A step waits for its batch and for its loss, in
PyNative mode, and takes 20 ms or more.
"""
import os
import statistics
import sys

import measure
from measure import report

ROUNDS, STEPS = 200, 5
PYTHON = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                      "profwrap", "mindspore", "bin", "python")

TRAINING = f"""
import os, statistics, time
import numpy
import mindspore as ms
import mindspore.dataset
from mindspore import nn
from profwrap import _mindspore, _mindspore_cost

ms.set_context(mode=ms.PYNATIVE_MODE)
ms.set_device("CPU")
data = ms.dataset.NumpySlicesDataset((numpy.ones((2048, 256), "f"), numpy.ones((2048, 256), "f")),
                                     ["x", "y"], shuffle=False).batch(32)


def batches():
    while True:
        yield from data.create_tuple_iterator()


def make(layers):
    net, loss = nn.SequentialCell(*(nn.Dense(256, 256) for _ in range(layers))), nn.MSELoss()
    net.set_train()
    optimizer = nn.SGD(net.trainable_params(), 0.001)

    def forward(x, y):
        return loss(net(x), y)

    return ms.value_and_grad(forward, None, optimizer.parameters), optimizer, batches()


def step(gradients, optimizer, loader):
    x, y = next(loader)
    value, found = gradients(x, y)
    optimizer(found)
    value.asnumpy()


def time_steps(parts, count={STEPS}):
    step(*parts)
    wall, processor = [], []
    for _ in range(count):
        begin, used = time.perf_counter_ns(), time.process_time_ns()
        step(*parts)
        processor.append(time.process_time_ns() - used)
        wall.append(time.perf_counter_ns() - begin)
    return statistics.median(wall), statistics.median(processor)


layers = 4
parts = make(layers)
while time_steps(parts)[0] < 20e6 and layers < 200:
    layers = int(layers * 1.3) + 1
    parts = make(layers)
assert _mindspore._active is not None, "the hooks are not there"


def plain(parts):
    return time_steps(parts)


def recorded(parts):
    _mindspore.on_mindspore(ms)
    value = time_steps(parts)
    _mindspore.take_over()
    return value


def profiled(parts):
    with ms.profiler.profile(activities=[ms.profiler.ProfilerActivity.CPU]):
        return time_steps(parts)


_mindspore.take_over()
rounds = []
for number in range({ROUNDS}):
    order = [plain, recorded]
    order = order[number % 2 :] + order[: number % 2]
    rounds.append({{one.__name__: one(parts) for one in order}})
others = [(plain(parts), profiled(parts)) for _ in range(3)]
before, count = _mindspore_cost.cost.hooks_ns, 200
_mindspore.on_mindspore(ms)
for _ in range(count):
    step(*parts)
print("layers", layers)
print("plain_ms", statistics.median(r["plain"][0] for r in rounds) / 1e6)
for which, name in enumerate(("wall", "processor")):
    ratios = sorted(r["recorded"][which] / r["plain"][which] for r in rounds)
    print(name, statistics.median(ratios))
    # Ranks of the sign test's interval, by the normal approximation of the binomial distribution.
    beside = int(0.98 * len(ratios) ** 0.5) + 1
    print(name + "_low", ratios[len(ratios) // 2 - beside])
    print(name + "_high", ratios[len(ratios) // 2 + beside - 1])
    print(name + "_us", statistics.median(r["recorded"][which] - r["plain"][which] for r in rounds) / 1e3)
print("profiled", statistics.median(theirs[0] / ours[0] for ours, theirs in others))
print("hooks_us", (_mindspore_cost.cost.hooks_ns - before) / count / 1e3)
print("failures", _mindspore_cost.cost.failures)
"""


def main():
    if not os.access(PYTHON, os.X_OK):
        print(f"skipped: no MindSpore in {PYTHON} (scripts/setup --mindspore-wheel)")
        return measure.SKIP
    done = measure.run([os.path.abspath(sys.argv[1]), "--quiet", "--no-merge", PYTHON, "-c", TRAINING],
                       quiet=True, OMP_NUM_THREADS="1", GLOG_v="3")
    found = measure.figures(done)
    print(f"a step takes {found['plain_ms']:.2f} ms ({found['layers']:.0f} layers); the hooks measure "
          f"{found['hooks_us']:.1f} us of processor time in it themselves")
    print(f"MindSpore's profiler adds {100 * (found['profiled'] - 1):.2f} %, without its analysis")
    for name in ("wall", "processor"):
        low, value, high = (100 * (found[name + end] - 1) for end in ("_low", "", "_high"))
        print(f"the hooks add {found[name + '_us']:.1f} us of {name} time to a step: {value:.2f} % "
              f"(95 % interval: {low:.2f} to {high:.2f} %)")
    print("load of the machine:", os.getloadavg()[0], "on", os.cpu_count(), "processors")
    good = report("what the hooks add to a step", 100 * (found["wall"] - 1), 1, " %")
    good &= report("hooks that failed", found["failures"], 0)
    return 0 if good else 1


sys.exit(main())
