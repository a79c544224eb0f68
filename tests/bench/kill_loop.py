"""Sends SIGKILL at random moments to guard, collector and program, in any order. Checks that
nothing is damaged, left over or missing.

    kill_loop.py PROFWRAP TALLY WORK_DIR [--kills N] [--seed S] [--jobs J] [--shm BYTES [--fill]]

Each run kills one to four times, any of its three processes, after random pauses: from before the
program's start to long after, the same collector's successors too. The program calls in one thread or
in several at full rate, or is an MPI program; in half of the runs each call says an amount of work, too.
It counts the calls that have returned in a file of its own. In every third run the program ends by itself, and
neither it nor its status may suffer. Every sixteenth run is a job of three ranks under mpirun, of which processes
of any rank are killed. After each run, `profwrap recover` and `profwrap sweep`:
  harmed      the program did not end as without profwrap, or not at all; of ranks under mpirun: mpirun has
              another status
  late        after the program's end profwrap, or after a rank's end mpirun, returned LATE_S later than
              without profwrap, or not at all
  processes   something of the run still runs
  segments    shared memory is left
  unreadable  a rank file cannot be read, or there is none
  missing     calls that had returned, or their amounts, are neither recorded nor counted as lost
  crashed     `recover` or `sweep`, or in every tenth run `merge` or `report`, ended with another status
              than 0 and 1, or HDF5 crashed in it
A line for every run that is not right, whose directory stays in WORK_DIR. The plan follows from the
seed; when what happens does not. Each job has a /dev/shm of its own where it may (unshare -m), of
--shm bytes; --fill takes a random part of it away from each run.
"""
import argparse
import json
import os
import queue
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

import measure
from measure import report

h5py = measure.h5py()
FAULTS = ["harmed", "late", "processes", "segments", "unreadable", "missing", "crashed"]
PATIENCE_S = 120
LATE_S = 1.0
OWN_TIMES = 1000000000  # first number of runs without profwrap
GUARD, COLLECTOR, PROGRAM = "guard", "collector", "program"
STATUS = 7

