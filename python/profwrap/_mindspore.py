# SPDX-License-Identifier: Apache-2.0
"""MindSpore trainings recorded without a change to the program: where MindSpore tells what happens.

The import hook (_site/) calls on_mindspore() when the program has imported mindspore. What is attached
is attached to MindSpore's classes, so it holds for Model.train, TrainOneStepCell and loops with
value_and_grad, in PyNative and in graph mode. It changes no object of the program, and raises nothing:
failures are counted, and the time spent here is recorded as overhead (_mindspore_cost.py). What a
version does not have is left out.
"""

import atexit
import ctypes
import functools
import json
import re
import sys
import time
import weakref

from . import _annotate, _mindspore_cost, _mindspore_steps, _mstx, _pauses, _probe
from ._mindspore_cost import replace, say, soft

_OLDEST = (2, 0)
_NEEDS_NUMPY_1 = (2, 10)  # the newest version whose data sets do not work with NumPy 2
_clock = time.perf_counter_ns
_KINDS = 4096  # objects of which is kept what they contain
_MOST_LOOKS = 2000  # objects that are looked at for it

NOTHING, GRADIENTS, WHOLE = range(3)  # what a graph computes: gradients, or the optimizer's step too


def _module(*names):
    """The first of these that is imported. mindspore.common.api is mindspore.graph.api since 2.9."""
    for name in names:
        if name in sys.modules:
            return sys.modules[name]
    return None


def _classes(names):
    """Classes "MODULE.NAME" of those that this version has."""
    for path in names:
        module, _, name = path.rpartition(".")
        found = getattr(sys.modules.get(module), name, None)
        if isinstance(found, type):
            yield found


def _need(names):
    """The same; a version that has none is not recorded like this."""
    found = list(_classes(names))
    if not found:
        raise LookupError(names[0])
    return found


# Of the strategy of a parallel training; what MindSpore calls them.
_STRATEGY = ("parallel_mode", "device_num", "pipeline_stages", "gradients_mean", "enable_parallel_optimizer",
             "search_mode", "dataset_strategy", "strategy_ckpt_save_file")

_OPTIMIZERS = ("mindspore.nn.optim.optimizer.Optimizer", "mindspore.experimental.optim.optimizer.Optimizer")
_REDUCERS = (
    "mindspore.nn.wrap.grad_reducer.DistributedGradReducer",
    "mindspore.nn.wrap.grad_reducer.PipelineGradReducer",
    "mindspore.parallel.nn.parallel_grad_reducer.PipelineGradReducer",
)


