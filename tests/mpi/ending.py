"""Functions that the tests of ended programs share. They find the processes of a rank, and count the
calls that programs/tally.c has counted and that profwrap has recorded."""

import os
import signal
import struct
import time

import harness as h


def count(path="count"):
    with open(path, "rb") as file:
        return struct.unpack("=q", file.read(8))[0]


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):  # it ended before this was opened, or before it was read
        return []


def state_of(pid):
    """R, S, T, Z, ...; None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def is_collector(pid):
    """Whether the process is a collector of this test: a process of profwrap whose parent is the guard,
    in the test's directory. Other tests run at the same time."""
    try:
        if os.readlink(f"/proc/{pid}/cwd") != os.getcwd():
            return False
        with open(f"/proc/{pid}/stat") as file:
            parent = file.read().rsplit(")", 1)[1].split()[1]
        images = [os.readlink(f"/proc/{p}/exe") for p in (pid, parent)]
    except OSError:
        return False
    return images == [os.path.realpath(h.place("PROFWRAP"))] * 2


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        h.check(time.monotonic() < end, "no", what, "after", seconds, "s")
        time.sleep(0.002)


def stop(pid):
    """Stops a process, and returns when it is stopped; returns False if it has ended instead. The
    function waits because a SIGCONT that is sent earlier would cancel the SIGSTOP."""
    os.kill(pid, signal.SIGSTOP)
    return wait_until_stopped(pid)


def wait_until_stopped(pid):
    wait_for(lambda: state_of(pid) in ("T", "t", "Z", "X", None), "stop of a process")
    return state_of(pid) in ("T", "t")


def recorded(out="out", rank=0):
    """Numbers of ranges and of operations in the rank's file."""
    with h.open_rank(out, rank) as file:
        calls = h.operations(file).count("Allreduce") if len(file["events/comm"]) else 0
        names, kinds = h.texts(file), h.enum_names(file["events/range"], "kind")
        ranges = sum(names[int(name)] == "call" and kind == "user"
                     for name, kind in zip(file["events/range"]["name"], kinds))
        return min(calls, ranges), max(calls, ranges), dict(file.attrs)