parser = argparse.ArgumentParser()
parser.add_argument("profwrap")
parser.add_argument("tally")
parser.add_argument("work")
parser.add_argument("--kills", type=int, default=3000)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--shm", type=int, default=512 << 20)
parser.add_argument("--fill", action="store_true")
parser.add_argument("--job", type=int, default=-1, help=argparse.SUPPRESS)
options = parser.parse_args()


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PROFWRAP_")}
    env["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    if os.geteuid() == 0:
        env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return {**env, **more}


def stat_of(pid):
    """State and parent, or None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return words[0], int(words[1])
    except OSError:
        return None


def is_over(pid):
    found = stat_of(pid)
    return found is None or found[0] in "ZX"


class Run:
    def __init__(self, number, draw):
        self.number, self.draw, self.kills, self.killed = number, draw, 0, set()
        self.ended = self.left = None
        self.order = []  # of the kills
        self.watcher = threading.Thread(target=self.watch)
        self.folder = os.path.join(options.work, f"run-{options.seed}-{number}")
        self.out, self.counts = os.path.join(self.folder, "out"), os.path.join(self.folder, "count")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.with_mpi = number % 8 == 0
        self.with_work = number // 8 % 2 == 0
        self.threads = 1 if self.with_mpi else draw.choice([1, 2, 3])
        self.ends_itself = number % 3 == 0
        victims = [GUARD, COLLECTOR] if self.ends_itself else [GUARD, COLLECTOR, PROGRAM]
        longest = 0.5 if self.with_mpi else 0.15
        self.plan = [(draw.random() ** 2 * longest, draw.choice(victims))
                     for _ in range(draw.randint(1, 4))]

    # --- processes --------------------------------------------------------------------------------

    def processes(self):
        """{process ID: program} of all running processes of this run, which run in its
        directory."""
        found = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                path = os.readlink(f"/proc/{name}/exe")
                if path in (options.profwrap, options.tally) and \
                        os.readlink(f"/proc/{name}/cwd") == self.folder and not is_over(int(name)):
                    found[int(name)] = path
            except OSError:
                pass
        return found

    def find(self, who):
        if who == GUARD:
            return self.process.pid
        path = options.tally if who == PROGRAM else options.profwrap
        return next((pid for pid, found in self.processes().items()
                     if found == path and pid != self.process.pid), None)

    def kill(self, who):
        pid = self.find(who)
        if pid is None or is_over(pid):
            return
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            return
        self.kills += 1
        self.killed.add(who)
        self.order.append(who)

    # --- the run ----------------------------------------------------------------------------------

    def start(self):
        draw = self.draw
        size = draw.choice(["64K", "1M", "8M"])
        on_full = "drop" if self.threads > 1 else draw.choice(["drop", "wait"])
        self.calls = draw.randrange(1, 40) * (1000 if self.with_mpi or self.threads == 1 else 20000)
        how = [str(self.calls), "return", str(STATUS)] if self.ends_itself else ["0", "stay"]
        env = {} if self.with_mpi else {"TALLY_WITHOUT_MPI": "1"}
        if self.threads > 1:
            env["TALLY_THREADS"] = str(self.threads)
        if self.with_work:
            env["TALLY_WORK"] = "1"
        with open(os.path.join(self.folder, "stderr"), "wb") as errors:
            self.process = subprocess.Popen(
                [options.profwrap, "-q", "-o", self.out, "--no-merge", "--ring-size", size, "--on-full",
                 on_full, options.tally, self.counts, *how], env=environment(**env),
                cwd=self.folder, stdout=subprocess.DEVNULL, stderr=errors)
        self.watcher.start()

    def go(self):
        self.start()
        for pause, who in self.plan:
            time.sleep(pause)
            self.kill(who)
        if not self.ends_itself:  # or it would stay
            time.sleep(self.draw.random() * 0.1)
            end = time.monotonic() + PATIENCE_S
            while self.find(PROGRAM) is not None or not self.is_quiet(end):
                self.kill(PROGRAM)

    def is_quiet(self, end):
        """Whether no collector can start the program any more."""
        running = self.processes()
        time.sleep(0.002)
        return not running or time.monotonic() > end

    def fault(self):
        """None if all is right, else (kind, words)."""
        end = time.monotonic() + PATIENCE_S
        while self.processes() and time.monotonic() < end:
            time.sleep(0.005)
        left = self.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        status = self.process.wait()
        return (("processes", str(left)) if left else None) or self.harm(status) or self.lateness() or \
            self.recover() or self.lost() or self.merge_fault()

    def watch(self):
        """Notes when the program has ended, and when profwrap has returned."""
        program = None
        while self.process.poll() is None:
            program = program or self.find(PROGRAM)
            if program and self.ended is None and is_over(program):
                self.ended = time.monotonic()
            time.sleep(0.005)
        self.left = time.monotonic()

    def lateness(self):
        self.watcher.join()
        if self.ended is None or self.left - self.ended <= LATE_S:
            return None
        return "late", f"profwrap returned {self.left - self.ended:.2f} s after the program"

    def harm(self, status):
        words = f"status {status}, killed {sorted(self.killed)}"
        if self.ends_itself and GUARD not in self.killed:
            # What was killed as a collector may have been the program, which looks like one until
            # it is executed.
            is_unbegun = status == -signal.SIGKILL and not os.path.exists(self.counts)
            if status != STATUS and not is_unbegun:
                return "harmed", words
        elif GUARD not in self.killed and PROGRAM in self.killed and status != -signal.SIGKILL:
            return "harmed", words
        has_begun = os.path.exists(self.counts)
        if self.ends_itself and has_begun and self.returned() != self.calls * self.threads:
            return "harmed", f"{self.returned()} of {self.calls * self.threads} calls; {words}"
        return None

    def returned(self):
        try:
            with open(self.counts, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return 0
        return sum(struct.unpack_from("=q", data, at)[0] for at in range(0, len(data) - 7, 64))

    def recovered(self):
        """The output of recover, and its fault. If recover fails, the output says that nothing is
        running."""
        done, fault = command("recover", self.out)
        return done.stdout if done.returncode == 0 else b" 0 still running", fault

    def recover(self):
        if os.path.isdir(self.out):
            # A killed program's main thread may be gone while the others are still about to go.
            end = time.monotonic() + PATIENCE_S
            said, fault = self.recovered()
            while not fault and b" 0 still running" not in said and time.monotonic() < end:
                time.sleep(0.01)
                said, fault = self.recovered()
            if fault:
                return fault
        # What was killed before the program's start has recorded nothing that could be recovered.
        if options.shm:
            fault = command("sweep")[1]
            if fault:
                return fault
            left = [name for name in os.listdir("/dev/shm") if name.startswith("profwrap-")]
            for name in left:
                os.unlink(os.path.join("/dev/shm", name))
            if left:
                return "segments", f"{left}, killed {sorted(self.killed)}, {os.listdir(self.out)}"
        return None

    def lost(self):
        path, calls = os.path.join(self.out, "rank-00000.h5"), self.returned()
        try:
            with h5py.File(path, "r") as file:
                found, lost, without_ring = recorded(file)
                if found == 0 and says_no_memory(file):
                    return None  # not a page of shared memory in which calls could be counted
        except (OSError, KeyError) as problem:
            with open(os.path.join(self.folder, "stderr")) as errors:
                said = errors.read()
            if calls == 0 or "unprofiled" in said:
                return None  # killed before anything was there, or five collectors were
            return "unreadable", f"{calls} calls, {problem}, {said}"
        # Without a ring, beginning and ending a range are counted each, and so is giving its name.
        rows = 2 if self.with_work else 1  # of a call
        most = rows * (calls + self.threads) + 2 * without_ring
        if not rows * calls <= found + lost <= most:
            return "missing", (f"{calls} calls of {rows} rows returned, {found} in the file, "
                               f"{lost} counted as lost")
        return None

    def merge_fault(self):
        if self.number % 10 or not os.path.exists(os.path.join(self.out, "rank-00000.h5")):
            return None
        return command("merge", self.out)[1] or command("report", self.out)[1]


class LaunchedRun(Run):
    """Three ranks under mpirun. After the end of a rank mpirun returns as without profwrap, and when."""

    RANKS = 3
    MPIRUN = os.path.realpath(shutil.which("mpirun") or "/none")
    own_s = None  # how long after a rank's death mpirun returns without profwrap

    def __init__(self, number, draw):
        super().__init__(number, draw)
        self.first_kill = None  # of a program or a guard
        self.plan = [(draw.random() ** 2, draw.choice([GUARD, COLLECTOR, PROGRAM]))
                     for _ in range(draw.randint(1, 4))]

    def command(self, *profwrap):
        """Each rank has its own file of counts."""
        how = [str(self.calls), "return", str(STATUS)] if self.ends_itself else ["0", "stay"]
        words = [self.MPIRUN]
        for rank in range(self.RANKS):
            words += ["-np", "1", *profwrap, options.tally, f"{self.counts}-{rank}", *how, ":"]
        return words[:-1]

    def returned_by(self, rank):
        try:
            with open(f"{self.counts}-{rank}", "rb") as file:
                return struct.unpack("=q", file.read(8))[0]
        except (FileNotFoundError, struct.error):
            return 0

    def returned(self):
        return sum(map(self.returned_by, range(self.RANKS)))

    def wait_for_calls(self):
        """A rank that is killed in MPI_Init can leave an mpirun of Open MPI 4.1 waiting for its own threads."""
        end = time.monotonic() + PATIENCE_S
        while not all(map(self.returned_by, range(self.RANKS))) and self.process.poll() is None and \
                time.monotonic() < end:
            time.sleep(0.01)

    def start(self, with_profwrap=True):
        self.calls = self.draw.randrange(20, 200) * 1000
        profwrap = [options.profwrap, "-q", "-o", self.out]
        if self.number % 32 < 16:
            profwrap += ["--no-merge"]
        with open(os.path.join(self.folder, "stderr"), "wb") as errors:
            self.process = subprocess.Popen(
                self.command(*(profwrap if with_profwrap else [])), env=environment(), cwd=self.folder,
                stdout=subprocess.DEVNULL, stderr=errors)
        self.watcher.start()

    def find(self, who):
        """A process of any rank. The child of a collector is the program before it is executed."""
        running, kinds = self.processes(), {}
        for pid, path in sorted(running.items()):
            parent = (stat_of(pid) or ("", 0))[1]
            is_below = parent in running and (stat_of(parent) or ("", 0))[1] != self.process.pid
            if path == options.tally or not is_below:
                kinds[pid] = PROGRAM if path == options.tally else GUARD if parent == self.process.pid else COLLECTOR
        found = [pid for pid, kind in kinds.items() if kind == who]
        return self.draw.choice(found) if found else None

    def kill(self, who):
        before = self.kills
        super().kill(who)
        if self.kills > before and who != COLLECTOR and self.first_kill is None:
            self.first_kill = time.monotonic()

    def watch(self):
        try:
            self.process.wait(2 * PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.left = time.monotonic()

    def go(self):
        self.start()
        self.wait_for_calls()
        for pause, who in self.plan:
            time.sleep(pause)
            if self.process.poll() is None:
                self.kill(who)
        if not self.ends_itself:
            end = time.monotonic() + PATIENCE_S
            while self.first_kill is None and self.process.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
                self.kill(PROGRAM)

    def harm(self, status):
        wanted = 128 + signal.SIGKILL if self.first_kill else STATUS
        # The program may have ended by itself just before.
        if status == wanted or (self.ends_itself and status == STATUS):
            return None
        return "harmed", f"mpirun ended with {status} instead of {wanted}, killed {sorted(self.killed)}"

    def lateness(self):
        self.watcher.join()
        if self.first_kill is None or self.left - self.first_kill <= self.own_time() + LATE_S:
            return None
        LaunchedRun.own_s = None  # is the machine slower now?
        if self.left - self.first_kill <= self.own_time() + LATE_S:
            return None
        return "late", (f"mpirun returned {self.left - self.first_kill:.2f} s after a rank's death, without profwrap "
                        f"{self.own_time():.2f} s, killed {self.order}")

    def own_time(self):
        if LaunchedRun.own_s is None:
            other = LaunchedRun(OWN_TIMES + self.number, random.Random(1))
            other.ends_itself = False
            other.start(with_profwrap=False)
            other.wait_for_calls()
            while other.first_kill is None and other.process.poll() is None:
                time.sleep(0.01)
                other.kill(PROGRAM)
            other.watcher.join()
            shutil.rmtree(other.folder)
            LaunchedRun.own_s = other.left - other.first_kill
        return LaunchedRun.own_s

    def lost(self):
        """Each rank has a file that can be read, with all calls that had returned."""
        for rank in range(self.RANKS):
            calls = self.returned_by(rank)
            try:
                with h5py.File(os.path.join(self.out, f"rank-{rank:05d}.h5"), "r") as file:
                    found, lost, _ = recorded(file)
            except OSError as problem:
                with open(os.path.join(self.folder, "stderr")) as errors:
                    return "unreadable", f"{calls} calls of rank {rank}, {problem}, {errors.read()}"
            if not calls <= found + lost <= calls + 1:
                return "missing", (f"{calls} calls of rank {rank} returned, {found} in the file, {lost} counted "
                                   f"as lost")
        return None


def command(*words):
    """Runs profwrap. Returns the result, and its fault or None."""
    done = subprocess.run([options.profwrap, *words], env=environment(), capture_output=True,
                          timeout=PATIENCE_S)
    if done.returncode in (0, 1) and b"the HDF5 library" not in done.stderr:
        return done, None
    return done, ("crashed", f"{words[0]} ended with {done.returncode}: "
                  f"{done.stderr.decode(errors='replace')[-1000:]}")


def recorded(file):
    """The numbers of recorded calls, of calls counted as lost, and of those without a ring."""
    names = [bytes(text) for text in file["strings"][:]]
    wanted = [i for i, name in enumerate(names) if name == b"call"]
    found = int(sum((file["events/range"]["name"] == i).sum() for i in wanted))
    if "samples/work" in file:
        found += int((file["samples/work"]["amount"] == 1).sum())
    gaps = file["events/gap"][:]
    kinds = h5py.check_enum_dtype(file["events/gap"].dtype["kind"])
    reasons = h5py.check_enum_dtype(file["events/gap"].dtype["reason"])
    without_ring = gaps["reason"] == reasons["no_ring"]
    counted = (gaps["kind"] == kinds["range"]) | without_ring
    return found, int(gaps["lost"][counted].sum()), int(gaps["lost"][without_ring].sum())


def says_no_memory(file):
    """Whether the file says that there was no shared memory to record calls in."""
    if "unrecorded" not in file:
        return False
    reasons = h5py.check_enum_dtype(file["unrecorded"].dtype["reason"])
    return bool((file["unrecorded"]["reason"] == reasons["no_memory"]).any())


def be_job():
    """Prints one line of JSON per run, until this job's share of the kills is done."""
    if options.shm:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={options.shm}", "tmpfs", "/dev/shm"],
                       check=True)
    share = -(-options.kills // options.jobs)
    number = options.job
    while share > 0:
        draw = random.Random(options.seed * 1000003 + number)
        filler = "/dev/shm/filler"
        if options.fill:
            with open(filler, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, int(options.shm * draw.random() ** 0.3) or 1)
        run = (LaunchedRun if number % 16 == 5 else Run)(number, draw)
        run.go()
        fault, calls = run.fault(), run.returned()
        if fault is None:
            shutil.rmtree(run.folder)
        share -= run.kills
        print(json.dumps({"run": number, "kills": run.kills, "fault": fault,
                          "killed": sorted(run.killed), "calls": calls}), flush=True)
        number += options.jobs


def may_unshare():
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"],
                          capture_output=True).returncode == 0


