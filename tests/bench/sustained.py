"""What sustained recording and large merges cost: each figure beside its goal, the figure of an earlier
version, and a peer's of the same run.

    sustained.py PROFWRAP MPICALLS SLOWFS AGREEHOSTS     PROFWRAP_OSU_DIR, PROFWRAP_BENCH_HTA: as in
                                                         osu_cost.py and import_cost.py

The earlier version is 7fdf5f6, on an idle machine with 2 cores. The peers are EZTrace for MPI calls and
HolisticTraceAnalysis for imports; the merge and its page have none that runs here. It takes half an hour;
the machine should do nothing else.
"""
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import measure

h5py = measure.h5py()
ROUNDS = 5
BURST = ["self", "125000", "0"]  # 3 million calls, without a pause
MILLION_A_SECOND = ["self", "40000", "40"]
FEW = ["self", "1", "0"]
LARGE = ["-r", "1024", "-s", "1000", "--ranks-per-host", "64"]  # 9 events a step
MANY_FILES = ["-r", "16384", "-s", "2", "-c", "1", "--ranks-per-host", "16"]

profwrap, mpicalls, slowfs, agreehosts = (os.path.abspath(path) for path in sys.argv[1:5])
first, last = (f"{core}" for core in (lambda cores: (cores[0], cores[-1]))(sorted(os.sched_getaffinity(0))))
table = []


def show(figure, before, now, goal="", peer=""):
    table.append((figure, before, now, goal, peer))
    print("  ".join(part for part in table[-1] if part), flush=True)


def judged(figure, before, value, goal, unit="", peer="", at_least=False):
    """A figure with its goal: the most that it may be, or the least."""
    met = value >= goal if at_least else value <= goal
    show(figure, before, f"{value:.3g}{unit}",
         f"{'at least' if at_least else 'at most'} {goal:g}{unit}: {'met' if met else 'NOT MET'}", peer)


