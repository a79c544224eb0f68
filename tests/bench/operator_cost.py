"""What operators cost the merge: 10^7 ranges of one rank, the slope in ranges, and a million names.

    operator_cost.py PROFWRAP

Times are of processor time (user and system) of the whole merge, on one process; elapsed time is
printed too. Files are in the page cache.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import measure
from measure import report

h5py = measure.h5py()
import numpy as np  # noqa: E402

ROUNDS = 3
# Some 6800 ranges in a step: blocks, frames, operators and what they call.
SHAPE = ["-r", "1", "-n", "5", "--step-us", "100000", "--operators", "1000"]


def sim(name, *options):
    directory = os.path.join(where, name)
    subprocess.run([profwrap, "sim", *map(str, options), directory], check=True)
    return directory


def merge_once(directory):
    """(processor seconds, elapsed seconds, peak MiB)."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = subprocess.Popen([profwrap, "merge", "-q", directory])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, directory
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, time.monotonic() - start, usage.ru_maxrss / 1024


def merge(directory):
    return [statistics.median(column) for column in zip(*(merge_once(directory)
                                                          for _ in range(ROUNDS)))]


def ranges_of(directory):
    with h5py.File(os.path.join(directory, "rank-00000.h5")) as file:
        return len(file["events/range"])


def ranges_slope():
    few, many = sim("few", "-s", 750, *SHAPE), sim("many", "-s", 1500, *SHAPE)
    none = merge(sim("none", "-s", 1, *SHAPE))
    costs = {}
    for directory in (few, many):
        n, costs[directory] = ranges_of(directory), merge(directory)
        print(f"{n} ranges: {costs[directory][0]:.2f} s of processor, {costs[directory][1]:.2f} s "
              f"elapsed, {costs[directory][2]:.0f} MiB")
    a, b, n = costs[few], costs[many], ranges_of(many)
    ok = report("merging 10^7 ranges of one rank", b[0] * 1e7 / n, 3, " s")
    ok &= report("doubling ranges: processor time without start and end",
                 (b[0] - none[0]) / (a[0] - none[0]), 2.1, " x")
    return ok & report("memory that doubling ranges adds", b[2] - a[2], 4, " MiB")


def million_names():
    """A program that puts the number of the iteration into each name."""
    directory = sim("names", "-s", 160, *SHAPE)
    with h5py.File(os.path.join(directory, "rank-00000.h5"), "r+") as file:
        names = 1000000
        del file["strings"]
        kind = h5py.string_dtype("utf-8")
        texts = [""] + [f"iteration-{i}" for i in range(1, names)]
        file.create_dataset("strings", data=np.array(texts, dtype=object), dtype=kind)
        rows = file["events/range"][()]
        rows["name"] = np.arange(len(rows)) % names
        rows["category"] = rows["shapes"] = 0
        file["events/range"][...] = rows
    spent, elapsed, peak = merge_once(directory)
    print(f"a million names, {len(rows)} ranges: {elapsed:.2f} s elapsed, {peak:.0f} MiB")
    with h5py.File(os.path.join(directory, "cluster.h5")) as file:
        operators = file["operators"][()]
    whole = operators["calls"].sum() == len(rows)
    size = os.path.getsize(os.path.join(directory, "cluster.h5")) / 1e6
    start = time.monotonic()
    for kind in ("text", "json", "csv", "folded"):
        subprocess.run([profwrap, "report", "--full", "--format", kind, directory], check=True,
                       stdout=subprocess.DEVNULL)
    print(f"cluster.h5: {size:.1f} MB, {len(operators)} operators; four reports "
          f"{time.monotonic() - start:.2f} s")
    ok = report("merging a million names", spent, 10, " s")
    ok &= report("memory of a million names", peak, 1024, " MiB")
    return ok & report("calls that the table lost", 0 if whole else 1, 0)


profwrap = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as where:
    good = ranges_slope()
    good &= million_names()
sys.exit(0 if good else 1)
