# SPDX-License-Identifier: Apache-2.0
"""Windows of steps that are set while a job runs, by a file that every rank reads for itself: all ranks
record the same steps.

A rank that has read of a window leaves a link in the run's directory, whose text is the step that the
rank was in. The first rank that reaches the window's first step decides: the window begins there when
all ranks knew of it before that step, else later. The decision is a link, too. Making a link is atomic
and fails where it exists, also on NFS, so there is one decision, and no rank waits for another.
"""

import json
import math
import os
import time

_OFF = -1  # a decision: the window was withdrawn
_ATTEMPTS = 5
_MOST_BYTES = 1 << 20  # of the file
_POLLS_AHEAD = 3  # a window that is moved begins so many polls later at the earliest


class Agreement:
    """Of rank `rank` with the other `size` - 1 ranks, by links in `directory`."""

    def __init__(self, directory, rank, size):
        self._prefix = os.path.join(directory, ".window-")
        self._rank, self._size = rank, size

    def _known(self, key, rank):
        return f"{self._prefix}{key}.{rank}"

    def tell(self, key, step):
        """This rank, which is in `step`, will ask at the first step of the window."""
        _link(str(step), self._known(key, self._rank))

    def withdraw(self, key):
        try:
            os.unlink(self._known(key, self._rank))
        except FileNotFoundError:
            pass

    def decide(self, key, first, otherwise):
        """The step at which the window begins: `first`, unless some rank did not know of it before."""
        path = self._prefix + key
        decision = _number(path)
        if decision is None:
            is_known = all(self._knew(key, rank, first) for rank in range(self._size))
            _link(str(first if is_known else otherwise), path)
            decision = _number(path)
        return decision

    def _knew(self, key, rank, first):
        step = _number(self._known(key, rank))
        return step is not None and step < first


def _link(text, path):
    try:
        os.symlink(text, path)
    except FileExistsError:
        pass


def _number(path):
    try:
        return int(os.readlink(path))
    except FileNotFoundError:
        return None


class Window:
    """Steps `first` to `last`, as the file counts them."""

    def __init__(self, first, last, name, attempt=0):
        self.first, self.last, self.name, self.attempt = first, last, name, attempt
        self.is_wanted = True

    @property
    def key(self):
        return f"{self.name}-{self.attempt}"

    def moved_to(self, first):
        return Window(first, first + self.last - self.first, self.name, self.attempt + 1)

    def __str__(self):
        return f"step {self.first}" if self.last == self.first else f"steps {self.first} to {self.last}"


class ConfigFile:
    """A JSON object that others write while the job runs."""

    def __init__(self, path, say):
        self._path, self._say = path, say
        self._seen = None  # its stat() when it was read last, and whole
        self._is_said = False

    def read(self):
        """The object when there is one that was not read before. One that is not whole is read again
        at the next call, and said once."""
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        seen = status.st_mtime_ns, status.st_size, status.st_ino
        if seen == self._seen:
            return None
        settings, problem = _parse(self._path)
        if settings is None:
            if not self._is_said:
                self._is_said = True
                self._say(f"{self._path} is ignored until it is whole: {problem}")
            return None
        self._seen, self._is_said = seen, False
        return settings


def _parse(path):
    """(the object, None), or (None, what is wrong)."""
    try:
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            return None, f"it has more than {_MOST_BYTES} bytes"
        settings = json.loads(text)
    except (OSError, ValueError, RecursionError) as problem:
        return None, " ".join(str(problem).split())[:200]
    if not isinstance(settings, dict):
        return None, "it is no JSON object"
    return settings, None


def _step_of(settings, name):
    """-1 when it is not set, None when it cannot be a step."""
    step = settings.get(name, -1)
    return step if isinstance(step, int) and not isinstance(step, bool) else None


class Monitor:
    """Decides before each step of the program whether it is recorded: the window of `file`'s
    start_step and stop_step, both included. Steps are counted as in the file.

    `switch(is_on)` is called where that changes; `agreement` is a function that makes one, called when
    it is needed first; `check(settings)` sees the other settings.
    """

    def __init__(self, file, poll_s, agreement, switch, say, check=lambda settings: None):
        self._file, self._poll_s, self._switch, self._say, self._check = file, poll_s, switch, say, check
        self._make_agreement, self._agreement = agreement, None
        self._windows = []  # that have not begun
        self._window = None  # the latest that began
        self._set = None  # what the file said last
        self._polled = None  # when, and in which step
        self._steps_per_s = 0.0
        self._is_on = False
        self._is_wrong_said = False

    def before_step(self, step, now=None):
        """The program is about to begin this step."""
        self.poll(step, now)
        for window in [one for one in self._windows if one.first <= step]:
            self._begin(window, step)
        window = self._window
        self._turn(window is not None and window.first <= step <= window.last)

    def end(self):
        """The training has ended."""
        self._turn(False)

    def _turn(self, is_on):
        if is_on != self._is_on:
            self._is_on = is_on
            self._switch(is_on)

    def poll(self, step, now=None):
        """Reads the file if it is time; `step` is the next one."""
        now = time.monotonic() if now is None else now
        if self._polled is not None:
            passed = now - self._polled[0]
            if passed < self._poll_s:
                return
            self._steps_per_s = max(0, step - self._polled[1]) / passed
        self._polled = now, step
        settings = self._file.read()
        if settings is None:
            return
        self._check(settings)
        first, last = _step_of(settings, "start_step"), _step_of(settings, "stop_step")
        if first is None or last is None or (first >= 0 and last < first):
            self._say_wrong(settings)
        elif (first, last) != self._set:
            self._set = first, last
            self._want(first, last, step)

    def _say_wrong(self, settings):
        if not self._is_wrong_said:
            self._is_wrong_said = True
            self._say(f"start_step {settings.get('start_step')} and stop_step {settings.get('stop_step')}"
                      " are no window: nothing is changed")

    def _want(self, first, last, step):
        """The window replaces those that have not begun; without one (-1) they are withdrawn."""
        if self._agreement is None:
            self._agreement = self._make_agreement()
        for window in self._windows:
            window.is_wanted = False
            self._agreement.withdraw(window.key)
        if first >= 0:
            self._know(Window(first, last, f"{first}-{last}"), step)

    def _know(self, window, step):
        self._agreement.tell(window.key, step - 1)
        self._windows.append(window)

    def _begin(self, window, step):
        """The window's first step has come, or had come before this rank knew of it."""
        self._windows.remove(window)
        ahead = 2 + math.ceil(self._steps_per_s * self._poll_s * _POLLS_AHEAD) * 2**window.attempt
        is_last = window.attempt + 1 >= _ATTEMPTS
        otherwise = step + ahead if window.is_wanted and not is_last else _OFF
        first = self._agreement.decide(window.key, window.first, otherwise)
        if first == window.first and step > window.last:
            self._say(f"does not record {window}: they are over")
        elif first == window.first:
            self._window = window
            self._say(f"records {window} of the file")
        elif first != _OFF and window.is_wanted:
            later = window.moved_to(first)
            self._say(f"records {later}, and not {window}: some ranks had not read of it before")
            self._know(later, step)
            if first <= step:  # nor of the later one
                self._begin(later, step)
        elif window.is_wanted:
            self._say(f"does not record {window}: some ranks had not read of it before")
