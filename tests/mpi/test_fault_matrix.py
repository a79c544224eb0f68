"""Each resource, taken away from each part of profwrap: {shared memory, disk space, inodes, file
descriptors, memory, processes, CPU quota, time} x {absent from the start, runs out in the middle,
comes back} x {probe, collector, guard, merge, report, recover}. There is one case per part and
resource. A shortage of the whole system hits probe and collector at once, so the probe's case covers
both.

While the program runs (probe, collector, guard), its output and exit status are the same as without
profwrap. Each of its calls and ranges is a row of the rank file or counted as lost.

Afterwards (merge, report, recover), a command under a shortage either gives the same result as
without it, or ends with status 1 and says why. It leaves no incomplete file. Once the resource is
back, the same command gives that result.

"Time" is taken away by SIGSTOP, as a debugger or a frozen container does. File systems that are
filled up are tmpfs in this process's own mount namespace, which needs root. Processes and CPU quota
are taken away by control groups, of version 1 or 2.
"""

import difflib
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import harness as h
import shortage
from ending import children, wait_until_stopped
from shortage import ControlGroup, Filler, Stopped

CALLS, THREADS, RANGES = 300, shortage.STACKS, 200  # of each phase
PHASE = (f"calls {CALLS}", f"threads {THREADS} {RANGES}")
PHASES = 3
RUNNING = ("probe", "collector", "guard")
WHEN = ("absent", "runs_out", "comes_back")
UNPROFILED = re.compile(rb"profwrap: .*(running|runs) (.* )?unprofiled")
DISK_BYTES, SHM_BYTES = 24 << 20, 96 << 20
OWN_MOUNTS = "FAULT_MATRIX_HAS_OWN_MOUNTS"  # set in the environment inside of the namespace


# --- the resources

def set_up(resource_name, part):
    """Mounts file systems for this test only. Returns the resource."""
    if os.geteuid() != 0:
        raise h.Skipped("mounting file systems takes root")
    if OWN_MOUNTS not in os.environ:
        raise h.Skipped("there is no mount namespace of its own: unshare -m fails")
    h.h5py()
    os.mkdir("disk")
    for where, size in (("disk", DISK_BYTES), ("/dev/shm", SHM_BYTES)):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes=4096", "none",
                               where], capture_output=True)
        if done.returncode != 0:
            raise h.Skipped("no file system of our own: " + done.stderr.decode().strip())
    taken = shortage.find(resource_name, part)
    if isinstance(taken, ControlGroup) and taken.lacking():
        tear_down(taken)
        raise h.Skipped(taken.lacking())
    return taken


def tear_down(taken):
    if isinstance(taken, ControlGroup):
        taken.remove()
    for where in ("disk", "/dev/shm"):
        subprocess.run(["umount", "-l", where], capture_output=True)


# --- while the program runs

