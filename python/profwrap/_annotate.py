# SPDX-License-Identifier: Apache-2.0
"""The functions of include/profwrap.h, which call the probe that profwrap preloads.

A wrong argument raises an exception, with and without profwrap; nothing else does.
"""

import contextlib
import ctypes
import json
import operator

from . import _probe

NO_STEP = -1  # step(NO_STEP) ends the current step and begins none
CANCEL_STEP = -2  # the same, and the step was none: it only waited for data, which had ended

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

_JSON_BYTES = 8191  # a longer text would be cut, and what is left of it is no JSON


class _Marked(ctypes.Structure):
    """What the program has marked itself: that is then no longer done for it. As struct
    pw_training_marked of src/collectors/torch/torch_training.h.
    """

    _fields_ = [("steps", ctypes.c_bool), ("phases", ctypes.c_bool)]


marked = _Marked()


def active():
    """True while the calling thread is being recorded."""
    return bool(_probe.calls.active())


def start():
    """Starts the recording of this rank, after stop() or --start-paused."""
    _probe.calls.start()


def stop():
    """Stops the recording of this rank until start()."""
    _probe.calls.stop()


class Started:
    """A context manager that calls start() and stop()."""

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        return False


def step(number):
    """Begins step `number` (an integer >= 0), which ends the step before it and its phase.

    Every rank should give the same step the same number: the merge compares ranks step by step.
    NO_STEP only ends the current step. CANCEL_STEP ends it, too, and it does not count as a step: it was
    begun to wait for a batch, and the data had ended.
    """
    value = operator.index(number)
    marked.steps = True
    _probe.calls.step(value)


def steps(batches, first=0):
    """`for n, batch in steps(loader):` marks a step per batch, and the wait for it as phase "data".

    If the loader has no length (a generator), its end is known only after a last wait; that wait is
    then an additional last step.
    """
    number = operator.index(first)
    if number < 0:
        raise ValueError(f"the first step is not {number}: steps count from 0 or higher")
    return _steps(batches, number)


