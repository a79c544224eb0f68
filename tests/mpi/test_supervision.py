"""Guard, collector and program watch each other: in whatever order they are killed, no process and no
shared memory is left once the run is recovered, and no call that had returned is missing."""

import itertools
import os
import signal
import subprocess
import sys

import harness as h
from ending import children, count, recorded, state_of, stop, wait_for

GUARD, COLLECTOR, PROGRAM = "guard", "collector", "program"


class Run:
    """profwrap with `tally stay` and no MPI, once calls have been made."""

    def __init__(self, out="out", where=(), env=None, how=(0, "stay"), session=False):
        self.out, self.counts, self.collectors = out, out + ".count", []
        command = [*where, *h.profwrap("-o", out, "--no-merge", "--on-full", "wait"),
                   h.program("tally"), self.counts, *map(str, how)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        env=h.environment(TALLY_WITHOUT_MPI="1", **(env or {})),
                                        start_new_session=session)
        self.guard = self.process.pid

    def await_calls(self):
        path = self.counts
        wait_for(lambda: os.path.exists(path) and os.path.getsize(path) == 8 and count(path) > 100,
                 "calls")
        self.program = next(pid for pid in self.processes()
                            if os.readlink(f"/proc/{pid}/exe") == h.program("tally"))
        with open(f"/proc/{self.program}/environ", "rb") as file:
            variables = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
        self.segment = "/dev/shm" + variables[b"PROFWRAP_SEGMENT"].decode()
        return self

    def processes(self):
        """All processes of this run that still run. Guard, collectors and program have the run's
        directory, or its count of calls, in their command line."""
        found = []
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                here = os.readlink(f"/proc/{pid}/cwd") == os.getcwd()
            except OSError:
                continue
            if here and self.counts.encode() in words and state_of(pid) not in ("Z", "X", None):
                found.append(pid)
        return found

    def collector(self):
        """Returns the collector that lives now, as soon as there is one."""
        found = []

        def is_there():
            found[:] = [pid for pid in self.processes() if pid not in (self.guard, self.program)
                        and pid not in self.collectors]
            return found

        wait_for(is_there, "collector")
        return found[0]

    def kill(self, who):
        pid = {GUARD: lambda: self.guard, PROGRAM: lambda: self.program,
               COLLECTOR: self.collector}[who]()
        if who == COLLECTOR:
            self.collectors.append(pid)
        os.kill(pid, signal.SIGKILL)
        if who == GUARD:
            self.process.wait()
        wait_for(lambda: state_of(pid) in ("Z", "X", None), f"end of the {who}")

    def check_ended(self):
        """No process of the run is left. After `recover`, no shared memory is left, and no call is
        missing."""
        wait_for(lambda: not self.processes(), f"end of {self.processes()}", 30)
        self.process.wait()
        done = h.run(h.profwrap("recover", self.out))
        h.check(b" 0 still running, 0 failed" in done.stdout, done.stdout)
        h.check(not os.path.exists(self.segment), "shared memory is left")
        _, most, attributes = recorded(self.out)
        h.check(count(self.counts) <= most <= count(self.counts) + 1, count(self.counts),
                "calls returned,", most, "are in the file")
        h.equal(int(attributes["dropped_events"]), 0, "dropped_events")
        return attributes


def check_orders(where=(), name="out"):
    """Kills the processes in each order. A collector whose program has ended would end before it is
    killed, so it is stopped first. While the guard lives, it replaces each killed collector."""
    for number, order in enumerate(itertools.permutations((GUARD, COLLECTOR, PROGRAM))):
        run = Run(f"{name}{number}", where).await_calls()
        for position, who in enumerate(order):
            if who == PROGRAM and COLLECTOR in order[position:]:
                stop(run.collector())
            run.kill(who)
        h.equal(len(run.collectors), 1, f"collectors killed in the order {order}")
        run.check_ended()


@h.case
def killed_in_any_order():
    check_orders()


@h.case
def killed_in_any_order_where_there_is_no_pidfd():
    for error in ("ENOSYS", "EPERM"):
        done = subprocess.run([h.program("withoutpidfd"), error, "true"], check=False)
        if done.returncode == h.SKIP:
            raise h.Skipped("no filters of system calls here")
        check_orders((h.program("withoutpidfd"), error), error)


@h.case
def the_second_collector_outlives_the_guard():
    """The second collector is not the program's parent, and no process tells it about the program's
    end. It detects the end by itself."""
    for at_once in (True, False):
        run = Run(f"out{at_once:d}").await_calls()
        run.kill(COLLECTOR)
        collector = run.collector()
        if at_once:  # as a launcher does, or the kernel for want of memory
            os.kill(run.guard, signal.SIGKILL)
            os.kill(run.program, signal.SIGKILL)
        else:
            run.kill(GUARD)
            before = count(run.counts)
            wait_for(lambda: count(run.counts) > before + 1000, "calls without a guard")
            os.kill(run.program, signal.SIGTERM)
        wait_for(lambda: state_of(collector) is None, "end of the second collector", 30)
        h.check(os.path.exists(h.rank_path(run.out, 0)), "the second collector made no file")
        attributes = run.check_ended()
        h.equal(int(attributes["complete"]), 2, "complete")