def start_job(index):
    command = [sys.executable, *sys.argv, "--job", str(index), "--jobs", str(options.jobs), "--shm",
               str(options.shm)]
    return subprocess.Popen((["unshare", "-m"] if options.shm else []) + command,
                            stdout=subprocess.PIPE, text=True)


def results_of(jobs):
    lines = queue.SimpleQueue()

    def read(job):
        for line in job.stdout:
            lines.put(line)
        lines.put(None)

    for job in jobs:
        threading.Thread(target=read, args=(job,)).start()
    left = len(jobs)
    while left:
        line = lines.get()
        left -= line is None
        if line:
            yield json.loads(line)


def main():
    start = time.monotonic()
    os.makedirs(options.work, exist_ok=True)
    if not may_unshare():
        print("no /dev/shm of its own: one job, and shared memory that is left is not looked for")
        options.shm, options.jobs = 0, 1
    jobs = [start_job(index) for index in range(options.jobs)]
    faults, kills, runs, orders, calls = dict.fromkeys(FAULTS, 0), 0, 0, 0, 0
    for result in results_of(jobs):
        runs, kills = runs + 1, kills + result["kills"]
        calls += result["calls"]
        orders += len(result["killed"]) == 3
        if result["fault"]:
            kind, words = result["fault"]
            faults[kind] += 1
            print(f"run {result['run']}: {kind}: {words}", flush=True)
    if any(job.wait() for job in jobs):
        print("a job failed")
        return 1
    print(f"{kills} kills in {runs} runs with {calls} calls, all three processes in {orders}, seed {options.seed}, "
          f"{time.monotonic() - start:.0f} s")
    results = [report(f"runs at fault: {name}", count, 0) for name, count in faults.items()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    options.profwrap, options.tally, options.work = map(
        os.path.realpath, (options.profwrap, options.tally, options.work))
    sys.exit(be_job() if options.job >= 0 else main())
