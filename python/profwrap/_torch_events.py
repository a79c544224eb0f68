"""What torch.profiler measured, handed to profwrap when it is there: operators that have ended."""

import time
from typing import NamedTuple

from torch.autograd import DeviceType

from . import _annotate, _probe

_US = 1000
_BACKWARD, _USER = 1, 7  # enum at::RecordScope
_NO_WORK = ("[memory]", "[OutOfMemory]")  # memory outside of operators


class Recorded(NamedTuple):
    """What record() did: operators that profwrap has now; events that it left out (of devices,
    asynchronous ones, memory outside of operators); and how wrong their times may be."""

    operators: int
    left_out: int
    error_ns: int


class _Clocks(NamedTuple):
    """PyTorch's clock, CLOCK_REALTIME, and profwrap's at one moment, which lasted `gap` ns."""

    unix: int
    raw: int
    gap: int

    @classmethod
    def read(cls):
        best = None
        for _ in range(10):
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            unix = time.time_ns()
            gap = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - before
            if best is None or gap < best.gap:
                best = cls(unix, before + gap // 2, gap)
        return best

    @property
    def offset(self):
        return self.raw - self.unix


_first = _Clocks.read()


class _Map:
    """PyTorch's times as profwrap's: on a line between two readings of both clocks, since what sets
    the time of day (NTP) lets them drift apart. The error: all of that drift might have been at
    once, within the events."""

    def __init__(self, first, last):
        drift = last.offset - first.offset
        passed = max(1, last.unix - first.unix)
        was_set = abs(drift) > passed // 1000  # faster than clocks are slewed
        self._last = last
        self._drift, self._passed = (0, 1) if was_set else (drift, passed)
        self.error_ns = first.gap + last.gap + abs(drift)

    def __call__(self, unix):
        """Never decreasing, so that what was inside of something stays so."""
        ago = self._last.unix - unix
        return self._last.raw - ago - ago * self._drift // self._passed


def _type_of(event):
    parts = event.name.split("::")
    if event.scope == _BACKWARD or parts[0] == "autograd" or parts[:2] == ["torch", "autograd"]:
        return "autograd"
    if event.name.startswith("ProfilerStep"):
        return "step"
    if event.scope == _USER:
        return "user"
    return parts[0] if len(parts) > 1 else None


def _bytes_of(event):
    """Allocated less freed, on all devices; what is on them is called cuda before PyTorch 2.3."""
    device = getattr(event, "device_memory_usage", None)
    return event.cpu_memory_usage + (event.cuda_memory_usage if device is None else device)


def _is_operator(event):
    return (
        event.device_type == DeviceType.CPU
        and not event.is_async
        and event.name not in _NO_WORK
    )


def _inner_first(event):
    """The event and all inside of it, each after those inside of it."""
    left = [(event, iter(event.cpu_children))]
    while left:
        child = next(left[-1][1], None)
        if child is not None:
            left.append((child, iter(child.cpu_children)))
        else:
            yield left.pop()[0]


def _begin_ns(kineto):
    """What the times of events are counted from; with PyTorch 2.4 and newer there are ns."""
    if hasattr(kineto, "trace_start_ns"):
        return kineto.trace_start_ns()
    return kineto.trace_start_us() * _US


def _finished(prof):
    """The autograd profiler of a torch.profiler.profile, or what is one, that has ended."""
    inner = getattr(prof, "profiler", prof)
    if not hasattr(inner, "kineto_results") or not hasattr(inner, "function_events"):
        raise TypeError(f"record() takes a torch.profiler.profile, not {type(prof).__name__}")
    if inner.kineto_results is None:
        raise ValueError("record() takes a profile that has ended: call it after the with block")
    return inner


def record(prof):
    """Gives profwrap the operators of a torch.profiler.profile that has ended, as PyTorch has
    measured them: those made of others, nodes of autograd, and labels (record_function) too.

    Calls, times, self times and memory are those of prof.key_averages(). Each thread of PyTorch's
    is a lane (op_past): its operators nest in nothing else, such as watch()'s modules. Call it once
    for a profile, while profwrap records; answers a Recorded.
    """
    inner = _finished(prof)
    events = inner.function_events or []
    to_local = _Map(_first, _Clocks.read())
    if "op_past" not in _probe.calls.present:
        return Recorded(0, len(events), to_local.error_ns + _US)
    begin = _begin_ns(inner.kineto_results)
    count = 0
    for root in events:
        if root.cpu_parent is not None or not _is_operator(root):
            continue
        for event in _inner_first(root):
            span = event.time_range
            _annotate.op_past(
                event.name,
                _type_of(event),
                str(event.input_shapes) if event.input_shapes else None,
                to_local(begin + round(span.start * _US)),
                to_local(begin + round(span.end * _US)),
                event.thread % 2**31,
                _bytes_of(event),
            )
            count += 1
    return Recorded(count, len(events) - count, to_local.error_ns + _US)
