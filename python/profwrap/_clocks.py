# SPDX-License-Identifier: Apache-2.0
"""Converts times of other profilers that use the time of day to profwrap's clock. The clocks are compared
when this is imported, and by to_now().
"""

import time
from typing import NamedTuple


class Clocks(NamedTuple):
    """Another clock, such as CLOCK_REALTIME, and profwrap's at one moment, which lasted `gap` ns."""

    unix: int
    raw: int
    gap: int

    @classmethod
    def read(cls, now=time.time_ns):
        best = None
        for _ in range(10):
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            unix = now()
            gap = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - before
            if best is None or gap < best.gap:
                best = cls(unix, before + gap // 2, gap)
        return best

    @property
    def offset(self):
        return self.raw - self.unix


FIRST = Clocks.read()


class Map:
    """Converts times of the day to profwrap's by a line between two readings of both clocks, because
    NTP changes the rate of the time of day. The error bound is the whole drift, which may have
    happened at once, during the events.
    """

    def __init__(self, first, last):
        drift = last.offset - first.offset
        passed = max(1, last.unix - first.unix)
        was_set = abs(drift) > passed // 1000  # faster than clocks are slewed
        self._last = last
        self._drift, self._passed = (0, 1) if was_set else (drift, passed)
        self.error_ns = first.gap + last.gap + abs(drift)

    def __call__(self, unix):
        """The result never decreases with the time, so nested events stay nested."""
        ago = self._last.unix - unix
        return self._last.raw - ago - ago * self._drift // self._passed


def to_now():
    """A Map from the import of this module until now."""
    return Map(FIRST, Clocks.read())
