"""Some ranks run without profwrap. The others do not wait for them in MPI_Init, and the merge says
which ranks are missing."""

import json
import os
import subprocess
import sys

import harness as h

LIMIT_S = 90


def bounded(command):
    try:
        return h.run(command, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        h.check(False, "still running after", LIMIT_S, "s:", *command)


def missing(folder):
    with h.h5py().File(os.path.join(folder, "cluster.h5"), "r") as file:
        ranks = file["ranks"][:]
        rows = file["completeness"][:]
        h.equal(int(file.attrs["nranks"]), len(ranks), "nranks")
        noted = sorted(int(r["rank"]) for r in rows if r["what"] == b"missing")
        absent = [int(r["rank"]) for r in ranks if not r["present"]]
    h.equal(noted, absent, "ranks noted as missing")
    return absent


def check_no_wait(file):
    """MPI_Init is left at once: no decision on clocks is left to take on one host."""
    events = file["events/comm"]
    after = events["start"][events["start"] > events["end"][h.operations(file).index("Init")]]
    wait = int(after.min()) - int(events["end"][h.operations(file).index("Init")])
    h.check(wait < 2e9, "waited", wait, "ns in MPI_Init")


def check_report(folder, absent, n):
    with open(os.path.join(folder, "report.txt")) as file:
        text = file.read()
    h.check(f"{n - len(absent)} of {n}" in text or "missing" in text, "the report hides it:", text)


@h.case
def one_rank_of_four():
    actor = h.program("actor")
    bounded(h.mpirun(1, *h.profwrap("-o", "out"), actor, "exit", "0") + [":", "-np", "3", actor,
                                                                        "exit", "0"])
    h.equal(missing("out"), [1, 2, 3], "missing ranks")
    check_report("out", [1, 2, 3], 4)
    file = h.open_complete("out")
    h.equal(h.operations(file).count("Allreduce"), 5, "Allreduce of rank 0")
    check_no_wait(file)


@h.case
def all_but_the_first():
    actor = h.program("actor")
    bounded(h.mpirun(1, actor, "exit", "0")
            + [":", "-np", "3", *h.profwrap("-o", "out"), actor, "exit", "0"])
    for rank in (1, 2, 3):
        file = h.open_complete("out", rank)
        h.equal(h.operations(file).count("Allreduce"), 5, f"rank {rank}")
        check_no_wait(file)
    h.run(h.profwrap("merge", "out"))
    h.equal(missing("out"), [0], "missing ranks")


@h.case
def wrapper_script():
    with open("wrapper", "w") as file:
        file.write('#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec "$PROFILER" -o out "$@"\n'
                   'exec "$@"\n')
    os.chmod("wrapper", 0o755)
    try:
        done = h.run(h.mpirun(4, "./wrapper", h.place("TRAIN"), "--steps", "5"), timeout=LIMIT_S,
                     env={"PROFILER": h.place("PROFWRAP")})
    except subprocess.TimeoutExpired:
        h.check(False, "still running after", LIMIT_S, "s")
    h.check(b"step" in done.stdout, "train printed no steps")
    h.equal(missing("out"), [1, 2, 3], "missing ranks")
    h.equal(len(h.open_complete("out")["steps"]), 5, "steps of rank 0")


@h.case
def one_rank_cannot_be_profiled():
    """The probe of rank 1 is switched off, and its collector runs the program unprofiled."""
    actor, static = h.program("actor"), ["--activities", "note"]
    bounded(h.mpirun(1, *h.profwrap("-o", "out"), actor, "exit", "0")
            + [":", "-np", "1", *h.profwrap("-o", "out", *static), actor, "exit", "0"])
    h.equal(missing("out"), [], "missing ranks")
    h.equal(h.operations(h.open_complete("out")).count("Allreduce"), 5, "Allreduce of rank 0")


def check_waited_for(who):
    """Who is waited for is said in the first sentence, also where the machine makes another rank slow,
    too; those who wait are not blamed for it."""
    data = json.loads(h.run(h.profwrap("report", "--format", "json", "out")).stdout)
    headline = data["job"]["headline"]
    is_first = headline.startswith(who[0].upper() + who[1:])
    h.check(is_first or who in headline, "the headline is", headline)
    return data["job"], is_first


@h.case
def unrecorded_rank_makes_others_wait():
    slow = [h.program("latecomer"), "steps", 2, 100]
    h.run([*h.mpirun(2, *h.profwrap("--no-merge", "-o", "out"), *slow), ":", "-np", "1", *slow])
    h.run(h.profwrap("merge", "out"))
    job, is_first = check_waited_for("rank 2, which is not recorded, makes the others wait ")
    h.check(not is_first or job["reason"] == "ranks_missing", job)


@h.case
def spawned_process_makes_ranks_wait():
    h.run(h.mpirun(2, *h.profwrap("--no-merge", "-o", "out"), h.program("latecomer"), "spawn", 100))
    h.run(h.profwrap("merge", "out"))
    job, is_first = check_waited_for("1 process that MPI_Comm_spawn started, which is not recorded, "
                                     "makes the ranks wait ")
    h.check(not is_first or job["reason"] == "spawned_not_recorded", job)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
