"""Hangs. The watchdog names who waits for whom, and `profwrap ctl status` shows the calls in
progress. Neither changes the behaviour of the program. If a rank dies in a call, the report names
the call."""

import contextlib
import glob
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time

import harness as h
from ending import stop

N = 4


@contextlib.contextmanager
def running(*options, mode, argument="300", n=N, program=None, rest=()):
    """Starts the program, `stuck` if none is given, in the background. At the end of the block, it is
    ended if it still runs."""
    command = h.mpirun(n, *h.profwrap("-o", "out", "--no-report", *options),
                       *(program or [h.program("stuck")]), mode, argument, *rest)
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=h.environment())
    try:
        yield job
    finally:
        if job.poll() is None:
            job.terminate()
        job.communicate(timeout=h.PATIENCE_S)


def let_go(job):
    """Ends the wait of the late rank. Returns the output of the job."""
    with open("enough", "w"):
        pass
    out = job.communicate(timeout=h.PATIENCE_S)
    os.remove("enough")
    return out


def await_file(path, job, seconds=40):
    until = time.monotonic() + seconds
    while not os.path.exists(path):
        h.check(time.monotonic() < until, path, "is not there after", seconds, "s")
        if job.poll() is not None and not os.path.exists(path):
            out, err = job.communicate()
            h.check(False, "the job ended without", path, out.decode(), err.decode())
        time.sleep(0.05)


def report(job, number=1):
    """The report of this number; where ranks did not answer, the next one, which asks them again."""
    name = f"hang-{number}" if number > 1 else "hang"
    await_file(f"out/{name}.txt", job)
    with open(f"out/{name}.txt") as text, open(f"out/{name}.json") as data:
        found = text.read(), json.load(data)
    return report(job, number + 1) if found[1]["silent"] and number < 4 else found


def status(*options, code=0):
    done = h.run(h.profwrap("ctl", "status", "--format", "json", *options, "out"), status=code)
    return json.loads(done.stdout) if code == 0 else done


