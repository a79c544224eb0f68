"""Advice about runs of the training example, with and without a slow data loader of one rank; and about
a Python program of which one rank collects garbage."""

import json
import os
import re
import sys

import harness as h

RULES = {"data_processing_slow", "data_transfer_slow"}


def train(*options):
    """The report of 2 ranks with steps of about 30 ms."""
    h.run(h.mpirun(2, *h.profwrap("--quiet", "-o", "out"), h.place("TRAIN"), "--pace", 10,
                   "--steps", 40, *options))
    with open(os.path.join("out", "report.json")) as file:
        return json.load(file)


def data_advice(report):
    return [row for row in report["advice"] if row["rule"] in RULES]


@h.case
def slow_loader():
    report = train("--inject", "rank=1,phase=data,ms=20")
    found = data_advice(report)
    h.equal([(row["rule"], row["ranks"]) for row in found], [("data_processing_slow", [1])],
            "advice about data")
    h.check("'load text'" in found[0]["text"] and "'batches'" in found[0]["evidence"], found)
    # 20 ms in each of 40 steps, less what the other rank takes longer meanwhile. A machine that pauses
    # the loader makes it more; where other programs take the CPUs, the saving may not be known.
    if not h.is_short_of_cpus(report):
        saves = found[0]["saves_ns"]
        h.check(saves is not None and 0.3e9 < saves < report["job"]["run_ns"], "saves", saves, report["stragglers"])
    h.equal(report["data_pipeline"]["ranks_slow"], [1], "ranks whose loader is slow")
    queue = {row["rank"]: row for row in report["data_pipeline"]["ranks"]}[1]
    h.check(queue["steps_empty"] >= 38, "steps that found the queue empty", queue)


@h.case
def quick_loader():
    report = train()
    h.equal(data_advice(report), [], "advice about data")
    (queue,) = report["data_pipeline"]["queues"]
    h.equal((queue["queue"], queue["side"], queue["filled_by"], queue["capacity"]),
            ("batches", "host", "load text", 4), "the loader's queue")
    h.check(queue["usage"] > 0.5 and queue["empty_share"] < 0.3, queue)


@h.case
def what_processes_used():
    report = train()
    rows = report["utilisation"]["ranks"]
    h.equal([row["rank"] for row in rows], [0, 1], "ranks")
    for row in rows:
        h.check(row["samples"] >= 3 and row["span_ns"] > 0.3e9, row)
        h.check(0 < row["cpu_user_share"] + row["cpu_sys_share"] < 3, row)
        h.check(1e6 < row["rss_max_bytes"] < 1e9 and row["threads_max"] >= 2, row)
    series = [row for row in report["utilisation"]["series"] if row["rank"] == 1]
    h.check(3 <= len(series) <= 200, len(series), "points of series")
    h.check(all(a["time_ns"] < b["time_ns"] for a, b in zip(series, series[1:])), "times", series)
    memory = {row["rank"]: row for row in report["memory"]}
    h.check(set(memory) == {0, 1} and memory[0]["what"] == "rss", memory)
    h.check(20 <= memory[0]["steps"] <= 40 and memory[0]["peak_bytes"] >= memory[0]["end_bytes"] > 0,
            memory)


# All ranks hold the same objects, and make 100 cycles of garbage a step. By the library's handle, as
# ctypes gives its functions, the calls would not be recorded; the program's own come from the probe.
COLLECTS = """
import ctypes, gc, os, profwrap, sys
library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
world = ctypes.byref(ctypes.c_char.in_dll(library, "ompi_mpi_comm_world"))
mpi, rank = ctypes.CDLL(None), ctypes.c_int()
gc.disable()
held, found = [[] for _ in range(300000)], []
gc.collect()
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Barrier(world)
for step in range(20):
    profwrap.step(step)
    for _ in range(100):
        cycle = []
        cycle.append(cycle)
    if rank.value == 1:
        found.append(gc.collect())
    mpi.MPI_Barrier(world)
profwrap.step(profwrap.NO_STEP)
mpi.MPI_Finalize()
if rank.value == 1:
    print(*found)
"""


