"""What the merge costs: events per second, slopes in events and in ranks, memory, and that its result
does not depend on the number of processes; and what a report on 1024 ranks x 1000 steps costs.

    merge_cost.py PROFWRAP [--most-ranks N] [--run DIR]

Rates and slopes are of processor time (user and system), which other programs on the machine disturb
less than they do elapsed time; elapsed time is printed too. Files are in the page cache. With --run,
only the run in DIR is merged, on 2 processes, and reported.
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

import measure
from measure import at_least, report

h5py = measure.h5py()

ROUNDS = 3
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def sim(name, *options):
    directory = os.path.join(where, name)
    subprocess.run([profwrap, "sim", *map(str, options), directory], check=True)
    return directory


def merge(directory, processes=1, output=None):
    """(processor seconds, elapsed seconds, peak KiB of the largest process)."""
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


def merges_alike(directory, counts):
    """The number of merges, with these numbers of processes, that have the same result as the
    first."""
    results = []
    for number, processes in enumerate(counts):
        output = os.path.join(where, f"{os.path.basename(directory)}-{number}.h5")
        merge(directory, processes, output)
        results.append(contents(output))
    return sum(result == results[0] for result in results)


def same_whatever_the_processes():
    hybrid = sim("same", "-p", "hybrid", "-r", 24, "-s", 40,
                 "-f", "slow_rank:rank=5,percent=20;missing:rank=11")
    # More messages than one process holds at a time, but not more than three do; and more between
    # hosts than are used to align clocks.
    halo = sim("halo", "-p", "halo", "-r", 8, "-s", 8000, "--ranks-per-host", 1)
    same = merges_alike(hybrid, (1, 2, 3, 5, 2)) + merges_alike(halo, (1, 2, 3, 5))
    return at_least("datasets byte-identical for 1, 2, 3, 5 processes and again", same / 9, 1, 9)


def survives_a_kill():
    """A killed merge leaves no cluster.h5, and the next merge makes a complete one."""
    directory, wrong = os.path.join(where, "halo"), 0
    output = os.path.join(where, "killed.h5")
    for seconds in (0.1, 0.5, 1, 2):
        child = subprocess.Popen([profwrap, "merge", "-o", output, directory], env=ENVIRONMENT)
        time.sleep(seconds)
        killed = child.poll() is None
        child.send_signal(signal.SIGKILL)
        child.wait()
        wrong += killed and os.path.exists(output)
        if not killed:
            os.remove(output)
    merge(directory, 1, output)
    wrong += contents(output) != contents(os.path.join(where, "halo-0.h5"))
    return report("wrong results after a kill", wrong, 0)


def slope(kind, sizes, *shape):
    """Merges runs of 1 step and of both sizes, and prints the costs. Returns the ratio of the two
    sizes' processor times without start and end, the rate of the additional events, and the number
    of events in the larger run."""
    runs = [sim(f"{kind}{steps}", "-s", steps, *shape) for steps in (1, *sizes)]
    none, a, b = (median_merge(run) for run in runs)
    few, many = count_events(runs[1]), count_events(runs[2])
    for events, cost in ((few, a), (many, b)):
        print(f"{events} events of 64 ranks, {kind}: {cost[0]:.2f} s of processor, {cost[1]:.2f} s "
              f"elapsed, {cost[2] / 1024:.0f} MiB; {2e-6 * events / cost[0]:.2f} million events/s on 2 "
              f"processes, all counted")
    print(f"start and end alone: {none[0]:.2f} s of processor")
    print(f"memory: {(b[2] - a[2]) * 1024 / (many - few):.2f} bytes an event more")
    return ((b[0] - none[0]) / (a[0] - none[0]), 2e-6 * (many - few) / (b[0] - a[0]), many)


def events_slope():
    times, rate, many = slope("collectives", (500, 1000), "-r", 64, "-c", 32, "--step-us", 8000)
    ok = report("doubling events: processor time without start and end", times, 2.1, " x")
    return ok & at_least("million events/s on 2 processes (2 x rate of one)", rate, 5, many)


def messages_slope():
    """The cost per event in runs that take several rounds of messages."""
    times, rate, many = slope("halo", (4000, 8000), "-r", 64, "-p", "halo")
    print(f"a halo event more: {rate:.2f} million/s on 2 processes")
    return report("doubling a halo run: processor time without start and end", times, 2.1, " x")


def ranks_slope(most):
    sizes = [size for size in (256, 512, 1024, 2048, 4096, 8192, 16384) if size <= most]
    runs, times = {}, {}
    for size in sizes:
        runs[size] = sim(f"ranks{size}", "-r", size, "-s", 2, "-c", 1, "--ranks-per-host", 16)
        times[size], elapsed, peak = merge(runs[size])
        print(f"{size} rank files: {times[size]:.2f} s of processor, "
              f"{1e3 * times[size] / size:.2f} ms a file, {elapsed:.2f} s elapsed, "
              f"{peak / 1024:.0f} MiB", flush=True)
    # In turn: a machine that changes its speed changes it for both.
    ratios = [merge(runs[sizes[-1]])[0] / merge(runs[sizes[-2]])[0] for _ in range(ROUNDS)]
    print("doubling to the largest, in turn: " + ", ".join(f"{ratio:.2f} x" for ratio in ratios))
    ok = report("doubling ranks: processor time, at the largest", statistics.median(ratios), 2.1, " x")
    return ok & report(f"memory at {sizes[-1]} ranks", peak / 1024, 512, " MiB")


def report_cost(cluster):
    """The cost of both reports that the end of a run writes."""
    ok = True
    for form in ("text", "json"):
        start = time.monotonic()
        child = subprocess.Popen([profwrap, "report", "--full", "--format", form, cluster],
                                 stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        assert status == 0
        spent = usage.ru_utime + usage.ru_stime
        print(f"report --format {form}: {time.monotonic() - start:.2f} s elapsed")
        ok &= report(f"report --format {form}: processor time", spent, 2, " s")
        ok &= report(f"report --format {form}: memory", usage.ru_maxrss / 1024, 512, " MiB")
    return ok


def large_report():
    directory = sim("report", "-r", 1024, "-s", 1000, "-c", 1, "--ranks-per-host", 64,
                    "-f", "slow_rank:rank=77,steps=100-300,phase=backward,percent=20")
    spent, elapsed, peak = merge(directory)
    print(f"merge of 1024 ranks x 1000 steps, {count_events(directory)} events: {spent:.1f} s of "
          f"processor, {elapsed:.1f} s elapsed")
    return report("memory of that merge", peak / 1024, 200, " MiB") & report_cost(directory)


def given_run(directory):
    output = os.path.join(where, "cluster.h5")
    spent, elapsed, peak = merge(directory, 2, output)
    with h5py.File(output) as file:
        events, stragglers = int(file["ranks"]["events"].sum()), file["stragglers"]["rank"].tolist()
    print(f"{events} events, {64e-9 * events:.1f} GB of records: {spent:.1f} s of processor, "
          f"{elapsed:.1f} s elapsed; stragglers {stragglers}")
    ok = at_least("million events/s of 2 processes' processor time", 2e-6 * events / spent, 5, events)
    return ok & report("memory of the larger process", peak / 1024, 512, " MiB") & report_cost(output)


parser = argparse.ArgumentParser()
parser.add_argument("profwrap")
parser.add_argument("--most-ranks", type=int, default=2048)
parser.add_argument("--run")
options = parser.parse_args()
profwrap = os.path.abspath(options.profwrap)
with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as where:
    if options.run:
        good = given_run(options.run)
    else:
        good = same_whatever_the_processes()
        good &= survives_a_kill()
        good &= events_slope()
        good &= messages_slope()
        good &= large_report()
        good &= ranks_slope(options.most_ranks)
sys.exit(0 if good else 1)
