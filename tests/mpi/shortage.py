"""Resources that a test takes away: from a file system, from running processes, or with a control group.
Each has take(pids) and release(pids). A resource of the whole system ignores the process IDs."""

import os
import resource
import shutil
import signal

from ending import stop

STACKS = 3  # threads whose stacks a program may still map under a limit on its memory


class Filler:
    """Fills a file system: with one file that takes all its space, or with files that take all its
    inodes."""

    def __init__(self, where, inodes=False):
        self.folder, self.inodes = os.path.join(where, ".filler"), inodes

    def take(self, _pids=()):
        os.makedirs(self.folder, exist_ok=True)
        if self.inodes:
            return self.take_inodes()
        with open(os.path.join(self.folder, "space"), "ab", buffering=0) as file:
            size = 1 << 20
            while size >= 4096:
                try:
                    if file.write(bytes(size)) < size:
                        size //= 2
                except OSError:
                    size //= 2

    def take_inodes(self):
        try:
            for number in range(1 << 20):
                os.close(os.open(os.path.join(self.folder, str(number)), os.O_CREAT, 0o600))
        except OSError:
            pass

    def release(self, _pids=()):
        shutil.rmtree(self.folder)


class Limit:
    """A resource limit for running processes, set to what they use now."""

    def __init__(self, which, used):
        self.which, self.used, self.before = which, used, {}

    def take(self, pids):
        for pid in pids:
            soft, hard = resource.prlimit(pid, self.which)
            self.before[pid] = (soft, hard)
            resource.prlimit(pid, self.which, (self.used(pid), hard))

    def release(self, _pids=()):
        for pid, limits in self.before.items():
            try:
                resource.prlimit(pid, self.which, limits)
            except ProcessLookupError:
                pass


def open_descriptors(pid):
    """The highest file descriptor plus 1, because the limit applies to the numbers."""
    return 1 + max(map(int, os.listdir(f"/proc/{pid}/fd")), default=0)


def address_space(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")


def room_for_stacks(pid):
    """The address space that a program uses, plus the stacks of the threads that it will start."""
    stack = resource.prlimit(pid, resource.RLIMIT_STACK)[0]
    return address_space(pid) + STACKS * (stack + 8192)


class ControlGroup:
    """Limits processes with a control group of version 1 or 2. `files` has the limit's file name in
    each version."""

    MOUNT = "/sys/fs/cgroup"

    def __init__(self, controller, files, value):
        self.controller, self.value = controller, value
        old = os.path.join(self.MOUNT, controller)
        self.version = 1 if os.path.exists(os.path.join(old, "tasks")) else 2
        self.root = old if self.version == 1 else self.MOUNT
        self.path = f"{self.root}/profwrap-test-{os.getpid()}"
        self.file = os.path.join(self.path, files[self.version - 1])

    def lacking(self):
        """The reason why no control group can be made, or None."""
        try:
            if self.version == 2:
                with open(os.path.join(self.root, "cgroup.controllers")) as file:
                    if self.controller not in file.read().split():
                        return f"no control group has {self.controller}"
                write(os.path.join(self.root, "cgroup.subtree_control"), "+" + self.controller)
            os.makedirs(self.path, exist_ok=True)
            os.rmdir(self.path)
        except OSError as problem:
            return f"no control group can be made: {problem}"
        return None

    def own(self):
        """The directory of this process's control group. Processes that it starts are in it,
        too."""
        with open("/proc/self/cgroup") as file:
            rows = [line.rstrip("\n").split(":", 2) for line in file]
        wanted = self.controller if self.version == 1 else ""
        path = next((path for _, names, path in rows if wanted in names.split(",")), "/")
        folder = self.root + path
        return folder if os.path.isdir(folder) else self.root

    def create(self):
        os.makedirs(self.path, exist_ok=True)
        write(self.file, str(self.value() if callable(self.value) else self.value))

    def take(self, pids):
        os.makedirs(self.path, exist_ok=True)
        for pid in pids:
            self.move(pid, self.path)
        self.create()

    @staticmethod
    def move(pid, where):
        try:
            write(os.path.join(where, "cgroup.procs"), str(pid))
        except ProcessLookupError:
            pass

    def members(self):
        try:
            with open(os.path.join(self.path, "cgroup.procs")) as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def release(self, _pids=()):
        for pid in self.members():
            self.move(pid, self.own())

    def remove(self):
        self.release()
        if os.path.isdir(self.path):
            os.rmdir(self.path)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def processes():
    group = ControlGroup("pids", ("pids.max", "pids.max"), None)

    def as_many_as_now():
        with open(os.path.join(group.path, "pids.current")) as file:
            return file.read().strip()

    group.value = as_many_as_now
    return group


def cpu_quota():
    """A quota of a hundredth of a core."""
    return ControlGroup("cpu", ("cpu.cfs_quota_us", "cpu.max"), 1000)


class Stopped:
    def take(self, pids):
        for pid in pids:
            stop(pid)

    def release(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass


def find(name, part):
    """The resource `name`, as it is taken from this part of profwrap. A program under the probe
    starts threads, so its memory limit leaves room for their stacks. Every other part gets no more
    memory than it has."""
    memory = room_for_stacks if part == "probe" else address_space
    return {
        "shm": lambda: Filler("/dev/shm"),
        "disk": lambda: Filler("disk"),
        "inodes": lambda: Filler("disk", inodes=True),
        "descriptors": lambda: Limit(resource.RLIMIT_NOFILE, open_descriptors),
        "memory": lambda: Limit(resource.RLIMIT_AS, memory),
        "processes": processes,
        "cpu": cpu_quota,
        "time": Stopped,
    }[name]()


NAMES = ("shm", "disk", "inodes", "descriptors", "memory", "processes", "cpu", "time")
OF_THE_SYSTEM = ("shm", "disk", "inodes")  # taken from all processes at once
