"""Programs that fork, execute other programs, use up resources or are interrupted by signals. Each
behaves as without profwrap. The rank's file is complete, and has the events of the recording process
only."""

import collections
import os
import re
import signal
import subprocess
import sys
import time

import harness as h

PLAIN_RUN = ("--no-merge", "-o", "out")
WAYS = ("fork", "fork-exec", "vfork-exec", "spawn", "clone-vm", "raw-clone", "system", "popen")
OTHER_USER = ("other-user", "other-user-exec")


def unnumbered(text):
    return re.sub(rb"\d+", b"0", text)


def same(*mode, out="out", options=(), env=None):
    """Runs programs/processes with and without profwrap. Exit status, standard output and standard
    error must be the same."""
    command = (h.program("processes"), *mode)
    without = h.run(command, status=None, env=env)
    within = h.run(h.profwrap("--no-merge", "-o", out, *options, *command), status=None, env=env)
    h.equal(within.returncode, without.returncode, f"exit status of {mode} under profwrap")
    h.equal(within.stdout, without.stdout, f"standard output of {mode} under profwrap")
    h.equal(unnumbered(within.stderr), unnumbered(without.stderr), f"standard error of {mode}")
    file = h.open_rank(out)
    h.equal(int(file.attrs["complete"]), 1, f"complete of {mode}")
    h.equal(int(file.attrs["exit_code"]), without.returncode, f"recorded exit code of {mode}")
    return within, file


def ranges(file):
    return dict(collections.Counter(h.range_names(file)))


def lost(file, reason):
    table = file["events/gap"]
    return sum(int(n) for n, why in zip(table["lost"], h.enum_names(table, "reason"))
               if why == reason)


def overhead(file, name):
    return {row["name"].decode(): int(row["value"]) for row in file["overhead"][:]}[name]


def need_root():
    if os.geteuid() != 0:
        raise h.Skipped("only root can become another user")


# ---- children ----


def check_children(ways):
    for way in ways:
        done, file = same("children", way, out=way)
        h.equal(done.stdout.decode(), f"{way}: child exited 7\n", "what the child was")
        h.equal(ranges(file), {"before": 5, "after": 5}, f"ranges around {way}")
        h.equal(int(file.attrs["dropped_events"]), 0, f"drops around {way}")


@h.case
def children_of_every_kind():
    check_children(WAYS)


# Two children that read and compute, until each has 0.3 s of CPU time; a third that has ended.
LOADS = """
import os, subprocess, sys, time
subprocess.run([sys.executable, "-c", "pass"])
work = "while True: open('/proc/self/stat').read()"
children = [subprocess.Popen([sys.executable, "-c", work]) for _ in range(2)]
def ticks(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])
while min(ticks(child.pid) for child in children) < 0.3 * os.sysconf("SC_CLK_TCK"):
    time.sleep(0.05)
time.sleep(0.3)
for child in children:
    child.kill()
    child.wait()
"""


@h.case
def what_children_used_belongs_to_the_rank():
    """The CPU time and memory of child processes, such as a data loader's workers, count for the
    rank."""
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        raise h.Skipped("this kernel does not list children")
    h.run(h.profwrap("--no-merge", "-o", "out", "--sample-hz", "50", sys.executable, "-c", LOADS))
    rows = h.open_rank("out")["samples/workers"][:]
    h.equal(max(rows["processes"]), 2, "processes at once")
    cpu = rows["cpu_user_ns"] + rows["cpu_sys_ns"]
    h.check(cpu[-1] >= 0.5e9 and all(cpu[1:] >= cpu[:-1]), "CPU time", cpu)
    h.check(rows["read_bytes"][-1] > 100000, "bytes read", rows["read_bytes"])
    h.check(rows["rss_bytes"].max() > 1 << 20, "memory", rows["rss_bytes"])
    h.run(h.profwrap("merge", "-q", "out"))
    done = h.run(h.profwrap("report", "--section", "utilisation", "out"))
    said = " ".join(done.stdout.decode().split())
    h.check(re.search(r"its 2 worker processes: CPU [\d.]+ %, read \d", said), said)


@h.case
def children_of_another_user():
    need_root()
    check_children(OTHER_USER)


@h.case
def children_of_mpi_programs():
    for way in WAYS:
        command = (h.program("processes"), "children-mpi", way)
        without = h.run(h.mpirun(2, *command), status=None)
        within = h.run(h.mpirun(2, *h.profwrap("--no-merge", "-o", way), *command), status=None)
        h.equal((within.returncode, within.stdout), (without.returncode, without.stdout), way)
        h.check(f"{way}: child exited 7".encode() in within.stdout, within.stdout)
        for rank in range(2):
            file = h.open_complete(way, rank)
            h.equal(h.operations(file).count("Allreduce"), 10, f"calls of rank {rank} with {way}")
            h.equal(ranges(file), {}, f"ranges of a child by {way}")


