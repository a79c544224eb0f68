"""/dev/shm is small, full, or fills up while a program runs. A process that touches a page for
which tmpfs has no memory is killed by SIGBUS. Each run has a mount namespace with its own tmpfs.

The program is programs/flood.c. However little shared memory there is, it ends as without profwrap.
Its calls are in the file or are counted there."""

import os
import signal
import subprocess
import sys

import flood as driver
import harness as h
from ending import children
from smallshm import in_namespace

THREADS, CALLS = 6, 300  # of a crowd: at most what the smallest ring takes


def gaps(file):
    table = file["events/gap"]
    return list(zip(h.enum_names(table, "reason"), map(int, table["lost"])))


def calls(file):
    """The numbers of recorded calls and of calls that were lost because there was no ring or no
    room in it."""
    lost = sum(n for reason, n in gaps(file) if reason in ("no_ring", "ring_full"))
    h.equal(lost, int(file.attrs["dropped_events"]), "dropped_events")
    return len(file["events/comm"]), lost


def flood(prefix, *lines, options=("--no-merge", "-o", "out")):
    return subprocess.run([*prefix, *h.profwrap(*options, h.program("flood"))],
                          input="".join(line + "\n" for line in lines), capture_output=True,
                          text=True, env=h.environment(), timeout=h.PATIENCE_S)


