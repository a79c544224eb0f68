"""Faults that hang a job, one at a time, and what the page of the hang says first: right, that it does not
know, or wrong. Wrong is never allowed; a row says when "not known" is."""

import contextlib
import json
import os
import re
import signal
import socket
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
AT = r"( at hangfault.py:\d+ \(\S+\))?" # pystack may be missing, or have had no CPU


def absent_from_gloo(call, waiters="0-2"):
    return rf"Ranks? {waiters} waits? in gloo {call} on default_pg 0 for rank 3, which has been in no communication call"


# Rank 3 makes the fault after 20 times two all_reduce and a barrier.
GLOO = {
    "asleep": "Ranks 0-2 wait in gloo allreduce #60 on default_pg 0 for rank 3, which has been in no communication call "
              "for .*, and is asleep",
    "gil": "Ranks 0-2 wait in gloo allreduce #60 on default_pg 0 for rank 3, which .* and is asleep",
    "stopped": "Ranks 0-2 wait in gloo allreduce #60 on default_pg 0 for rank 3, which .* stopped by a signal",
    "receive": r"Deadlock: rank 1 .*waits for rank 3 \(in gloo wait \(for gloo recv from rank 1",
    "operation": rf"Rank 3 called gloo bcast #60 on default_pg 0{AT}, where ranks 0-2 called gloo allreduce{AT}",
    "second group": r"Ranks 0-\d wait in gloo allreduce #0 on .* for rank 3, which has been in no communication call",
    "two groups": r"Deadlock: rank \d \(in gloo wait \(for gloo allreduce #0 on .*waits for rank \d \(in gloo wait \(for gloo "
                  "allreduce #0",
    "broadcast": absent_from_gloo("bcast #60 with root 3"),
    "reduce": absent_from_gloo("reduce #60( with root 0)?", waiters=".*"),
    "all_gather": absent_from_gloo("allgather #60"),
    "gather": absent_from_gloo("gather #60 with root 0", waiters=".*"),
    "scatter": absent_from_gloo("scatter #60 with root 3"),
    "all_to_all": absent_from_gloo("alltoall #60"),
    "objects": absent_from_gloo("allgather #60"),
    "object list": absent_from_gloo("bcast #60 with root 3"),
    "async": absent_from_gloo("allreduce #60"),
    "monitored": "Ranks? .*wait.* in gloo .* for rank 3, which has been in no communication call",
    "send": "Rank 1 waits in gloo wait \(for gloo send to rank 3.* for rank 3, which",
    "irecv": "Rank 1 waits in gloo wait \(for gloo recv from rank 3.* for rank 3, which",
    "batch": "Rank 1 waits in gloo wait \(for gloo recv from rank 3.* for rank 3, which",
    "new group": absent_from_gloo("allreduce #60"),
    "group of all": "Ranks 0-2 wait in the creation of a gloo group of all ranks for rank 3, which has been in no "
                    "communication call for .*, and is asleep",
    "before init": "Ranks 0-2 wait in the creation of a gloo group of all ranks for rank 3, which has made no "
                   r"communication call yet, and is asleep(, at hangfault.py:23 \(<module>\))?$",
    "data parallel": r"Ranks? [\d,-]+ waits? in gloo .* for rank 3, which has been in no communication call",
    "sharded": r"Ranks? [\d,-]+ waits? in gloo .* for rank 3, which has been in no communication call",
    "skipped": rf"Rank 3 called gloo barrier #61 on default_pg 0{AT}, where ranks 0-2 called gloo allreduce{AT}, which "
               "it is likely to have skipped",
}
# Without torchrun: rank 0 has the store of init_process_group.
STORE = {
    "late at the store": "Rank 0 waits in the connection to PyTorch's TCPStore for rank 3, which has made no communication "
                         r"call yet, and is asleep(, at hangfault.py:23 \(<module>\))?; [34] ranks in all wait for it$",
    "no store": "Ranks 1-3 wait in the connection to PyTorch's TCPStore for rank 0, which has made no communication call yet, "
                r"and is asleep(, at hangfault.py:23 \(<module>\))?$",
}


def told(fault):
    """The first page of a hang; None while there is none. On a machine without free cores MPI_Init can take longer than
    the time-out: a page of it, or of a wait that has ended, is true, and not of the fault."""
    for name in ("hang", "hang-2", "hang-3"):
        try:
            with open(f"out/{name}.json") as file:
                page = json.load(file)
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        if page["kind"] != "nobody_waits" and ("MPI_Init" in fault or "MPI_Init" not in page["headline"]):
            return page
    return None


