"""Faults that hang a job, one at a time, and what the page of the hang says first: right, that it does not
know, or wrong. Wrong is never allowed; a row says when "not known" is."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import hangkinds
import harness as h

RIGHT, UNKNOWN, WRONG = "right", "not known", "wrong"
WORLD = "on MPI_COMM_WORLD"
# What the first sentence must match to be right, by fault; and what it may say in its place, without a wrong
# rank or call. Rank 2 makes the fault in round 16 of Bcast, Allreduce and Allgather: calls #48 to #50.
MPI = {
    "skipped": (rf"Rank 2 called MPI_Allgather #49 {WORLD}, where ranks 0-1,3 called MPI_Allreduce, which it is "
                "likely to have skipped", None),
    "extra": (rf"Rank 2 called MPI_Barrier #49 {WORLD}, where ranks 0-1,3 called MPI_Allreduce", None),
    "swapped": (rf"Rank 2 called MPI_Allgather #49 {WORLD}, where ranks 0-1,3 called MPI_Allreduce", None),
    "count": (rf"Rank 2 called MPI_Bcast #48 {WORLD} with 16 bytes, ranks 0-1,3 with 8 bytes", None),
    "type": (rf"Rank 2 called MPI_Bcast #48 {WORLD} with 16 bytes, ranks 0-1,3 with 8 bytes", None),
    "root": (rf"Rank 2 called MPI_Bcast #48 {WORLD} with root 1, ranks 0-1,3 with root 0", None),
    "reduction": (rf"Rank 2 called MPI_Allreduce #49 {WORLD} with MPI_MAX, ranks 0-1,3 with MPI_SUM", None),
    "operation": (rf"Rank 2 called MPI_Reduce #49 {WORLD}, where ranks 0-1,3 called MPI_Allreduce", None),
    "communicator": (rf"(Ranks 0-1,3 wait in MPI_Allreduce #49 {WORLD} for rank 2, which has been in MPI_Allreduce #0 "
                     r"on other|Deadlock: .*rank 2 \(in MPI_Allreduce #0 on other\))", None),
    "cycle": (r"Deadlock: rank 0 \(in MPI_Barrier #51 on MPI_COMM_WORLD\) waits for rank 2 \(in MPI_Barrier #0 on other\)",
              None),
    "stopped": (rf"Ranks 0-1,3 wait in MPI_Allreduce #49 {WORLD} for rank 2, which has been in no communication call "
                "for .* and is stopped by a signal", None),
    "asleep": (rf"Ranks 0-1,3 wait in MPI_Allreduce #49 {WORLD} for rank 2, which has been in no communication call "
               "for .*, and is asleep", None),
    "receive": (r"Deadlock: rank 1 .*waits for rank 2 \(in MPI_Recv from rank 1 \(tag 7\) on MPI_COMM_WORLD\), which waits "
                "for rank 1", None),
    "waitall": (rf"Deadlock: rank 1 .*waits for rank 2 \(in MPI_Waitall \(for MPI_Irecv from rank 1 \(tag 7\) {WORLD}, "
                r"and 1 more\)\), which waits for rank 1", None),
    "any source": (rf"Ranks 0-1,3 wait in MPI_Barrier #51 {WORLD} for rank 2, which has been in MPI_Recv from any rank",
                   rf"Ranks 0-1,3 wait in MPI_Barrier #51 {WORLD} for rank 2, which has been in MPI_Recv"),
    "polling": (rf"Ranks 0-1,3 wait in MPI_Barrier #51 {WORLD} for rank 2, which has been polling with MPI_Test \(for "
                rf"MPI_Irecv from rank 1 \(tag 7\) {WORLD}\) for .*; rank 1 has been in MPI_Barrier #51", None),
    "split": ("Ranks 0-1,3 wait in MPI_Comm_split on MPI_COMM_WORLD for rank 2, which", None),
    "finalize": ("Ranks 0-1,3 wait in MPI_Finalize for rank 2, which", None),
}
# Jobs that their launcher ends: the report on them.
ENDED = {
    "killed": r"Rank 2 on \S+ was killed by signal 9 .*ranks 0-1,3 waited for it in MPI_Allreduce #49",
    "exited": r"Rank 2 on \S+ exited with status 0 without MPI_Finalize",
}
HAS_PYSTACK = os.path.exists(os.path.expanduser("~/.cache/profwrap/torch/bin/pystack"))
AT = r" at hangfault.py:\d+ \(\S+\)" if HAS_PYSTACK else ""
# Rank 3 makes the fault after 20 times two all_reduce and a barrier.
GLOO = {
    "asleep": "Ranks 0-2 wait in gloo allreduce #60 on default_pg 0 for rank 3, which has been in no communication call "
              "for .*, and is asleep",
    "gil": "Ranks 0-2 wait in gloo allreduce #60 on default_pg 0 for rank 3, which .* and is asleep",
    "stopped": "Ranks 0-2 wait in gloo allreduce #60 on default_pg 0 for rank 3, which .* stopped by a signal",
    "receive": r"Deadlock: rank 1 .*waits for rank 3 \(in gloo wait \(for gloo recv from rank 1",
    "operation": rf"Rank 3 called gloo bcast #60 on default_pg 0{AT}, where ranks 0-2 called gloo allreduce{AT}",
    "skipped": rf"Rank 3 called gloo barrier #61 on default_pg 0{AT}, where ranks 0-2 called gloo allreduce{AT}, which "
               "it is likely to have skipped",
}


def first_sentence(command):
    """Runs the job until there is a page of a hang, or it has ended; then its programs are killed. Returns the
    page's headline; "" when there is none."""
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=h.environment())
    until, page = time.monotonic() + 60, {"headline": "", "ranks": []}
    while not os.path.exists("out/hang.txt") and job.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    with contextlib.suppress(FileNotFoundError), open("out/hang.json") as file:
        page = json.load(file)
    for rank in page["ranks"]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rank["pid"], signal.SIGKILL)
    if not page["ranks"]:
        job.terminate()
    job.wait(timeout=h.PATIENCE_S)
    h.wait_until_gone("out/*.part")
    return page["headline"]


