"""One job of the endings matrix, without profwrap or with it, and what it is judged by."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time

import harness as h
from ending import state_of
from shortage import ControlGroup
from shortages import Shortage

PATIENCE_S = 20
START_S = 120  # until the first victim's end
REPORT_S = 60  # after its launcher has returned, a job's report must be there
# What Hydra says of an end on its standard output, or not: that depends on which death it sees first.
BANNER = re.compile(r"$|=|YOUR APPLICATION TERMINATED|This typically refers to|Please see the FAQ page")
KILLED = (signal.SIGTERM, signal.SIGKILL)  # by a launcher
MEMORY = 96 << 20  # of the control group

# Makes a file when the launcher has returned. Hosts of a virtual cluster have no other clock in common than
# that of the files.
WRAPPER = """#!/bin/sh
"{path}" "$@"
status=$?
: >{folder}/returned
exit $status
"""


class Trial:
    """A job in a directory of its own. After run(): `status`, `output` (the lines, sorted), `errors`, and
    in seconds since the first death of a victim `launcher_s` and `closed_s`: when the launcher had returned,
    and when nobody could write to its standard output and error any more. None: it did not."""

    def __init__(self, cell, program, folder, profwrap=None, shortage=None):
        self.cell, self.program, self.folder = cell, program, folder
        self.profwrap, self.shortage = profwrap, shortage or Shortage()
        self.status = self.launcher_s = self.closed_s = self.total_s = None
        self.output, self.errors = [], ""

    # --- the command

    def launcher_words(self):
        """A script of the launcher's name that starts it, and its arguments."""
        words = self.cell.launcher.words
        if not words:
            return []
        real = shutil.which(words[0])
        os.makedirs(os.path.join(self.folder, "bin"))
        path = os.path.join(self.folder, "bin", os.path.basename(words[0]))
        with open(path, "w") as file:
            file.write(WRAPPER.format(path=real, folder=self.folder))
        os.chmod(path, 0o700)
        return [path, *words[1:]]

    def command(self):
        launcher, profwrap = self.launcher_words(), []
        if self.profwrap:
            profwrap = [self.profwrap, "-o", "out"]
        below, within = [*self.cell.launcher.below, *self.shortage.below], self.shortage.within
        if self.cell.form == "outside":
            return [*below, *profwrap, *launcher, *within, *self.program]
        return [*below, *launcher, *within, *profwrap, *self.program]

    def environment(self, group):
        return h.environment(ENDING_WAY=self.cell.way.name, ENDING_VICTIM=self.cell.victim,
                             ENDING_OTHERS=self.cell.others, **self.cell.launcher.settings(), **self.shortage.env,
                             **({"ENDING_CGROUP": group.path} if group else {}))

    # --- the run

    def run(self, limit_s):
        """The launcher is ended when it has not returned `limit_s` after the first victim's end."""
        os.makedirs(self.folder)
        group = None
        if self.cell.way.name == "memory-cgroup":
            group = ControlGroup("memory", ("memory.limit_in_bytes", "memory.max"), MEMORY)
            group.create()
        try:
            self.run_in(group, limit_s)
        finally:
            if group:
                remove_group(group)
        return self

    def run_in(self, group, limit_s):
        start = time.time()
        process = subprocess.Popen(self.command(), env=self.environment(group), cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=without_core, start_new_session=True)
        closed, texts = {}, {}

        def read(stream, name):
            texts[name] = stream.read()
            closed[name] = time.time()

        readers = [threading.Thread(target=read, args=pair) for pair in
                   ((process.stdout, "output"), (process.stderr, "errors"))]
        for reader in readers:
            reader.start()
        self.shortage.treat(self)  # the victims wait for it, also those that stop themselves
        self.act_on_stopped(process, start + START_S)
        returned = self.wait(process, start, limit_s)
        end = (self.time_of_death() or start) + limit_s
        for reader in readers:
            reader.join(max(0.0, end - time.time()) if returned else 0)
        is_closed = len(closed) == 2
        if returned is None or not is_closed:
            self.kill_rest()
            process.kill()
            process.wait()
            for reader in readers:
                reader.join()
        self.take(process, start, returned, max(closed.values()) if is_closed else None, texts)

    def wait(self, process, start, limit_s):
        while process.poll() is None:
            died = self.time_of_death()
            if time.time() > (died + limit_s if died else start + START_S):
                return None
            time.sleep(0.005)
        return time.time()

    def take(self, process, start, returned, closed, texts):
        self.status = process.returncode if returned is not None else None
        died = self.time_of_death() or start
        if returned is not None:
            self.total_s = returned - start
            self.launcher_s = (self.time_of("returned") or returned) - died
        if closed is not None:
            self.closed_s = closed - died
        self.output = sorted(line for line in texts["output"].decode(errors="replace").splitlines()
                             if not BANNER.match(line))
        self.errors = texts["errors"].decode(errors="replace")
        self.has_begun = all(os.path.exists(os.path.join(self.folder, f"begun-{rank}"))
                             for rank in range(self.cell.launcher.ranks))

    def time_of_death(self):
        """Of the first victim."""
        return self.time_of(*(f"died-{rank}" for rank in self.cell.victims()))

    def time_of(self, *names):
        """When the first of these files was written; None: there is none."""
        paths = [os.path.join(self.folder, name) for name in names]
        return min((os.stat(path).st_mtime for path in paths if os.path.exists(path)), default=None)

    # --- other processes

    def act_on_stopped(self, process, end):
        """Continues or kills victims that have stopped themselves."""
        number = {"continued": signal.SIGCONT, "stopped-killed": signal.SIGKILL}.get(self.cell.way.name)
        for rank in self.cell.victims() if number else ():
            pid = self.wait_for_stop(rank, process, end)
            if pid:
                os.utime(os.path.join(self.folder, f"died-{rank}"))
                os.kill(pid, number)

    def wait_for_stop(self, rank, process, end):
        while time.time() < end and process.poll() is None:
            pid = self.pid_in("died", rank)
            if pid and state_of(pid) in ("T", "t"):
                return pid
            time.sleep(0.005)
        return None

    def pid_in(self, name, rank):
        """The pid that this rank wrote into a file, as this process sees it; None: not yet."""
        try:
            with open(os.path.join(self.folder, f"{name}-{rank}")) as file:
                inner = int(file.read())
        except (FileNotFoundError, ValueError):  # not there, or not whole
            return None
        return next((pid for pid in self.rest() if inner_pid(pid) == inner), None)

    def rest(self):
        """Processes of this job that still run: {pid: command line}."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/cwd").startswith(self.folder) and state_of(pid) not in ("Z", None):
                    with open(f"/proc/{pid}/cmdline") as file:
                        found[int(pid)] = file.read().replace("\0", " ").strip()
            except OSError:
                pass
        return found

    def kill_rest(self):
        """Ends what is left of the job. Returns whether something was left."""
        for _ in range(200):
            left = self.rest()
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not left:
                return False
            time.sleep(0.01)
        return True


def remove_group(group):
    """Waits for the end of its processes, which have been killed."""
    h.check(wait_for(lambda: not group.members(), PATIENCE_S), "processes stay in", group.path)
    group.remove()


def inner_pid(pid):
    """The pid in the process's own namespace."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return int(next(line for line in file if line.startswith("NSpid")).split()[-1])
    except (OSError, StopIteration):
        return None


