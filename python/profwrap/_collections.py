# SPDX-License-Identifier: Apache-2.0
"""Records the garbage collections of Python: puts a function of the probe into gc.callbacks
(src/collectors/annotations/annotations_gc.c). `ran` is its function for other work; see _pauses.py.

It is a C function that Python calls like its own, because a program may collect thousands of times a
second.
"""

import ctypes
import gc

from . import _probe

_object, _address = ctypes.py_object, ctypes.c_void_p
_FUNCTIONS = (
    "Py_IncRef",
    "PyUnicode_Compare",
    "PyDict_GetItemString",
    "PyLong_AsLongLong",
    "PyErr_Clear",
)


class _Python(ctypes.Structure):
    """struct python of annotations_gc.c."""

    _fields_ = [
        *((name, _object) for name in ("none", "start", "stop")),
        *((name, _address) for name in _FUNCTIONS),
    ]


class _Shared(ctypes.Structure):
    """struct profwrap_gc of annotations_gc.c."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("attach", ctypes.PYFUNCTYPE(None, ctypes.POINTER(_Python))),
        ("methods", ctypes.POINTER(_probe.Method)),
    ]


_collected = None
ran = None  # (kind of /events/runtime, when it began by CLOCK_MONOTONIC_RAW, ns)


def _is_main():
    """Whether this is the main interpreter. Others collect at the same time, and the probe has one sum."""
    get, main = ctypes.pythonapi.PyInterpreterState_Get, ctypes.pythonapi.PyInterpreterState_Main
    get.restype = main.restype = _address
    return get() == main()


def attach(module=None, began_ns=None):
    """Records the collections from now on; the import hook calls it with a module that was imported.
    Raises nothing: without a probe, or with another Python, none are recorded.
    """
    global _collected, ran
    try:
        if _collected is not None or "step" not in _probe.calls.present or not _is_main():
            return
        shared = _Shared.in_dll(ctypes.CDLL(None), "profwrap_gc_v1")
        addresses = {
            name: ctypes.cast(getattr(ctypes.pythonapi, name), _address) for name in _FUNCTIONS
        }
        shared.attach(ctypes.byref(_Python(None, "start", "stop", **addresses)))
        functions = _probe.functions(shared.methods)
        _collected, ran = functions["collected"], functions["ran"]
        gc.callbacks.append(_collected)
        import atexit

        atexit.register(functions["finish"])
    except (AttributeError, OSError, TypeError, ValueError):
        pass
