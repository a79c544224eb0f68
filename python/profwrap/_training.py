"""What a training is doing that marks nothing itself: steps and phases from what its parts report.

A step begins with the first wait for data, or forward, after the step before, and ends with an
optimizer's step. Of several optimizers it is the last one's: known when all of them have made a
step, or learned when the next batch is waited for, or when the first of them comes round again.
Knows nothing of torch: _auto.py reports to it and is told by arm() and disarm() when to report the
next forward.
"""

import weakref
from threading import get_ident

from . import _annotate, _probe
from ._annotate import BACKWARD, DATA, FORWARD, NO_PHASE, NO_STEP, OPTIMIZER

# What wait_begins() answers.
ELSEWHERE, OTHER_WAIT, TRAINING_WAIT = range(3)


class Training:
    """`is_worker` answers whether this is a process that only loads data; `state_of(optimizer)` with
    a number that changes when parameters do."""

    def __init__(self, arm, disarm, is_worker, state_of):
        self._arm, self._disarm, self._is_worker = arm, disarm, is_worker
        self._state_of = state_of
        self._optimizers = {}  # those that exist: weak references by id
        self.number = 0  # of the step that is open, or else of the next
        #: False once a model was trained in eval() mode: a forward with gradients is a training's.
        self.needs_mode = True
        self._open = False
        self._has_waited = False  # for data in this step
        self._has_backward = False
        self._state = None  # of the parameters when this step began
        self._sees_steps = False  # optimizers tell when they make a step: there is no need for it
        self._is_waiting = False
        self._source = None  # the loader that was waited for last
        self._own_source = None  # and the one whose batch a training's forward followed
        self._shared_sources = set()  # those that evaluations use as well
        self._is_guess = False  # this step was begun by such a wait, although the mode is eval()
        self._stepped = set()  # ids of the optimizers that made a step in this one
        self._latest = None  # id of the one of them that was last
        self._last = None  # id of the optimizer whose step ends a step, once that was learned
        self._is_mixed = False  # no single one does
        self._ended_by = None  # the learned one that ended the step before
        self._stack = []  # ids of optimizers that are making a step, and of what calls them
        self._backwards = 0  # that are open: they nest with activation checkpointing
        self._root = None  # weak reference to the module whose forward came last
        self._evaluated = False  # a forward with gradients in eval() mode came last
        self._thread = None  # the training's, once known
        self._phase = NO_PHASE

    def _is_elsewhere(self):
        """Whether this is another thread than the training's, such as one that fetches batches. Before
        the first forward also whether this process only loads data: after it, the rank's process is
        another one, and nothing that is forked records anything."""
        if self._thread is None:
            return self._is_worker()
        return self._thread != get_ident()

    def _mark(self, phase):
        if phase != self._phase:
            self._phase = phase
            if not _annotate.marked.phases:
                _probe.calls.phase(phase)

    def _begin_step(self):
        self._open = True
        if not self._sees_steps:
            self._state = self._read_state()
        if not _annotate.marked.steps:
            self._phase = NO_PHASE
            _probe.calls.step(self.number)

    def end_step(self):
        if not self._open:
            return
        self._open = self._has_waited = self._has_backward = False
        self._stepped.clear()
        self.number += 1
        if not _annotate.marked.steps:
            self._phase = NO_PHASE
            _probe.calls.step(NO_STEP)

    def _read_state(self):
        found = [optimizer() for optimizer in self._optimizers.values()]
        return [self._state_of(optimizer) for optimizer in found if optimizer is not None]

    def _end_unseen(self):
        """The step's backward is over and parameters have changed: torch.compile() made a step of the
        optimizer, and calls no hooks."""
        if self._sees_steps or not self._has_backward or self._stepped:
            return
        if self._state != self._read_state():
            self.end_step()

    def _end_iteration(self):
        """Where the next batch is asked for: what an optimizer made a step in, ends."""
        if self._stepped:
            if not self._is_mixed:
                self._last = self._latest
            self.end_step()
        else:
            self._end_unseen()

    def created(self, optimizer):
        self._keep(optimizer)
        if not self._is_elsewhere():
            self._arm()

    def _keep(self, optimizer):
        key = id(optimizer)
        if key not in self._optimizers:
            self._optimizers[key] = weakref.ref(optimizer, lambda _: self._optimizers.pop(key, None))

    def _evaluates(self, source):
        """By the mode of the model. A trainer may ask for its next batch before it is back in train(),
        from the loader that it has trained with."""
        root = self._root and self._root()
        if not self.needs_mode or root is None or root.training:
            return False
        is_own = source is not None and source == self._own_source
        self._is_guess = is_own and source not in self._shared_sources
        return not self._is_guess

    def _end_guess(self):
        if self._is_guess:
            self._shared_sources.add(self._source)
            self._is_guess = False
            self.end_step()

    def wait_begins(self, grad_enabled, has_more, source=None):
        """Which kind of wait for a batch begins; wait_ends() wants to know it. `source` is equal for all
        waits for one loader."""
        if not self._optimizers or self._is_waiting or self._is_elsewhere():
            return ELSEWHERE
        self._is_waiting = True
        self._stack.clear()  # of an optimizer that raised
        self._disarm()  # of modules that the data set calls
        if not grad_enabled or self._evaluates(source):
            self.end_step()
            return OTHER_WAIT
        self._end_iteration()
        if not has_more:
            self._end_guess()
            return OTHER_WAIT
        self._ended_by = None
        self._source = source
        if not self._open:
            self._begin_step()
        self._has_waited = True
        self._mark(DATA)
        return TRAINING_WAIT

    def wait_ends(self, kind, has_batch):
        if kind == ELSEWHERE:
            return
        self._is_waiting = False
        if kind == TRAINING_WAIT:
            self._mark(NO_PHASE)
            if not has_batch:  # the end of data of unknown length
                self.end_step()
        self._arm()

    def forward_begins(self, module):
        """Of an outermost module, with gradients."""
        if not self._optimizers or self._backwards or self._is_elsewhere():
            return
        self._disarm()
        self._thread = get_ident()
        self._own_source, self._is_guess = self._source, False
        if self._root is None or self._root() is not module:
            self._root = weakref.ref(module)
        if not self._sees_steps and not self._stack:
            self._end_unseen()
        if not self._open:
            self._begin_step()
        self._mark(FORWARD)

    def evaluation_begins(self, module, grad_enabled):
        """The same in eval() mode or without gradients. True when no forward need be reported until
        this one has ended."""
        if self._backwards or self._is_elsewhere():
            return False
        if self._root is None:
            self._root = weakref.ref(module)
            self.end_step()  # which its loader had begun
        elif self._stepped:
            self.end_step()
        self._end_guess()
        self._evaluated = grad_enabled
        self._disarm()
        return True

    def evaluation_ends(self):
        if not self._is_elsewhere():
            self._arm()

    def backward_begins(self):
        """True when it is the training's, and backward_ends() is to follow."""
        if not self._optimizers or self._is_elsewhere():
            return False
        self._thread = get_ident()
        self._backwards += 1
        if self._backwards == 1:
            if self._evaluated and self._phase != FORWARD:
                self.needs_mode = False
            self._evaluated = False
            self._disarm()
            if not self._open:
                self._begin_step()
            self._has_backward = True
            self._mark(BACKWARD)
        return True

    def backward_ends(self):
        self._backwards -= 1
        if self._backwards:
            return
        self._mark(OPTIMIZER if self._stack else NO_PHASE)
        self._arm()
        if self._stepped and not self._stack:  # optimizers that make their step inside of backward
            self._end_if_complete()

    def optimizer_begins(self, optimizer, caller=None):
        """`caller` makes the step of the optimizer, or skips it: a GradScaler."""
        if self._backwards or self._is_elsewhere():
            return
        self._thread = get_ident()
        key = id(caller or optimizer)
        if key in self._stack:  # the step before of this one raised
            del self._stack[self._stack.index(key) :]
        if not self._stack:
            self._enter_optimizer(id(optimizer))
        self._stack.append(key)

    def _enter_optimizer(self, key):
        if self._open and key in self._stepped and not self._has_waited:
            self._end_iteration()
        if self._ended_by not in (None, key):  # that was not the last one
            self._is_mixed, self._last = True, None
        self._ended_by = None
        if not self._open:
            self._begin_step()
        self._mark(OPTIMIZER)
        self._arm()  # for a closure

    def optimizer_ends(self, optimizer, caller=None):
        key = id(caller or optimizer)
        if self._backwards and key not in self._stack:
            self._note_step(optimizer)
        elif key in self._stack and not self._is_elsewhere():
            del self._stack[self._stack.index(key) :]
            self._note_step(optimizer)
            if not self._stack:
                self._arm()
                self._end_if_complete()
                self._mark(NO_PHASE)  # which the end of a step has done

    def _note_step(self, optimizer):
        self._keep(optimizer)
        self._sees_steps = True
        self._latest = id(optimizer)
        self._stepped.add(self._latest)

    def _end_if_complete(self):
        if self._last is not None and self._last == self._latest:
            self._ended_by = self._last
            self.end_step()
        elif len(self._stepped) >= len(self._optimizers):
            self.end_step()