def _steps(batches, number):
    marked.steps = True
    try:
        last = number + len(batches)
    except TypeError:
        last = None
    waiting = iter(batches)
    try:
        while True:
            if number != last:
                _probe.calls.step(number)
                _probe.calls.phase(DATA)
            else:
                _probe.calls.step(NO_STEP)
            try:
                batch = next(waiting)
            except StopIteration:
                if number != last:
                    _probe.calls.step(CANCEL_STEP)
                return
            _probe.calls.phase(NO_PHASE)
            yield number, batch
            number += 1
    finally:
        _probe.calls.step(NO_STEP)


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
        marked.phases = True
        _probe.calls.phase(number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _probe.calls.phase(NO_PHASE)


def _bytes(text, what):
    if not isinstance(text, str):
        raise TypeError(f"{what} is text, not {type(text).__name__}")
    return text.encode("utf-8", "replace")


def range_push(name):
    """Opens a range on the calling thread; ranges nest, at most 128 deep.

    Names are cut at 255 bytes of UTF-8. Close it with range_pop() on the same thread; range()
    closes itself.
    """
    _probe.calls.range_push(_bytes(name, "the name of a range"))


def range_pop():
    """Closes the innermost open range of the calling thread; without one it does nothing."""
    _probe.calls.range_pop()


class range(contextlib.ContextDecorator):  # a verb, spelt as in profwrap.h
    """A named range: `with range("name"):` around a block, or `@range("name")` on a function.

    As a decorator it records one range per call. For a generator or coroutine function this is the
    call that creates the object, not its run: use `with` inside such functions.
    """

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = _bytes(name, "the name of a range")

    def __enter__(self):
        _probe.calls.range_push(self._name)
        return self

    def __exit__(self, *_):
        _probe.calls.range_pop()
        return False


def _shapes_text(shapes):
    """Returns [(32, 64), (64, 8)] as "[[32, 64], [64, 8]]"; returns a text unchanged."""
    if isinstance(shapes, str):
        return shapes
    if not isinstance(shapes, (list, tuple)):
        raise TypeError(f"shapes are text or a list of shapes, not {type(shapes).__name__}")
    parts = []
    for item in shapes:
        if isinstance(item, (list, tuple)):
            parts.append(_shapes_text(item))
        else:
            parts.append(str(operator.index(item)))
    return "[" + ", ".join(parts) + "]"


def _op_arguments(name, type, shapes):
    return (
        _bytes(name, "the name of an operator"),
        None if type is None else _bytes(type, "the type of an operator"),
        None if shapes is None else _shapes_text(shapes).encode("utf-8", "replace"),
    )


def op_begin(name, type=None, shapes=None):
    """Begins an operator on the calling thread: a range that the operator table counts.

    `type` groups operators ("matmul", "aten"); `shapes` of the inputs are a list of shapes or a
    text. Operators and ranges nest in each other, at most 128 deep. The type "function" makes it a
    frame of the call stack instead.
    """
    _probe.calls.op_begin(*_op_arguments(name, type, shapes))


def op_end():
    """Closes the innermost open operator or range of the calling thread."""
    _probe.calls.op_end()


class op(contextlib.ContextDecorator):  # a verb, spelt as in profwrap.h
    """An operator: `with op("matmul", "math", [a.shape, b.shape]):`, or `@op("matmul")`."""

    __slots__ = ("_arguments",)

    def __init__(self, name, type=None, shapes=None):
        self._arguments = _op_arguments(name, type, shapes)

    def __enter__(self):
        _probe.calls.op_begin(*self._arguments)
        return self

    def __exit__(self, *_):
        _probe.calls.op_end()
        return False


def mark(name, domain=None):
    """Marks this moment of the calling thread: an event without a duration. `domain` tells marks of
    libraries apart.
    """
    _probe.calls.mark(
        _bytes(name, "the name of a mark"),
        None if domain is None else _bytes(domain, "the domain of a mark"),
    )


def _within(value, lowest, highest, what):
    number = operator.index(value)
    if not lowest <= number <= highest:
        raise ValueError(f"{what} is {number}, but must be in {lowest}..{highest}")
    return number


_INT64 = 2**63 - 1


def op_past(name, type, shapes, start_ns, end_ns, lane=0, alloc_bytes=0):
    """Records an operator that has ended and that another profiler measured.

    Times are ns as of time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW). `lane` is a number of your
    choice for each thread of the other profiler. Operators of one lane nest in each other by their
    times, and in nothing else: record inner operators before outer ones, from one thread. At most
    256 lanes. While recording is paused it does nothing.
    """
    start = _within(start_ns, 0, _INT64, "the begin of an operator")
    _probe.calls.op_past(
        *_op_arguments(name, type, shapes),
        start,
        _within(end_ns, start, _INT64, "the end of an operator"),
        _within(lane, -(2**31), 2**31 - 1, "a lane"),
        _within(alloc_bytes, -_INT64, _INT64, "a number of bytes"),
    )


def queue(name, size, capacity=0):
    """`size` of at most `capacity` items (0: no limit) are in the queue now."""
    _probe.calls.queue(
        _bytes(name, "the name of a queue"),
        _within(size, 0, _INT64, "the size of a queue"),
        _within(capacity, 0, _INT64, "the capacity of a queue"),
    )


def queue_past(name, size, capacity, time_ns):
    """The same of an earlier time, as the queue's own library measured it: in ns as of
    time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW). While recording is paused it does nothing.
    """
    _probe.calls.queue_past(
        _bytes(name, "the name of a queue"),
        _within(size, 0, _INT64, "the size of a queue"),
        _within(capacity, 0, _INT64, "the capacity of a queue"),
        _within(time_ns, 0, _INT64, "the time of a queue's size"),
    )


def memory(bytes_delta, device=-1):
    """The calling thread allocated (> 0) or freed (< 0) bytes on a device; -1 is the host.

    Allocations inside an operator are counted as the operator's.
    """
    change = _within(bytes_delta, -_INT64, _INT64, "a number of bytes")
    _probe.calls.memory(change, _within(device, -1, 2**31 - 1, "a device"))


def metadata(key, value):
    """Stores `value` with the run under `key`: a text unchanged, anything else as JSON.

    The last value of a key counts. Keys are cut at 255 bytes and texts at 8191; a longer JSON
    raises ValueError, because a cut JSON could not be read.
    """
    name = _bytes(key, "the key of metadata")
    if isinstance(value, str):
        text = value.encode("utf-8", "replace")
    else:
        text = json.dumps(value, allow_nan=False).encode()
        if len(text) > _JSON_BYTES:
            raise ValueError(
                f"metadata {key!r} is {len(text)} bytes of JSON, but at most {_JSON_BYTES} are kept:"
                " give its parts keys of their own"
            )
    _probe.calls.metadata(name, text)


def role(name):
    """This rank's part in the job, where ranks have different work by design: "stage 2", "expert".

    A rank is compared with ranks of the same role. The last call counts. It is metadata with the
    key "role".
    """
    _probe.calls.metadata(b"role", _bytes(name, "a role"))


def work(amount):
    """How much work the current step has on this rank: tokens, samples, cells.

    The unit must be the same on all ranks. Then more work can be distinguished from a slow rank.
    Several calls in one step add up.
    """
    _probe.calls.work(_within(amount, 0, _INT64, "an amount of work"))


def flops(count):
    """How many floating-point operations the model needs for what this rank does in the current step:
    forward and backward, without operations that are repeated (activation checkpointing).

    The report then has FLOP/s and MFU. Several calls in one step add up. transformer_flops()
    computes them for a transformer, profwrap.torch.count_flops() for the operators that PyTorch
    runs.
    """
    number = float(count)
    if not 0 <= number < _MOST_FLOPS:
        raise ValueError(f"a number of FLOPs is {number}, but must be in 0..{_MOST_FLOPS:g}")
    _probe.calls.flops(number)


_MOST_FLOPS = 1e30


def transformer_flops(parameters, tokens, *, layers=0, heads=0, head_size=0, length=0):
    """The FLOPs that a dense transformer needs to train on `tokens` tokens, as PaLM counts them
    (Chowdhery et al. 2022, appendix B): 6 for each parameter, and 12 x layers x heads x head_size x
    length of a sequence for attention; without these four values, only 6 for each parameter.

    For a rank that has a part of the model or of the tokens, pass the numbers of that part.
    """
    attention = 12 * layers * heads * head_size * length
    return float((6 * parameters + attention) * tokens)