class _Mccl(ctypes.Structure):
    """struct profwrap_mccl of src/collectors/mindspore/mccl_wrap.c."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("watch", ctypes.PYFUNCTYPE(None)),
        ("split", ctypes.PYFUNCTYPE(None, ctypes.c_char_p)),
    ]


def _find_mccl():
    try:
        return _Mccl.in_dll(ctypes.CDLL(None), "profwrap_mccl_v1")
    except (OSError, ValueError):  # an older probe
        return None


class _Contents:
    """What a cell or a function that is compiled to a graph contains, found by what it refers to."""

    def __init__(self, mindspore):
        self._Cell = mindspore.nn.Cell
        self._optimizers = tuple(_classes(_OPTIMIZERS))
        base = sys.modules.get("mindspore.ops.composite.base")
        self._gradients = tuple(
            kind for kind in (getattr(base, name, None) for name in ("GradOperation_", "GradOperation"))
            if isinstance(kind, type)
        )
        self._known = {}

    def of(self, item, owner=None):
        """(one of the constants above, weak references to the optimizers)."""
        key = id(item), id(owner)
        known = self._known.get(key)
        if known is None or known[0]() is not item:
            if len(self._known) >= _KINDS:
                self._known.clear()
            known = self._known[key] = weakref.ref(item), self._look(item, owner)
        return known[1]

    def _look(self, item, owner):
        found, has_gradients, seen = [], False, set()
        todo = [item, owner]
        while todo and len(seen) < _MOST_LOOKS:
            one = todo.pop()
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            if isinstance(one, self._optimizers):
                found.append(weakref.ref(one))
            elif isinstance(one, self._gradients):
                has_gradients = True
            elif isinstance(one, self._Cell):
                todo += _attributes(one)
            elif isinstance(one, (tuple, list)):
                todo += one[:100]
            elif callable(one):
                has_gradients |= _is_gradient(one)
                todo += _references(one)
        return (WHOLE if found else GRADIENTS if has_gradients else NOTHING), found


def _attributes(cell):
    values = [value for value in vars(cell).values() if not isinstance(value, (str, int, float, dict))]
    values += getattr(cell, "_cells", None) and cell._cells.values() or ()
    return values + [getattr(type(cell), "construct", None)]


def _is_gradient(function):
    name = getattr(function, "__qualname__", "")
    return name.startswith(("_Grad.__call__", "GradOperation.__call__"))


def _references(function):
    """What a function of Python refers to by its closure, its globals, and as a method."""
    values = [getattr(function, "__self__", None), getattr(function, "__wrapped__", None)]
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None or (getattr(function, "__module__", None) or "").startswith("mindspore."):
        if code is None or not _is_gradient(function):
            return values
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not yet set
            pass
    codes = [code]
    while codes:
        one = codes.pop()
        codes += [constant for constant in one.co_consts if hasattr(constant, "co_names")]
        values += [function.__globals__[name] for name in one.co_names if name in function.__globals__]
    return values


class _Batches:
    """Of one iterator: its data set, and how many batches it gave in this epoch."""

    __slots__ = ("iterator", "source", "count")

    def __init__(self, iterator, forget):
        self.iterator = weakref.ref(iterator, forget)
        source = getattr(iterator, "_Iterator__ori_dataset", None)
        self.source = _nothing if source is None else weakref.ref(source)
        self.count = 0

    def has_more(self):
        """False when it is known that the next batch does not exist."""
        size = getattr(self.source(), "dataset_size", None)
        return not isinstance(size, int) or self.count < size


def _nothing():
    return None


class Auto:
    """All that is attached to mindspore; detach() takes it off."""

    def __init__(self, mindspore):
        self._mindspore = mindspore
        self.steps = _mindspore_steps.Steps()
        self._contents = _Contents(mindspore)
        self._trained = {}  # cells whose gradients were computed: weak references by id
        self._batches = {}  # what is known of iterators, by id
        self._removers = []
        self._told = 0
        self._has_told_strategy = False
        self.lacks = []
        for attach, what in (
            (self._attach_data, "the wait for data"),
            (self._attach_optimizers, "the optimizer, with which steps end"),
            (self._attach_reducers, "averaging gradients"),
            (self._attach_pynative, "forward and backward in PyNative mode"),
            (self._attach_graphs, "graphs of cells"),
            (self._attach_functions, "functions with @jit"),
            (self._attach_train_cells, "TrainOneStepCell"),
            (self._attach_evaluations, "which batches are an evaluation's"),
            (self._attach_mstx, "mstx"),
        ):
            try:
                attach()
            except Exception:  # a MindSpore whose inside is another: recorded without this
                _mindspore_cost.cost.failures += 1
                self.lacks.append(what)

    def detach(self):
        soft(self.steps.end_step)()
        for remove in reversed(self._removers):
            soft(remove)()
        self._removers = []

    def _replace(self, owner, name, ours):
        self._removers.append(replace(owner, name, ours))

    def _surround(self, owner, name, begin, end):
        """Calls begin(*args) before owner.name; when that answers what is true, end(that) after it."""
        real = getattr(owner, name)
        begin, end = soft(begin), soft(end)

        @functools.wraps(real)
        def surrounded(*args, **kwargs):
            begun = begin(*args)
            if not begun:
                return real(*args, **kwargs)
            try:
                return real(*args, **kwargs)
            finally:
                end(begun)

        self._replace(owner, name, surrounded)

    # ---- data ----

    def _attach_data(self):
        """An iterator's wait for a batch, of Model.train's too."""
        Iterator = sys.modules["mindspore.dataset.engine.iterators"].Iterator
        real = Iterator.__next__
        begin, end = soft(self._wait_begins), soft(self._wait_ends)

        @functools.wraps(real)
        def next_batch(iterator):
            wait = begin(iterator)
            has_batch = False
            try:
                batch = real(iterator)
                has_batch = True
                return batch
            finally:
                end(iterator, wait, has_batch)

        self._replace(Iterator, "__next__", next_batch)

    def _wait_begins(self, iterator):
        batches = self._batches_of(iterator)
        steps = self.steps
        if not batches.count and steps.is_source(batches.source()):
            steps.epoch_begins()
        wait = steps.wait_begins(batches.source(), batches.has_more())
        if wait == _mindspore_steps.TRAINING_WAIT and steps.number >= _mindspore_cost.cost.next_report:
            _mindspore_cost.cost.report(steps.number)
            self.tell_epochs()
            self.tell_strategy()
        return wait

    def _batches_of(self, iterator):
        key = id(iterator)
        batches = self._batches.get(key)
        if batches is None or batches.iterator() is not iterator:
            batches = self._batches[key] = _Batches(iterator, lambda _: self._batches.pop(key, None))
        return batches

    def _wait_ends(self, iterator, wait, has_batch):
        batches = self._batches_of(iterator)
        batches.count = batches.count + 1 if has_batch else 0
        if wait:
            self.steps.wait_ends(wait, has_batch)

    def tell_strategy(self):
        """Once, as the program has set it by the time of the first steps."""
        if self._has_told_strategy:
            return
        self._has_told_strategy = True
        get = self._mindspore.get_auto_parallel_context
        strategy = {name: get(name) for name in _STRATEGY}
        _probe.calls.metadata(b"mindspore.parallel", json.dumps(strategy, default=str)[:8000].encode())

    def tell_epochs(self):
        epochs = self.steps.epochs
        if epochs and len(epochs) != self._told:
            self._told = len(epochs)
            text = json.dumps({"count": len(epochs), "first_steps": epochs})
            if len(text) > 8000:
                text = json.dumps({"count": len(epochs), "first_steps": epochs[:500]})
            _probe.calls.metadata(b"mindspore.epochs", text.encode())

    # ---- parts of a step ----

    def _attach_optimizers(self):
        """Optimizers are cells; a step of theirs is a call."""
        for kind in _need(_OPTIMIZERS):
            real, created = kind.__init__, soft(self.steps.created)

            def init(optimizer, *args, _real=real, **kwargs):
                _real(optimizer, *args, **kwargs)
                created(optimizer)

            self._replace(kind, "__init__", functools.wraps(real)(init))
            self._surround(kind, "__call__", self._optimizer_begins, self._optimizer_ends)

    def _optimizer_begins(self, optimizer, *_):
        return optimizer if self.steps.optimizer_begins(optimizer) else None

    def _optimizer_ends(self, optimizer):
        self.steps.optimizers_end([optimizer])

    def _attach_reducers(self):
        mccl = _find_mccl()
        self._watch, self._split = (mccl.watch, mccl.split) if mccl else (None, None)
        for kind in _need(_REDUCERS):
            self._surround(kind, "__call__", self._reduce_begins, self._reduce_ends)

    def _reduce_begins(self, *_):
        """What computes the gradients may still run, in other threads: allreduce begins with the first
        collective."""
        begun = self.steps.reduce_begins()
        if begun and self._watch:
            self._watch()
        return begun

    def _reduce_ends(self, _):
        if self._split and not _annotate.marked.phases:
            self._split(b"backward" if self.steps.has_backward else b"forward")
        self.steps.end()

    def _ends(self, _):
        self.steps.end()

    # ---- PyNative mode ----

    def _attach_pynative(self):
        """new_graph() is called before the forward of the outermost cell, or of the function that
        value_and_grad() was given; grad() computes the gradients."""
        api = _module("mindspore.graph.api", "mindspore.common.api")
        Executor = api._PyNativeExecutor
        self._surround(Executor, "new_graph", self._forward_begins, self._ends)
        self._surround(Executor, "grad", self._backward_begins, self._ends)

    def _forward_begins(self, _, item, *__):
        """Of a cell it is not known before its gradients were computed that it is a training's."""
        if not isinstance(item, self._mindspore.nn.Cell) or self._is_trained(item):
            self.steps.forward_begins()

    def _is_trained(self, cell):
        return id(cell) in self._trained and getattr(cell, "training", True)

    def _backward_begins(self, _, item, grad=None, *__):
        if isinstance(grad, self._mindspore.nn.Cell):  # the arguments' order in another version
            item = grad
        if isinstance(item, self._mindspore.nn.Cell):
            self._keep_trained(item)
        return self.steps.backward_begins()

    def _keep_trained(self, cell):
        key = id(cell)
        if key not in self._trained:
            self._trained[key] = weakref.ref(cell, lambda _: self._trained.pop(key, None))

    # ---- graph mode ----

    def _attach_graphs(self):
        """A call of a cell in graph mode."""
        self._surround(self._mindspore.nn.Cell, "compile_and_run", self._graph_begins, self._graph_ends)

    def _attach_functions(self):
        """A call of a function with @jit."""
        api = _module("mindspore.graph.api", "mindspore.common.api")
        for kind in _need([f"{api.__name__}.{name}" for name in ("_JitExecutor", "_MindsporeFunctionExecutor")]):
            self._surround(kind, "__call__", self._function_begins, self._graph_ends)

    def _graph_begins(self, cell, *_):
        if self.steps.inside:
            return None
        return self._begin_graph(*self._contents.of(cell))

    def _function_begins(self, executor, *_):
        if self.steps.inside:  # such as an optimizer's own function
            return None
        return self._begin_graph(*self._contents.of(executor.fn, executor.obj))

    def _begin_graph(self, kind, optimizers):
        if kind == NOTHING or not self.steps.graph_begins():
            return None
        return [optimizer() for optimizer in optimizers] or True

    def _graph_ends(self, optimizers):
        if optimizers is True:
            self.steps.end()
        else:
            self.steps.optimizers_end([one for one in optimizers if one is not None])

    # ---- what is a training ----

    def _attach_train_cells(self):
        """The network of a TrainOneStepCell is a training's from its first call on. One that scales the
        loss may leave the optimizer out: its step ends all the same."""
        for kind in _need(("mindspore.nn.wrap.cell_wrapper.TrainOneStepCell",)):
            self._surround(kind, "__call__", self._train_cell_begins, self._train_cell_ends)

    def _train_cell_begins(self, cell, *_):
        network = getattr(cell, "network", None)
        if isinstance(network, self._mindspore.nn.Cell):
            self._keep_trained(network)
        return cell if hasattr(cell, "loss_scaling_manager") or hasattr(cell, "scale_sense") else None

    def _train_cell_ends(self, cell):
        self.steps.end_skipped(cell.optimizer)

    def _attach_evaluations(self):
        for Model in _need(("mindspore.train.model.Model",)):
            for name in ("eval", "_eval_in_fit", "predict"):
                if hasattr(Model, name):
                    self._surround(Model, name, self._evaluation_begins, self._evaluation_ends)

    def _attach_mstx(self):
        for kind in _classes(("mindspore.profiler.mstx.Mstx",)):
            self._removers.append(_mstx.attach(kind))

    def _evaluation_begins(self, *_):
        self.steps.evaluation_begins()
        return True

    def _evaluation_ends(self, _):
        self.steps.evaluation_ends()


