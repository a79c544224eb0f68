"""Runs programs/flood.c under profwrap. Each line that the program reads tells it what to record."""

import os
import signal
import subprocess

import harness as h
from ending import children, stop


class Flood:
    """A running flood program that has initialised MPI. `below` comes before profwrap on the command
    line. As a context manager, the object ends the program at the end of the block, even after an
    exception."""

    def __init__(self, *options, below=(), out="out", calls=1, **more):
        self.collector_pid = 0
        self.process = subprocess.Popen(
            [*below, *h.profwrap("-o", out, *options, h.program("flood"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=h.environment(), **more)
        self.tell(f"calls {calls}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None and self.collector_pid:
            os.kill(self.collector_pid, signal.SIGCONT)  # the program ends with its input
        self.process.communicate()

    def tell(self, *lines):
        """Sends commands to the program. Returns when the program has recorded all of them."""
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            h.equal(self.process.stdout.readline(), "done\n", f"answer to {line}")

    def collector(self):
        """The process ID of the collector, which is the only child of the guard (the process that was
        started). The ID is stored, because the guard inherits the children of a dead program."""
        if not self.collector_pid:
            self.collector_pid = only_child(self.process.pid)
        return self.collector_pid

    def stop_collector(self):
        stop(self.collector())

    def continue_collector(self):
        os.kill(self.collector(), signal.SIGCONT)

    def end(self):
        """Ends the program, which must exit with status 0. Returns its standard error."""
        _, errors = self.process.communicate(timeout=h.PATIENCE_S)
        h.equal(self.process.returncode, 0, "exit status " + errors)
        return errors


def only_child(pid):
    found = children(pid)
    h.equal(len(found), 1, f"children of {pid}")
    return found[0]
