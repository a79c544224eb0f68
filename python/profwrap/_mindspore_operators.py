# SPDX-License-Identifier: Apache-2.0
"""Records the operators that MindSpore's own profiler has measured on CPUs, after they have ended, and
answers op_analyse() from them.

MindSpore (2.10) leaves three text files: when each operator ran, the types, and the shapes of some. How
they are written is no promise of MindSpore's: what cannot be read is ignored and counted.
"""

import collections
import csv
import glob
import heapq
import json
import os
import shutil
import sys
import tempfile
from typing import NamedTuple

from . import _annotate, _clocks, _mindspore_cost, _probe

_MS = 1_000_000
_LANES = 64
_LANE = 0x6D736F70  # the number of the first one: no other profiler's


class Recorded(NamedTuple):
    """How many operators were recorded, how many could not be, and the error bound of their times."""

    operators: int
    left_out: int
    error_ns: int


class _Event(NamedTuple):
    start: int  # ns, time of day
    end: int
    name: str


class _Kinds:
    """Types and shapes of the operators of a folder."""

    def __init__(self, folder):
        self._types = {}  # by full name
        shapes = collections.defaultdict(set)  # of the short names
        for row in _rows(folder, "cpu_op_detail_info_*.csv"):
            if len(row) > 4:
                self._types[row[3]] = row[1]
        for line in _lines(folder, "cpu_framework_*.txt"):
            _, short, _, *inputs = line.split(";")
            shapes[short].add("[" + ", ".join(one.split(":", 1)[1] for one in inputs if ":" in one) + "]")
        # MindSpore gives different operators the same short name.
        self._shapes = {short: each.pop() for short, each in shapes.items() if short and len(each) == 1}

    def of(self, name):
        """(type, shapes or None)."""
        short = name.rpartition("/")[2]
        return self._types.get(name) or short.partition("-op")[0], self._shapes.get(short)


def _lines(folder, pattern):
    for path in glob.glob(os.path.join(glob.escape(folder), pattern)):
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.count(";") >= 2:
                    yield line.strip()


def _rows(folder, pattern):
    for path in glob.glob(os.path.join(glob.escape(folder), pattern)):
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            yield from csv.reader(file)


def _read(folder):
    """(events, how many could not be read)."""
    events, wrong = [], 0
    for line in _lines(folder, "cpu_op_execute_timestamp_*.txt"):
        name, _, times = line.rsplit(";", 2)
        for one in times.split():
            try:
                start, ms = one.split(",")[:2]
                start, length = int(start), round(float(ms) * _MS)
                if start < 0 or length < 0:
                    raise ValueError(one)
                events.append(_Event(start, start + length, name))
            except (ValueError, OverflowError):
                wrong += 1
    return sorted(events), wrong


def _with_lanes(events):
    """(event, lane) of events in the order of their starts: no two of a lane overlap, because threads
    that run operators at the same time have no numbers in MindSpore's files. None: no lane is left."""
    is_free, busy, count = [], [], 0
    for event in events:
        while busy and busy[0][0] <= event.start:
            heapq.heappush(is_free, heapq.heappop(busy)[1])
        if is_free:
            lane = heapq.heappop(is_free)
        elif count < _LANES:
            lane, count = count, count + 1
        else:
            yield event, None
            continue
        heapq.heappush(busy, (event.end, lane))
        yield event, lane


class Totals:
    """Calls and time by type, name and shapes, of all that were recorded."""

    def __init__(self):
        self._known = collections.defaultdict(lambda: [0, 0])

    def add(self, type, name, shapes, ns):
        one = self._known[type, name, shapes]
        one[0] += 1
        one[1] += ns

    def of(self, wanted):
        """What MindSpore's op_analyse() answers for operators of this type or name."""
        found = {}
        for (type, name, shapes), (calls, ns) in self._known.items():
            if wanted in (type, name, name.rpartition("/")[2]):
                one = found.setdefault(shapes or "", [0, 0])
                one[0] += calls
                one[1] += ns
        if not found:
            raise RuntimeError(
                f"The information of <{wanted}> is not found. Operators are recorded with op_time=True, or"
                " by trace_handler (docs/mindspore.md)"
            )
        return [
            {
                "op_side": "cpu",
                "input_shape": shapes[1:-1],
                "op_occurrences": calls,
                "op_total_time(us)": round(ns / 1000, 4),
                "op_avg_time(us)": round(ns / calls / 1000, 4),
            }
            for shapes, (calls, ns) in found.items()
        ]


