# SPDX-License-Identifier: Apache-2.0
"""For MindSpore trainings that say themselves what to record: a callback, and the names of
mindspore.profiler.

Steps, phases and collectives are recorded without any of this (docs/mindspore.md).
"""

import operator

from mindspore.train.callback import Callback

from . import _annotate, _mindspore
from ._mindspore_monitor import DynamicProfilerMonitor
from ._mindspore_names import ProfilerActivity, ProfilerLevel, mstx
from ._mindspore_operators import trace_handler
from ._mindspore_profile import Profiler, analyse, profile, schedule, tensorboard_trace_handler

__all__ = [
    "DynamicProfilerMonitor",
    "Profiler",
    "ProfilerActivity",
    "ProfilerCallback",
    "ProfilerLevel",
    "analyse",
    "mstx",
    "profile",
    "schedule",
    "tensorboard_trace_handler",
    "trace_handler",
]


class ProfilerCallback(Callback):
    """Records the steps `start_step` to `stop_step` of Model.train() or Model.fit(), both included and
    counted from 1 as MindSpore counts them; None: from the first, to the last.

    A step goes from the end of the step before it, so that it has its wait for data.
    """

    def __init__(self, start_step=None, stop_step=None):
        self._first = 1 if start_step is None else operator.index(start_step)
        self._last = None if stop_step is None else operator.index(stop_step)
        if self._first < 1:
            raise ValueError(f"start_step is {self._first}, but steps count from 1")
        if self._last is not None and self._last < self._first:
            raise ValueError(f"stop_step is {self._last}, but start_step is {self._first}")
        self._marks = False

    def _is_wanted(self, step):
        return step >= self._first and (self._last is None or step <= self._last)

    def _turn(self, step):
        """Before `step`."""
        if self._is_wanted(step) and not self._is_wanted(step - 1):
            _annotate.start()
        elif self._is_wanted(step - 1) and not self._is_wanted(step):
            _annotate.stop()
        if self._marks:  # the import hook is turned off
            _annotate.step(step - 1)

    def on_train_begin(self, run_context):
        done = run_context.original_args().cur_step_num
        self._marks = _mindspore._active is None
        if not self._is_wanted(done + 1):
            _annotate.stop()
        elif self._marks:
            _annotate.step(done)

    def on_train_step_end(self, run_context):
        self._turn(run_context.original_args().cur_step_num + 1)

    def on_train_end(self, run_context):
        if self._marks:
            _annotate.step(_annotate.NO_STEP)
        if not self._is_wanted(run_context.original_args().cur_step_num + 1):
            _annotate.start()  # what follows is recorded as before