@h.case
def a_program_that_is_stopped():
    """The second collector follows a stopped program. In its session no process is outside its
    group, as here, so the end of a parent there could send it SIGHUP (setpgid(2))."""
    run = Run(session=True).await_calls()
    stop(run.program)
    run.kill(COLLECTOR)
    run.collector()
    h.equal(state_of(run.program), "T", "state of the program")
    run.kill(GUARD)
    h.equal(state_of(run.program), "T", "state of the program")
    os.kill(run.program, signal.SIGCONT)
    before = count(run.counts)
    wait_for(lambda: count(run.counts) > before + 1000, "calls of the program that goes on")
    run.kill(PROGRAM)
    run.check_ended()


@h.case
def a_guard_that_is_stopped():
    """The collector that took over finishes the file, because it reads the exit status of the
    zombie."""
    run = Run().await_calls()
    run.kill(COLLECTOR)
    run.collector()
    stop(run.guard)
    os.kill(run.program, signal.SIGTERM)
    wait_for(lambda: os.path.exists(h.rank_path(run.out, 0)), "rank file")
    h.equal(int(recorded(run.out)[2]["exit_signal"]), signal.SIGTERM, "exit_signal")
    os.kill(run.guard, signal.SIGCONT)
    h.equal(run.process.wait(30), -signal.SIGTERM, "status")
    run.check_ended()


@h.case
def killed_just_after_it_was_stopped():
    """The guard processes the stop when the program has already ended. It must not reap the program
    unseen."""
    run = Run(env={"LD_PRELOAD": h.program("libholding.so")}).await_calls()
    run.kill(COLLECTOR)
    run.collector()
    h.check(run.program in children(run.guard), "the program is not the guard's child")
    open("hold-stop", "w").close()
    os.kill(run.program, signal.SIGSTOP)
    wait_for(lambda: os.path.exists("held-stop"), "stop that the guard saw")
    run.kill(PROGRAM)
    os.remove("hold-stop")
    h.equal(run.process.wait(30), -signal.SIGKILL, "status")
    attributes = run.check_ended()
    h.equal(int(attributes["exit_signal"]), signal.SIGKILL, "exit_signal")


@h.case
def recovery_while_a_collector_takes_over():
    """`profwrap recover` examines a running rank at the moment when the rank's second collector
    locks the journal."""
    run = Run().await_calls()
    looks = [subprocess.Popen(["sh", "-c", 'while [ ! -e stop ]; do "$0" recover out; done',
                               h.place("PROFWRAP")], stdout=subprocess.DEVNULL) for _ in range(2)]
    try:
        for _ in range(4):
            before = count(run.counts)
            run.kill(COLLECTOR)
            wait_for(lambda: count(run.counts) > before + 5000, "calls")
        run.collector()
        os.kill(run.program, signal.SIGTERM)
        h.equal(run.process.wait(60), -signal.SIGTERM, "status")
    finally:
        open("stop", "w").close()
        for look in looks:
            look.wait()
    run.check_ended()


def crashes():
    return os.path.getsize("crashes") if os.path.exists("crashes") else 0


@h.case
def collectors_that_crash_at_once():
    """Before its start, the program runs unprofiled. After its start, it continues, and `recover`
    makes its file. In both cases several collectors are started, and one line says so."""
    preload = {"LD_PRELOAD": h.program("libcrashing.so")}
    open("crash-now", "w").close()
    run = Run("early", env=preload, how=(3000, "return", 6))
    errors = run.process.communicate(timeout=h.PATIENCE_S)[1].decode()
    h.equal(run.process.returncode, 6, "status")
    h.equal(count(run.counts), 3000, "calls")
    h.equal(crashes(), 5, "collectors that were started")
    h.equal(errors.count("profwrap:"), 1, f"lines of {errors}")
    h.check("no collector of rank 0 could start, see profwrap doctor: running" in errors, errors)
    os.remove("crash-now")
    os.remove("crashes")
    run = Run("late", env=preload).await_calls()
    open("crash-now", "w").close()
    run.kill(COLLECTOR)
    wait_for(lambda: crashes() == 5, "crashes")
    wait_for(lambda: children(run.guard) == [run.program], "end of the last collector")
    before = count(run.counts)
    wait_for(lambda: count(run.counts) > before + 1000, "calls without a collector")
    os.kill(run.program, signal.SIGTERM)
    errors = run.process.communicate(timeout=h.PATIENCE_S)[1].decode()
    h.equal(run.process.returncode, -signal.SIGTERM, "status")
    h.equal(crashes(), 5, "collectors that were started")
    h.equal(errors.count("profwrap:"), 2, f"lines of {errors}")
    h.check("rank 0 crash when they start" in errors, errors)
    run.check_ended()


def cores_of(pid):
    return os.sched_getaffinity(pid)


@h.case
def a_collector_leaves_the_cores_of_its_rank():
    """A launcher binds a rank to a core. The collector, also one that takes over, runs on the other cores of
    the launcher; the program stays where it was bound. Without a launcher, somebody chose the core."""
    mine = cores_of(0)
    if len(mine) < 2:
        raise h.Skipped("one core")
    bound = {min(mine)}
    for launched in (True, False):
        rank = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"} if launched else {}
        run = Run(f"out-{launched}", ("taskset", "-c", str(min(mine))), rank).await_calls()
        for _ in range(2):
            wait_for(lambda: cores_of(run.collector()) == (mine - bound if launched else bound), "its cores")
            h.equal(cores_of(run.program), bound, "cores of the program")
            run.kill(COLLECTOR)
        run.kill(PROGRAM)
        run.check_ended()


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
