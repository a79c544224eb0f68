# SPDX-License-Identifier: Apache-2.0
"""Records the operators that torch.profiler has measured, after they have ended."""

from typing import NamedTuple

from torch.autograd import DeviceType

from . import _annotate, _clocks, _probe

_US = 1000
_BACKWARD, _USER = 1, 7  # enum at::RecordScope
_NO_WORK = ("[memory]", "[OutOfMemory]")  # memory outside of operators


class Recorded(NamedTuple):
    """The result of record(): the number of recorded operators, the number of ignored events (of
    devices, asynchronous ones, memory outside operators), and the error bound of the times.
    """

    operators: int
    left_out: int
    error_ns: int


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
    """Returns the bytes allocated minus freed on all devices; before PyTorch 2.3 the attributes are
    named cuda.
    """
    device = getattr(event, "device_memory_usage", None)
    return event.cpu_memory_usage + (event.cuda_memory_usage if device is None else device)


def _is_operator(event):
    return (
        event.device_type == DeviceType.CPU
        and not event.is_async
        and event.name not in _NO_WORK
    )


def _inner_first(event):
    """Yields the event and all events inside it, inner ones first."""
    left = [(event, iter(event.cpu_children))]
    while left:
        child = next(left[-1][1], None)
        if child is not None:
            left.append((child, iter(child.cpu_children)))
        else:
            yield left.pop()[0]


def _begin_ns(kineto):
    """Returns the time from which events' times count; in ns with PyTorch 2.4 and newer."""
    if hasattr(kineto, "trace_start_ns"):
        return kineto.trace_start_ns()
    return kineto.trace_start_us() * _US


def _finished(prof):
    """Returns the ended autograd profiler of a torch.profiler.profile; the argument may be such a
    profiler itself.
    """
    inner = getattr(prof, "profiler", prof)
    if not hasattr(inner, "kineto_results") or not hasattr(inner, "function_events"):
        raise TypeError(f"record() takes a torch.profiler.profile, not {type(prof).__name__}")
    if inner.kineto_results is None:
        raise ValueError("record() takes a profile that has ended: call it after the with block")
    return inner


def record(prof):
    """Records the operators of a torch.profiler.profile that has ended, as PyTorch has measured
    them, including composite operators, nodes of autograd, and labels (record_function).

    Calls, times, self times and memory are those of prof.key_averages(). Each thread of PyTorch's
    is a lane (op_past): its operators nest in nothing else, such as watch()'s modules. Call it once
    for a profile, while profwrap records; answers a Recorded.
    """
    inner = _finished(prof)
    events = inner.function_events or []
    to_local = _clocks.to_now()
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