def without_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# --- what is left of a job with profwrap

def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def report_of(out):
    """The report, or None while not all of it is there."""
    if not all(os.path.exists(os.path.join(out, name)) for name in ("cluster.h5", "report.txt", "report.html")):
        return None
    try:
        with open(os.path.join(out, "report.json")) as file:
            return json.load(file)
    except (FileNotFoundError, ValueError):
        return None


HYDRA = ("mpich4", "mpich5", "intelmpi")  # after MPI_Abort, it kills all ranks at once


def statuses_of_hydra(cell):
    """What Hydra may return for a job that fails: without profwrap, MPICH 4.0's returns 0 and 9 in turn when all
    ranks leave with 0 before MPI_Finalize, and 6 and 15 when all abort."""
    if cell.launcher.name not in HYDRA or cell.way.is_good:
        return ()
    return (cell.way.signal or cell.way.code, *KILLED)


RETURNED = 99  # ender.c leaves with it when MPI_Abort has returned, as under MPICH 5


def calls_abort(cell):
    """mpi4py calls MPI_Abort when an exception is not caught."""
    return cell.way.calls_mpi or (cell.way.name == "exception" and cell.launcher.has_mpi)


def end_is_right(cell, rank, code, number):
    way = cell.way
    if rank in cell.victims():
        right = (way.code, way.signal) == (code, number)
        # Of several, the launcher may have ended this one; and one that calls MPI_Abort, at any time.
        return right or ((cell.victim == "all" or calls_abort(cell)) and number in KILLED) or \
            (way.calls_mpi and code == RETURNED)
    if way.is_good:
        return (code, number) == (0, 0) or number in KILLED
    return code != -1 or number in (*KILLED, 6)


