# SPDX-License-Identifier: Apache-2.0
"""Ranges and marks of mstx, the annotations of Ascend's profilers: of mindspore.profiler.mstx, and of
torch_npu.npu.mstx. Also without an NPU and their profiler, where mstx itself does nothing.

A range may overlap others and may be ended by another thread. So it is recorded at its end, by its
times (op_past). Ranges that a thread ends are in one lane as long as they nest; others get another one.
"""

import functools
import itertools
import time
from threading import get_ident

from . import _probe
from ._mindspore_cost import cost, replace

_OPEN = 4096  # ranges that may be open: others are not ended any more
_LANES = 64
_LANE = 0x6D737478  # the number of the first one: no other profiler's
_DEFAULT = "default"  # the domain of ranges that name none


class _Lane:
    """Ranges of one lane are inside each other or apart."""

    def __init__(self, number):
        self.number = number
        self.ended = []  # (start, end) of those that one to come may overlap

    def takes(self, start):
        for begin, end in self.ended:
            if begin < start < end:
                return False
        return True


class Ranges:
    """All ranges of the process."""

    def __init__(self, now=lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)):
        self._now = now
        self._open = {}  # (name, type, start) by id, in the order of their starts
        self._lanes = {}  # of each thread
        self._numbers = itertools.count(_LANE)
        self._ids = itertools.count(1 << 62)

    def start(self, real_id, name, domain):
        """The id that the program gets: one of ours where mstx gave none."""
        is_id = isinstance(real_id, int) and real_id > 0
        key = real_id if is_id else next(self._ids)
        if len(self._open) >= _OPEN:
            del self._open[next(iter(self._open))]
        self._open.pop(key, None)  # an id that is given anew
        self._open[key] = name, _type_of(domain), self._now()
        return key

    def is_ours(self, key):
        """Whether mstx knows nothing of this id."""
        return isinstance(key, int) and key >= 1 << 62

    def end(self, key):
        name, kind, start = self._open.pop(key)
        end = self._now()
        lane = self._lane(start)
        if self._open:
            first = next(iter(self._open.values()))[2]
            lane.ended = [one for one in lane.ended if one[1] > first]
            lane.ended.append((start, end))
        elif lane.ended:
            lane.ended = []
        _probe.calls.op_past(_text(name), kind, None, start, end, lane.number, 0)

    def _lane(self, start):
        lanes = self._lanes.get(get_ident())
        if lanes is None:
            lanes = self._lanes[get_ident()] = []
        for lane in lanes:
            if lane.takes(start):
                return lane
        if sum(map(len, self._lanes.values())) >= _LANES:
            raise OverflowError("too many ranges overlap")
        lanes.append(_Lane(next(self._numbers)))
        return lanes[-1]


def _text(name):
    return name.encode("utf-8", "replace")


def _type_of(domain):
    """The type of such operators: the domain, if it is not the usual one."""
    return b"mstx" if domain == _DEFAULT else b"mstx " + _text(domain)


def _message(args, kwargs):
    """(message, domain) of a call, or None when mstx itself takes them for none."""
    message = args[0] if args else kwargs.get("message")
    domain = args[2] if len(args) > 2 else kwargs.get("domain", _DEFAULT)
    is_text = isinstance(message, str) and isinstance(domain, str)
    return (message, domain) if is_text and message and domain else None


ranges = Ranges()


def attach(kind):
    """Records what the static methods of this class are called with; what takes that off again. What
    they do and answer stays, but for ids of ranges where they gave none."""
    removers = [_attach(kind, "range_start", _starting), _attach(kind, "range_end", _ending)]
    if "mark" in _probe.calls.present:
        removers.append(_attach(kind, "mark", _marking))
    return lambda: [remove() for remove in reversed(removers)]


def _attach(kind, name, make):
    real = getattr(kind, name)
    return replace(kind, name, staticmethod(functools.wraps(real)(make(real))))


def _starting(real):
    def range_start(*args, **kwargs):
        real_id = real(*args, **kwargs)
        try:
            given = _message(args, kwargs)
            return ranges.start(real_id, *given) if given else real_id
        except Exception:
            cost.failures += 1
            return real_id

    return range_start


def _ending(real):
    def range_end(*args, **kwargs):
        key = args[0] if args else kwargs.get("range_id")
        try:
            if key in ranges._open:
                ranges.end(key)
        except Exception:  # also an id that cannot be a key
            cost.failures += 1
        if not ranges.is_ours(key):
            return real(*args, **kwargs)
        if args:
            return real(0, *args[1:], **kwargs)
        return real(**{**kwargs, "range_id": 0})

    return range_end


def _marking(real):
    def mark(*args, **kwargs):
        try:
            given = _message(args, kwargs)
            if given:
                domain = None if given[1] == _DEFAULT else _text(given[1])
                _probe.calls.mark(_text(given[0]), domain)
        except Exception:
            cost.failures += 1
        return real(*args, **kwargs)

    return mark


def on_torch_npu(torch_npu, _=None):
    """The program has imported torch_npu. Raises nothing."""
    try:
        if "op_past" in _probe.calls.present:
            attach(torch_npu.npu.mstx)
    except Exception:  # a version without mstx
        cost.failures += 1
