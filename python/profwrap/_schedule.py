# SPDX-License-Identifier: Apache-2.0
"""Which steps are recorded, decided in the program: schedule() and profile(), as in torch.profiler.

The run's own --schedule does the same from outside, on the numbers that the program gives its steps;
profile() is for programs that decide it themselves, or that need a callback when a window has
ended.
"""

import enum
import operator
import os

from . import _annotate


class Action(enum.Enum):
    """How a step is handled; the names are those of torch.profiler.ProfilerAction."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (Action.RECORD, Action.RECORD_AND_SAVE)


def _count(value, name, least):
    number = operator.index(value)
    if number < least:
        raise ValueError(f"{name} of a schedule is {number}, but must be {least} or more")
    return number


class schedule:
    """Steps skip_first, then `repeat` times (0: for ever) wait, warmup and active steps.

    Called with the number of a step, it returns an Action. It is a pure function, so ranks that
    count steps in the same way record the same steps. Its text is a value for profwrap's
    --schedule.
    """

    __slots__ = ("skip_first", "wait", "warmup", "active", "repeat")

    def __init__(self, *, active, wait=0, warmup=0, repeat=0, skip_first=0):
        self.skip_first = _count(skip_first, "skip_first", 0)
        self.wait = _count(wait, "wait", 0)
        self.warmup = _count(warmup, "warmup", 0)
        self.active = _count(active, "active", 1)
        self.repeat = _count(repeat, "repeat", 0)

    def __call__(self, step):
        number = _count(step, "a step", 0) - self.skip_first
        cycle = self.wait + self.warmup + self.active
        if number < 0 or (self.repeat and number >= self.repeat * cycle):
            return Action.NONE
        place = number % cycle
        if place < self.wait:
            return Action.NONE
        if place < self.wait + self.warmup:
            return Action.WARMUP
        return Action.RECORD_AND_SAVE if place == cycle - 1 else Action.RECORD

    def __str__(self):
        return ",".join(f"{name}={getattr(self, name)}" for name in self.__slots__)

    def __repr__(self):
        return f"<profwrap.schedule {self}>"


def _always(_):
    return Action.RECORD


class Window:
    """Consecutive steps that were recorded; the argument of on_trace_ready."""

    def __init__(self, number, first_step, last_step):
        #: 0 for the first window of the program.
        self.number = number
        self.first_step, self.last_step = first_step, last_step
        #: Directory of the run's files, or None without profwrap. The files are complete after the
        # program's end.
        self.directory = os.environ.get("PROFWRAP_DIRECTORY")

    @property
    def steps(self):
        """The steps as a value for --steps of `profwrap report`."""
        return f"{self.first_step}-{self.last_step}"

    def __repr__(self):
        return f"<profwrap.Window {self.number}: steps {self.steps}>"


class profile(_annotate.Started):
    """Records the steps that `schedule` says, on this rank; without one, all of them.

        with profwrap.profile(schedule=profwrap.schedule(wait=1, warmup=1, active=3)) as prof:
            for batch in loader:
                train(batch)
                prof.step()

    Every step() ends a step and begins the next; they are marked, counted from `first_step`, unless
    `mark_steps` is False: then the program calls profwrap.step() itself.

    `schedule` is any function that gets the number of steps since the start and returns NONE,
    WARMUP, RECORD or RECORD_AND_SAVE, such as torch.profiler.schedule(). At the end of a window,
    `on_trace_ready` is called with a Window; its exceptions are raised in the program. Recording
    needs no warm-up, so warmup steps are excluded like those of `wait`.

    Recording starts and stops by profwrap.start() and profwrap.stop(): docs/python.md says what wins
    when the run was started with --schedule as well.
    """

    def __init__(self, *, schedule=None, on_trace_ready=None, first_step=0, mark_steps=True):
        for name, function in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} is a function, not {type(function).__name__}")
        self._schedule = schedule or _always
        self._on_trace_ready = on_trace_ready
        self._first = _count(first_step, "first_step", 0)
        self._mark = bool(mark_steps)
        self._open = False  # between start() and stop()
        self._was_active = False  # whether the run recorded before start(): then it does after stop()
        self._window_first = None  # the step that the open window began with
        self._windows = 0
        #: Steps that have begun since the start, less one, as in torch.profiler.
        self.step_num = 0
        self.current_action = Action.NONE

    def start(self):
        """Begins step 0 of the schedule."""
        if self._open:
            raise RuntimeError("this profile was started already")
        self._open, self.step_num = True, 0
        self._was_active = _annotate.active()
        self._enter_step()

    def step(self):
        """Ends a step, and its window where the schedule says so, and begins the next step."""
        if not self._open:
            raise RuntimeError("step() of a profile that was not started")
        # In this order, so that the time of the callback belongs to no step of the window.
        if self.current_action is Action.RECORD_AND_SAVE:
            self._end_window(self.step_num)
        self.step_num += 1
        self._enter_step()

    def stop(self):
        """Ends the last step, which belongs to the window that is open, if any."""
        if not self._open:
            return
        self._open = False
        if self._window_first is not None:
            self._end_window(self.step_num)
        elif self._mark:
            _annotate.step(_annotate.NO_STEP)
        self.current_action = Action.NONE
        if self._was_active:
            _annotate.start()

    def _enter_step(self):
        action = Action[self._schedule(self.step_num).name]
        if action in _RECORDING:
            if self._window_first is None:
                self._window_first = self.step_num
                if self._mark:  # or the end of the step before would be in the window, too
                    _annotate.step(_annotate.NO_STEP)
                _annotate.start()
        elif self._window_first is not None:
            self._end_window(self.step_num - 1)
        else:
            _annotate.stop()
        self.current_action = action
        if self._mark:
            _annotate.step(self._first + self.step_num)

    def _end_window(self, last):
        if self._mark:
            _annotate.step(_annotate.NO_STEP)
        _annotate.stop()
        window = Window(self._windows, self._first + self._window_first, self._first + last)
        self._windows, self._window_first = self._windows + 1, None
        if self._on_trace_ready is not None:
            self._on_trace_ready(window)