class Flood(driver.Flood):
    """A flood program with its own /dev/shm, which fill() fills."""

    def __init__(self, size):
        super().__init__("--no-merge", below=in_namespace(size))

    def shm(self):
        return f"/proc/{self.process.pid}/root/dev/shm"

    def fill(self):
        with open(self.shm() + "/filler", "ab", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        h.equal(os.statvfs(self.shm()).f_bavail, 0, "free blocks")


def whole():
    """The number of calls of a crowd when there is room for all of them."""
    done = flood([], f"crowd {THREADS} {CALLS}", options=("--no-merge", "-o", "whole"))
    h.equal((done.returncode, done.stdout), (0, "done\n"), "the program " + done.stderr)
    recorded, lost = calls(h.open_complete("whole"))
    h.equal(lost, 0, "lost calls with room enough")
    return recorded


@h.case
def full_before_the_run():
    h.h5py()
    wanted, kinds = whole(), set()
    for percent in (0, 20, 40, 60, 80, 87, 88, 90, 95, 99, 100):
        done = flood(in_namespace(8, percent), f"crowd {THREADS} {CALLS}",
                     options=("--no-merge", "-o", str(percent)))
        what = f"{percent} % full: " + done.stderr
        h.equal((done.returncode, done.stdout), (0, "done\n"), what)
        h.check("was killed" not in done.stderr, what)
        file = h.open_rank(str(percent))
        h.equal(int(file.attrs["complete"]), 1, what)
        if "unprofiled" in done.stderr:
            h.equal(h.enum_names(file["unrecorded"], "reason"), ["no_memory"], what)
            kinds.add("unrecorded")
            continue
        recorded, lost = calls(file)
        h.equal(recorded + lost, wanted, "recorded and lost calls, " + what)
        h.equal("shared memory is full" in done.stderr, recorded == 0, what)
        kinds.add("whole" if not lost else "some" if recorded else "none")
    h.equal(kinds, {"whole", "none", "unrecorded"} | (kinds & {"some"}), "what there was")


@h.case
def full_during_the_run():
    """Threads that start later get no ring. Threads with a ring go on."""
    h.h5py()
    more = 2 * THREADS * (CALLS + 2) + 11  # each thread's communicator is made and freed
    wanted = whole() + more
    flooded = Flood(64)
    flooded.tell(f"crowd {THREADS} {CALLS}")
    flooded.fill()
    flooded.tell(f"crowd {2 * THREADS} {CALLS}")
    flooded.tell("calls 10")
    errors = flooded.end()
    h.check("was killed" not in errors, errors)
    file = h.open_rank("out")
    recorded, lost = calls(file)
    h.equal(int(file.attrs["complete"]), 1, "complete")
    h.equal(recorded + lost, wanted, "recorded and lost calls")
    h.check({reason for reason, _ in gaps(file)} == {"no_ring"}, gaps(file))
    h.check(0 < lost <= (THREADS + 1) * CALLS, "lost calls", lost)


@h.case
def collector_killed_when_full():
    """A new collector goes on with the existing rings, and without those that could not be made."""
    h.h5py()
    flooded = Flood(64)
    flooded.tell(f"crowd {THREADS} {CALLS}")
    flooded.fill()
    os.kill(flooded.collector(), signal.SIGKILL)
    flooded.tell(f"crowd {2 * THREADS} {CALLS}")
    flooded.tell("calls 10")
    errors = flooded.end()
    h.equal(errors.count("was killed"), 1, "collectors that were killed: " + errors)
    file = h.open_rank("out")
    h.equal(int(file.attrs["complete"]), 2, "complete: made from the journal")
    h.check({reason for reason, _ in gaps(file)} == {"no_ring"}, gaps(file))
    h.equal(h.operations(file).count("Allreduce") + calls(file)[1], 3 * THREADS * CALLS + 11,
            "recorded and lost calls")


def namespaces(pid):
    """Open descriptors of the namespaces that in_namespace() made: the mount namespace and, if
    mounting needs one, the user namespace."""
    made = {"mount": "mnt"} if os.geteuid() == 0 else {"user": "user", "mount": "mnt"}
    return {name: os.open(f"/proc/{pid}/ns/{file}", os.O_RDONLY) for name, file in made.items()}


@h.case
def recovered_when_full():
    h.h5py()
    script = ('"$@" recover out; status=$?; ls /dev/shm; exit $status')
    flooded = Flood(64)
    flooded.tell(f"crowd {THREADS} {CALLS}")
    flooded.tell("calls 9")
    flooded.fill()
    collector = flooded.collector()
    program = children(collector)[0]
    spaces = namespaces(program)
    for pid in (flooded.process.pid, collector, program):
        os.kill(pid, signal.SIGKILL)
    flooded.process.communicate()
    entered = [f"--{name}=/proc/self/fd/{fd}" for name, fd in spaces.items()]
    done = h.run(["nsenter", *entered, "--preserve-credentials", f"--wd={os.getcwd()}", "sh", "-c",
                  script, "sh", *h.profwrap()], pass_fds=spaces.values())
    for fd in spaces.values():
        os.close(fd)
    h.equal(h.lines(done.stdout), ["1 recovered, 0 still running, 0 failed", "filler"], "what is left in /dev/shm")
    file = h.open_rank("out")
    h.equal(int(file.attrs["complete"]), 2, "complete")
    h.equal(h.operations(file).count("Allreduce"), THREADS * CALLS + 10, "calls")


@h.case
def ranks_and_threads_in_64_mib():
    """64 MiB is Docker's default size of /dev/shm."""
    h.h5py()
    line = "crowd 16 200\n"
    done = subprocess.run(
        [*in_namespace(64), *h.mpirun(4, "sh", "-c", f"printf '{line}' | exec \"$@\"", "sh",
                                      *h.profwrap("-o", "out", h.program("flood")))],
        capture_output=True, text=True, timeout=h.PATIENCE_S,
        env=h.environment(OMPI_MCA_btl="self,tcp"))
    h.equal(done.returncode, 0, "exit status " + done.stderr)
    h.check("was killed" not in done.stderr, done.stderr)
    for rank in range(4):
        recorded, lost = calls(h.open_rank("out", rank))
        h.check(recorded + lost >= 16 * 200, "rank", rank, "has", recorded, "and lost", lost)
        h.check(recorded > 8 * 200, "only", recorded, "were recorded of rank", rank)


@h.case
def full_when_a_private_mpi_begins():
    """The program loads an MPI library for itself, and there is no room for rings until it is
    initialised. Each call must still find out which library called it."""
    h.h5py()
    done = subprocess.run(
        [*in_namespace(8, 95), "env", "MPITEST_FILLER=/dev/shm/filler",
         *h.profwrap("--no-merge", "-o", "out"), h.program("dlmain"), h.program("libdlmpi.so")],
        capture_output=True, text=True, timeout=h.PATIENCE_S,
        env=h.environment(OMPI_MCA_btl="self,tcp"))
    h.equal(done.returncode, 0, "exit status " + done.stderr)
    h.check("calls of rank 0 are counted" in done.stderr, done.stderr)
    recorded, lost = calls(h.open_rank("out"))
    h.check(recorded + lost >= 8, "recorded", recorded, "and lost", lost, "of 7 Allreduce and the end")


@h.case
def the_report_says_what_is_not_recorded():
    done = flood(in_namespace(8, 100), "calls 5", options=("-o", "none"))
    h.equal(done.returncode, 0, "exit status " + done.stderr)
    text = " ".join(open("none/report.txt").read().split())
    h.check("because there was no shared memory" in text, "the report hides it:", text)
    done = flood(in_namespace(8, 95), "calls 5", options=("-o", "counted"))
    h.equal(done.returncode, 0, "exit status " + done.stderr)
    text = " ".join(open("counted/report.txt").read().split())
    h.check("calls of threads that got no ring" in text, "the report hides it:", text)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
