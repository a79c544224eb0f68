"""MPI calls that the probe does not see. The collector detects them from outside, and every kind of
report names the reason. A report must not conclude that no rank held the job back."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import harness as h
from ending import is_collector

N = 2

# The library's own functions, by its handle: what ctypes and Julia's MPI.jl do.
BY_HANDLE = """
import ctypes, os, sys, time
mpi = ctypes.CDLL(sys.argv[2])
mpi.MPI_Init(None, None)
world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
for i in range(20):
    mpi.MPI_Barrier(world)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
mpi.MPI_Finalize()
"""


def await_reason(job, reason, ranks):
    """Waits until each rank reports this reason why its MPI is not recorded."""
    until = time.monotonic() + h.PATIENCE_S
    found = None
    while found != [reason] * ranks:
        h.check(job.poll() is None and time.monotonic() < until, "found", found, "not", reason)
        time.sleep(0.1)
        with contextlib.suppress(AssertionError, ValueError):
            done = h.run(h.profwrap("ctl", "status", "--format", "json", "out"))
            found = [rank.get("unrecorded") for rank in json.loads(done.stdout)["ranks"]]


def run_blind(*command, wait=None, ranks=N, options=()):
    """Runs the command until `wait` returns, then makes the file that lets it end. Returns the
    job's standard error."""
    go = os.path.abspath("go")
    command = [word.replace("GO", go) if word == "GO" else word for word in map(str, command)]
    job = subprocess.Popen(h.mpirun(ranks, *h.profwrap("-o", "out", *options), *command),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=h.environment())
    try:
        wait(job)
    finally:
        with open(go, "w"):
            pass
        try:
            out, err = job.communicate(timeout=h.PATIENCE_S)
        except subprocess.TimeoutExpired:
            job.kill()
            raise
    h.equal((job.returncode, out), (0, b""), "exit status and standard output")
    return err


def report(kind="json", *options):
    text = h.run(h.profwrap("report", "--full", "--format", kind, *options, "out")).stdout.decode()
    return json.loads(text) if kind == "json" else text


def check_said(reason, words, ranks=N):
    """Every report begins with the reason, in the same words, and none calls the run healthy."""
    data = report()
    job, complete = data["job"], data["completeness"]
    h.equal((job["verdict"], job["reason"]), ("unknown", "mpi_not_recorded"), "the verdict")
    begin = (f"Cannot tell whether a rank held the job back: MPI calls of {ranks} of {ranks} ranks "
             "were not recorded, because ")
    h.check(job["headline"].startswith(begin) and words in job["headline"], job["headline"])
    h.equal(complete["ranks_mpi_not_recorded"], ranks, "ranks")
    losses = [row["rank"] for row in complete["losses"] if row["what"] == f"unrecorded_{reason}"]
    h.equal(sorted(set(losses)), list(range(ranks)), "ranks in /completeness")
    # Behind the headline it may say that the hosts are busy: they are, where other programs run.
    line = report("line")
    h.check(line.startswith(job["headline"]) and line.count("\n") == 1, "the one line is", line)
    text = " ".join(report("text", "--full").split())
    h.check(text.startswith(begin), text[:400])
    h.check("No rank held" not in text, text)
    h.check(data["advice"][0]["rule"] == "mpi_not_recorded", data["advice"][0])
    for rank in range(ranks):
        rows = h.open_complete("out", rank)["unrecorded"]
        h.check(reason in h.enum_names(rows, "reason"), h.enum_names(rows, "reason"))


def check_blind(reason, words, *command):
    run_blind(*command, wait=lambda job: await_reason(job, reason, N))
    check_said(reason, words)


@h.case
def functions_by_the_handle():
    check_blind("bypassed", "dlsym", sys.executable, "-c", BY_HANDLE, "GO", h.mpi_library())


@h.case
def deepbind():
    check_blind("bypassed", "RTLD_DEEPBIND", h.program("blindload"), "GO",
                h.program("libblindcalls.so"))


def check_audited(op, *command):
    """With --audit the dynamic linker returns the probe's functions, and all calls are recorded."""
    run_blind(*command, wait=lambda job: None, options=("--audit",))
    h.equal(report()["completeness"]["ranks_mpi_not_recorded"], 0, "ranks")
    for rank in range(N):
        file = h.open_complete("out", rank)
        h.equal(h.operations(file), ["Init"] + [op] * 20 + ["Finalize"], f"calls of rank {rank}")


