"""Which steps are recorded, decided in the program: schedule() and profile(), as in torch.profiler.

The run's own --schedule does the same from outside, on the numbers that the program gives its steps;
profile() is for programs that want to decide it themselves, or to be told when a window has ended.
"""

import enum
import operator
import os

from . import _annotate


class Action(enum.Enum):
    """What is done with a step; the names are those of torch.profiler.ProfilerAction."""

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

    Called with the number of a step it answers an Action: a pure function, so that ranks that count
    alike record the same steps. Its text is what --schedule of `profwrap` takes.
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
    """Steps that were recorded together: what on_trace_ready is called with."""

    def __init__(self, number, first_step, last_step):
        #: 0 for the first window of the program.
        self.number = number
        self.first_step, self.last_step = first_step, last_step
        #: Where the run's files will be, or None without profwrap. They are whole after the program.
        self.directory = os.environ.get("PROFWRAP_DIRECTORY")

    @property
    def steps(self):
        """The steps as --steps of `profwrap report` takes them."""
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

    `schedule` is any function of the number of steps since the start that answers NONE, WARMUP,
    RECORD or RECORD_AND_SAVE, torch.profiler.schedule() included. A window's end calls
    `on_trace_ready`, in the program, with a Window; what it raises is the program's. Starting costs
    nothing that would have to be warmed up, so that warmup steps are left out like those of `wait`.

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
        # One after the other: the callback's own time belongs to no step of the window.
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