def await_call(op, ranks, seconds=40, asleep=()):
    """Waits until these ranks are in the operation, and those of `asleep` sleep. Returns the status."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(AssertionError, FileNotFoundError):
            found = status()
            inside = [r["rank"] for r in found["ranks"] if any(t["op"] == op for t in r["threads"])]
            if inside == ranks and all(found["ranks"][rank]["state"] == "S" for rank in asleep):
                return found
        time.sleep(0.2)
    h.check(False, "ranks", ranks, "are not in", op, "after", seconds, "s")


def left_over():
    return [name for name in os.listdir("out") if name.startswith((".ctl", ".status"))]


@h.case
def late_rank():
    """All ranks wait for rank 3 in a collective. It wakes up, and the job ends as it should."""
    with running("--hang-timeout", "2", "--no-merge", mode="late") as job:
        text, data = report(job)
        out, err = let_go(job)
    h.equal(job.returncode, 0, "exit status")
    h.equal(out, b"sum 4\n", "standard output")
    # It sleeps, and runs in between: what it does is its state at one moment.
    wanted = (r"Ranks 0-2 wait in MPI_Allreduce #5 on MPI_COMM_WORLD for rank 3, which has been "
              r"(computing \(in no MPI call\) for [^,]*|in no communication call for .*, and is asleep)")
    h.check(re.fullmatch(wanted, data["headline"].rstrip(".")), data["headline"])
    h.equal((data["kind"], data["roots"], data["held"]), ("held", [3], 3), "verdict")
    h.check(data["headline"].encode() in err, "not said on standard error:", err)
    [group] = data["collectives"]
    h.equal((group["waiting"], group["missing"], group["seq"]), ([0, 1, 2], [3], 5), "the collective")
    h.equal(glob.glob("out/hang-*"), [], "reports of the same hang")
    h.equal(left_over(), [], "files left over")
    for name in ("hang.txt", "hang.json"):
        h.equal(stat.S_IMODE(os.stat("out/" + name).st_mode), 0o600, name)
    h.check("Ranks 0-2 wait in MPI_Allreduce" in text, text)
    for rank in range(N):
        h.equal(h.operations(h.open_complete("out", rank)).count("Allreduce"), 6, f"rank {rank}")


@h.case
def call_stacks():
    """The stacks of a hang show the functions of the program, in the waiting ranks and in the rank
    that they wait for. The program was stopped for moments only."""
    with running("--hang-timeout", "2", "--no-merge", mode="late") as job:
        text, data = report(job)
        let_go(job)
    h.equal(job.returncode, 0, "exit status")
    problems = [rank["stack_problem"] for rank in data["ranks"] if rank["stack_problem"]]
    if problems:
        h.check("no call stacks" in text, "the report hides it:", text)
        raise h.Skipped(problems[0])
    for rank in data["ranks"]:
        [main] = [s["frames"] for s in rank["stacks"] if s["tid"] == rank["pid"]]
        wanted = ["main", "come_late", "sleep_in_work" if rank["rank"] == 3 else "PMPI_Allreduce"]
        functions = [frame.split(" ")[0].split("+")[0] for frame in main.split(";")]
        places = [functions.index(name) if name in functions else -1 for name in wanted]
        h.check(-1 < places[0] < places[1] < places[2], wanted, "not in this order in", functions)
        h.check(0 < rank["stopped_ns"] < 2e9, "stopped for", rank["stopped_ns"], "ns")
    h.check("sleep_in_work (stuck.c:" in text, text)


@h.case
def deadlock_of_a_receive():
    with running("--hang-timeout", "2", "--no-merge", mode="receive-nothing") as job:
        _, data = report(job)
    h.equal((data["kind"], data["cycle"], data["held"]), ("deadlock", [1, 2], 2), "verdict")
    h.check(data["headline"].startswith(
        "Deadlock: rank 1 (in MPI_Recv from rank 2 (tag 7) on MPI_COMM_WORLD) waits for rank 2 "
        "(in MPI_Barrier #5 on MPI_COMM_WORLD), which waits for rank 1"), data["headline"])


@h.case
def late_message():
    """A chain of waits: the barrier waits for rank 1, which waits for a message of rank 2, which
    computes. A rank that tests for the message again and again is no cause."""
    for mode, call in (("receive-late", "MPI_Recv"), ("wait-late", "MPI_Wait (for MPI_Irecv"),
                       ("waitall-late", "MPI_Waitall (for MPI_Irecv")):
        with running("--hang-timeout", "2", "--no-merge", mode=mode) as job:
            text, data = report(job)
            let_go(job)
        h.equal(job.returncode, 0, f"exit status of {mode}")
        polls = [t["op"] for rank in data["ranks"] for t in rank["threads"] if t["polls"]]
        h.equal((data["kind"], data["roots"], data["held"]), ("held", [2], 3 - len(polls)), f"verdict on {mode}")
        h.check(f"{call} from rank 2 (tag 7)" in text, text)
        h.equal(polls, ["Test"] if mode == "waitall-late" else [], f"loops of tests in {mode}")
        h.run(["rm", "-r", "out"])


# By the library's handle, as ctypes gives its functions, the calls would not be recorded; they come
# from the probe. There are enough objects for collections of 1 ms or more, each of which is a record.
COLLECTS = """
import ctypes, gc, os, profwrap, sys, time
library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
world, byte = (ctypes.byref(ctypes.c_char.in_dll(library, "ompi_mpi_" + name)) for name in ("comm_world", "byte"))
mpi, is_done, request, buffer = ctypes.CDLL(None), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_char()
held = [[] for _ in range(300000)]
mpi.MPI_Init(None, None)
mpi.MPI_Irecv(ctypes.byref(buffer), 1, byte, 0, 7, world, ctypes.byref(request))
while not os.path.exists("enough"):
    mpi.MPI_Test(ctypes.byref(request), ctypes.byref(is_done), None)
    time.sleep(0.1)
    gc.collect()
