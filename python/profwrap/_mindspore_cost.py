# SPDX-License-Identifier: Apache-2.0
"""What recording a MindSpore training takes, and how often it failed, for /overhead; and lines for the
user."""

import itertools
import os
import sys
import time

from . import _probe

# One call in so many is timed, for all: as many as no training makes in each step.
_TIMED = 13
_is_timed = itertools.cycle([False] * (_TIMED - 1) + [True]).__next__


class Cost:
    def __init__(self):
        self.start_ns = self.hooks_ns = self.failures = 0
        self.next_report = 1
        self._told = {}

    def report(self, number):
        """At steps 1, 2, 4, 8, ...: a process that is killed runs nothing at its end."""
        self.next_report = 2 * number
        self.tell()

    def tell(self):
        for name, value in (
            (b"python_start", b"%d ns" % self.start_ns),
            (b"python_hooks", b"%d ns" % self.hooks_ns),
            (b"python_failures", b"%d failures" % self.failures),
        ):
            if self._told.get(name) != value:
                self._told[name] = value
                _probe.calls.metadata(b"profwrap.overhead." + name, value)


cost = Cost()


def say(text):
    """One line, of one process of a host."""
    ranks = ("MS_NODE_ID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
    if all(os.environ.get(name, "0") == "0" for name in ranks):
        print("profwrap:", text, file=sys.stderr, flush=True)


def soft(function):
    """`function`, whose exceptions are counted instead of raised."""
    is_timed = _is_timed

    def guarded(*args):
        try:
            if is_timed():
                return _timed(function, args)
            return function(*args)
        except Exception:
            cost.failures += 1
            return None

    return guarded


def _timed(function, args):
    """Processor time: what other processes take meanwhile is not ours."""
    begin = time.thread_time_ns()
    try:
        return function(*args)
    finally:
        cost.hooks_ns += _TIMED * (time.thread_time_ns() - begin)


def replace(owner, name, ours):
    """Sets owner.name, also where only a base has it; returns what undoes that, unless somebody else has
    replaced it since."""
    is_own = name in vars(owner)
    before = getattr(owner, name)
    if is_own:
        before = vars(owner)[name]
    setattr(owner, name, ours)

    def restore():
        if vars(owner).get(name) is not ours:
            return
        if is_own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)

    return restore
