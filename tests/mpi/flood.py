"""programs/flood.c under profwrap: told line by line what to record."""

import os
import signal
import subprocess

import harness as h
from ending import children, stop


class Flood:
    """One that runs, with MPI up; `below` comes before profwrap on the command line. As a context it
    ends with its block, whatever happens there."""

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
        """Returns when the program has recorded it."""
        for line in lines:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            h.equal(self.process.stdout.readline(), "done\n", f"answer to {line}")

    def collector(self):
        """The guard's only child, which is what was started; once the program is dead, what it had
        started is the guard's child, too."""
        if not self.collector_pid:
            self.collector_pid = only_child(self.process.pid)
        return self.collector_pid

    def stop_collector(self):
        stop(self.collector())

    def continue_collector(self):
        os.kill(self.collector(), signal.SIGCONT)

    def end(self):
        """What was said on standard error; status 0."""
        _, errors = self.process.communicate(timeout=h.PATIENCE_S)
        h.equal(self.process.returncode, 0, "exit status " + errors)
        return errors


def only_child(pid):
    found = children(pid)
    h.equal(len(found), 1, f"children of {pid}")
    return found[0]