mpi.MPI_Send(ctypes.byref(buffer), 1, byte, 0, 7, world)
mpi.MPI_Wait(ctypes.byref(request), None)
mpi.MPI_Finalize()
"""


@h.case
def tests_of_a_python_program():
    """The records of its garbage collections do not end its loop of tests."""
    with running("--hang-timeout", "2", "--no-merge", mode="-c", argument=COLLECTS, n=1,
                 program=(sys.executable,), rest=(h.mpi_library(),)) as job:
        text, data = report(job)
        let_go(job)
    h.equal(job.returncode, 0, "exit status")
    h.equal([(t["op"], t["polls"] > 0) for t in data["ranks"][0]["threads"]], [("Test", True)], text)
    rows = h.open_complete("out", 0)["events/runtime"][:]
    h.check(len(rows[rows["generation"] == 2]) >= 10, rows)


@h.case
def late_to_a_nonblocking_collective():
    with running("--hang-timeout", "2", "--no-merge", mode="reduce-late") as job:
        _, data = report(job)
        let_go(job)
    h.equal(job.returncode, 0, "exit status")
    h.equal((data["kind"], data["roots"]), ("held", [3]), "verdict")
    h.check("Iallreduce #5 on MPI_COMM_WORLD" in data["headline"], data["headline"])


@h.case
def crossed_communicators():
    with running("--hang-timeout", "2", "--no-merge", mode="cross") as job:
        _, data = report(job)
    h.equal((data["kind"], data["cycle"], data["held"]), ("deadlock", [0, 2], 2), "verdict")
    h.check("MPI_Barrier #1 on left" in data["headline"], data["headline"])
    h.check("MPI_Barrier #0 on right" in data["headline"], data["headline"])


@h.case
def no_watchdog():
    """The watchdog is off by default. A timeout that is never reached reports nothing."""
    for options in ((), ("--hang-timeout", "30")):
        with running("--no-merge", *options, mode="late", argument="3") as job:
            job.communicate(timeout=h.PATIENCE_S)
        h.equal(job.returncode, 0, "exit status")
        h.equal(glob.glob("out/hang*"), [], f"reports with {options}")
        h.run(["rm", "-r", "out"])


@h.case
def status_of_a_running_job():
    with running("--no-merge", mode="late") as job:
        data = await_call("Allreduce", [0, 1, 2], asleep=[3])
        text = h.run(h.profwrap("ctl", "status", "out")).stdout.decode()
        out, _ = let_go(job)
    h.equal((job.returncode, out), (0, b"sum 4\n"), "how the job ended")
    h.equal([r["rank"] for r in data["ranks"]], list(range(N)), "ranks that answered")
    h.equal(data["silent"], [], "ranks that did not")
    waiting, late = data["ranks"][0], data["ranks"][3]
    h.equal(waiting["threads"][0]["seq"], 5, "the reduction's number")
    h.equal(waiting["threads"][0]["comm_name"], "MPI_COMM_WORLD", "its communicator")
    h.equal(late["threads"][0]["op"], None, "what the late rank does")
    h.equal(late["comms"][0]["reached"], 5, "reductions that it has left")
    h.check(waiting["stacks"] == [], "call stacks unasked")
    lines = text.splitlines()
    h.check(lines[-1].split()[0] == "3" and "no MPI call" in lines[-1], "the last is not rank 3:", text)
    h.check("MPI_Allreduce #5 on MPI_COMM_WORLD" in lines[1], text)
    h.equal(left_over(), [], "files left over")


@h.case
def status_with_stacks():
    with running("--no-merge", mode="late"):
        await_call("Allreduce", [0, 1, 2])
        data = status("--stacks")
    for rank in data["ranks"]:
        if rank["stack_problem"]:
            raise h.Skipped(rank["stack_problem"])
        h.check(any("come_late" in s["frames"] for s in rank["stacks"]), rank["stacks"])


PYSTACK = """#!/bin/sh
echo "Traceback for thread $4 (python3) [Has the GIL] (most recent call last):"
echo '    (Python) File "/home/me/train.py", line 88, in wait_here'
"""


def python_status():
    """The answer of a Python program of one process, with stacks, and the same as text."""
    command = h.profwrap("-o", "out", "--no-report", "--no-merge", sys.executable, "-c",
                         "import time; time.sleep(300)")
    job = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=h.environment())
    try:
        until = time.monotonic() + h.PATIENCE_S
        while time.monotonic() < until:
            with contextlib.suppress(AssertionError, FileNotFoundError):
                [rank] = status("--stacks")["ranks"]
                if any("Py_RunMain" in s["frames"] or s["python"] for s in rank["stacks"]) or rank["stack_problem"]:
                    return rank, h.run(h.profwrap("ctl", "status", "--stacks", "out")).stdout.decode()
            time.sleep(0.2)
    finally:
        job.terminate()
        job.communicate(timeout=h.PATIENCE_S)
        h.run(["rm", "-rf", "out"])
    h.check(False, "no stacks of a Python program")


@h.case
def python_frames():
    """The Python frames are those that pystack prints. Without pystack, the page says how to get it."""
    if os.path.exists(os.path.join(os.path.dirname(sys.executable), "pystack")):
        raise h.Skipped("this interpreter has a pystack of its own")
    rank, text = python_status()
    h.check(rank["stack_problem"] or "pystack is not installed" in rank["python_problem"], rank)
    h.check("no Python frames: pystack is not installed: pip install pystack" in " ".join(text.split()), text)
    os.mkdir("tools")
    with open("tools/pystack", "w") as file:
        file.write(PYSTACK)
    os.chmod("tools/pystack", 0o755)
    os.environ["PATH"] = os.path.abspath("tools") + ":" + os.environ["PATH"]
    rank, text = python_status()
    [stack] = [s for s in rank["stacks"] if s["tid"] == rank["pid"]]
    h.equal((stack["python"], stack["has_gil"], rank["python_problem"]), ("train.py:88 (wait_here)", True, ""), "thread")
    h.check(stack["frames"].startswith("wait_here (train.py:88)"), stack)
    h.check("wait_here (train.py:88)" in text, text)


@h.case
def status_of_a_stopped_rank():
    """A program that a signal has stopped is shown as stopped. A rank whose collector is stopped is
    shown as silent."""
    with running("--no-merge", mode="late"):
        found = await_call("Allreduce", [0, 1, 2])
        pids = {r["rank"]: r["pid"] for r in found["ranks"]}
        stop(pids[1])
        h.equal({r["rank"]: r["state"] for r in status()["ranks"]}[1], "T", "state of the stopped rank")
        os.kill(pids[1], signal.SIGCONT)
        with open(f"/proc/{pids[2]}/stat") as file:
            collector = int(file.read().rpartition(")")[2].split()[1])
        stop(collector)
        data = status()
        os.kill(collector, signal.SIGCONT)
    h.equal(data["silent"], [2], "ranks that did not answer")


def check(job, code, seconds=40):
    """`ctl check` as JSON and as text, as soon as all ranks are in no call: what they do until they are
    let go."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(AssertionError, FileNotFoundError):
            ranks = status()["ranks"]
            if len(ranks) == N and all(r["threads"] and r["threads"][0]["op"] is None and
                                       r["threads"][0]["since_ns"] > 5e8 for r in ranks):
                break
        h.check(job.poll() is None, "the job ended")
        time.sleep(0.2)
    found = json.loads(h.run(h.profwrap("ctl", "check", "--format", "json", "out"), status=code).stdout)
    text = h.run(h.profwrap("ctl", "check", "out"), status=code).stdout.decode()
    h.equal(found["answered"], N, "ranks that answered")
    return found, text


