"""What recording adds to a training step of 20 ms with DistributedDataParallel on Gloo, beside what others
add to the same loop: torch.profiler, and tools from PyPI that look for slow ranks, where they are there:

    pip install --no-deps --target ~/.cache/profwrap/torch-tools nvidia-resiliency-ext==0.4.1 defusedxml \
        nvidia-ml-py pynvml nvidia-cuda-cupti-cu12 traceml-ai==0.5.0 msgspec

    ddp_cost.py PROFWRAP [--ranks N] [--rounds N]

All jobs run at the same time, and one of them makes steps while the others wait: in each round each makes a
block of steps, in turn, so that the load of the machine is the same for all. The figure is the median, over
rounds and ranks, of the difference to the loop without a tool in the same round, with its uncertainty. The
wall time of a step is that of its work: what the program sleeps to have a step of 20 ms is as much shorter.
"""
import argparse
import contextlib
import glob
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile

import measure
from measure import report

STEP_US, BLOCK, BUDGET = 20e3, 15, 1
WALL, CPU, FASTEST = 0, 1, 2
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "profwrap")
WHEEL = os.path.join(CACHE, "torch", "bin", "python")
TOOLS = os.path.join(CACHE, "torch-tools")
LOOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ddp_loop.py")
PLAIN = "no tool"
NAMES = (PLAIN, "profwrap", "torch.profiler", "nvidia-resiliency-ext", "traceml-ai")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


class Job:
    """The ranks of one loop."""

    def __init__(self, name, folder, ranks):
        self.name, self.failed = name, ""
        where = os.path.join(folder, name)
        os.mkdir(where)
        path = os.path.join(where, "socket")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(ranks)
        self._listener.settimeout(1)
        self.running = self._start(path, where, ranks)
        self.ranks = [None] * ranks

    def connect(self):
        for number in range(len(self.ranks)):
            connection = self._accept()
            self.ranks[number] = connection.makefile("rw")
            _, _, failed = json.loads(self.ranks[number].readline())
            self.failed = self.failed or failed
        self._listener.close()

    def _accept(self):
        for _ in range(600):
            with contextlib.suppress(TimeoutError):
                return self._listener.accept()[0]
            if any(process.poll() is not None for process in self.running):
                break
        raise OSError("it did not start the training:")

    def _start(self, path, where, ranks):
        shared = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
                  "LOOP_COMPUTE_MS": str(8 / max(1, ranks / os.cpu_count()))}
        shared.pop("PYTHONPATH", None)
        loop = [LOOP, self.name, path]
        if self.name in ("nvidia-resiliency-ext", "traceml-ai"):
            shared["PYTHONPATH"] = TOOLS
            libraries = glob.glob(TOOLS + "/nvidia/*/lib/libcupti.so.12")
            if libraries:
                shared["LD_LIBRARY_PATH"] = os.path.dirname(libraries[0])
        log = open(os.path.join(where, "log"), "w", encoding="utf-8")
        options = {"cwd": where, "stdout": log, "stderr": log}
        if self.name == "traceml-ai":  # its launcher starts the ranks, and what they report to
            command = [WHEEL, "-m", "traceml_ai.launcher.cli", "run", "--nproc-per-node", str(ranks),
                       "--master-port", free_port(), "--aggregator-port", free_port(),
                       "--logs-dir", where + "/logs", LOOP, "--args", *loop[1:]]
            shared["PATH"] = os.path.dirname(WHEEL) + os.pathsep + shared["PATH"]
            return [subprocess.Popen(command, env=shared, **options)]
        command = [WHEEL, *loop]
        if self.name == "profwrap":
            command = [profwrap, "--quiet", "--no-merge", "-o", where + "/out", *command]
        shared |= {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        return [subprocess.Popen(command, **options,
                                 env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})
                for rank in range(ranks)]

    def measure(self):
        """[(wall time, processor time) of a step in ns, and the same of the fastest step] of each
        rank."""
        for lines in self.ranks:
            print(BLOCK, file=lines, flush=True)
        return [json.loads(lines.readline()) for lines in self.ranks]

    def end(self):
        for lines in filter(None, self.ranks):
            with contextlib.suppress(OSError):
                lines.close()
        for process in self.running:
            process.wait(timeout=300)


