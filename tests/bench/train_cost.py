"""Slowdown of a whole training by profwrap, and bytes on disk per event.

    train_cost.py PROFWRAP TRAIN

A plain and a profiled training run beside each other, and take turns: all processes of one are
stopped (SIGSTOP) while the other goes on for a quarter of a second. A machine whose speed changes
by half for seconds or minutes then changes both alike, which whole runs one after the other do not:
their pairs differ by 5 %. What is compared is the time of a step, turn by turn.

What a run costs once (start, end, the file) is measured apart, by pairs of short whole runs; the
merge is a job of its own.
"""
import glob
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import measure
from measure import report, spread

h5py = measure.h5py()

RANKS, TURNS, TURN_SECONDS, SHORT_RUNS, STEPS = "2", 400, 0.25, 15, "600"
profwrap, train = sys.argv[1:3]


class Training:
    """A training that runs until it is ended, and only in its turns."""

    def __init__(self, command, where, name):
        self.output = open(os.path.join(where, name), "w+b")
        self.job = subprocess.Popen(["mpirun", "-np", RANKS] + command + [train, "--steps", "9999999"],
                                    cwd=where, stdout=self.output, stderr=subprocess.DEVNULL)
        self.read = 0
        self.wait_for_steps(50)
        self.processes = self.tree(self.job.pid)
        self.send(signal.SIGSTOP)

    @staticmethod
    def tree(parent):
        found = []
        for path in glob.glob(f"/proc/{parent}/task/*/children"):
            with open(path) as file:
                for child in map(int, file.read().split()):
                    found += [child] + Training.tree(child)
        return found

    def send(self, number):
        for process in self.processes:
            os.kill(process, number)

    def steps(self):
        """The number of lines since the last call."""
        text = os.pread(self.output.fileno(), 1 << 24, self.read)
        self.read += len(text)
        return text.count(b"\n")

    def wait_for_steps(self, wanted):
        limit, seen = time.monotonic() + 60, 0
        while seen < wanted and time.monotonic() < limit and self.job.poll() is None:
            time.sleep(0.05)
            seen += self.steps()
        if seen < wanted:
            sys.exit("the training does not get on")

    def turn(self):
        """The seconds per step in a turn."""
        start = time.monotonic()
        self.send(signal.SIGCONT)
        time.sleep(TURN_SECONDS)
        self.send(signal.SIGSTOP)
        took = time.monotonic() - start
        time.sleep(0.03)  # mpirun passes on what was printed
        return took / self.steps()

    def end(self):
        self.send(signal.SIGCONT)
        self.job.terminate()
        self.job.wait()


def slowdown(where):
    plain = Training([], where, "plain")
    profiled = Training([profwrap, "--quiet", "--no-merge", "-o", "turns"], where, "profiled")
    pairs, each = [], ([], [])
    for i in range(TURNS):
        for job in (0, 1) if i % 2 else (1, 0):
            each[job].append((plain, profiled)[job].turn())
        if i:  # the first turns warm up
            pairs.append(100 * (each[1][-1] / each[0][-1] - 1))
    profiled.end()
    plain.end()
    print(f"a step takes {1e3 * statistics.median(each[0]):.2f} ms; slowdown {spread(pairs)} % in "
          f"{len(pairs)} pairs of turns")
    return statistics.median(pairs)


def whole(command, where, steps):
    start = time.monotonic()
    subprocess.run(["mpirun", "-np", RANKS] + command + [train, "--steps", steps], cwd=where,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def once(where):
    pairs = []
    for i in range(SHORT_RUNS):
        ours = [profwrap, "--quiet", "--no-merge", "-o", f"short{i}"]
        order = ([], ours) if i % 2 else (ours, [])
        times = {bool(command): whole(command, where, "20") for command in order}
        pairs.append(1e3 * (times[True] - times[False]))
    print(f"once per run, start, end and file: {spread(pairs)} ms")
    return statistics.median(pairs)


def bytes_per_event(where):
    whole([profwrap, "--quiet", "--no-merge", "-o", "size"], where, STEPS)
    events = size = 0
    for path in glob.glob(os.path.join(where, "size", "rank-*.h5")):
        size += os.path.getsize(path)
        with h5py.File(path) as file:
            events += len(file["events/comm"]) + len(file["events/range"])
    print(f"{events} events in {STEPS} steps")
    return size / events


with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as where:
    loop = slowdown(where)
    fixed = once(where)
    per_event = bytes_per_event(where)
print(f"a training of a minute: {loop + fixed / 600:+.2f} % as a whole")
ok = report("training, slowdown of a step (median of pairs of turns)", loop, 1.0, " %")
ok &= report("training of a minute, slowdown as a whole", loop + fixed / 600, 1.0, " %")
ok &= report("bytes on disk per event", per_event, 12.0)
sys.exit(0 if ok else 1)