def children():
    """The processor time of all processes that ended, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# ---- recording ----


def recorded(options, calls):
    """What mpicalls printed, the share of records that the run dropped, its rows, and the processor time
    of all but the program in ns."""
    where = tempfile.mkdtemp(prefix="profwrap-bench-")
    out, taken = os.path.join(where, "out"), os.path.join(where, "taken")
    inner = ("import os, subprocess, sys; s = subprocess.run(sys.argv[2:]).returncode; t = os.times(); "
             "open(sys.argv[1], 'w').write(str(t.children_user + t.children_system)); sys.exit(s)")
    before = children()
    try:
        done = subprocess.run(
            ["taskset", "-c", f"{first},{last}", profwrap, "--quiet", "--no-merge", "--sample-hz", "0",
             *options, "-o", out, "taskset", "-c", last, sys.executable, "-c", inner, taken, mpicalls, *calls],
            check=True, text=True, stdout=subprocess.PIPE)
        spent = children() - before
        with h5py.File(os.path.join(out, "rank-00000.h5")) as file:
            events, dropped = len(file["events/comm"]), int(file.attrs["dropped_events"])
        with open(taken) as file:
            spent -= float(file.read())
        return measure.figures(done.stdout), dropped / (events + dropped), events, 1e9 * spent
    finally:
        shutil.rmtree(where)


def traced(calls):
    """The ns that EZTrace adds to a call; None where there is no EZTrace."""
    if not shutil.which("eztrace"):
        return None
    return measure.figures(measure.run(["mpirun", "-np", "1", "--bind-to", "none", "eztrace", "-t", "openmpi",
                                        "-o", "ez", "taskset", "-c", last, mpicalls, *calls],
                                       quiet=True))["added_ns"]


def median(rows, name):
    return statistics.median(row[name] for row in rows)


def an_event(row, few):
    """The processor time of the collector for an event, without that for its start and end, ns."""
    return (row[3] - few[3]) / (row[2] - few[2])


def recording():
    bursts, peers, waits, worst, paced, few = [], [], [], [], [], []
    for _ in range(ROUNDS):
        few.append(recorded([], FEW))
        bursts.append(recorded([], BURST))
        peers.append(traced(BURST))
        waits.append(recorded(["--on-full", "wait"], BURST))
        worst.append(recorded(["--on-full", "wait"], ["worst", "3000000"])[0])
        paced.append(recorded([], MILLION_A_SECOND))
    peer = f"EZTrace {statistics.median(peers):.0f} ns" if None not in peers else "no EZTrace here"
    judged("3 M all-reduces without a pause, dropped", "65-73 %",
           100 * statistics.median(row[1] for row in bursts), 0, " %")
    judged("  added to a call", "", median([row[0] for row in bursts], "added_ns"), 100, " ns", peer)
    judged("  with --on-full wait, added to a call", "600-933 ns",
           median([row[0] for row in waits], "added_ns"), 100, " ns", peer)
    judged("  with --on-full wait, longest call", "18-41 ms", median(worst, "worst_ns") / 1e6, 1, " ms",
           f"of calls without a tool, in turn: {median(worst, 'plain_worst_ns') / 1e6:.3g} ms")
    for what, before, rows in ("of a burst", "660-870 ns", bursts), ("at 1 M/s", "", paced):
        judged(f"collector, an event {what}", before, statistics.median(map(an_event, rows, few)), 120, " ns")


# ---- other benchmarks ----


def bench(name, *arguments):
    """Prints and returns the output of another benchmark; None when it was skipped, and the reason."""
    script = os.path.join(measure.HERE, f"{name}.py")
    done = subprocess.run([sys.executable, "-B", script, *arguments], text=True, stdout=subprocess.PIPE)
    print(done.stdout, flush=True)
    skipped = re.search(r"^skipped: (.*)$", done.stdout, re.M)
    return (None, skipped.group(1)) if skipped else (done.stdout, "")


def osu():
    before = {"osu_latency": "1 KiB: 1.51 of 0.45 us, 4 KiB: 1.59 of 0.28 us"}
    text, why = bench("osu_cost", profwrap)
    for program in ("osu_latency", "osu_allreduce", "osu_bw", "osu_mbw_mr"):
        what = f"{program}, added / EZTrace's, worst size"
        if text is None:
            show(what, before.get(program, ""), f"not measured: {why}", "at most 0.5")
            continue
        worst = re.search(rf"^{program}: largest added.*?: ([\d.]+)", text, re.M)
        judged(what, before.get(program, ""), float(worst.group(1)), 0.5, peer="EZTrace: 1")


def start():
    text, _ = bench("start_cost", profwrap, mpicalls, slowfs, agreehosts)
    took = re.search(r"^start and end of 10 000 ranks.*?: ([\d.]+) s", text, re.M)
    judged("start and end, 10 000 ranks, 1 ms an operation", "over 10 s", float(took.group(1)), 5, " s")


def imports():
    text, _ = bench("import_cost", profwrap)
    for what, ratio in re.findall(r"^HTA, (.*?) \(.*?([\d.]+) without HTA's start", text, re.M):
        judged(f"import, merge, report: {what}, times as fast", "4.4-6.4", float(ratio), 20, peer="HTA: 1",
               at_least=True)
    if "HTA: not compared" in text:
        show("import, merge, report, times as fast", "4.4-6.4",
             "not measured: PROFWRAP_BENCH_HTA names no Python with HTA", "at least 20")


# ---- merge and page ----


def spent(command):
    """Processor time and elapsed time in seconds, and the memory of the largest process in MiB."""
    before, began = children(), time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return children() - before, time.monotonic() - began, usage.ru_maxrss / 1024


def medians(command, rounds=ROUNDS):
    return [statistics.median(column) for column in zip(*(spent(command) for _ in range(rounds)))]


def merging(where):
    run, files = os.path.join(where, "large"), os.path.join(where, "files")
    subprocess.run([profwrap, "sim", *LARGE, run], check=True, stdout=subprocess.DEVNULL)
    took, _, memory = medians([profwrap, "merge", run])
    with h5py.File(os.path.join(run, "cluster.h5")) as file:
        events = int(file["ranks"]["events"].sum())
    judged("merge, 1024 x 1000, M events/s of a core", "0.78", events / took / 1e6, 5, at_least=True)
    _, elapsed, _ = medians(["mpirun", "-np", "2", profwrap, "merge", run])
    judged("  2 processes, M events/s elapsed", "", events / elapsed / 1e6, 5, at_least=True)
    judged("  memory of one process", "401 MiB", memory, 200, " MiB")
    page = os.path.join(where, "page.html")
    judged("page (HTML) of that run, processor time", "2.5 s",
           medians([profwrap, "report", "--format", "html", "-o", page, run])[0], 0.5, " s")
    subprocess.run([profwrap, "sim", *MANY_FILES, files], check=True, stdout=subprocess.DEVNULL)
    judged("merge, 16384 files, processor time a file", "1.4-1.6 ms",
           1e3 * medians([profwrap, "merge", files], 3)[0] / 16384, 0.3, " ms")


def print_table():
    heads = ("figure", "at 7fdf5f6", "now", "goal", "peer")
    print("\n" + "\n".join("| " + " | ".join(line) + " |"
                           for line in (heads, ("---",) * len(heads), *table)))


recording()
with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as folder:
    merging(folder)
imports()
start()
osu()
print_table()
sys.exit(0 if not any("NOT MET" in line[3] for line in table) else 1)