def collections_in_steps(rank):
    """Those that are longer than 1 ms, each a row of its own."""
    file = h.open_complete("out", rank)
    until = int(file["steps"]["end"][-1])
    from_ns = int(file["steps"]["start"][0])
    rows = file["events/runtime"][:] if "events/runtime" in file else []
    return [row for row in rows if from_ns <= row["start"] < until and row["generation"] >= 0]


@h.case
def garbage_of_one_rank():
    done = h.run(h.mpirun(2, *h.profwrap("--quiet", "-o", "out"), sys.executable, "-c", COLLECTS,
                          h.mpi_library()))
    found = [int(word) for word in done.stdout.split()]
    h.equal(found[1:], [100] * 19, "objects that the program's collections found")
    rows = collections_in_steps(1)
    h.equal([int(row["collected"]) for row in rows], found, "objects of the rows")
    h.equal({(int(row["generation"]), int(row["count"])) for row in rows}, {(2, 1)}, "generations")
    h.check(all(row["total_ns"] == row["end"] - row["start"] >= 1e6 for row in rows), rows)
    h.equal(len(collections_in_steps(0)), 0, "of the other rank")
    with open(os.path.join("out", "report.json")) as file:
        report = json.load(file)
    causes = {row["rank"]: row["cause"] for row in h.accused(report, 0.2) if row["part"] == "any"}
    if h.is_short_of_cpus(report, 50):
        return  # other programs make ranks late
    if causes.get(1) in h.SEEN_BY_THE_KERNEL:
        return  # they took the rank's CPU, which lengthens its collections
    h.equal(causes.pop(1, None), "garbage_collection", "named")
    h.check(set(causes.values()) <= set(h.SEEN_BY_THE_KERNEL), causes)
    (advice,) = [row for row in report["advice"] if row["rule"] == "garbage_collection"]
    h.check("gc.freeze() after set-up" in advice["text"] and advice["ranks"] == [1], advice)
    h.check(re.search(r"collected garbage for [0-9.]+ m?s, in [0-9]+ collections? of 1 ms or more, "
                      "the other ranks' median 0 ns", advice["evidence"]), advice)


SAVES = """
import ctypes, profwrap, sys, time
from profwrap import _pauses
library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
world = ctypes.byref(ctypes.c_char.in_dll(library, "ompi_mpi_comm_world"))
mpi, rank = ctypes.CDLL(None), ctypes.c_int()
save = _pauses._measured(lambda: time.sleep(0.1), _pauses.CHECKPOINT)
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Barrier(world)
for step in range(40):
    profwrap.step(step)
    time.sleep(0.01)
    if rank.value == 1 and step % 10 == 9:
        save()
    mpi.MPI_Barrier(world)
profwrap.step(profwrap.NO_STEP)
mpi.MPI_Finalize()
"""


@h.case
def checkpoints_of_one_rank():
    h.run(h.mpirun(2, *h.profwrap("--quiet", "-o", "out"), sys.executable, "-c", SAVES, h.mpi_library()))
    rows = [row for row in h.open_complete("out", 1)["events/runtime"][:] if row["kind"] == 2]
    h.equal([int(row["count"]) for row in rows], [1] * 4, "checkpoints")
    with open(os.path.join("out", "report.json")) as file:
        report = json.load(file)
    causes = {row["rank"]: row["cause"] for row in h.accused(report, 0.2) if row["part"] == "any"}
    if h.is_short_of_cpus(report, 50) or causes.get(1) in h.SEEN_BY_THE_KERNEL:
        return  # other programs make ranks late
    h.equal(causes.pop(1, None), "checkpoint", "named")
    (advice,) = [row for row in report["advice"] if row["rule"] == "checkpoint"]
    h.check(re.search(r"wrote checkpoints for [0-9.]+ ms, in 4 checkpoints of 1 ms or more, the other ranks' median "
                      "0 ns", advice["evidence"]), advice)


sys.exit(h.main(sys.argv[1:]))
