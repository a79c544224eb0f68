"""A probe made of Python functions. The calls of the verbs are kept as a list of tuples. The
functions that PyTorch's hooks call are those of the probe itself."""

import ctypes
import os

import support  # finds the module under test

from profwrap import _probe
from profwrap._annotate import CANCEL_STEP as _CANCEL_STEP

HOOKS = os.path.join(support.BUILD, "tests", "python", "libpytraining.so")
if os.path.exists(HOOKS):
    ctypes.CDLL(HOOKS, ctypes.RTLD_GLOBAL)  # where the module looks for the real probe


class FakeProbe:
    """Replaces the probe, if there is one, until remove()."""

    def __init__(self, size=None, without=()):
        self.calls = []
        self.recording = True
        self.open = None  # number and phases of the step that had not ended when steps were taken
        self._struct = _probe._Struct(ctypes.sizeof(_probe._Struct) if size is None else size)
        for name, kind in _probe._MEMBERS:
            if name not in without:
                setattr(self._struct, name, kind(self._function(name)))
        self._before = _probe.calls
        _probe.calls = _probe.Calls(self._struct)

    def remove(self):
        _probe.calls = self._before

    def _function(self, name):
        if name == "active":
            return lambda: int(self.recording)
        return lambda *values: self._note(name, values)

    def _note(self, name, values):
        if name in ("start", "stop"):
            self.recording = name == "start"
        self.calls.append((name, *(v.decode() if isinstance(v, bytes) else v for v in values)))

    def take(self, *names):
        """Returns the calls so far, or those of the named functions, and forgets them."""
        calls = [c for c in self.calls if not names or c[0] in names]
        self.calls.clear()
        return calls

    def take_steps(self, names):
        """Returns two lists of steps, as (number, names of its phases): those that ended, and those
        that were cancelled; and the phases outside of steps. Only a step that has no phase yet may be
        open then: it began with the end of the one before.
        """
        ended, cancelled, outside = [], [], []
        for name, value in self.take("step", "phase"):
            if name == "step":
                if self.open:
                    found = cancelled if value == _CANCEL_STEP else ended
                    found.append((self.open[0], " ".join(self.open[1])))
                elif value < 0:
                    raise AssertionError("a step ended, and none was open")
                self.open = (value, []) if value >= 0 else None
            elif value:
                (self.open[1] if self.open else outside).append(names[value])
        if self.open and self.open[1]:
            raise AssertionError("the last step did not end")
        return ended, cancelled, outside

    def take_nesting(self):
        """The operators so far as (depth, name, type, shapes), in the order of their beginnings."""
        depth, found = 0, []
        for name, *values in self.take("op_begin", "op_end"):
            if name == "op_begin":
                found.append((depth, *values))
            depth += 1 if name == "op_begin" else -1
            if depth < 0:
                raise AssertionError("an operator ended that had not begun")
        if depth:
            raise AssertionError(f"{depth} operators did not end")
        return found