totals = Totals()


def record(folder):
    """Records the operators of MindSpore's files in this folder, in the steps that they ran in. Call it
    once for a folder, while profwrap records; answers a Recorded."""
    to_local = _clocks.to_now()
    events, left_out = _read(folder)
    kinds, count = _Kinds(folder), 0
    can = "op_past" in _probe.calls.present
    for event, lane in _with_lanes(events):
        type, shapes = kinds.of(event.name)
        totals.add(type, event.name, shapes, event.end - event.start)
        if lane is None or not can:
            left_out += 1
            continue
        _annotate.op_past(event.name, type, shapes, to_local(event.start), to_local(event.end), _LANE + lane)
        count += 1
    return Recorded(count, left_out, to_local.error_ns)


def trace_handler(_=None):
    """A value for on_trace_ready of mindspore.profiler.profile (activities with ProfilerActivity.CPU):
    records its operators."""
    try:
        from mindspore.profiler.common.profiler_context import ProfilerContext

        record(ProfilerContext().framework_path)
    except Exception:  # another version, or no files: the training goes on
        _mindspore_cost.cost.failures += 1
        _tell_none("its profiler has none of the files that 2.7 to 2.10 leave on a CPU")


_has_told = False


def _tell_none(why):
    """One line in a process."""
    global _has_told
    if not _has_told:
        _has_told = True
        version = getattr(sys.modules.get("mindspore"), "__version__", "")
        _mindspore_cost.say(f"no operators of MindSpore {version} are recorded: {why}")


class Operators:
    """MindSpore's profiler of operators, for the windows of a profile. Lets no exception out."""

    def __init__(self):
        self._folder = self._profiler = None
        self._is_recorded = False

    def start(self):
        if self._profiler is not None:
            return
        try:
            from mindspore import profiler

            self._folder = tempfile.mkdtemp(prefix="profwrap-")
            profiler.tensorboard_trace_handler(self._folder, analyse_flag=False)  # sets the folder
            self._is_recorded = False
            self._profiler = profiler.profile(
                activities=[profiler.ProfilerActivity.CPU], start_profile=False,
                on_trace_ready=self._on_trace_ready,
            )
            self._profiler.start()
        except Exception:
            _mindspore_cost.cost.failures += 1
            _tell_none("its profiler did not start")

    def _on_trace_ready(self, _=None):
        self._is_recorded = True
        trace_handler()

    def _record_left(self):
        """On CPUs, MindSpore 2.6 leaves the files and calls nothing."""
        pattern = os.path.join(glob.escape(self._folder), "**", "cpu_op_execute_timestamp_*.txt")
        found = glob.glob(pattern, recursive=True)
        if not found:
            _tell_none("its profiler left no files of operators on a CPU")
        for folder in sorted({os.path.dirname(path) for path in found}):
            record(folder)

    def stop(self):
        """While profwrap records."""
        running, self._profiler = self._profiler, None
        try:
            if running is not None:
                running.stop()
                if not self._is_recorded:
                    self._record_left()
        except Exception:
            _mindspore_cost.cost.failures += 1
            _tell_none("its profiler failed")
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def analyse(op_name, device_id=None):
    """The text that mindspore.Profiler.op_analyse() answers."""
    if device_id and not isinstance(device_id, int):
        raise TypeError(f"device_id is an int, not {type(device_id).__name__}")
    if not isinstance(op_name, (str, list)):
        raise TypeError(f"op_name is a str or a list, not {type(op_name).__name__}")
    if not op_name:
        raise TypeError("op_name is empty")
    names = [op_name] if isinstance(op_name, str) else op_name
    return json.dumps({**{name: totals.of(name) for name in names}, "device_id": device_id or 0})
