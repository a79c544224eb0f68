"""Advice about runs of the training example, with and without a slow data loader of one rank."""

import json
import os
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
        h.check(0.3e9 < found[0]["saves_ns"] < report["job"]["run_ns"], "saves", found[0]["saves_ns"])
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


sys.exit(h.main(sys.argv[1:]))