@h.case
def audited_functions_by_the_handle():
    check_audited("Barrier", sys.executable, "-c", BY_HANDLE, "GO", h.mpi_library())


@h.case
def audited_deepbind():
    check_audited("Allreduce", h.program("blindload"), "GO", h.program("libblindcalls.so"))


@h.case
def audited_library_that_is_no_mpi():
    """A library with the name of an MPI library (libmpiseq of MUMPS). A lookup by its handle must
    return its own functions."""
    shutil.copy(h.program("libownmpi.so"), "libmpiseq.so")
    script = ("import ctypes; mpi = ctypes.CDLL('./libmpiseq.so'); n = ctypes.c_int(); "
              "print(mpi.MPI_Comm_size(2, ctypes.byref(n)), n.value)")
    done = h.run(h.profwrap("--no-merge", "-o", "out", "--audit", sys.executable, "-c", script))
    h.equal(done.stdout, b"0 42\n", "what its function gives")


@h.case
def audited_program_records_the_same_calls():
    """--audit changes nothing for a program that does not need it. An LD_AUDIT that was set before
    stays."""
    os.environ["LD_AUDIT"] = "/not/there.so"
    try:
        done = h.run(h.profwrap("--no-merge", "-o", "env", "--audit", "sh", "-c", "echo $LD_AUDIT"))
    finally:
        del os.environ["LD_AUDIT"]
    library, other = done.stdout.decode().strip().split(":")
    h.check(library.endswith("/libprofwrap_audit.so") and other == "/not/there.so", done.stdout)
    check_audited("Allreduce", h.program("blind"), "direct", "GO")


@h.case
def audited_program_that_leaves_no_static_tls():
    """With LD_AUDIT, glibc takes the static thread-local storage of all libraries from a small surplus.
    A program that leaves 0 to 64 bytes of it starts and is recorded."""
    auditor = os.path.join(os.path.dirname(h.place("PROFWRAP")),
                           "../libexec/profwrap/libprofwrap_audit.so")
    copies = []

    def starts_with_another():
        copies.append(os.path.abspath(f"libtaken{len(copies)}.so"))
        shutil.copy(h.program("libstatictls.so"), copies[-1])
        environment = h.environment(LD_AUDIT=auditor, LD_PRELOAD=":".join(copies))
        return subprocess.run(["true"], env=environment, stderr=subprocess.PIPE).returncode == 0

    while starts_with_another():
        if len(copies) == 100:
            raise h.Skipped("the loader does not limit static thread-local storage")
    copies.pop()
    done = h.run(h.profwrap("--no-merge", "-o", "out", "--audit", h.program("tally"), "-", 20, "return", 0),
                 env={"LD_PRELOAD": ":".join(copies)})
    h.equal(done.stderr, b"", "messages")
    h.check(h.operations(h.open_complete("out")).count("Allreduce") >= 20, "calls are missing")
    tunables = "glibc.malloc.check=0:glibc.rtld.optional_static_tls=1000"
    done = h.run(h.profwrap("--no-merge", "-o", "tunables", "--audit", "sh", "-c", "echo $GLIBC_TUNABLES"),
                 env={"GLIBC_TUNABLES": tunables})
    h.equal(done.stdout.decode().strip(), tunables + ":glibc.rtld.optional_static_tls=5096", "tunables")


@h.case
def environment_cleared():
    """A script starts the program with `env -i`, and keeps only the variables that MPI needs."""
    script = 'exec env -i $(env | grep -E "^(OMPI|PMIX|PATH|HOME)[A-Za-z0-9_]*=[^ ]*$") "$@"'
    check_blind("environment", "env -i", "bash", "-c", script, "bash", h.program("blind"), "direct",
                "GO")


@h.case
def preload_replaced():
    check_blind("preload_replaced", "LD_PRELOAD was replaced", "bash", "-c",
                'LD_PRELOAD=libdl.so.2 "$@"; exit $?', "bash", h.program("blind"), "direct", "GO")


@h.case
def statically_linked():
    """A script starts the program, because profwrap itself refuses a static program. Nothing shows
    that its MPI was initialised, and no other communication was recorded."""
    check_blind("static", "statically linked", "bash", "-c", '"$@"; exit $?', "bash",
                h.program("staticmpi"), "GO")


