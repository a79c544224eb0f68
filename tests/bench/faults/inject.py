"""Faults from outside a program: on one of its ranks, in a window of the run.

A fault is begun when the rank's process is there and the window's first second has come, and ended
with the window. What needs a library in the process (slow malloc, slow reads) is preloaded into the
rank alone, by a shell before the program.
"""
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

CGROUP1, CGROUP2 = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"
# kind: (what the report should call the cause, needs a library in the rank)
KINDS = {"quota": ("quota", False), "burners": ("contention", False), "stop": ("stopped", False),
         "stops": ("stopped", False), "freeze": ("host_frozen", False), "malloc": ("cpu", True), "read": ("file_io", True),
         "late_start": ("start", True)}


def find_rank(rank, name, inside):
    """The process of a rank: its program is `name`, and it was started below process `inside`."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{entry}/environ", "rb") as file:
                if f"OMPI_COMM_WORLD_RANK={rank}".encode() not in file.read().split(b"\0"):
                    continue
            if os.path.basename(os.readlink(f"/proc/{entry}/exe")).startswith(name) and \
                    inside in ancestors(int(entry)):
                return int(entry)
    return None


def ancestors(pid):
    found = []
    while pid > 1:
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def have_quota():
    return os.access(CGROUP1 + "/cpu.cfs_quota_us", os.R_OK) or \
        os.path.exists(CGROUP1 + "/tasks") or os.path.exists(CGROUP2 + "/cgroup.controllers")


class Quota:
    """The rank's process in a cgroup of its own that may use `percent` of a processor."""

    def __init__(self, pid, percent):
        is_v1 = os.path.exists(CGROUP1 + "/tasks")
        root = CGROUP1 if is_v1 else CGROUP2
        self.pid, self.old = pid, root
        self.path = os.path.join(root, f"slow-rank-{os.getpid()}")
        os.makedirs(self.path, exist_ok=True)
        self.procs = "cgroup.procs"
        with open(f"/proc/{pid}/cgroup") as file:
            for line in file.read().splitlines():
                number, controllers, path = line.split(":", 2)
                if (is_v1 and "cpu" in controllers.split(",")) or (not is_v1 and number == "0"):
                    self.old = root + path
        if is_v1:
            self.write(self.path, "cpu.cfs_period_us", "100000")
            self.write(self.path, "cpu.cfs_quota_us", str(1000 * percent))
        else:
            self.write(root, "cgroup.subtree_control", "+cpu")
            self.write(self.path, "cpu.max", f"{1000 * percent} 100000")
        self.write(self.path, self.procs, str(pid))

    @staticmethod
    def write(path, name, text):
        with open(os.path.join(path, name), "w") as file:
            file.write(text)

    def end(self):
        with contextlib.suppress(OSError):
            self.write(self.old, self.procs, str(self.pid))
        for _ in range(100):  # until the process has left it, or ended
            with contextlib.suppress(OSError):
                os.rmdir(self.path)
                return
            time.sleep(0.05)


class Burners:
    """Processes that compute on the processor that the rank is bound to meanwhile.

    MPI_Init looks at the host's topology by binding the process to each processor in turn, and then
    back to what it was before: so the rank is bound again and again.
    """

    def __init__(self, pid, count):
        self.pid, self.before = pid, os.sched_getaffinity(0)
        self.core = max(self.before)
        burn = f"import os\nos.sched_setaffinity(0, {{{self.core}}})\nwhile True: pass"
        self.processes = [subprocess.Popen([sys.executable, "-c", burn]) for _ in range(count)]
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._keep_bound)
        self.thread.start()

    def _bind(self, cores):
        with contextlib.suppress(OSError):
            if os.sched_getaffinity(self.pid) != cores:
                os.sched_setaffinity(self.pid, cores)

    def _keep_bound(self):
        while not self.over.is_set():
            self._bind({self.core})
            self.over.wait(0.02)

    def end(self):
        self.over.set()
        self.thread.join()
        for process in self.processes:
            process.kill()
            process.wait()
        self._bind(self.before)


def with_collector(pid):
    """A rank and the processes of profwrap above it: what a container of its own would have."""
    found = [pid]
    for parent in ancestors(pid):
        with open(f"/proc/{parent}/comm") as file:
            if not file.read().startswith("profwrap"):
                break
        found.append(parent)
    return found


class Stops:
    """SIGSTOP for `off` seconds, then SIGCONT for `on` seconds, again and again; once without `on`."""

    def __init__(self, pids, off, on=None):
        self.pids, self.off, self.on = pids, off, on
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        while not self.over.is_set():
            self._send(signal.SIGSTOP)
            self.over.wait(self.off)
            self._send(signal.SIGCONT)
            if self.on is None:
                return
            self.over.wait(self.on)

    def _send(self, number):
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def end(self):
        self.over.set()
        self.thread.join()


def begin(fault, pid):
    """What has end(); None for a fault that is in the rank from its start."""
    if fault["kind"] == "quota":
        return Quota(pid, fault["percent"])
    if fault["kind"] == "burners":
        return Burners(pid, fault["count"])
    if fault["kind"] == "stop":
        return Stops([pid], fault["seconds"])
    if fault["kind"] == "freeze":
        return Stops(with_collector(pid), fault["seconds"])
    if fault["kind"] == "stops":
        return Stops([pid], fault["off"], fault["on"])
    return None


def shell_before(fault, library):
    """What the ranks' command begins with, so that a rank has the library or begins late."""
    if not fault or not KINDS[fault["kind"]][1]:
        return []
    wanted = {"malloc": "SLOW_MALLOC_US={us}", "read": "SLOW_READ_US={us}"}
    if fault["kind"] == "late_start":
        do = "sleep {seconds}".format(**fault)
    else:
        first, last = fault["window"]
        do = (f'export LD_PRELOAD="$LD_PRELOAD {library}" SLOW_BYTES={fault.get("bytes", 4096)} '
              f"SLOW_FROM_S={int(first)} SLOW_TO_S={int(last + 1)} "
              + wanted[fault["kind"]].format(**fault))
    return ["sh", "-c", f'if [ "$OMPI_COMM_WORLD_RANK" = {fault["rank"]} ]; then {do}; fi; exec "$@"',
            "sh"]