class Run:
    """programs/flood.c, under profwrap or alone. Each line that it reads tells it what to
    record."""

    def __init__(self, out=None, below=()):
        command = [h.program("flood")]
        if out:
            command = h.profwrap("-o", out, "--no-merge", "--ring-size", "256K", *command)
        env = h.environment(OMPI_MCA_btl="self", OMPI_MCA_osc="^sm")
        self.out = out
        self.process = subprocess.Popen([*below, *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self.answers, self.counts, self.parts = [], [], {}

    def tell(self, *lines):
        for line in lines:
            try:
                self.process.stdin.write(line.encode() + b"\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                pass
            self.answers.append(self.process.stdout.readline())
            if self.answers[-1] == b"done\n":
                verb, *numbers = line.split()
                self.counts.append(math.prod(map(int, numbers)))

    def done(self):
        """The number of calls and ranges that the program has confirmed."""
        return sum(self.counts)

    def stumbled(self):
        return len(self.counts) < len(self.answers)

    def find_parts(self):
        """Finds the process IDs. The program must have answered before, so that all processes
        exist."""
        self.parts = {"guard": self.process.pid, "collector": None, "probe": None}
        below = children(self.process.pid)
        while below and not self.parts["probe"]:
            pid = below.pop()
            with open(f"/proc/{pid}/comm") as file:
                name = file.read().strip()
            if name == "flood":
                self.parts["probe"] = pid
            elif name == "profwrap":
                self.parts["collector"] = pid
            below += children(pid)

    def pids(self, part):
        pid = self.parts.get(part)
        return [pid] if pid else []

    def end(self):
        """Returns exit status and standard output."""
        output, self.errors = self.process.communicate(timeout=h.PATIENCE_S)
        return self.process.returncode, b"".join(self.answers) + output


def play(run, part, when, taken):
    """Runs three phases of the program, and takes the resource away in all, in the last two, or in
    the second. Returns exit status and output. A guard has to start another collector, so its
    collector is killed while the resource is missing."""
    run.tell("calls 1")
    if run.out:
        run.find_parts()
    victims = run.pids(part) if run.out else [run.process.pid]
    applies = run.out or part == "probe"
    for phase in range(PHASES):
        starts = {"absent": 0, "runs_out": 1, "comes_back": 1}[when]
        if applies and phase == starts and not (isinstance(taken, Stopped) and part == "probe"):
            taken.take(victims)
        if applies and isinstance(taken, Stopped) and part == "probe" and phase == starts:
            taken.take(victims)  # the program itself stands still, and goes on
            taken.release(victims)
        if run.out and part == "guard" and phase == starts and run.parts["collector"]:
            os.kill(run.parts["collector"], signal.SIGKILL)
        if phase == 2 and when == "comes_back" and applies:
            taken.release(victims)
        run.tell(*PHASE)
    if isinstance(taken, Stopped) and applies:
        taken.release(victims)  # nothing can end while it stands still
    result = run.end()
    if applies and when != "comes_back":
        taken.release(victims)
    return result


def loss_of(file, kinds):
    rows = file["events/gap"][:]
    named = zip(h.enum_names(file["events/gap"], "reason"),
                h.enum_names(file["events/gap"], "kind"), (int(row["lost"]) for row in rows))
    return sum(lost for reason, kind, lost in named
               if kind in kinds and reason not in ("paused", "ring_wait"))


def check_accounts(out, run):
    """Each call and each range is a row, or counted as lost. If there is no rank file at all,
    profwrap said at the start that it does not profile."""
    h.run(h.profwrap("recover", out), None)
    path = h.rank_path(out, 0)
    if UNPROFILED.search(run.errors) and not os.path.exists(path):
        return
    h.check(os.path.exists(path), "no rank file after recover among", os.listdir(out), "; said:",
            run.errors.decode(errors="replace")[-2000:])
    with h.open_rank(out) as file:
        calls = h.operations(file).count("Allreduce")
        ranges = len(file["events/range"])
        lost = loss_of(file, ("comm", "range", "other", "communication"))
        wanted = run.done()  # the program itself may have ended early, without what it lacked
        most = max(wanted, 1 + PHASES * (CALLS + THREADS * RANGES) if run.stumbled() else 0)
        if calls + ranges + lost < wanted:
            # A rank of which nothing could be recorded says that, instead of a number.
            reasons = (h.enum_names(file["unrecorded"], "reason") if "unrecorded" in file else [])
            h.check("no_memory" in reasons and calls + ranges == 0,
                    calls, "calls,", ranges, "ranges,", lost, "lost of", wanted, "complete",
                    int(file.attrs["complete"]), "gaps", file["events/gap"][:], reasons)
        h.check(calls + ranges <= most, calls, "calls,", ranges, "ranges of", most)


def nothing_is_left(run):
    """No shared-memory segment and no process of the run is left."""
    left = [name for name in os.listdir("/dev/shm") if name.startswith("profwrap")]
    h.equal(left, [], "segments left in /dev/shm")
    deadline = time.monotonic() + h.PATIENCE_S
    for part, pid in run.parts.items():
        while pid and os.path.exists(f"/proc/{pid}"):
            h.check(time.monotonic() < deadline, part, "still runs")
            time.sleep(0.01)


def program_is_undisturbed(part, resource_name):
    taken = set_up(resource_name, part)
    try:
        for when in WHEN:
            alone = play(Run(), part, when, shortage.find(resource_name, part))
            print(f"{part}, {resource_name}, {when}", flush=True)
            if when == "absent" and isinstance(taken, Filler):
                taken.take()  # before anything is there
            run = Run(os.path.join("disk", when))
            found = play(run, part, when, taken)
            h.equal(found, alone, f"{when}: exit status and output; said {run.errors[-2000:]}")
            if os.path.isdir(run.out):
                check_accounts(run.out, run)
            else:
                h.check(UNPROFILED.search(run.errors), "said of a run without a directory:",
                        run.errors)
            nothing_is_left(run)
    finally:
        tear_down(taken)


# --- afterwards

def make_run(out):
    run = Run(out)
    run.tell(*PHASE)
    run.find_parts()
    return run


def tool_commands(tool):
    """The arguments of the command, and the files that it makes."""
    commands = {
        "merge": (["merge", "disk/run"], ["disk/run/cluster.h5"]),
        "report": (["report", "--format", "html", "-o", "disk/run/made.html", "disk/run"],
                   ["disk/run/made.html"]),
        "recover": (["recover", "disk/run"], ["disk/run/rank-00000.h5"]),
    }
    return commands[tool]


def make_input(tool):
    """Makes the input of the tool in `input`, from which each attempt copies it to disk/run."""
    run = make_run("input")
    if tool == "recover":
        for part in ("guard", "collector", "probe"):
            os.kill(run.parts[part], signal.SIGKILL)
        run.end()
        # What shared memory holds goes into the journal's file with the first recovery: the input
        # is the journal alone, as on another machine.
        for name in os.listdir("/dev/shm"):
            if name.startswith("profwrap"):
                os.unlink(os.path.join("/dev/shm", name))
    else:
        h.equal(run.end()[0], 0, "exit status")
    if tool == "report":
        h.run(h.profwrap("merge", "input"))


def fresh_input():
    shutil.rmtree("disk/run", ignore_errors=True)
    shutil.copytree("input", "disk/run", symlinks=True)


def listing():
    return sorted(name for name in os.listdir("disk/run") if name != ".filler")


INTERRUPTED_AT_LAST = 20  # times
INTERRUPTIONS = {"for a moment": (signal.SIGSTOP, signal.SIGCONT), "to its end": (signal.SIGTERM,)}


def shortages(tool, resource_name):
    """Amounts of a resource, from next to none to nearly enough; [None] if there is only one."""
    if resource_name == "descriptors":
        return [4, 6, 8, 12, 16, 24, 40]
    if resource_name == "memory":
        sizes = [size << 20 for size in (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 384)]
        return [size for size in sizes if loads(size)]
    if resource_name == "processes":
        return [1, 2, 3, 6]
    if resource_name in ("disk", "shm"):
        return [0, 8 << 10, 64 << 10, 256 << 10]
    if resource_name == "time":
        return ["for a moment", "to its end"]
    return [None]


def loads(memory):
    """Whether this much memory is enough for the dynamic linker, which is not part of profwrap."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return subprocess.run(h.profwrap("--version"), capture_output=True,
                          preexec_fn=limit).returncode == 0


def start_limited(command, resource_name, amount, taken):
    """Starts the command with exactly this amount of the resource."""

    def limit():
        if resource_name == "descriptors":
            resource.setrlimit(resource.RLIMIT_NOFILE, (amount, amount))
        elif resource_name == "memory":
            resource.setrlimit(resource.RLIMIT_AS, (amount, amount))
        elif isinstance(taken, ControlGroup):
            ControlGroup.move(os.getpid(), taken.path)

    if resource_name == "processes":
        os.makedirs(taken.path, exist_ok=True)
        taken.value = amount
        taken.create()
    elif resource_name == "cpu":
        taken.value = 20000  # a fifth of a core: slow, and comes to its end
        taken.create()
    elif isinstance(taken, Filler):
        taken.take()
        if amount:
            space = os.path.join(taken.folder, "space")
            os.truncate(space, max(0, os.path.getsize(space) - amount))
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=limit, env=h.environment(), start_new_session=True)


def has_opened(session, path):
    """Whether a process of the session has a file open whose path contains `path`."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(pid)) == session and any(
                    path in os.readlink(f"/proc/{pid}/fd/{fd}")
                    for fd in os.listdir(f"/proc/{pid}/fd")):
                return True
        except OSError:
            pass
    return False


def interrupt_in_the_middle(process, signals):
    """Sends the signals as soon as the command reads or writes. Returns False if the command ended
    first."""
    while process.poll() is None and not has_opened(process.pid, "disk/run/"):
        pass
    for number in signals:
        if process.poll() is not None:
            return False
        os.killpg(process.pid, number)
        if number == signal.SIGSTOP and not wait_until_stopped(process.pid):
            return False
    return True


def start_and_interrupt(command, resource_name, amount, taken):
    """Starts the command until an attempt is interrupted in the middle. Returns that process."""
    for _ in range(INTERRUPTED_AT_LAST):
        process = start_limited(command, resource_name, amount, taken)
        if interrupt_in_the_middle(process, INTERRUPTIONS[amount]):
            return process
        process.communicate(timeout=h.PATIENCE_S)
        fresh_input()
    return h.check(False, command, f"had ended each of {INTERRUPTED_AT_LAST} times before it was",
                   "interrupted", amount)


def judge(command, results, reference, before, process, words):
    output, errors = process.communicate(timeout=h.PATIENCE_S)
    status = process.returncode
    said = errors.decode(errors="replace")
    if status == -signal.SIGTERM:
        return False  # it was told to end at once, whatever it leaves
    from_loader = status == 127 and "error while loading shared libraries" in said
    h.check(status in (0, 1) or from_loader, words, "ended with", status, "saying", said[-2000:])
    if status == 0:
        for result in results:
            h.check(same(result, reference[result]), words, "ended with 0 and another", result)
        return True
    h.check(said, words, "ended with 1 and said nothing")
    for result in results:
        h.check(not os.path.exists(result), words, "failed and left", result)
    new = [name for name in listing() if name not in before]
    h.equal(new, [], f"files after a failed {words}; said {said[-2000:]}")
    return False


def same(path, reference, without=None):
    """Whether two files have the same contents, but for lines that begin with `without`. Prints the
    differences, if any."""
    found, wanted = contents(path), contents(reference)
    if without:
        found, wanted = ([line for line in lines if not line.startswith(without)] for lines in (found, wanted))
    if found != wanted:
        as_lines = [text.splitlines() if isinstance(text, str) else text for text in (wanted, found)]
        print(*list(difflib.unified_diff(*as_lines, reference, path, n=0, lineterm=""))[:40], sep="\n")
    return found == wanted


def contents(path):
    """The contents to compare: of an HDF5 file, what dump prints; of a page, the text without the
    random nonce."""
    if path.endswith(".h5"):
        text = h.run(h.profwrap("dump", path)).stdout.decode()
        return [line for line in text.splitlines() if path not in line]
    with open(path) as file:
        return re.sub(r"nonce[-=]\"?[0-9a-f]{32}", "", file.read())


def tool_is_right_or_says_why(tool, resource_name):
    taken = set_up(resource_name, tool)
    try:
        arguments, results = tool_commands(tool)
        command = h.profwrap(*arguments)
        make_input(tool)
        fresh_input()
        before = listing()
        h.run(command)
        after = listing()
        reference = {result: "reference-" + os.path.basename(result) for result in results}
        for result, kept in reference.items():
            shutil.copy(result, kept)

        def succeeds_with(amount):
            fresh_input()
            words = f"{tool} with {resource_name} {'' if amount is None else amount}"
            print(words, flush=True)
            start = start_and_interrupt if resource_name == "time" else start_limited
            process = start(command, resource_name, amount, taken)
            succeeded = judge(command, results, reference, before, process, words)
            if resource_name != "time":
                taken.release()
            # It is back: the same command, on what the failed one has left. A recovery that was killed
            # after it had renamed the file leaves the journal beside it: the second one removes it.
            h.run(command)
            h.equal(listing(), after, f"files after {words}, and again with enough")
            # The end of a program that nobody saw end is when its journal was written last. A kill while a
            # recovery notes this time can change it: the kernel changes it before it takes the first byte.
            without = "/ end_unix_ns=" if tool == "recover" and resource_name == "time" else None
            for result, kept in reference.items():
                h.check(same(result, kept, without), words, "left what a second one makes another", result)
            return succeeded

        for amount in shortages(tool, resource_name):
            succeeds_with(amount)
        if resource_name == "disk":
            try_the_least(succeeds_with)
    finally:
        tear_down(taken)


def try_the_least(succeeds_with):
    """Searches for the least disk space that is enough, in pages. So the command also runs with one
    page less, which has room for the file itself but for nothing else."""
    page = os.sysconf("SC_PAGE_SIZE")
    too_little, enough = 0, (DISK_BYTES // 2) // page
    while enough - too_little > 1:
        middle = (too_little + enough) // 2
        if succeeds_with(middle * page):
            enough = middle
        else:
            too_little = middle


def add_cases():
    for name in shortage.NAMES:
        # What all processes lack, the collector lacks in the probe's case.
        for part in ("probe", "guard") if name in shortage.OF_THE_SYSTEM else RUNNING:
            add(part, name, program_is_undisturbed)
        for tool in ("merge", "report", "recover"):
            add(tool, name, tool_is_right_or_says_why)


def add(part, name, function):
    def cell():
        function(part, name)

    cell.__name__ = f"{part}_{name}"
    h.case(cell)


add_cases()

def enter_own_mounts():
    """Runs this script again in its own mount namespace, if one can be made."""
    try:
        done = subprocess.run(["unshare", "-m", "true"], capture_output=True)
    except FileNotFoundError:
        return
    if done.returncode == 0:
        os.environ[OWN_MOUNTS] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, "-B", *sys.argv])


if __name__ == "__main__":
    if sys.argv[1:] != ["--list"] and os.geteuid() == 0 and OWN_MOUNTS not in os.environ:
        enter_own_mounts()
    sys.exit(h.main(sys.argv[1:]))
