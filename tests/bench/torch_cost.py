"""What recording a PyTorch training without a change costs, beside torch.profiler; and Python's start.

    torch_cost.py PROFWRAP PYTHON_MODULE_DIR

Processor time, because others may use the machine; they still evict the hooks' code from its caches,
which makes them some ten times as slow: the budget is for a machine that has nothing else to do. In one process on one thread, rounds of steps with
and without the hooks follow each other; the figure is the median of the rounds' ratios. The training
has a loader with workers, so that all hooks are used.
"""
import os
import statistics
import subprocess
import sys

import measure
from measure import report

ROUNDS, STEPS = 40, 10
STARTS = 60
WHEEL = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "profwrap", "torch", "bin", "python")

TRAINING = f"""
import itertools, statistics, time
import torch
from torch import nn
from profwrap import _auto

torch.set_num_threads(1)
torch.manual_seed(1)
data = torch.utils.data.TensorDataset(torch.randn(2048, 256), torch.randn(2048, 256))


def batches(workers):
    while True:
        yield from torch.utils.data.DataLoader(data, batch_size=32, num_workers=workers)


def make(layers, workers=1):
    model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(layers)))
    return model, torch.optim.SGD(model.parameters(), lr=0.001), batches(workers)


def step(model, optimizer, loader):
    x, y = next(loader)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()


def time_steps(parts, count={STEPS}):
    for _ in range(2):
        step(*parts)
    spent = []
    for _ in range(count):
        begin = time.process_time_ns()
        step(*parts)
        spent.append(time.process_time_ns() - begin)
    return statistics.median(spent)


layers = 4
parts = make(layers)
while time_steps(parts) < 10e6 and layers < 1000:
    layers = int(layers * 1.3) + 1
    parts = make(layers)
assert _auto._auto is not None, "the hooks are not there"


def plain(parts):
    return time_steps(parts)


def recorded(parts):
    _auto.on_torch(torch)
    value = time_steps(parts)
    _auto.take_over()
    return value


def profiled(parts):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        return time_steps(parts)


_auto.take_over()
rounds = []
for number in range({ROUNDS}):
    order = [plain, recorded, profiled]
    order = order[number % 3 :] + order[: number % 3]
    values = {{one.__name__: one(parts) for one in order}}
    rounds.append(values)
small = make(1, workers=0)
hot = []
for number in range({ROUNDS}):
    hot.append(recorded(small) - plain(small))
before, count = sum(_auto.cost.hooks_ns.values()), 100
_auto.on_torch(torch)
for _ in range(count):
    step(*parts)
_auto.take_over()
print("layers", layers)
print("plain_ms", statistics.median(r["plain"] for r in rounds) / 1e6)
for name in ("recorded", "profiled"):
    print(name, statistics.median(r[name] / r["plain"] for r in rounds))
    print(name + "_us", statistics.median(r[name] - r["plain"] for r in rounds) / 1e3)
print("hooks_us", (sum(_auto.cost.hooks_ns.values()) - before) / count / 1e3)
print("hot_us", statistics.median(hot) / 1e3)
print("failures", _auto.failures())
"""


def cost_of_steps():
    done = measure.run([profwrap, "--quiet", "--no-merge", WHEEL, "-c", TRAINING], quiet=True,
                       OMP_NUM_THREADS="1")
    found = measure.figures(done)
    print(f"a step takes {found['plain_ms']:.2f} ms of processor time ({found['layers']:.0f} layers); "
          f"the hooks measure {found['hooks_us']:.1f} us of it themselves")
    print(f"torch.profiler adds {100 * (found['profiled'] - 1):.2f} % "
          f"({found['profiled_us']:.0f} us a step)")
    print(f"the hooks add {found['recorded_us']:.1f} us a step, and {found['hot_us']:.1f} us to the step "
          f"of one layer without workers")
    print("load of the machine:", os.getloadavg()[0], "on", os.cpu_count(), "processors")
    ok = report("what the hooks add to a step", 100 * (found["recorded"] - 1), 1, " %")
    return ok & report("hooks that failed", found["failures"], 0)


def start_once(python, path):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if path:
        environment["PYTHONPATH"] = path
    child = subprocess.Popen([python, "-c", "pass"], env=environment)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def cost_of_start():
    site = os.path.join(module_dir, "profwrap", "_site")
    pairs = [(start_once(sys.executable, None), start_once(sys.executable, site))
             for _ in range(STARTS)]
    print(f"Python's start takes {statistics.median(p[0] for p in pairs):.2f} ms of processor time")
    added = statistics.median(hooked - plain for plain, hooked in pairs)
    return report("what the import hook adds to Python's start", added, 5, " ms")


profwrap, module_dir = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
good = cost_of_start()
if os.access(WHEEL, os.X_OK):
    good &= cost_of_steps()
else:
    print(f"no PyTorch in {WHEEL} (scripts/setup --torch-wheel): its steps are not measured")
sys.exit(0 if good else 1)