def judge(fault, said, right, unknown):
    verdict = RIGHT if re.match(right, said) else UNKNOWN if unknown and re.match(unknown, said) else WRONG
    print(f"{fault:24} {verdict:10} {said}", flush=True)
    h.run(["rm", "-rf", "out"])
    return verdict


def conclude(verdicts):
    print({verdict: verdicts.count(verdict) for verdict in (RIGHT, UNKNOWN, WRONG)}, flush=True)
    h.equal(verdicts.count(WRONG), 0, "faults about which something wrong was said")


@h.case
def faults_in_mpi():
    verdicts = []
    for fault, (right, unknown) in MPI.items():
        command = h.mpirun(4, *h.profwrap("-o", "out", "--no-report", "--no-merge", "--hang-timeout", "2"),
                           h.program("hangfault"), fault)
        verdicts.append(judge(fault, first_sentence(command), right, unknown))
    conclude(verdicts)


def judge_kinds(table, start):
    """Each fault of the table; start(ranks) are the words of the command before the fault's name."""
    verdicts = []
    for fault, (ranks, right, unknown) in table.items():
        verdicts.append(judge(fault, first_sentence([*start(ranks), fault]), right, unknown))
    conclude(verdicts)


def watched(*program):
    return [*h.profwrap("-o", "out", "--no-report", "--no-merge", "--hang-timeout", "2"), *program]


def kinds_in_c(table, library):
    if library == "MPICH":
        if h.place("MPICH_RUN") == "none":
            raise h.Skipped("MPICH is not installed")
        program = h.program("mpich/hangkinds")
        judge_kinds(table, lambda ranks: [h.place("MPICH_RUN"), "-np", str(ranks), *watched(program)])
    else:
        judge_kinds(table, lambda ranks: h.mpirun(ranks, *watched(h.program("hangkinds"))))


for library in ("Open MPI", "MPICH"):
    for what, table in (("messages", hangkinds.MESSAGES), ("collectives", hangkinds.COLLECTIVES),
                        ("windows files and processes", hangkinds.OTHERS)):
        name = f"{what} under {library}".lower().replace(" ", "-")
        h.CASES[name] = lambda table=table, library=library: kinds_in_c(table, library)


@h.case
def kinds_in_python():
    python = os.path.expanduser("~/.cache/profwrap/torch/bin/python")
    if not os.path.exists(python):
        raise h.Skipped("scripts/setup --torch-wheel has not been run")
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "hangkinds.py")
    judge_kinds(hangkinds.PYTHON, lambda ranks: h.mpirun(ranks, *watched(python, program)))


@h.case
def faults_that_end_the_job():
    verdicts = []
    for fault, right in ENDED.items():
        subprocess.run(h.mpirun(4, *h.profwrap("-o", "out", "--no-report"), h.program("hangfault"), fault),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=h.environment())
        h.wait_until_gone("out/*.part")
        said = " ".join(h.run(h.profwrap("report", "out")).stdout.decode().split())
        verdicts.append(judge(fault, said[:300], right, None))
    conclude(verdicts)


@h.case
def faults_on_gloo():
    torchrun = os.path.expanduser("~/.cache/profwrap/torch/bin/torchrun")
    if not os.path.exists(torchrun):
        raise h.Skipped("scripts/setup --torch-wheel has not been run")
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "hangfault.py")
    os.environ["OMP_NUM_THREADS"] = "1"
    verdicts = []
    for fault, right in GLOO.items():
        command = h.profwrap("-o", "out", "--no-report", "--no-merge", "--hang-timeout", "4", torchrun, "--standalone",
                             "--nproc-per-node", "4", program, fault)
        verdicts.append(judge(fault, first_sentence(command), right, None))
    conclude(verdicts)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