@h.case
def a_child_before_anything_was_recorded():
    """The first process that records is the rank's process as long as it lives. A child that has
    executed another program may be that process. A child that was only forked may not, and does not
    keep its parent from recording."""
    for way in ("fork", "raw-clone", "clone-in-memory"):
        file = same("first-children", way, out=way)[1]
        h.equal(ranges(file), {"after": 5}, f"ranges with {way}")
    for way in ("fork-exec", "spawn", "system"):
        command = (h.program("processes"), "first-children", way)
        h.run(h.profwrap("--no-merge", "-o", way, *command))
        h.equal(ranges(h.open_complete(way)), {"child": 100, "after": 5}, f"ranges with {way}")


@h.case
def daemons():
    """A daemon that the program leaves behind goes on undisturbed after the run has ended."""
    begin = time.monotonic()
    path = os.path.abspath("written")
    h.run(h.profwrap(*PLAIN_RUN, h.program("processes"), "daemon", path), 2)
    h.equal(ranges(h.open_complete("out")), {"before": 5}, "ranges")
    while not os.path.exists(path):
        h.check(time.monotonic() < begin + 20, "the daemon never wrote its file")
        time.sleep(0.02)


# ---- other programs ----


@h.case
def execs_itself():
    h.equal(ranges(same("exec", "marks", out="a")[1]), {"before": 5, "marked": 5}, "ranges")
    file = same("exec", "some-mpi", out="b")[1]
    h.equal(ranges(file), {"before": 5}, "ranges")
    h.equal(h.operations(file).count("Allreduce"), 5, "calls of the second program")


@h.case
def execs_itself_300_times():
    """The program calls exec more often than there are rings, so the rings of earlier programs are
    used again."""
    done, file = same("exec-again", "300")
    h.equal(done.returncode, 6, "exit status")
    h.equal(ranges(file), {"once more": 301}, "ranges")
    h.equal(int(file.attrs["dropped_events"]), 0, "drops")


@h.case
def execs_after_init():
    done = h.run(h.profwrap(*PLAIN_RUN, h.program("processes"), "exec-after-init-mpi"), 5)
    h.equal(done.stdout, b"marked\n", "output of the second program")
    file = h.open_complete("out")
    h.equal(h.operations(file).count("Allreduce"), 5, "calls of the first program")
    h.equal(ranges(file), {"marked": 5}, "ranges of the second")


@h.case
def clears_its_environment():
    """Nothing is recorded after the environment was cleared, whether or not the next program uses
    MPI."""
    for mode in ("marks", "some-mpi"):
        file = same("clearenv-exec", mode, out=mode)[1]
        h.equal(ranges(file), {"before": 5}, f"ranges before {mode}")
        h.equal(len(file["events/comm"]), 0, f"calls of {mode}")


# ---- limits and users ----


@h.case
def closes_all_descriptors_before_init():
    file = same("close-all-mpi")[1]
    h.equal(ranges(file), {"before": 5}, "ranges")
    h.equal(h.operations(file).count("Allreduce"), 5, "calls")


@h.case
def has_no_descriptors_left():
    """Events without a ring are counted as lost, and a ring is found once file descriptors are free
    again."""
    done, file = same("no-descriptors")
    h.equal(done.stdout, b"errno kept\n", "output")
    found = ranges(file)
    h.check(lost(file, "no_ring") >= 20, "20 calls had no ring:", lost(file, "no_ring"))
    h.check(found.get("seen", 0) > 500, "no ring was looked for again:", found)
    h.equal(set(found), {"seen"}, "ranges")


@h.case
def has_no_memory_left():
    file = same("no-memory")[1]
    h.equal((ranges(file), lost(file, "no_ring")), ({}, 2000), "ranges, and calls without a ring")


@h.case
def may_write_small_files_only():
    h.equal(ranges(same("small-files")[1]), {"before": 5, "thread": 5}, "ranges")


def limited(blocks, *command):
    """The command under a limit on the size of files, in blocks of 1024 bytes. profwrap inherits
    the limit."""
    return ["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "bash", *command]


@h.case
def is_under_a_limit_on_files():
    """The rings get smaller, or there are none. The program goes on, and it gets SIGXFSZ only for
    its own files."""
    marks, zeros = [h.program("processes"), "marks"], ["head", "-c", "300000000", "/dev/zero"]
    done = h.run(limited(100000, *h.profwrap("--no-merge", "-o", "small", *marks)), 5)
    h.check(b"shared memory is short" in done.stderr, done.stderr)
    h.equal(ranges(h.open_complete("small")), {"marked": 5}, "ranges")
    done = h.run(limited(200, *h.profwrap("--no-merge", "-o", "none", *marks)), 5)
    h.check(b"unprofiled" in done.stderr, done.stderr)
    with open("zeros", "w") as file:
        for command in (zeros, h.profwrap("--no-merge", "-o", "zero", *zeros)):
            done = subprocess.run(limited(100000, *command), stdout=file, stderr=subprocess.DEVNULL,
                                  preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_DFL))
            ended = done.returncode if done.returncode > 0 else 128 - done.returncode
            h.equal(ended, 128 + signal.SIGXFSZ, f"status of {command}")
            file.truncate(0)
            file.seek(0)


