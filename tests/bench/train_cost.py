"""Slowdown of a whole training by profwrap, and bytes on disk per event.

    train_cost.py PROFWRAP TRAIN

Pairs of runs, plain and profiled, each as the training's own loop time and as the whole command; the
profiled run includes everything but the merge, which is a job of its own.
"""
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

import h5py

from measure import report, spread

ROUNDS, RANKS, STEPS = 24, "2", "600"
profwrap, train = sys.argv[1:3]


def timed(command, where):
    start = time.monotonic()
    done = subprocess.run(["mpirun", "-np", RANKS] + command + [train, "--steps", STEPS, "--timing"],
                          cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True,
                          text=True)
    whole = time.monotonic() - start
    loop = [float(word) for line in done.stderr.splitlines() if "second" in line or "loop" in line
            for word in line.replace("s", " ").split() if word.replace(".", "", 1).isdigit()]
    return whole, loop[0] if loop else None


def events_and_bytes(directory):
    events = size = 0
    for path in glob.glob(os.path.join(directory, "rank-*.h5")):
        size += os.path.getsize(path)
        with h5py.File(path) as file:
            events += len(file["events/comm"]) + len(file["events/range"])
    return events, size


whole, loop, per_event, loops = [], [], [], ([], [])
with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as where:
    for i in range(ROUNDS):
        ours = [profwrap, "--quiet", "--no-merge", "-o", f"out{i}"]
        # Now one first and now the other: a machine that slows down favours neither.
        first, second = timed(ours if i % 2 else [], where), timed([] if i % 2 else ours, where)
        plain, profiled = (second, first) if i % 2 else (first, second)
        whole.append(100 * (profiled[0] / plain[0] - 1))
        if plain[1] and profiled[1]:
            loop.append(100 * (profiled[1] / plain[1] - 1))
            loops[0].append(plain[1])
            loops[1].append(profiled[1])
        events, size = events_and_bytes(os.path.join(where, f"out{i}"))
        per_event.append(size / events)
print(f"whole command: +{spread(whole)} % of {plain[0]:.2f} s; {events} events a run")
quick = [statistics.quantiles(times, n=4)[0] for times in loops]
print(f"training loop: +{spread(loop)} % in {len(loop)} pairs; the quickest quarters' ends "
      f"{quick[0]:.3f} and {quick[1]:.3f} s: {100 * (quick[1] / quick[0] - 1):+.2f} %")
ok = report("training loop, slowdown (median of pairs)", statistics.median(loop), 1.0, " %")
ok &= report("bytes on disk per event", statistics.median(per_event), 12.0)
sys.exit(0 if ok else 1)
