# SPDX-License-Identifier: Apache-2.0
"""Python functions as ranges of kind "function", so that call stacks and flame graphs show them.

Python 3.12 and newer report calls by sys.monitoring, older versions by sys.setprofile. These are
installed only when there is a probe.
"""

import fnmatch
import operator
import os
import sys
import sysconfig
import threading
import warnings

from . import _annotate, _probe

_OWN = os.path.dirname(os.path.abspath(__file__))
_GLOB = frozenset("*?[")
_MOST_NAMES = 65536
_STDLIB = sysconfig.get_path("stdlib")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def _patterns(patterns, what):
    if isinstance(patterns, (str, os.PathLike)):
        patterns = [patterns]
    texts = [os.fspath(p) for p in patterns]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{what} of frames() are paths or patterns of them as text")
    return texts


def _matches(file, patterns):
    for pattern in patterns:
        if file == pattern:  # such as <string>, which is no path
            return True
        if _GLOB.isdisjoint(pattern):
            path = os.path.abspath(pattern)
            if file.startswith(path.rstrip(os.sep) + os.sep) or file == path:
                return True
        elif fnmatch.fnmatch(file, pattern):
            return True
    return False


def _is_standard(file):
    """Whether the file belongs to Python's own library. Installed packages may be in a folder below
    it.
    """
    if file.startswith("<frozen "):
        return True
    return _matches(file, [_STDLIB]) and not any(part in file for part in _INSTALLED)


def _short(file):
    """Returns the path relative to the folder of sys.path in which it was found, as torch.profiler
    writes it.
    """
    best = ""
    for folder in sys.path:
        folder = os.path.join(os.path.abspath(folder), "")
        if file.startswith(folder) and len(folder) > len(best):
            best = folder
    return file[len(best) :]


class _Thread(threading.local):
    def __init__(self):
        # Frame or code of each function that is shown and still runs; the first `depth` were begun.
        self.stack = []


class frames(_annotate.Started):
    """Records Python functions as ranges: `with profwrap.frames():`, or start() and stop().

    `include` and `exclude` are folders, files, or patterns with * of file names; without `include`
    everything is shown but Python's own library. At most `depth` nested functions are shown; the
    time of deeper ones counts as that of the last one shown. Functions that were already running at
    start() are not shown. Threads that started before are shown on Python 3.12 and newer only.

    It costs every Python call and return of the program: docs/python.md has figures.
    """

    def __init__(self, depth=64, include=None, exclude=None):
        self._depth = operator.index(depth)
        if self._depth < 1:
            raise ValueError(f"the depth of frames() is {self._depth}, but must be 1 or more")
        self._include = None if include is None else _patterns(include, "include")
        self._exclude = [_OWN] + ([] if exclude is None else _patterns(exclude, "exclude"))
        # id(code): (name in UTF-8 or None when it is not shown, the code, kept so that the id stays
        # its own). Hashing a code object itself would take longer than all the rest.
        self._names = {}
        self._thread = _Thread()
        self._remove = None

    def start(self):
        """Shows the functions that are called from now on. Without profwrap it does nothing."""
        if self._remove is not None or "op_begin" not in _probe.calls.present:
            return
        install = _install_monitoring if hasattr(sys, "monitoring") else _install_setprofile
        self._remove = install(self)

    def stop(self):
        """Stops showing functions; open ones of the calling thread end here."""
        if self._remove is None:
            return
        self._remove()
        self._remove = None
        stack = self._thread.stack
        while stack:
            self._close(stack)

    def _name(self, code):
        known = self._names.get(id(code))
        if known is None:
            # Programs that make code all the time: what is new then is not shown.
            if len(self._names) >= _MOST_NAMES:
                return None
            known = self._names[id(code)] = (self._make_name(code), code)
        return known[0]

    def _make_name(self, code):
        try:
            return self._shown_name(code)
        except (OSError, ValueError):  # no working directory: nothing that the program did wrong
            return None

    def _shown_name(self, code):
        file = code.co_filename
        if not file.startswith("<"):
            file = os.path.abspath(file)
        if self._include is not None and not _matches(file, self._include):
            return None
        if _matches(file, self._exclude) or (self._include is None and _is_standard(file)):
            return None
        text = f"{_short(file)}({code.co_firstlineno}): {code.co_name}"
        return text.encode("utf-8", "replace")

    def _begin(self, key, name):
        stack = self._thread.stack
        stack.append(key)
        if len(stack) <= self._depth:
            _probe.calls.op_begin(name, b"function", None)

    def _end(self, key):
        stack = self._thread.stack
        # A function that ran before start() was not begun.
        if stack and stack[-1] is key:
            self._close(stack)

    def _close(self, stack):
        stack.pop()
        if len(stack) < self._depth:
            _probe.calls.op_end()


def _install_setprofile(shown):
    if sys.getprofile() is not None:
        warnings.warn("profwrap.frames() is off: sys.setprofile() is in use", stacklevel=4)
        return None

    name_of, begin, end = shown._name, shown._begin, shown._end

    def tell(frame, event, _):
        if event == "call":
            name = name_of(frame.f_code)
            if name is not None:
                begin(frame, name)
        elif event == "return" and name_of(frame.f_code) is not None:
            end(frame)

    def remove():
        # It may have been replaced meanwhile: then it is no longer ours to remove.
        if sys.getprofile() is tell:
            sys.setprofile(None)
        threading.setprofile(None)

    threading.setprofile(tell)
    sys.setprofile(tell)
    return remove


def _install_monitoring(shown):
    monitoring = sys.monitoring
    tool = _free_tool(monitoring)
    if tool is None:
        warnings.warn("profwrap.frames() is off: no id of sys.monitoring is free", stacklevel=4)
        return None

    def begin(code, *_):
        name = shown._name(code)
        # What is not shown is not asked about again: it costs nothing from then on.
        return monitoring.DISABLE if name is None else shown._begin(code, name)

    def end(code, *_):
        return monitoring.DISABLE if shown._name(code) is None else shown._end(code)

    def throw(code, *_):  # as begin and end, but Python lets nobody disable these
        name = shown._name(code)
        if name is not None:
            shown._begin(code, name)

    def unwind(code, *_):
        shown._end(code)

    events = monitoring.events
    handlers = {
        events.PY_START: begin,
        events.PY_RESUME: begin,
        events.PY_THROW: throw,
        events.PY_RETURN: end,
        events.PY_YIELD: end,
        events.PY_UNWIND: unwind,
    }
    for event, handler in handlers.items():
        monitoring.register_callback(tool, event, handler)
    monitoring.restart_events()  # an earlier frames() may have disabled some for good
    monitoring.set_events(tool, sum(handlers))

    def remove():
        monitoring.set_events(tool, 0)
        for event in handlers:
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)

    return remove


def _free_tool(monitoring):
    for tool in (monitoring.PROFILER_ID, 3, 4):
        try:
            monitoring.use_tool_id(tool, "profwrap")
        except ValueError:
            continue
        return tool
    return None