@h.case
def becomes_another_user():
    need_root()
    file = same("other-user", "late", out="late")[1]
    h.equal(ranges(file), {"root": 5, "nobody": 5}, "ranges of one that has its ring")
    file = same("other-user", out="early")[1]
    h.equal((ranges(file), lost(file, "no_ring")), ({}, 10), "the segment is refused to nobody")


@h.case
def loads_and_unloads_a_library():
    done, file = same("dlclose-mpi", h.program("libplugin.so"), "100")
    h.equal(done.stdout, b"failed 0\n", "output")
    h.equal(h.operations(file).count("Allreduce"), 100, "calls")
    h.equal(ranges(file), {"in a plugin": 100}, "ranges")


# ---- threads and signal handlers ----


def interrupts(mode, n, *options, below=(), status=0):
    """Runs programs/interrupts.c, if need be with libraries between the probe and MPI."""
    env = {"LD_PRELOAD": ":".join(h.program(name) for name in below)} if below else {}
    done = h.run(h.profwrap("--no-merge", "-o", "out", *options, h.program("interrupts"), mode, n),
                 status, env=env)
    return done, h.open_rank("out")


@h.case
def threads_that_end_in_calls():
    rounds = 200
    _, file = interrupts("ends-of-threads", rounds, "--on-full", "wait")
    found = ranges(file)
    # On a busy machine the collector may come too late: with a ring for a thread, or with room in a ring.
    missing, dropped = 4 * rounds - found["doomed"] - found["orderly"], int(file.attrs["dropped_events"])
    h.check(0 <= missing <= dropped, missing, "ranges are missing, dropped:", dropped)
    gaps = file["events/gap"][:]
    h.equal(dropped, int(gaps["lost"].sum()), "drops")
    h.check((gaps["end"] >= gaps["start"]).all(), "gaps that end before they start:", gaps[gaps["end"] < gaps["start"]])


@h.case
def more_threads_than_rings():
    _, file = interrupts("crowd", 300, "--ring-size", "64K")
    h.equal(ranges(file), {"at once": 256}, "ranges of the threads that got a ring")
    h.equal(lost(file, "no_ring"), 2 * 44, "calls of those that did not")


def check_interrupted(done, file, in_handler):
    """Every call and range is recorded. One that a signal handler made within another may be
    counted instead."""
    rounds, handled = map(int, re.findall(rb"\d+", done.stdout))
    found, ops = ranges(file), h.operations(file)
    nested = overhead(file, "nested_calls")
    h.equal(int(file.attrs["dropped_events"]), 0, "drops")
    h.equal(ops.count("Allreduce"), 20 * rounds, "calls of the program")
    recorded = ops.count("Iprobe") + ops.count("Send") + 2 * found.pop("in a handler", 0)
    h.equal(recorded + nested, in_handler * handled, "calls of handlers, recorded or counted")
    h.check(0 < recorded and 0 < nested, recorded, "recorded and", nested, "counted: no test")
    h.equal(sum(found.values()), 20 * rounds, "ranges of the program")
    h.check(all(re.fullmatch(r"name \d+", name) for name in found), set(found))
    for name in ("events/comm", "events/range"):
        table = file[name][:]
        h.check((table["start"] <= table["end"]).all(), "times in", name)


# On a busy machine a timer of 50 us interrupts a program once in each of its time slices, of some ms: the
# number of signals is chosen so that this takes seconds.
@h.case
def handlers_that_call_mpi():
    check_interrupted(*interrupts("calls-in-handlers", 4000, "--level", "2", "--on-full", "wait",
                                  below=["libhollow.so"]), 4)


@h.case
def handlers_that_call_mpi_in_a_small_ring():
    check_interrupted(*interrupts("calls-in-handlers", 4000, "--level", "2", "--on-full", "wait",
                                  "--ring-size", "64K", below=["libhollow.so"]), 4)


@h.case
def handlers_and_call_stacks():
    check_interrupted(*interrupts("calls-in-handlers", 3000, "--level", "2", "--on-full", "wait",
                                  "--call-stacks", "8", below=["libhollow.so"]), 4)


@h.case
def handlers_that_annotate():
    check_interrupted(*interrupts("marks-in-handlers", 4000, "--on-full", "wait"), 2)


@h.case
def handlers_on_a_small_stack():
    check_interrupted(*interrupts("small-stack", 4000, "--level", "2", "--on-full", "wait",
                                  below=["libhollow.so"]), 4)


@h.case
def handlers_in_threads_that_begin_and_end():
    done, file = interrupts("short-threads", 20000, "--on-full", "wait")
    threads, handled = map(int, re.findall(rb"\d+", done.stdout))
    found = ranges(file)
    h.equal(int(file.attrs["dropped_events"]), 0, "drops")
    h.equal(found["first"], threads, "ranges of the threads")
    nested = overhead(file, "nested_calls")
    h.check(2 * found["in a handler"] + nested <= 2 * handled, "more of handlers than there was")


@h.case
def a_jump_out_of_a_call():
    """What comes after it is recorded; the call that was left is counted."""
    done, file = interrupts("jump", 1)
    h.equal(done.stdout, b"jumped\n", "output")
    h.equal((ranges(file).get("after the jump", 0), overhead(file, "nested_calls")), (5, 1),
            "ranges, and calls that were left")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
