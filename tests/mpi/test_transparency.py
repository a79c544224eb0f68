"""A program behaves exactly as without profwrap. Its events are recorded even if it ends by an
error or a signal."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../endings"))
import harness as h
import launchers

PLAIN_RUN = ("--no-merge", "-o", "out")


def alone(*arguments, status=0, **more):
    return h.run(arguments, status=status, **more)


def wrapped(*arguments, status=0, **more):
    return h.run(h.profwrap(*PLAIN_RUN, *arguments), status=status, **more)


def same(n, *arguments, **more):
    """Runs a command under mpirun -np n, with and without profwrap. Exit status and standard output
    must be the same."""
    without = h.run(h.mpirun(n, *arguments), status=None, **more)
    within = h.run(h.mpirun(n, *h.profwrap(*PLAIN_RUN), *arguments), status=None, **more)
    h.equal(within.returncode, without.returncode, "exit status under profwrap")
    h.equal(within.stdout, without.stdout, "standard output under profwrap")
    return within


def count(folder, rank, op, file=h.open_complete):
    return h.operations(file(folder, rank)).count(op)


@h.case
def train_output():
    arguments = (h.place("TRAIN"), "--steps", "12")
    done = same(4, *arguments)
    h.check(b"step" in done.stdout, "train printed no steps")
    h.check(len(h.open_complete("out", 3)["steps"]) >= 12, "steps of rank 3")


@h.case
def exit_codes():
    for code in (0, 1, 3, 77, 255):
        out = f"out{code}"
        h.run(h.profwrap("--no-merge", "-o", out, h.program("plain"), "exit", str(code)), code)
        file = h.open_complete(out)
        h.equal((file.attrs["exit_code"], file.attrs["exit_signal"]), (code, 0), "recorded end")


@h.case
def deaths_by_signal():
    ways = [("abort",), ("segv",), ("raise", "9"), ("raise", "15"), ("raise", "10"), ("raise", "2")]
    for k, way in enumerate(ways):
        number = {"abort": signal.SIGABRT, "segv": signal.SIGSEGV}.get(way[0]) or int(way[1])
        h.run(h.profwrap("--no-merge", "-o", f"out{k}", h.program("plain"), *way), -number)
        file = h.open_complete(f"out{k}")
        h.equal(int(file.attrs["exit_signal"]), number, f"recorded signal of {way}")


@h.case
def standard_input_and_arguments():
    arguments = ["a b", "", "--help", "-o", "--", "*", "é", "x'y\"z", "%j", "\\n"]
    text = os.urandom(100000)
    for command in (["--"], []):
        done = h.run(
            h.profwrap("--no-merge", "-o", f"out{len(command)}", *command, h.program("plain"),
                       "echo", *arguments),
            input=text,
        )
        wanted = "".join(f"<{a}>\n" for a in arguments).encode() + text
        h.equal(done.stdout, wanted, "what the program saw")


@h.case
def environment_and_open_files():
    """The program's environment differs only by the variables that profwrap must add, and the
    program inherits no file descriptor of profwrap."""
    without = set(h.lines(alone("env").stdout))
    within = set(h.lines(wrapped("env").stdout))
    added = {line.split("=")[0] for line in within - without}
    h.check("LD_PRELOAD" in added, "no LD_PRELOAD")
    ours = {"LD_PRELOAD", "NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH",
            "NCCL_PROFILER_PLUGIN", "PYTHONPATH"}
    h.check(all(name in ours or name.startswith("PROFWRAP_") for name in added), added)
    h.equal(without - within, set(), "what disappeared")
    listing = ("ls", "/proc/self/fd")
    os.rename("out", "out-env")
    h.equal(wrapped(*listing).stdout, alone(*listing).stdout, "open descriptors")


def signalled(prefix, kind, *signals):
    """Standard output and exit status of the program `plain` after these signals."""
    process = subprocess.Popen(
        [*prefix, h.program("plain"), kind],
        stdout=subprocess.PIPE,
        env=h.environment(),
    )
    try:
        h.equal(process.stdout.readline(), b"ready\n", "first line")
        for number in signals:
            process.send_signal(number)
            if number == signal.SIGUSR1:
                h.equal(process.stdout.readline(), b"signal\n", "the answer to a signal")
        out, _ = process.communicate(timeout=h.PATIENCE_S)
        return out, process.returncode
    finally:
        process.kill()
        process.wait()


@h.case
def relayed_signals():
    signals = (signal.SIGUSR1, signal.SIGUSR1, signal.SIGUSR1, signal.SIGTERM)
    out, status = signalled(h.profwrap(*PLAIN_RUN), "listen", *signals)
    h.equal((out, status), (b"SIGTERM 1 SIGUSR1 3 SIGUSR2 0\n", 5), "what the program counted")
    h.equal(int(h.open_complete("out").attrs["exit_code"]), 5, "recorded exit code")


@h.case
def relayed_deaths():
    """Signals that end the program are passed on. SIGUSR1 and SIGUSR2 are not: if the program does
    not handle them, they are requests to profwrap (docs/control.md)."""
    for k, number in enumerate((signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)):
        _, status = signalled(h.profwrap("--no-merge", "-o", f"out{k}"), "wait", number)
        h.equal(status, -number, f"status after {number.name}")
        h.equal(int(h.open_complete(f"out{k}").attrs["exit_signal"]), number, "recorded signal")


@h.case
def signals_through_mpirun():
    """Not SIGTERM: a second after it, mpirun kills a program that had no CPU to answer with."""
    signals = (signal.SIGUSR1, signal.SIGUSR1, signal.SIGUSR2)
    without = signalled(h.mpirun(1), "listen", *signals)
    h.equal(without[0], b"SIGTERM 0 SIGUSR1 2 SIGUSR2 1\n", "what the program counted alone")
    within = signalled(h.mpirun(1, *h.profwrap(*PLAIN_RUN)), "listen", *signals)
    h.equal(within, without, "what the program counted under mpirun")


@h.case
def ends_without_finalize():
    same(2, h.program("actor"), "_exit", "0")
    for rank in range(2):
        h.equal(count("out", rank, "Allreduce"), 5, f"Allreduce of rank {rank}")
        h.equal(count("out", rank, "Finalize"), 0, "Finalize")


def wait_for(what, condition):
    limit = time.monotonic() + h.PATIENCE_S
    while not condition():
        h.check(time.monotonic() < limit, "waited in vain for", what)
        time.sleep(0.01)


@h.case
def killed_while_it_finishes():
    """mpirun may kill a rank's process group some milliseconds after its program has ended."""
    process = subprocess.Popen(
        h.profwrap(*PLAIN_RUN, h.program("plain"), "annotate"),
        env=h.environment(LD_PRELOAD=h.program("libslowsync.so")),
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    h.equal(process.stdout.readline(), b"errno kept\n", "output")
    children = f"/proc/{process.pid}/task/{process.pid}/children"

    def is_finishing():
        try:
            with open(children) as file:
                names = [open(f"/proc/{pid}/comm").read().strip() for pid in file.read().split()]
        except (FileNotFoundError, ProcessLookupError):  # one of them has just ended: look again
            return False
        return names in ([], ["profwrap"])

    wait_for("the end of the program", is_finishing)
    time.sleep(0.1)
    h.check(not os.path.exists(h.rank_path("out", 0)), "the disk is not slow enough to kill in time")
    os.killpg(process.pid, signal.SIGKILL)
    h.equal(process.wait(), -signal.SIGKILL, "end of profwrap")
    wait_for("the rank file", lambda: os.path.exists(h.rank_path("out", 0)))
    h.equal(h.range_names(h.open_complete("out")).count("marked"), 3, "ranges")


@h.case
def ends_by_mpi_abort():
    same(2, h.program("actor"), "abort", "7")
    h.equal(count("out", 0, "Allreduce"), 5, "Allreduce of rank 0")


@h.case
def fatal_error():
    same(1, h.program("actor"), "fatal-error")
    h.check(int(h.open_complete("out").attrs["exit_code"]) > 0, "exit code of an MPI error")


@h.case
def exit_code_through_mpirun():
    same(2, h.program("actor"), "exit", "3")
    # mpirun may end the other rank in MPI_Finalize, when the first one has exited with 3.
    finished = [rank for rank in range(2) if h.open_complete("out", rank).attrs["exit_code"] == 3]
    h.check(finished, "no rank exited with 3")
    for rank in finished:
        h.equal(count("out", rank, "Finalize"), 1, f"Finalize of rank {rank}")


@h.case
def returned_errors():
    done = same(2, h.program("actor"), "errors")
    h.check(len(h.lines(done.stdout)) > 40, "the program made too few mistakes:", done.stdout)
    events = h.open_complete("out", 0)["events/comm"]
    failed = [op for op, flags in zip(h.enum_names(events, "op"), events["flags"]) if flags & 1]
    for op in ("Send", "Recv", "Isend", "Bcast", "Allreduce", "Iallreduce", "Gatherv"):
        h.check(failed.count(op) >= 2, op, "has no error flag among", failed)


ERRORS = """
from mpi4py import MPI
handled = []
def refuse(status):
    raise MPI.Exception(MPI.ERR_BUFFER)
def wait():
    request = MPI.Grequest.Start(refuse, lambda: None, lambda complete: None)
    request.Complete()
    request.Wait()
calls = {"send": lambda: MPI.COMM_WORLD.send(1, dest=99), "wait": wait,
         "group": lambda: MPI.COMM_WORLD.group.Incl([99])}
own = MPI.Comm.Create_errhandler(lambda comm, code: handled.append(code))
for handler in MPI.ERRORS_RETURN, own:
    for comm in MPI.COMM_WORLD, MPI.COMM_SELF:
        comm.Set_errhandler(handler)
    for name, call in calls.items():
        try:
            call()
            print(name, "no error", len(handled))
        except MPI.Exception as error:
            print(name, error.Get_error_class(), len(handled))
MPI.COMM_SELF.Set_errhandler(MPI.ERRORS_ARE_FATAL)
MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_ARE_FATAL)
print("last", flush=True)
MPI.COMM_WORLD.recv(source=99)
print("after the fatal error", flush=True)
"""


@h.case
def errors_of_a_private_library():
    """MPI's error handlers are called as without profwrap, although mpi4py's wheel loads the library for
    itself alone, and MPICH 5 ends functions with the call that calls them."""
    seen = []
    with open("errors.py", "w") as file:
        file.write(ERRORS)
    for row in launchers.rows(os.getcwd()):
        if not row.has_mpi or row.lacking or not row.python:
            continue
        runs = [h.run([row.words[0], "-np", "1", *prefix, row.python, "errors.py"], status=None, env=row.env)
                for prefix in ((), h.profwrap("--no-merge", "-o", row.name))]
        h.equal(runs[1].returncode, runs[0].returncode, f"status under {row.name}")
        h.equal(runs[1].stdout, runs[0].stdout, f"output under {row.name}")
        h.check(b"last" in runs[0].stdout and runs[0].returncode, row.name, runs[0])
        seen.append(row.name)
    if not seen:
        raise h.Skipped("no mpi4py of PyPI (scripts/setup --mpi-wheels)")
    print("under", *seen)


@h.case
def closed_input_and_output():
    """Files of profwrap do not get their numbers, and the program has them closed."""
    look = "import os; os.write(2, str([n for n in (0, 1) if os.path.exists(f'/proc/self/fd/{n}')]).encode())"
    for at, closed in enumerate(("<&-", ">&-", "<&- >&-")):
        wrap = [*h.profwrap("--no-merge", "-q", "-o", f"out{at}"), sys.executable, "-S", "-c", look]
        runs = [h.run(["bash", "-c", f'"$@" {closed}', "sh", *words]) for words in (wrap[-4:], wrap)]
        h.equal(runs[1].stderr, runs[0].stderr, f"what is open with {closed}")
        h.open_complete(f"out{at}", 0)


@h.case
def alarm_that_was_set_before():
    command = [sys.executable, "-c", "import os, signal, sys\nsignal.alarm(1)\nos.execvp(sys.argv[1], sys.argv[1:])"]
    for prefix in ((), h.profwrap("--no-merge", "-q", "-o", "out")):
        h.run([*command, *prefix, "sleep", "60"], status=-signal.SIGALRM)


@h.case
def program_in_the_working_directory():
    """Open MPI's launcher finds it there without a path."""
    shutil.copy(h.program("actor"), "anactor")
    same(2, "anactor", "exit", "0")


@h.case
def ignored_arguments():
    done = same(2, h.program("actor"), "no-op")
    h.equal(h.lines(done.stdout), ["got 7 7 7"] * 2, "what was read")
    for rank in range(2):
        events = h.open_complete("out", rank)["events/comm"]
        found = [(op, int(e["sent_bytes"]), int(e["recv_bytes"]))
                 for op, e in zip(h.enum_names(events, "op"), events[:]) if "accumulate" in op]
        h.equal(sorted(found), [("Get_accumulate", 0, 4)] * 2 + [("Rget_accumulate", 0, 4)],
                f"bytes of rank {rank}")


@h.case
def outside_init_and_finalize():
    done = same(1, h.program("actor"), "outside")
    h.check(done.stdout.startswith(b"finalized 1\n"), done.stdout)
    h.equal(count("out", 0, "Allreduce"), 5, "Allreduce")


@h.case
def fork_in_an_mpi_program():
    # Its ranks return 17. Else mpirun would end the one that is still in MPI_Finalize.
    same(2, h.program("actor"), "fork", env={"OMPI_MCA_orte_abort_on_non_zero_status": "0"})
    for rank in range(2):
        h.equal(count("out", rank, "Allreduce"), 15, f"Allreduce of rank {rank}")
        h.equal(count("out", rank, "Finalize"), 1, "Finalize")


@h.case
def programs_without_mpi():
    wrapped("/bin/true")
    file = h.open_complete("out")
    h.equal(len(file["events/comm"]), 0, "records of /bin/true")
    h.equal((int(file.attrs["rank"]), int(file.attrs["world_size"])), (0, 1), "rank and size")
    h.run(h.profwrap("--no-merge", "-o", "out2", "/bin/false"), 1)
    pipeline = ("bash", "-c", "printf '%s\\n' c a b | sort | tr a-z A-Z; exit 6")
    done = h.run(h.profwrap("--no-merge", "-o", "out3", *pipeline), 6)
    h.equal(done.stdout, b"A\nB\nC\n", "output of the pipeline")
    h.open_complete("out3")


@h.case
def scripts_without_an_interpreter_line():
    with open("script", "w") as file:
        file.write('echo "$1 $#"\nexit 4\n')
    os.chmod("script", 0o755)
    done = wrapped("./script", "a b", status=4)
    h.equal(done.stdout, b"a b 1\n", "output of the script")


@h.case
def the_header_with_and_without():
    arguments = (h.program("plain"), "annotate")
    h.equal(alone(*arguments).stdout, b"errno kept\n", "output without profwrap")
    h.equal(wrapped(*arguments).stdout, b"errno kept\n", "output within profwrap")
    file = h.open_complete("out")
    h.equal([int(s) for s in file["steps"]["step"]], [0, 1, 2], "steps")
    h.equal(h.range_names(file).count("marked"), 3, "ranges")
    kinds = h.enum_names(file["events/range"], "kind")
    h.equal(kinds.count("phase"), 3, "phases")


@h.case
def fork_without_exec():
    done = wrapped(h.program("plain"), "fork")
    h.equal(done.stdout, b"child active 0\n", "output")
    file = h.open_complete("out")
    h.equal(sorted(h.range_names(file)), ["after", "before"], "ranges of the parent")
    h.equal(len(file["steps"]), 0, "steps of the child")


@h.case
def fork_and_exec():
    plain = h.program("plain")
    done = wrapped(plain, "exec", plain, "annotate")
    h.equal(done.stdout, b"errno kept\n", "output of the child")
    file = h.open_complete("out")
    h.equal(sorted(h.range_names(file)), ["after", "before"], "ranges of the parent")


@h.case
def closing_all_descriptors():
    wrapped(h.program("plain"), "close-all")
    names = h.range_names(h.open_complete("out"))
    h.equal((names.count("before"), names.count("marked")), (1, 3), "ranges")


@h.case
def threads_that_come_and_go():
    done = wrapped(h.program("plain"), "come-and-go", "1000")
    h.equal(done.stdout, b"1000 threads\n", "output")
    file = h.open_complete("out")
    h.equal(h.range_names(file).count("short thread"), 1000, "ranges")
    h.equal(len(set(file["events/range"]["thread"])), 1000, "thread numbers")


@h.case
def cost_of_a_short_thread():
    """The cost must not grow with the size of the ring, because a thread maps nothing that its
    process has mapped before."""
    def seconds(size):
        start = time.monotonic()
        h.run(h.profwrap("--no-merge", "--ring-size", size, "-o", "out" + size, h.program("plain"),
                         "come-and-go", "500"))
        return time.monotonic() - start

    small, large = seconds("64K"), seconds("64M")
    h.check(large < 4 * small + 1, f"500 threads: {small:.2f} s with rings of 64K, {large:.2f} s"
            " with rings of 64M")


@h.case
def threads_at_once():
    wrapped(h.program("plain"), "all-at-once", "48")
    h.equal(h.range_names(h.open_complete("out")).count("short thread"), 48, "ranges")


@h.case
def privately_loaded_mpi():
    same(2, h.program("dlmain"), h.program("libdlmpi.so"))
    for rank in range(2):
        ops = h.operations(h.open_complete("out", rank))
        h.equal(ops, ["Init"] + ["Allreduce"] * 7 + ["Finalize"], f"operations of rank {rank}")


def without_pids(output):
    return [re.sub(r"pid\.[0-9]+", "pid", line) for line in h.lines(output)]


@h.case
def what_mpi_says_of_the_start():
    """MPI_INFO_ENV has the program's name and arguments, not those of profwrap."""
    program = h.program("infoenv")
    for arguments in ((), ("--steps", "3", "a b")):
        alone = h.run(h.mpirun(2, program, *arguments))
        done = h.run(h.mpirun(2, *h.profwrap("-q", "--no-merge", "-o", f"out{len(arguments)}"),
                              program, *arguments))
        h.check(b"0 command=infoenv\n" in alone.stdout, "keys:", alone.stdout)
        h.equal(sorted(without_pids(done.stdout)), sorted(without_pids(alone.stdout)),
                f"MPI_INFO_ENV with arguments {arguments}")


@h.case
def quiet_prints_nothing():
    arguments = ("--quiet", "-o", "out", h.place("TRAIN"), "--steps", "3")
    done = h.run(h.mpirun(2, *h.profwrap(*arguments)))
    h.equal(done.stderr, b"", "standard error")
    h.check(os.path.exists("out/report.json"), "no report.json")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