@h.case
def a_library_that_is_not_used():
    """The program is linked with MPI but never initialises it. The report says that no
    communication between ranks was recorded."""
    run_blind(h.program("blind"), "linked", "GO", wait=lambda job: None)
    job = report()["job"]
    h.equal(job["verdict"], "unknown", "the verdict")
    h.check(job["headline"].startswith("Cannot tell whether a rank held the job back"), job)


@h.case
def in_snapshots():
    """The journal gets the reason at once, so that snapshots and recovered files have it, too."""
    def take(job):
        await_reason(job, "bypassed", N)
        h.run(h.profwrap("ctl", "snapshot", "-o", "taken", "out"))
    run_blind(h.program("blindload"), "GO", h.program("libblindcalls.so"), wait=take,
              options=("--no-merge",))
    h.run(h.profwrap("merge", "taken"))
    data = json.loads(h.run(h.profwrap("report", "--format", "json", "taken")).stdout)
    h.equal((data["job"]["verdict"], data["job"]["reason"]), ("unknown", "mpi_not_recorded"),
            "the verdict")


def collectors():
    """The process IDs of the collectors of this test's runs."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if is_collector(pid)
            and os.readlink(f"/proc/{pid}/cwd") == os.getcwd()]


@h.case
def said_once_after_a_collector_was_killed():
    """The collector that replaces a killed one finds the same process. The reason is counted once
    per rank."""
    def replace(job):
        await_reason(job, "bypassed", N)
        for pid in collectors():
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.5)
        await_reason(job, "bypassed", N)
    run_blind(h.program("blindload"), "GO", h.program("libblindcalls.so"), wait=replace)
    rows = [len(h.open_rank("out", rank)["unrecorded"]) for rank in range(N)]
    h.equal(rows, [2] * N, "rows in the rank files")
    losses = report()["completeness"]["losses"]
    h.equal([row["rank"] for row in losses if row["what"] == "unrecorded_bypassed"], list(range(N)),
            "ranks in /completeness")


@h.case
def steps_without_communication():
    """Ranks mark steps and never communicate. The report must not conclude that no rank was
    slow."""
    h.run(h.mpirun(N, *h.profwrap("-o", "out"), h.program("notes"), "steps"))
    job = report()["job"]
    h.equal((job["verdict"], job["reason"]), ("unknown", "no_communication"), "the verdict")
    h.check("no communication between its 2 ranks was recorded" in job["headline"], job["headline"])
    h.check("No rank held" not in report("text", "--full"), report("text", "--full"))
    check_not_known("out", range(2))
    h.run(h.profwrap("compare", "out", "out"), status=4)


def check_not_known(directory, ranks):
    """The waits, the efficiency and the what-if analysis of a job without recorded communication
    are unknown, in the file and in each report."""
    with h.h5py().File(os.path.join(directory, "cluster.h5"), "r") as file:
        for table in ("efficiency", "whatif", "critical_path"):
            h.equal(len(file[table]), 0, f"rows of {table}")
        for rank in ranks:
            cells = file["step_trace"][:, rank]
            for name in ("wait_ns", "comm_ns", "comm_exposed_ns", "compute_ns"):
                h.check(all(cells[name] == -1), name, "of rank", rank, cells[name])
            h.check(any(cells["total_ns"] > 0), "total of rank", rank)
    csv = report("csv", "--section", "efficiency,whatif").split("\n")[:-1]
    h.equal([line for line in csv[::2] if not line.startswith("# ")], [], "tables of CSV with rows")
    h.equal(csv[::2][:2], ["# whatif", "# critical_path"], "tables of CSV")
    text = " ".join(report("text", "--full").split())
    h.check("Not replayed: it needs the communication of all ranks" in text, "what-if in", text)
    h.equal(report()["whatif"], None, "what-if")


@h.case
def steps_without_communication_of_one_rank():
    """The communication of the slow rank is not recorded. The report names no rank, and does not
    say that no rank was slow."""
    def ranks(n, *options):
        return ["-np", str(n), *h.profwrap("--no-merge", "-o", "out", *options),
                h.place("TRAIN"), "--inject", "rank=1,phase=backward,ms=20"]
    h.run([h.place("MPIEXEC"), *ranks(1), ":", *ranks(1, "--activities", "annotations"), ":",
           *ranks(1)])
    h.run(h.profwrap("merge", "out"))
    data = report()
    job = data["job"]
    h.equal((job["verdict"], job["reason"]), ("unknown", "no_communication"), "the verdict")
    h.check("o communication of 1 of 3 ranks was recorded" in job["headline"], job["headline"])
    h.check("No rank held" not in report("text", "--full"), report("text", "--full"))
    h.equal(data["efficiency"], None, "efficiency")
    check_not_known("out", (1,))
    h.equal([row["rank"] for row in data["completeness"]["losses"]
             if row["what"] == "no_communication"], [1], "the rank")


@h.case
def recorded_after_all():
    """A run whose MPI is recorded has no such rows, and has a verdict."""
    run_blind(h.program("blind"), "direct", "GO", wait=lambda job: None)
    data = report()
    h.equal(data["completeness"]["ranks_mpi_not_recorded"], 0, "ranks")
    h.equal([row for row in data["completeness"]["losses"]
             if row["what"].startswith(("unrecorded", "no_comm"))], [], "losses")
    h.check("unrecorded" not in h.open_complete("out", 0), "a table of what is missing")


# Loads the library where nothing is recorded, as a script does that looks which MPI there is.
LOOK = """
import ctypes, os, sys, time
ctypes.CDLL(sys.argv[2])
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
"""


@h.case
def recorded_after_another_program():
    """A reason that was reported for one program is dropped when the next program's MPI is
    recorded."""
    looked = os.path.abspath("looked")

    def wait(job):
        await_reason(job, "environment", N)
        with open(looked, "w"):
            pass
        await_reason(job, None, N)

    script = 'env -i "$1" -c "$2" "$3" "$4"; exec "$5" direct "$6"'
    run_blind("sh", "-c", script, "sh", sys.executable, LOOK, looked, h.mpi_library(),
              h.program("blind"), "GO", wait=wait)
    h.equal(report()["completeness"]["ranks_mpi_not_recorded"], 0, "ranks")
    h.check("unrecorded" not in h.open_complete("out", 0), "a table of what is missing")


@h.case
def spawned_processes():
    """Spawned processes are reported as missing. Each is counted once, however many ranks spawned
    it together; no file has their events."""
    h.run(h.mpirun(N, *h.profwrap("-o", "out"), h.program("spawn"), "expected"))
    data = report()
    h.equal(data["completeness"]["spawned_not_recorded"], 4, "spawned processes")
    h.check("4 processes started by MPI_Comm_spawn were not recorded" in data["job"]["incomplete"],
            data["job"]["incomplete"])
    h.equal(data["completeness"]["ranks_mpi_not_recorded"], 0, "ranks")
    h.equal(sorted(n for n in os.listdir("out") if n.startswith("rank-")),
            [os.path.basename(h.rank_path("out", rank)) for rank in range(N)], "rank files")


@h.case
def spawned_while_recording_is_paused():
    """The spawn operation is not recorded, but its processes are still reported as missing."""
    h.run(h.mpirun(N, *h.profwrap("--no-merge", "--start-paused", "-o", "out"), h.program("spawn"),
                   "expected"))
    spawned = h.open_complete("out", 0)["unrecorded"]
    h.equal((h.enum_names(spawned, "reason"), [int(n) for n in spawned["count"]]),
            (["spawned", "spawned"], [2, 2]), "spawned processes")


@h.case
def spawned_by_a_singleton():
    """Without mpirun the program starts its own launcher, which passes profwrap's environment on.
    The calls of the spawned processes must not get into the program's file."""
    done = h.run(h.profwrap("--no-merge", "-o", "out", h.program("spawn"), "expected"))
    h.equal(done.stdout, b"", "output")
    h.equal([n for n in os.listdir("out") if n.startswith("rank-")], ["rank-00000.h5"], "rank files")
    file = h.open_complete("out")
    spawned = file["unrecorded"]
    h.equal((h.enum_names(spawned, "reason"), [int(n) for n in spawned["count"]]),
            (["spawned", "spawned"], [2, 2]), "spawned processes")
    h.equal(h.operations(file).count("Init"), 1, "calls of MPI_Init")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