def await_difference(seconds=40):
    """What `ctl check` says as soon as it says that the ranks differ."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done = subprocess.run(h.profwrap("ctl", "check", "out"), capture_output=True, env=h.environment())
        if done.returncode == 3:
            return done.stdout.decode()
        time.sleep(0.2)
    h.check(False, "no difference after", seconds, "s")


@h.case
def order_of_collectives_differs():
    """Rank 2 leaves out call 16 x 3 + 1 in a loop of three collectives a time, and all ranks hang there."""
    with running("--hang-timeout", "1", "--no-merge", mode="diverge", argument="skip") as job:
        text, data = report(job)
    [found] = data["order"]
    h.equal((found["kind"], found["seq"]), ("likely_skipped", 49), "difference")
    h.equal((found["ranks"], found["other_ranks"]), ([2], [0, 1, 3]), "ranks")
    h.equal(data["headline"], "Rank 2 called MPI_Allgather #49 on MPI_COMM_WORLD, where ranks 0-1,3 called "
            "MPI_Allreduce, which it is likely to have skipped: before, MPI_Allgather came after it", "headline")
    h.check("Order of collectives" in text, text)


@h.case
def order_of_a_call_that_others_have_left():
    """Rank 2 waits in a broadcast of another root than the others, which wait in the next call."""
    with running("--no-merge", mode="diverge", argument="root"):
        h.equal(await_difference(), "Rank 2 called MPI_Bcast #48 on MPI_COMM_WORLD with root 1, ranks 0-1,3 with "
                "root 0.\n", "said")


@h.case
def order_differs_silently():
    """Rank 2 leaves out the broadcast 70 x 2 = #140 and no rank hangs. After it, calls alternate, so it may
    as well have made a reduction more."""
    with running("--no-merge", mode="silent") as job:
        found, text = check(job, 3)
        let_go(job)
    h.equal(job.returncode, 0, "exit status")
    [order] = found["order"]
    h.equal((order["kind"], order["seq"], order["ranks"]), ("likely_skipped", 140, [2]), "difference")
    h.check(text.startswith("Rank 2 called MPI_Reduce #140 on MPI_COMM_WORLD, where ranks 0-1,3 called MPI_Bcast, "
                            "which it is likely to have skipped"), text)


@h.case
def order_with_legal_differences():
    """Arguments that MPI ignores, or allows to differ, are no difference."""
    with running("--no-merge", mode="legal") as job:
        found, text = check(job, 0)
        let_go(job)
    h.equal(job.returncode, 0, "exit status")
    h.equal((found["order"], found["uncompared"]), ([], 0), "differences")
    h.equal(found["compared"], 91, "the communicators: the world, 30 copies, two halves of each")
    h.check("called the same collectives on 91 communicators" in text, text)


@h.case
def no_job():
    done = h.run(h.profwrap("ctl", "status", "nowhere"), status=1)
    h.equal(done.stderr, b"profwrap: nowhere cannot be read: No such file or directory; check the path\n",
            "said")
    with running("--no-merge", mode="late", argument="0") as job:
        job.communicate(timeout=h.PATIENCE_S)
    done = h.run(h.profwrap("ctl", "status", "out"), status=1)
    h.equal(done.stderr, b"profwrap: out has no running job: 'profwrap report out' shows one that has ended\n",
            "said of one that has ended")
    # What a collector leaves that was killed: no process answers.
    os.rename("out/rank-00000.h5", "out/rank-00000.h5.part")
    done = h.run(h.profwrap("ctl", "status", "out"), status=1)
    h.check(b"no rank of out answered" in done.stderr, done.stderr)
    h.equal(left_over(), [], "files left over")


@h.case
def wrong_command_lines():
    for words in ((), ("status",), ("halt", "out"), ("status", "a", "b"), ("status", "--format", "x", "a")):
        done = h.run(h.profwrap("ctl", *words), status=2)
        h.equal(len(h.lines(done.stderr)), 1, f"lines said of {words}")
    h.run(h.profwrap("--hang-timeout", "soon", "true"), status=2)


@h.case
def another_user():
    """A request of another user gets no answer, and a request about another user's job is
    refused."""
    if os.geteuid() != 0:
        raise h.Skipped("only root can be another user")
    nobody = 65534
    with running("--no-merge", mode="late") as job:
        await_call("Allreduce", [0, 1, 2])
        with open("out/.ctl-request", "w") as file:
            file.write("profwrap-request " + "0" * 32 + " 0 0 0 0 0 0 0\n")
        os.chown("out/.ctl-request", nobody, nobody)
        time.sleep(3)
        h.equal(glob.glob("out/.status-*"), [], "answers to another user")
        # The owner is not kept from asking by it.
        h.equal(len(status()["ranks"]), N, "answers to the owner")
        for path in glob.glob("out/*.part"):
            os.chown(path, nobody, nobody)
        done = status(code=1)
        h.check(b"belongs to another user" in done.stderr, done.stderr)
        os.symlink("/etc/passwd", "out/.ctl-request")
        time.sleep(2)
        h.equal(glob.glob("out/.status-*"), [], "answers to a link")
        job.kill()


@h.case
def killed_in_a_call():
    """The report names the call in which a rank was killed."""
    with running(mode="late") as job:
        found = await_call("Allreduce", [0, 1, 2])
        victim = {r["rank"]: r["pid"] for r in found["ranks"]}[2]
        os.kill(victim, signal.SIGKILL)
        job.communicate(timeout=h.PATIENCE_S)
    h.wait_until_gone("out/*.part")
    with h.open_complete("out", 2) as file:
        rows = file["events/open"][:]
        h.equal(h.enum_names(file["events/open"], "op"), ["Allreduce"], "open calls of rank 2")
        h.equal((int(rows[0]["seq"]), int(rows[0]["comm"])), (5, 0), "the reduction")
        h.check(int(rows[0]["seen_until"]) > int(rows[0]["start"]), rows)
    h.run(h.profwrap("merge", "--quiet", "out"))
    text = h.run(h.profwrap("report", "--section", "completeness", "out")).stdout.decode()
    line = "rank 2      killed by signal 9 in MPI_Allreduce #5 on MPI_COMM_WORLD, entered "
    h.check(line in text, text)
    data = json.loads(h.run(h.profwrap("report", "--format", "json", "out")).stdout)
    [call] = [row for row in data["completeness"]["open_calls"] if row["rank"] == 2]
    h.equal((call["op"], call["comm_name"], call["seq"]), ("Allreduce", "MPI_COMM_WORLD", 5), "JSON")
    dumped = h.run(h.profwrap("dump", "out/cluster.h5")).stdout.decode()
    h.check("/open_calls rank=2 " in dumped, "no open call in the dump")


@h.case
def the_page_of_a_hang_after_all_was_killed():
    """The watchdog's page stays; without a watchdog, the files tell in which call each rank ended."""
    for options in (("--hang-timeout", "1"), ()):
        with running("--no-merge", *options, mode="late") as job:
            if options:
                page, _ = report(job)
            found = await_call("Allreduce", [0, 1, 2])
            pids = {r["rank"]: r["pid"] for r in found["ranks"]}
            for pid in [*map(parent_of, pids.values()), *pids.values()]:
                os.kill(pid, signal.SIGKILL)
            job.communicate(timeout=h.PATIENCE_S)
        wait_for_the_end_of_all()  # a guard may have started another collector
        if options:
            said = h.run(h.profwrap("report", "--section", "hang", "out")).stdout.decode()
            h.equal(said, page, "the page after the end")
            h.run(["rm", "-r", "out"])
    text = h.run(h.profwrap("report", "--section", "hang", "out")).stdout.decode()
    for rank in range(3):
        h.check(f"rank {rank}: in MPI_Allreduce #5 on MPI_COMM_WORLD for " in text, text)
    h.check("rank 3: in" not in text, text)


