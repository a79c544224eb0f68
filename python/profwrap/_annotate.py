"""The verbs of include/profwrap.h, called in the probe that profwrap preloads.

A wrong argument raises with and without profwrap alike; nothing else does. The calls hold the GIL:
they take well below a microsecond and never block.
"""

import contextlib
import ctypes
import operator

NO_STEP = -1  # step(NO_STEP) ends the current step and begins none

NO_PHASE = 0  # phase(NO_PHASE) ends the current phase and begins none
DATA = 1  # waiting for, reading or preparing the batch
FORWARD = 2  # computing the loss
BACKWARD = 3  # computing gradients
ALLREDUCE = 4  # waiting for gradients of other ranks
OPTIMIZER = 5  # applying them

_PHASES = {
    "data": DATA,
    "forward": FORWARD,
    "backward": BACKWARD,
    "allreduce": ALLREDUCE,
    "optimizer": OPTIMIZER,
}

# Members of struct profwrap_api after `size`, in order.
_MEMBERS = (
    ("active", ctypes.PYFUNCTYPE(ctypes.c_int)),
    ("step", ctypes.PYFUNCTYPE(None, ctypes.c_int64)),
    ("phase", ctypes.PYFUNCTYPE(None, ctypes.c_int)),
    ("range_push", ctypes.PYFUNCTYPE(None, ctypes.c_char_p)),
    ("range_pop", ctypes.PYFUNCTYPE(None)),
)


class _Api(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), *_MEMBERS]


def _find():
    """The probe's functions by name: those that it has and this module knows. {} without probe."""
    try:
        program = ctypes.CDLL(None)
        size = ctypes.c_size_t.in_dll(program, "profwrap_api_v1").value
        # An older probe's struct is shorter: what lies behind it is not read.
        known = [name for name, _ in _MEMBERS if getattr(_Api, name).offset < size]
        api = _Api.in_dll(program, "profwrap_api_v1")
    except (OSError, TypeError, ValueError):
        return {}
    return {name: getattr(api, name) for name in known}


def _nothing(*_):
    return 0


_api = _find()
_active = _api.get("active", _nothing)
_step = _api.get("step", _nothing)
_phase = _api.get("phase", _nothing)
_push = _api.get("range_push", _nothing)
_pop = _api.get("range_pop", _nothing)


def active():
    """True while what the calling thread does is being recorded."""
    return bool(_active())


def step(number):
    """Begins step `number` (an integer >= 0), which ends the step before it and its phase.

    Every rank should give the same step the same number: the merge compares ranks step by step.
    A negative number, such as NO_STEP, only ends the current step.
    """
    _step(operator.index(number))


class phase:  # a verb, spelt as in profwrap.h
    """Begins a phase of the current step on the calling thread, ending the phase before it.

    `which` is "data", "forward", "backward", "allreduce", "optimizer", or one of the constants
    DATA .. OPTIMIZER; NO_PHASE only ends. The phase begins at once and lasts until the next
    phase() or step() of the thread; used with `with`, until the end of the block at the latest.
    Phases do not nest: after an inner block no phase is open.
    """

    __slots__ = ()

    def __init__(self, which):
        if isinstance(which, str):
            if which not in _PHASES:
                names = ", ".join(_PHASES)
                raise ValueError(f"phase {which!r} is none of {names}")
            number = _PHASES[which]
        else:
            number = operator.index(which)
            if not NO_PHASE <= number <= OPTIMIZER:
                raise ValueError(f"phase {number} is not in {NO_PHASE}..{OPTIMIZER}")
        _phase(number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _phase(NO_PHASE)


def _bytes(name):
    if not isinstance(name, str):
        raise TypeError(f"the name of a range is text, not {type(name).__name__}")
    return name.encode("utf-8", "replace")


def range_push(name):
    """Opens a range on the calling thread; ranges nest, at most 128 deep.

    The first 255 bytes of the name in UTF-8 are kept. Close it with range_pop() on the same
    thread; range() does so by itself.
    """
    _push(_bytes(name))


def range_pop():
    """Closes the innermost open range of the calling thread; without one it does nothing."""
    _pop()


class range(contextlib.ContextDecorator):  # a verb, spelt as in profwrap.h
    """A named range: `with range("name"):` around a block, or `@range("name")` on a function.

    As a decorator it records one range per call. Of a generator or coroutine function that is the
    call that makes it, not its run: use `with` inside of those.
    """

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = _bytes(name)

    def __enter__(self):
        _push(self._name)
        return self

    def __exit__(self, *_):
        _pop()
        return False