def _version(mindspore):
    return tuple(map(int, re.findall(r"\d+", mindspore.__version__)[:2]))


def _tell_versions(mindspore, lacks):
    if lacks:
        say(
            f"MindSpore {mindspore.__version__} is another inside than 2.7 to 2.10: not recorded are "
            + ", ".join(lacks)
        )
    numpy = sys.modules.get("numpy")
    if _version(mindspore) <= _NEEDS_NUMPY_1 and numpy and _version(numpy) >= (2, 0):
        say(
            f"NumPy {numpy.__version__} is too new for the data sets of MindSpore {mindspore.__version__}: "
            'should they fail, pip install "numpy<2"'
        )


_active = None  # the one Auto of the process


def on_mindspore(mindspore, began_ns=None):
    """The program has imported mindspore: what it does from now on is recorded. Raises nothing."""
    global _active
    began_ns = _clock() if began_ns is None else began_ns
    try:
        if _active is None and _probe.calls.present >= {"step", "phase"}:
            if _version(mindspore) < _OLDEST:
                say(f"MindSpore {mindspore.__version__} is not instrumented: 2.0 or newer is needed")
                return
            _active = Auto(mindspore)
            atexit.register(_at_exit)
            _tell_versions(mindspore, _active.lacks)
            _pauses.on_mindspore(mindspore)
    except Exception:  # a module of this name that is not MindSpore
        _mindspore_cost.cost.failures += 1
    _mindspore_cost.cost.start_ns += _clock() - began_ns


def _at_exit():
    if _active is not None and _active.steps.number:
        _active.steps.end_step()
        _active.tell_epochs()
        soft(_active.tell_strategy)()
        _mindspore_cost.cost.tell()


def take_over():
    """The program says itself what to record: ends what is recorded without that. The number of the
    next step."""
    global _active
    if _active is None:
        return 0
    _active.detach()
    number, _active = _active.steps.number, None
    return number
