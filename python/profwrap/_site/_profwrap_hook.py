# SPDX-License-Identifier: Apache-2.0
"""Waits until the program has imported torch or mindspore, and then instruments it by profwrap._auto or
profwrap._mindspore. Reports the exception that ends the program, and those that end threads, by
profwrap._end.

Imports nothing that the program has not imported: until then, only these two finders exist, and two
functions for the program's end. One for the end of threads comes with the module threading.
"""

import sys

# Packages, and what is called with each: a module of profwrap and its function.
_WATCHED = {
    "torch": ("_auto", "on_torch"),
    "torch_npu": ("_mstx", "on_torch_npu"),
    "mindspore": ("_mindspore", "on_mindspore"),
    "mpi4py": ("_collections", "attach"),
}
# Modules of those packages, and what is called with each.
_PARTS = {
    "torch._dynamo": ("_pauses", "on_dynamo"),
    "torch.distributed.checkpoint": ("_pauses", "on_distributed_checkpoint"),
    "safetensors.torch": ("_pauses", "on_safetensors"),
}


class _Watcher:
    """The first finder: it finds nothing itself, and changes the loaders of these packages."""

    def __init__(self, package, words):
        self._package = package  # the directory of the package profwrap
        self._words = words
        self._awaited = {*_WATCHED, *_PARTS, "threading"}

    def find_spec(self, name, path=None, target=None):
        if name not in self._awaited:
            return None
        spec = _find_elsewhere(self, name, path, target)
        if spec is not None:
            try:
                _call_after(spec.loader, self._has_imported)
            except Exception:  # a loader of another kind: it is imported, and not instrumented
                pass
        return spec

    def _has_imported(self, module):
        self._awaited.discard(module.__name__)
        if not self._awaited and self in sys.meta_path:
            sys.meta_path.remove(self)
        try:
            if module.__name__ == "threading":
                self._words.attach_threads(module)
                return
            import time

            began_ns = time.perf_counter_ns()
            part, function = {**_WATCHED, **_PARTS}[module.__name__]
            getattr(_import_part(self._package, part), function)(module, began_ns)
        except Exception:
            pass


class _Finder:
    """The last finder: finds the package profwrap when the program's own paths do not have it."""

    def __init__(self, package):
        self._package = package

    def find_spec(self, name, path=None, target=None):
        return _spec(self._package) if name == "profwrap" else None


def _find_elsewhere(ours, name, path, target):
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        if finder is ours or find is None:
            continue
        spec = find(name, path, target)
        if spec is not None:
            return spec
    return None


def _call_after(loader, callback):
    """Makes `loader` call callback(module) once, after it has executed the module without an
    error.
    """
    real = loader.exec_module

    def exec_module(module):
        del loader.exec_module
        real(module)
        callback(module)

    # By this name, Python removes its own import frames from tracebacks. So our frame is not shown
    # either when a package cannot be imported.
    exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    loader.exec_module = exec_module


def _spec(package):
    from importlib.util import spec_from_file_location

    return spec_from_file_location(
        "profwrap", package + "/__init__.py", submodule_search_locations=[package]
    )


def _import_part(package, part):
    """Imports the module `part` of this package. The program gets the same package when it imports
    profwrap later.
    """
    import importlib.util

    if "profwrap" not in sys.modules:
        found = importlib.util.find_spec("profwrap")
        if not _is_ours(found):
            raise ImportError("another package has this name")
        spec = _spec(package)
        module = importlib.util.module_from_spec(spec)
        sys.modules["profwrap"] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop("profwrap", None)
            raise
    return importlib.import_module("profwrap." + part)


def _is_ours(spec):
    import os

    return bool(spec and spec.origin) and os.path.exists(
        os.path.join(os.path.dirname(spec.origin), "_probe.py")
    )


# The exception of a sys.exit() that was longer before the end than this was caught: the program went on.
_LEAVING_S = 5


class _LastWords:
    """Reports an uncaught exception: at once by sys.excepthook, or at the exit, when the program has
    replaced that. Reports at the exit that the program called sys.exit() with a status other than 0.
    """

    def __init__(self, package):
        self._package = package
        self._real = sys.excepthook
        self._is_reported = False
        self._has_thread = False  # a thread has ended by an exception
        # The last sys.exit() that was no success: when it was, its argument, and the frames there.
        self._left = None

    def attach(self):
        import atexit

        def excepthook(kind, value, trace):
            self._report(kind, value, trace)
            self._real(kind, value, trace)

        sys.excepthook = excepthook
        self._watch_exit()
        atexit.register(self._at_exit)
        if "threading" in sys.modules:
            self.attach_threads(sys.modules["threading"])

    def _watch_exit(self):
        """sys.excepthook is not called for SystemExit. In another thread than this one, sys.exit()
        ends that thread alone.
        """
        from _thread import get_ident
        from time import monotonic

        real, main = sys.exit, get_ident()

        def exit(status=None, /):
            try:
                if get_ident() == main:
                    is_good = status is None or status == 0
                    self._left = None if is_good else (monotonic(), _kept(status), _frames())
            except Exception:
                pass
            real(status)

        exit.__doc__ = real.__doc__
        exit.__module__, exit.__qualname__ = "sys", "exit"  # so that pickle finds it
        sys.exit = exit

    def attach_threads(self, threading):
        """A thread ends by its exception, and the program goes on: it is reported once."""
        real = threading.excepthook

        def excepthook(args):
            try:
                if not self._has_thread and not issubclass(args.exc_type, SystemExit):
                    self._has_thread = True
                    value = args.exc_value or args.exc_type()
                    end = _import_part(self._package, "_end")
                    end.report(args.exc_type, value, args.exc_traceback, False)
            except Exception:
                pass
            real(args)

        threading.excepthook = excepthook

    def _report(self, kind, value, trace):
        try:
            if not self._is_reported and not issubclass(kind, KeyboardInterrupt):
                self._is_reported = True
                _import_part(self._package, "_end").report(kind, value, trace)
        except Exception:
            pass

    def _at_exit(self):
        # The interpreter sets these for an uncaught exception, whoever prints it.
        value = getattr(sys, "last_value", None)
        if isinstance(value, BaseException) and not hasattr(sys, "ps1"):
            self._report(type(value), value, getattr(sys, "last_traceback", None))
        elif self._left and not self._is_reported:
            try:
                from time import monotonic

                then, status, frames = self._left
                if monotonic() - then < _LEAVING_S:
                    _import_part(self._package, "_end").report_exit(status, frames)
            except Exception:
                pass


def _kept(status):
    """What is told of an argument of sys.exit(). An object of the program must not live longer."""
    return status if type(status) in (int, str) else type(status).__name__


def _frames():
    """File and line of the callers of sys.exit(), the innermost first; no more than 64."""
    frame, found = sys._getframe(2), []
    while frame is not None and len(found) < 64:
        found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return found


def install(package):
    words = _LastWords(package)
    sys.meta_path.insert(0, _Watcher(package, words))
    sys.meta_path.append(_Finder(package))
    words.attach()
