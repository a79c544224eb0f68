# SPDX-License-Identifier: Apache-2.0
"""The probe that profwrap preloads, called through ctypes; without one every call does nothing.

The calls hold the GIL: they take well below a microsecond and never block, except that with
--on-full wait they wait for room in a full ring.
"""

import ctypes

_TEXT = ctypes.c_char_p

# Members of struct profwrap_api (include/profwrap.h) after `size`, in order.
_MEMBERS = (
    ("active", ctypes.PYFUNCTYPE(ctypes.c_int)),
    ("step", ctypes.PYFUNCTYPE(None, ctypes.c_int64)),
    ("phase", ctypes.PYFUNCTYPE(None, ctypes.c_int)),
    ("range_push", ctypes.PYFUNCTYPE(None, _TEXT)),
    ("range_pop", ctypes.PYFUNCTYPE(None)),
    ("op_begin", ctypes.PYFUNCTYPE(None, _TEXT, _TEXT, _TEXT)),
    ("op_end", ctypes.PYFUNCTYPE(None)),
    ("queue", ctypes.PYFUNCTYPE(None, _TEXT, ctypes.c_int64, ctypes.c_int64)),
    ("memory", ctypes.PYFUNCTYPE(None, ctypes.c_int64, ctypes.c_int)),
    ("start", ctypes.PYFUNCTYPE(None)),
    ("stop", ctypes.PYFUNCTYPE(None)),
    ("metadata", ctypes.PYFUNCTYPE(None, _TEXT, _TEXT)),
    (
        "op_past",
        ctypes.PYFUNCTYPE(
            None,
            *(_TEXT, _TEXT, _TEXT, ctypes.c_int64, ctypes.c_int64, ctypes.c_int, ctypes.c_int64),
        ),
    ),
    ("work", ctypes.PYFUNCTYPE(None, ctypes.c_int64)),
    ("flops", ctypes.PYFUNCTYPE(None, ctypes.c_double)),
    ("mark", ctypes.PYFUNCTYPE(None, _TEXT, _TEXT)),
    (
        "queue_past",
        ctypes.PYFUNCTYPE(None, _TEXT, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64),
    ),
)


class Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def functions(methods):
    """C functions that Python calls like its own, by name. `methods`: those of the probe."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
    found, at = {}, 0
    while methods[at].name:
        found[methods[at].name.decode()] = make(ctypes.byref(methods[at]), None, None)
        at += 1
    return found


class _Marks(ctypes.Structure):
    """struct profwrap_marks of src/collectors/annotations/annotations_python.c."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("attach", ctypes.PYFUNCTYPE(None, ctypes.py_object, *[ctypes.c_void_p] * 3)),
        ("methods", ctypes.POINTER(Method)),
    ]


def _find_marks():
    """step and phase as functions that need no ctypes; none where the probe or Python has none."""
    try:
        marks = _Marks.in_dll(ctypes.CDLL(None), "profwrap_marks_v1")
        needed = ("Py_IncRef", "PyLong_AsUnsignedLongLongMask", "PyErr_Occurred")
        addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p) for name in needed]
        marks.attach(None, *addresses)
        return functions(marks.methods)
    except (AttributeError, OSError, TypeError, ValueError):
        return {}


class _Struct(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), *_MEMBERS]


def _nothing(*_):
    return 0


class Calls:
    """The probe's functions as attributes; functions that `struct` lacks are no-ops. `faster`: functions
    that do the same."""

    __slots__ = ("present", "pointers", *(name for name, _ in _MEMBERS))

    def __init__(self, struct=None, faster=None):
        #: Names of the functions that the probe has; empty without a probe.
        self.present = frozenset()
        #: ctypes' functions of those, by name.
        self.pointers = {}
        for name, _ in _MEMBERS:
            # An older probe's struct is shorter: do not read beyond its end.
            known = struct is not None and getattr(_Struct, name).offset < struct.size
            call = getattr(struct, name) if known else None
            if call:  # not NULL: a member may be there without anything behind it
                self.present |= {name}
                self.pointers[name] = call
                call = (faster or {}).get(name, call)
            setattr(self, name, call or _nothing)


def _find():
    try:
        return _Struct.in_dll(ctypes.CDLL(None), "profwrap_api_v1")
    except (OSError, TypeError, ValueError):
        return None


#: The object whose functions all annotations call. There is one in a process; tests replace it.
calls = Calls(_find(), _find_marks())