def wait_for_the_end_of_all():
    """Returns when no other process is in this directory."""
    until = time.monotonic() + h.PATIENCE_S
    while time.monotonic() < until:
        there = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if int(pid) != os.getpid() and os.readlink(f"/proc/{pid}/cwd") == os.getcwd():
                    there.append(pid)
        if not there:
            return
        time.sleep(0.05)


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


@h.case
def killed_in_a_call_after_its_collector():
    """A file made from a journal has the open call, too."""
    with running("--no-merge", mode="late") as job:
        found = await_call("Allreduce", [0, 1, 2])
        victim = {r["rank"]: r["pid"] for r in found["ranks"]}[2]
        with open(f"/proc/{victim}/stat") as file:
            collector = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(collector, signal.SIGKILL)
        time.sleep(0.5)
        os.kill(victim, signal.SIGKILL)
        job.communicate(timeout=h.PATIENCE_S)
    h.wait_until_gone("out/*.journal")
    with h.open_rank("out", 2) as file:
        h.equal(int(file.attrs["complete"]), 2, "complete")
        h.equal(int(file.attrs["exit_signal"]), signal.SIGKILL, "signal")
        h.equal(h.enum_names(file["events/open"], "op"), ["Allreduce"], "open calls of rank 2")


@h.case
def nothing_open():
    """Ranks that end normally leave no open call."""
    with running("--no-merge", mode="late", argument="0") as job:
        job.communicate(timeout=h.PATIENCE_S)
    for rank in range(N):
        h.check("open" not in h.open_complete("out", rank)["events"], "rank", rank, "has open calls")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