def added(rounds, name, which):
    """The added time of each round and rank, in us."""
    return [(ours[which] - plain[which]) / 1e3 for values in rounds
            for ours, plain in zip(values[name], values[PLAIN])]


def last_line(folder, name):
    with open(os.path.join(folder, name, "log"), encoding="utf-8") as file:
        return file.read().strip().rpartition("\n")[2]


def start_all(folder, ranks):
    """The jobs that can be measured. traceml-ai is started first, because it waits only for a
    limited time for a process of its own."""
    good, others = [], [name for name in NAMES if name != "traceml-ai"]
    for names in (["traceml-ai"], others):
        for job in [Job(name, folder, ranks) for name in names]:
            try:
                job.connect()
            except (OSError, ValueError) as problem:
                job.failed = f"{problem} {last_line(folder, job.name)}"
            if job.failed:
                print(f"{job.name} is not measured: {job.failed}")
                job.end()
            else:
                good.append(job)
    return sorted(good, key=lambda job: NAMES.index(job.name))


def compare(ranks, count):
    folder = tempfile.mkdtemp(prefix="profwrap-bench-")
    jobs = start_all(folder, ranks)
    rounds = []
    for number in range(count):
        turn = number % len(jobs)
        rounds.append({job.name: job.measure() for job in jobs[turn:] + jobs[:turn]})
    for job in jobs:
        job.end()
    shutil.rmtree(folder)
    work = statistics.median(plain[0] for values in rounds for plain in values[PLAIN]) / 1e6
    print(f"{ranks} ranks, {count} rounds of {BLOCK} steps; a step works for {work:.1f} ms of its 20; "
          f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for job in jobs[1:]:
        print(f"  {job.name} adds, us a step: {describe(rounds, job.name, WALL)} of wall time,"
              f" {describe(rounds, job.name, CPU)} of processor time;"
              f" to the fastest steps {describe(rounds, job.name, FASTEST + CPU)} of processor time")
    return [judge(added(rounds, "profwrap", which), f"{name} that profwrap adds, {ranks} ranks")
            for which, name in ((WALL, "wall time"), (CPU, "processor time"))]


def uncertainty(values):
    """The uncertainty of the median: half of the notch of a box plot."""
    low, _, high = statistics.quantiles(values, n=4)
    return 1.57 * (high - low) / len(values) ** 0.5


def describe(rounds, name, which):
    values = added(rounds, name, which)
    return f"{statistics.median(values):.0f} +- {uncertainty(values):.0f}"


def judge(values, what):
    """Whether the budget is kept; None if the load of the machine hides it."""
    median, unknown = (100 * value / STEP_US for value in (statistics.median(values),
                                                            uncertainty(values)))
    if unknown > BUDGET:
        print(f"{what}: {median:.2f} +- {unknown:.2f} % of 20 ms: the machine is too busy to measure "
              f"{BUDGET} %")
        return None
    return report(what, median, BUDGET, " % of 20 ms")


parser = argparse.ArgumentParser()
parser.add_argument("profwrap", type=os.path.abspath)
parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4])
parser.add_argument("--rounds", type=int, default=40)
arguments = parser.parse_args()
profwrap = arguments.profwrap
if not os.access(WHEEL, os.X_OK):
    print(f"skipped: no PyTorch in {WHEEL} (scripts/setup --torch-wheel)")
    sys.exit(measure.SKIP)
verdicts = [verdict for ranks in arguments.ranks for verdict in compare(ranks, arguments.rounds)]
sys.exit(1 if False in verdicts else measure.SKIP if None in verdicts else 0)
