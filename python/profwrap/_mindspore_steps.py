# SPDX-License-Identifier: Apache-2.0
"""What a MindSpore training is doing that marks nothing itself: steps and phases from what
_mindspore.py sees it call. Knows nothing of MindSpore.

A step ends when all optimizers have made their step; which one is the last is learned where one of them
is not used. There the next one begins. The first step, and one after an evaluation, begins with the first
wait for data, or the first forward; what begins with the last step's end is none. A wait begins a step
only where a training followed a wait for the same data before: so evaluations are in no step. Their
phases are marked all the same, outside of steps.
"""

import weakref
from threading import get_ident, main_thread

from . import _annotate, _probe
from ._annotate import ALLREDUCE, BACKWARD, CANCEL_STEP, DATA, FORWARD, NO_PHASE, NO_STEP, OPTIMIZER

NO_WAIT, WAIT, TRAINING_WAIT = range(3)  # what wait_begins() answers

_EPOCHS = 1000  # whose first steps are kept: as metadata may be long


class Steps:
    def __init__(self):
        self.number = 0  # of the step that is open, or else of the next
        self.epochs = []  # the first step of each
        self._open = False
        self._is_ahead = False  # the next step was marked, and nothing of the training has come since
        self._is_adjacent = False  # the open step was marked so
        self._phase = NO_PHASE
        self._thread = None  # the training's, once known
        self._optimizers = {}  # those that exist: weak references by id
        self._stepped = set()  # ids of those that made a step in this one
        self._latest = self._last = None  # of them; and the one whose step ends a step, once learned
        self._sources = {}  # data that a training has waited for: weak references by id
        self._waited = None  # what was waited for last
        self.has_backward = False  # in this step
        self._is_waiting = False
        self._is_only_wait = False  # the step began with the wait that is open
        self.inside = 0  # calls that are a phase, or a whole step: what they call is theirs
        self.evaluations = 0  # that are open

    def _is_in_other_thread(self):
        return self._thread not in (None, get_ident())

    def _is_elsewhere(self):
        return self.evaluations > 0 or self._is_in_other_thread()

    def _mark(self, phase):
        if phase != self._phase:
            self._phase = phase
            if not _annotate.marked.phases:
                _probe.calls.phase(phase)

    def _mark_step(self, step):
        if not _annotate.marked.steps:
            self._phase = NO_PHASE
            _probe.calls.step(step)

    def _begin_step(self):
        if self._open:
            return
        self._open = True
        self._thread = get_ident()
        self._is_adjacent, self._is_ahead = self._is_ahead, False
        if not self._is_adjacent:
            self._mark_step(self.number)

    def _clear_step(self):
        self._open = self.has_backward = self._is_only_wait = False
        self._stepped.clear()

    def _complete_step(self):
        """Ends the step where the next one begins."""
        if self._open:
            self._clear_step()
            self._is_ahead = True
            self.number += 1
            self._mark_step(self.number)

    def _cancel_ahead(self):
        """The step that was marked ahead is none: no training follows."""
        if self._is_ahead:
            self._is_ahead = False
            self._mark_step(CANCEL_STEP)

    def restart_ahead(self):
        """Recording begins. A step that was marked ahead begins anew, so that all of it is recorded."""
        if self._is_ahead:
            self._mark_step(CANCEL_STEP)
            self._mark_step(self.number)

    def end_step(self):
        """Ends the step, where no training follows."""
        self._cancel_ahead()
        if self._open:
            self._clear_step()
            self.number += 1
            self._mark_step(NO_STEP)

    def _end_after_wait(self):
        """At the end of data of unknown length. A step with nothing but this wait is none, or the
        training goes on with it, where it began with the end of the step before."""
        if not self._open or not self._is_only_wait:
            self.end_step()
            return
        self._clear_step()
        if self._is_adjacent:
            self._is_ahead = True
        else:
            self._mark_step(CANCEL_STEP)

    # ---- data ----

    def wait_begins(self, source, has_more):
        """Whether wait_ends() is to follow, and if a training waits. `source`: the data."""
        if self._is_waiting or self._is_in_other_thread():
            return NO_WAIT
        if not self.evaluations:
            self.inside = 0  # of a call that raised
            self._waited = source
        if not has_more:
            return NO_WAIT
        if self.evaluations or id(source) not in self._sources:
            return self._wait_outside()
        if self._stepped:
            self._last = self._latest
            self._complete_step()
        self._is_only_wait = not self._open
        self._begin_step()
        self._is_waiting = True
        self._mark(DATA)
        return TRAINING_WAIT

    def _wait_outside(self):
        """The wait of an evaluation, or for data of which it is not known that they are a training's."""
        if self._thread is None and get_ident() != main_thread().ident:
            return NO_WAIT  # another thread may train meanwhile
        self._cancel_ahead()
        self._is_waiting = True
        self._mark(DATA)
        return WAIT

    def wait_ends(self, wait, has_batch):
        self._is_waiting = False
        # In an evaluation all until the next wait is forward: results are computed when they are asked for.
        self._mark(FORWARD if self.evaluations and has_batch else NO_PHASE)
        if wait == TRAINING_WAIT and not has_batch:  # the end of data of unknown length
            self._end_after_wait()
        self._is_only_wait = False

    def epoch_begins(self):
        if len(self.epochs) < _EPOCHS:
            self.epochs.append(self.number)

    def _keep_source(self):
        """The data that was waited for last is a training's."""
        source, self._waited = self._waited, None
        key = id(source)
        if source is None or key in self._sources:
            return
        try:
            self._sources[key] = weakref.ref(source, lambda _: self._sources.pop(key, None))
        except TypeError:
            return
        self.epoch_begins()

    def is_source(self, source):
        return id(source) in self._sources

    # ---- phases ----

    def begin(self, phase):
        """True when the training's call that begins is that phase, and end() is to follow."""
        if self.inside or self._is_waiting or self._is_elsewhere():
            return False
        self._keep_source()
        self.inside = 1
        self._begin_step()
        self._mark(phase)
        return True

    def end(self):
        self.inside = 0
        self._mark(NO_PHASE)

    def forward_begins(self):
        """In PyNative mode: phases of the functions that it calls are its own."""
        if not self.inside and not self._is_waiting and not self._is_elsewhere():
            self._keep_source()
            self._begin_step()
            self._mark(FORWARD)

    def evaluation_begins(self):
        self.end_step()
        self.evaluations += 1

    def evaluation_ends(self):
        self.evaluations -= 1
        if not self._is_in_other_thread():
            self._mark(NO_PHASE)

    def backward_begins(self):
        begun = self.begin(BACKWARD)
        self.has_backward |= begun
        return begun

    def reduce_begins(self):
        return self.begin(ALLREDUCE)

    def graph_begins(self):
        """A graph with forward and backward in it, which only the graph could tell apart."""
        return self.begin(FORWARD)

    # ---- the end of a step ----

    def end_skipped(self, optimizer):
        """`optimizer` was not called, because gradients were not finite."""
        if self._open and self.has_backward and not self._stepped and not self._is_elsewhere():
            self.optimizers_end([optimizer])

    def created(self, optimizer):
        key = id(optimizer)
        if key not in self._optimizers:
            self._optimizers[key] = weakref.ref(
                optimizer, lambda _: self._optimizers.pop(key, None)
            )

    def optimizer_begins(self, optimizer):
        if self.inside or self._is_elsewhere():
            return False
        if id(optimizer) in self._stepped:  # a loop that waits for no data
            self._last = self._latest
            self._complete_step()
        return self.begin(OPTIMIZER)

    def optimizers_end(self, optimizers):
        """These have made their step."""
        for optimizer in optimizers:
            self.created(optimizer)
            self._latest = id(optimizer)
            self._stepped.add(self._latest)
        self.end()
        if self._last is not None:
            if self._last in self._stepped:
                self._complete_step()
        elif len(self._stepped) >= len(self._optimizers):
            self._complete_step()