def first_sentence(command, fault):
    """Runs the job until there is a page of the hang, or it has ended; then its programs are killed. Returns the
    page's headline; "" when there is none."""
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=h.environment())
    until = time.monotonic() + h.PATIENCE_S
    while not told(fault) and job.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    page = told(fault) or {"headline": "", "ranks": []}
    for rank in page["ranks"]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rank["pid"], signal.SIGKILL)
    if not page["ranks"]:
        job.terminate()
    try:
        job.wait(timeout=20)
    except subprocess.TimeoutExpired:
        job.kill()  # mpirun of Open MPI 4.1 hung in 10 of 90 jobs whose ranks were killed at once, without profwrap, too
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
        verdicts.append(judge(fault, first_sentence(command, fault), right, unknown))
    conclude(verdicts)


def judge_kinds(table, start):
    """Each fault of the table; start(ranks) are the words of the command before the fault's name."""
    verdicts = []
    for fault, (ranks, right, unknown) in table.items():
        verdicts.append(judge(fault, first_sentence([*start(ranks), fault], fault), right, unknown))
    conclude(verdicts)


def watched(*program):
    return [*h.profwrap("-o", "out", "--no-report", "--no-merge", "--hang-timeout", "2"), *program]


def kinds_in_c(program, table, library):
    if library == "MPICH":
        if h.place("MPICH_RUN") == "none":
            raise h.Skipped("MPICH is not installed")
        program = h.program(f"mpich/{program}")
        table = {fault: row for fault, row in table.items() if fault not in hangkinds.ERRORS_OF_MPICH}
        judge_kinds(table, lambda ranks: [h.place("MPICH_RUN"), "-np", str(ranks), *watched(program)])
    else:
        judge_kinds(table, lambda ranks: h.mpirun(ranks, *watched(h.program(program))))


SCRIPTS = list(hangkinds.SCRIPTS.items())
A_THIRD = -(-len(SCRIPTS) // 3)
for library in ("Open MPI", "MPICH"):
    for what, program, table in (("messages", "hangkinds", hangkinds.MESSAGES),
                                 ("collectives", "hangkinds", hangkinds.COLLECTIVES),
                                 ("windows files and processes", "hangkinds", hangkinds.OTHERS),
                                 ("scripts 1", "hangscript", dict(SCRIPTS[:A_THIRD])),
                                 ("scripts 2", "hangscript", dict(SCRIPTS[A_THIRD:2 * A_THIRD])),
                                 ("scripts 3", "hangscript", dict(SCRIPTS[2 * A_THIRD:]))):
        name = f"{what} under {library}".lower().replace(" ", "-")
        h.CASES[name] = lambda p=program, table=table, library=library: kinds_in_c(p, table, library)


@h.case
def partitioned_messages():
    kinds_in_c("hangscript", hangkinds.PARTITIONED, "MPICH")


@h.case
def kinds_in_fortran():
    kinds_in_c("hangfortran", hangkinds.FORTRAN, "Open MPI")


def with_torch(command, program):
    """The command of the environment with PyTorch, and the program's path."""
    path = os.path.expanduser(f"~/.cache/profwrap/torch/bin/{command}")
    if not os.path.exists(path):
        raise h.Skipped("scripts/setup --torch-wheel has not been run")
    return path, os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", program)


@h.case
def kinds_in_python():
    words = with_torch("python", "hangkinds.py")
    judge_kinds(hangkinds.PYTHON, lambda ranks: h.mpirun(ranks, *watched(*words)))


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
    torchrun, program = with_torch("torchrun", "hangfault.py")
    os.environ["OMP_NUM_THREADS"] = "1"
    verdicts = []
    for fault, right in GLOO.items():
        command = h.profwrap("-o", "out", "--no-report", "--no-merge", "--hang-timeout", "4", torchrun, "--standalone",
                             "--nproc-per-node", "4", program, fault)
        verdicts.append(judge(fault, first_sentence(command, fault), right, None))
    conclude(verdicts)


@h.case
def faults_at_the_store():
    words = with_torch("python", "hangfault.py")
    os.environ.update(OMP_NUM_THREADS="1", MASTER_ADDR="127.0.0.1")
    verdicts = []
    for fault, right in STORE.items():
        with socket.create_server(("127.0.0.1", 0)) as server:
            os.environ["MASTER_PORT"] = str(server.getsockname()[1])
        command = h.mpirun(4, *watched(*words, fault))
        verdicts.append(judge(fault, first_sentence(command, fault), right, None))
    conclude(verdicts)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
