"""What a training is doing that marks nothing itself: steps and phases from what its parts report.

A step begins with the first wait for data, or forward, after the step before, and ends with an
optimizer's step. Of several optimizers it is the last one's: known when all of them have made a
step, or learned when the next batch is waited for, or when the first of them comes round again.
Knows nothing of torch: _auto.py reports to it and is told by arm() and disarm() when to report the
next forward.
"""

import threading
import weakref

from . import _annotate, _probe

# What wait_begins() answers.
ELSEWHERE, OTHER_WAIT, TRAINING_WAIT = range(3)


class Training:
    """`is_worker` answers whether this is a process that only loads data; `state_of(optimizer)` with
    a number that changes when parameters do."""

    def __init__(self, arm, disarm, is_worker, state_of):
        self._arm, self._disarm, self._is_worker = arm, disarm, is_worker
        self._state_of = state_of
        self.optimizers = weakref.WeakSet()
        self.number = 0  # of the step that is open, or else of the next
        #: False once a model was trained in eval() mode: a forward with gradients is a training's.
        self.needs_mode = True
        self._open = False
        self._has_waited = False  # for data in this step
        self._has_backward = False
        self._state = None  # of the parameters when this step began
        self._is_waiting = False
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
        self._phase = _annotate.NO_PHASE

    def _is_elsewhere(self):
        """Whether this is another thread than the training's, such as one that fetches batches."""
        return self._thread is not None and self._thread != threading.get_ident()

    def _mark(self, phase):
        if phase != self._phase:
            self._phase = phase
            if not _annotate.marked.phases:
                _probe.calls.phase(phase)

    def _begin_step(self):
        if not self._open:
            self._open = True
            self._state = self._read_state()
            if not _annotate.marked.steps:
                self._phase = _annotate.NO_PHASE
                _probe.calls.step(self.number)

    def end_step(self):
        if not self._open:
            return
        self._open = self._has_waited = self._has_backward = False
        self._stepped.clear()
        self.number += 1
        if not _annotate.marked.steps:
            self._phase = _annotate.NO_PHASE
            _probe.calls.step(_annotate.NO_STEP)

    def _read_state(self):
        return next(map(self._state_of, self.optimizers), None)

    def _end_unseen(self):
        """The step's backward is over and parameters have changed: torch.compile() made a step of the
        optimizer, and calls no hooks."""
        if self._has_backward and not self._stepped and self._state != self._read_state():
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
        self.optimizers.add(optimizer)
        if not self._is_elsewhere():
            self._arm()

    def wait_begins(self, grad_enabled, has_more):
        """Which kind of wait for a batch begins; wait_ends() wants to know it."""
        if not self.optimizers or self._is_waiting or self._is_elsewhere() or self._is_worker():
            return ELSEWHERE
        self._is_waiting = True
        self._stack.clear()  # of an optimizer that raised
        self._disarm()  # of modules that the data set calls
        root = self._root and self._root()
        evaluates = self.needs_mode and root is not None and not root.training
        if evaluates or not grad_enabled:
            self.end_step()
            return OTHER_WAIT
        self._end_iteration()
        if not has_more:
            return OTHER_WAIT
        self._ended_by = None
        self._begin_step()
        self._has_waited = True
        self._mark(_annotate.DATA)
        return TRAINING_WAIT

    def wait_ends(self, kind, has_batch):
        if kind == ELSEWHERE:
            return
        self._is_waiting = False
        if kind == TRAINING_WAIT:
            self._mark(_annotate.NO_PHASE)
            if not has_batch:  # the end of data of unknown length
                self.end_step()
        self._arm()

    def forward_begins(self, module):
        """Of an outermost module, with gradients."""
        if not self.optimizers or self._backwards or self._is_elsewhere() or self._is_worker():
            return
        self._disarm()
        self._thread = threading.get_ident()
        self._root = weakref.ref(module)
        if not self._stack:
            self._end_unseen()
        self._begin_step()
        self._mark(_annotate.FORWARD)

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
        self._evaluated = grad_enabled
        self._disarm()
        return True

    def evaluation_ends(self):
        if not self._is_elsewhere():
            self._arm()

    def backward_begins(self):
        """True when it is the training's, and backward_ends() is to follow."""
        if not self.optimizers or self._is_elsewhere():
            return False
        self._thread = threading.get_ident()
        self._backwards += 1
        if self._backwards == 1:
            if self._evaluated and self._phase != _annotate.FORWARD:
                self.needs_mode = False
            self._evaluated = False
            self._disarm()
            self._begin_step()
            self._has_backward = True
            self._mark(_annotate.BACKWARD)
        return True

    def backward_ends(self):
        self._backwards -= 1
        if self._backwards:
            return
        self._mark(_annotate.OPTIMIZER if self._stack else _annotate.NO_PHASE)
        self._arm()
        if self._stepped and not self._stack:  # optimizers that make their step inside of backward
            self._end_if_complete()

    def optimizer_begins(self, optimizer, caller=None):
        """`caller` makes the step of the optimizer, or skips it: a GradScaler."""
        if self._backwards or self._is_elsewhere():
            return
        self._thread = threading.get_ident()
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
        self._begin_step()
        self._mark(_annotate.OPTIMIZER)
        self._arm()  # for a closure

    def optimizer_ends(self, optimizer, caller=None):
        key = id(caller or optimizer)
        if self._backwards and key not in self._stack:
            self._note_step(optimizer)
        elif key in self._stack and not self._is_elsewhere():
            del self._stack[self._stack.index(key) :]
            self._note_step(optimizer)
            if not self._stack:
                self._mark(_annotate.NO_PHASE)
                self._arm()
                self._end_if_complete()

    def _note_step(self, optimizer):
        self.optimizers.add(optimizer)
        self._stepped.add(id(optimizer))
        self._latest = id(optimizer)

    def _end_if_complete(self):
        if self._last is not None and self._last == self._latest:
            self._ended_by = self._last
            self.end_step()
        elif len(self._stepped) >= len(self.optimizers):
            self.end_step()