def rank_faults(cell, out, complete=(1,)):
    import h5py
    faults, ends = [], []
    for rank in range(cell.launcher.ranks):
        path = h.rank_path(out, rank)
        if not os.path.exists(path):
            faults.append(f"no file of rank {rank}")
            continue
        with h5py.File(path, "r") as file:
            found = tuple(int(file.attrs[name]) for name in ("exit_code", "exit_signal"))
            closed = int(file.attrs["complete"])
        ends.append(found)
        if closed not in complete:
            faults.append(f"rank {rank}: complete is {closed}")
        if not end_is_right(cell, rank, *found):
            faults.append(f"rank {rank}: exit_code {found[0]}, exit_signal {found[1]}")
    is_killed = calls_abort(cell) and cell.launcher.name in HYDRA
    if cell.victim == "all" and not is_killed and (cell.way.code, cell.way.signal) not in ends:
        faults.append(f"no rank's end is that of the victims: {ends}")
    return faults


def report_faults(trial, seconds=REPORT_S):
    """Waits for the report, and checks it and the ranks' files."""
    faults = faults_of_files(trial, seconds) if trial.shortage.has_report else []
    if not wait_for(lambda: not trial.rest(), PATIENCE_S):
        faults.append(f"processes are left: {trial.rest()}")
    return faults


def faults_of_files(trial, seconds):
    cell, out = trial.cell, os.path.join(trial.folder, "out")
    if not wait_for(lambda: report_of(out), seconds):
        there = sorted(os.listdir(out)) if os.path.isdir(out) else "no directory"
        return [f"no report after {seconds} s: {there}"]
    faults = rank_faults(cell, out, trial.shortage.complete)
    state = report_of(out)["completeness"]
    ranks = cell.launcher.ranks
    wanted = {"ranks_expected": ranks, "ranks_present": ranks}
    faults += [f"report: {name} is {state[name]}" for name in wanted if state[name] != wanted[name]]
    if (cell.way.code != 0 or cell.way.signal) and state["ranks_failed"] == 0:
        faults.append("report: no rank failed")
    if lacks_words(trial, out):
        faults.append("neither the report nor a line that says where it will be was printed")
    return faults


def lacks_words(trial, out):
    """Whether nothing was said of the report, where rank 0's profwrap sees that its program fails, and lives
    to say something."""
    cell = trial.cell
    if cell.form != "inside" or cell.victim != "first" or not (cell.way.code or cell.way.signal):
        return False
    if calls_abort(cell) and cell.launcher.name in HYDRA:
        return False  # it may read nothing more
    with open(os.path.join(out, "report.txt")) as file:
        headline = " ".join(file.readline().split())
    words = " ".join(trial.errors.split())  # the screen may be narrower than the file
    return "will be in out/report.txt" not in words and headline not in words
