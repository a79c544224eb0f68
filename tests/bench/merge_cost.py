"""What the merge costs: events per second, slopes in events and in ranks, memory, and that its result
does not depend on the number of processes.

    merge_cost.py PROFWRAP [--most-ranks N]

Rates and slopes are of processor time (user and system), which other programs on the machine disturb
less than they do elapsed time; elapsed time is printed too. Files are in the page cache.
"""
import argparse
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import h5py

from measure import at_least, report

ROUNDS = 3
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def sim(name, *options):
    directory = os.path.join(where, name)
    subprocess.run([profwrap, "sim", *map(str, options), directory], check=True)
    return directory


def merge(directory, processes=1, output=None):
    """(processor seconds, elapsed seconds, peak KiB of the largest process)"""
    command = [profwrap, "merge"] + (["-o", output] if output else []) + [directory]
    if processes > 1:
        command = ["mpirun", "-np", str(processes)] + command
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = subprocess.Popen(command, env=ENVIRONMENT)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, time.monotonic() - start, usage.ru_maxrss


def median_merge(directory):
    runs = [merge(directory) for _ in range(ROUNDS)]
    return tuple(statistics.median(column) for column in zip(*runs))


def count_events(directory):
    with h5py.File(os.path.join(directory, "cluster.h5")) as file:
        return int(file["ranks"]["events"].sum())


def contents(path):
    with h5py.File(path) as file:
        return {name: file[name][()].tobytes() for name in file
                if isinstance(file[name], h5py.Dataset)}


def same_whatever_the_processes():
    directory = sim("same", "-p", "hybrid", "-r", 24, "-s", 40,
                    "-f", "slow_rank:rank=5,percent=20;missing:rank=11")
    results = []
    for processes in (1, 2, 3, 5):
        output = os.path.join(where, f"p{processes}.h5")
        merge(directory, processes, output)
        results.append(contents(output))
    merge(directory, 2, os.path.join(where, "again.h5"))
    results.append(contents(os.path.join(where, "again.h5")))
    same = sum(result == results[0] for result in results)
    return at_least("datasets byte-identical for 1, 2, 3, 5 processes and again", same / 5, 1, 5)


def survives_a_kill():
    """A killed merge leaves no cluster.h5, and the next one makes it whole."""
    directory = os.path.join(where, "same")
    output = os.path.join(where, "killed.h5")
    child = subprocess.Popen([profwrap, "merge", "-o", output, directory], env=ENVIRONMENT)
    time.sleep(0.3)
    child.send_signal(signal.SIGKILL)
    child.wait()
    partial = os.path.exists(output)
    merge(directory, 1, output)
    whole = contents(output) == contents(os.path.join(where, "p1.h5"))
    return report("wrong results after a kill", int(partial) + int(not whole), 0)


def events_slope():
    small = sim("events", "-r", 8, "-s", 2000, "-c", 8, "--step-us", 2000)
    large = sim("events2", "-r", 8, "-s", 4000, "-c", 8, "--step-us", 2000)
    base = sim("events0", "-r", 8, "-s", 1, "-c", 8)
    none, a, b = median_merge(base), median_merge(small), median_merge(large)
    events = count_events(large)
    print(f"{events} events: {b[0]:.2f} s of processor, {b[1]:.2f} s elapsed, "
          f"{b[2] / 1024:.0f} MiB; {count_events(small)}: {a[0]:.2f} s; start and end alone: "
          f"{none[0]:.2f} s")
    ok = report("doubling events: processor time without start and end",
                (b[0] - none[0]) / (a[0] - none[0]), 2.1, " x")
    rate = (count_events(large) - count_events(small)) / (b[0] - a[0]) / 1e6
    ok &= at_least("million events/s on 2 processes (2 x rate of one)", 2 * rate, 5, events)
    return ok


def ranks_slope(most):
    sizes = [size for size in (256, 512, 1024, 2048, 4096, 8192, 16384) if size <= most]
    times, peaks = [], []
    for size in sizes:
        directory = sim(f"ranks{size}", "-r", size, "-s", 2, "-c", 1, "--ranks-per-host", 16)
        spent, elapsed, peak = merge(directory)
        times.append(spent)
        peaks.append(peak / 1024)
        print(f"{size} rank files: {spent:.2f} s of processor, {1e3 * spent / size:.2f} ms a file, "
              f"{elapsed:.2f} s elapsed, {peak / 1024:.0f} MiB")
    ok = report("doubling ranks: processor time, at the largest", times[-1] / times[-2], 2.1, " x")
    return ok & report(f"memory at {sizes[-1]} ranks", peaks[-1], 512, " MiB")


parser = argparse.ArgumentParser()
parser.add_argument("profwrap")
parser.add_argument("--most-ranks", type=int, default=2048)
options = parser.parse_args()
profwrap = os.path.abspath(options.profwrap)
with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as where:
    good = same_whatever_the_processes()
    good &= survives_a_kill()
    good &= events_slope()
    good &= ranks_slope(options.most_ranks)
sys.exit(0 if good else 1)
