# SPDX-License-Identifier: Apache-2.0
"""Records a PyTorch training's modules, backward pass, optimizer, data loader and operators.

    profwrap.watch(model, optimizer, loader)

Uses PyTorch's public hooks, and replaces a method where there is no hook (docs/python.md lists
them). Nothing here changes results or raises in the training: failures of hooks are counted, and
the first one causes a warning. Works with PyTorch 1.13 and newer.
"""

import atexit
import functools
import threading
import types
import warnings

import torch
import torch.profiler
from torch.profiler import (  # noqa: F401, for programs that import them from here
    ProfilerAction,
    ProfilerActivity,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader

from . import _annotate, _auto, _loader, _probe
from ._torch_events import record

# Before PyTorch 2 a tensor's hooks went with it when it was changed in place.
_HOOKS_MOVE = int(torch.__version__.split(".")[0]) < 2

_failures = 0


def failures():
    """Number of failures in this module, each of which recorded nothing."""
    return _failures


def _soft(function):
    """Returns a function that calls `function`; exceptions are counted, with one warning, instead
    of raised.
    """

    @functools.wraps(function)
    def guarded(*args, **kwargs):
        global _failures
        try:
            return function(*args, **kwargs)
        except Exception as problem:
            _failures += 1
            if _failures == 1:
                warnings.warn(
                    f"profwrap could not record something: {problem!r}", stacklevel=2
                )
            return None

    return guarded


class _OpenOps(threading.local):
    """The open operators of modules on a thread, so that each begin gets exactly one end.

    A module whose forward raised has no end of its own; it is closed when a module around it ends,
    or at the next call of the whole model.
    """

    def __init__(self):
        self.names = []
        self.backward = None  # the one of them that is a backward

    def begin(self, name, type):
        self.names.append(name)
        _probe.calls.op_begin(name, type, None)

    def end(self, name):
        if name in self.names:
            while self._close() != name:
                pass

    def end_all(self):
        while self.names:
            self._close()

    def _close(self):
        _probe.calls.op_end()
        return self.names.pop()


def _first_tensor(value):
    """The first tensor of a module's output that has a gradient, or None."""
    if isinstance(value, torch.Tensor):
        return value if value.requires_grad else None
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return None
    return next((t for t in map(_first_tensor, value) if t is not None), None)


def _text(name):
    return name.encode("utf-8", "replace")


class Watch:
    """What watch() has attached; close() removes it. Also a context manager."""

    def __init__(self, model, optimizers, loader, mark_steps, operators, flops):
        first = _auto.take_over()  # what was recorded before watch() was called had these numbers
        self._removers = []
        self._flops = flops
        self._ops = _OpenOps()
        self._open = True  # what cannot be taken off looks here
        self._steps = _Steps(first) if mark_steps else None
        self._memory = _DeviceMemory()
        if "op_begin" in _probe.calls.present or "phase" in _probe.calls.present:
            self._attach(model, optimizers, loader, operators)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        return False

    def close(self):
        """Ends the open step and stops recording."""
        self._open = False
        for remove in reversed(self._removers):
            _soft(remove)()
        self._removers = []
        self._ops.end_all()
        if self._steps:
            self._steps.end()
            atexit.unregister(self._steps.end)

    def _attach(self, model, optimizers, loader, operators):
        attach = _soft(self._watch_module)
        for path, module in model.named_modules():
            # Scripted modules do not accept hooks: their time counts as that of the module around
            # them.
            if not isinstance(module, torch.jit.ScriptModule):
                attach(path, module, module is model)
        for optimizer in optimizers:
            _soft(self._watch_optimizer)(optimizer, optimizer is optimizers[-1])
        _soft(self._watch_backward)()
        if loader is not None:
            self._removers.append(_watch_loader(loader, self))
        if operators:
            mode = record_operators()
            mode.__enter__()
            self._removers.append(lambda: mode.__exit__(None, None, None))

    def _watch_module(self, path, module, is_root):
        kind = _text(getattr(module, "original_name", None) or type(module).__name__)
        name = _text(path) if path else kind

        def enter(module, _):
            if is_root:
                self._begin_forward(module)
            self._ops.begin(name, kind)

        def leave(module, _, output):
            self._ops.end(name)
            if is_root:
                self._memory.report()

        self._removers.append(module.register_forward_pre_hook(_soft(enter)).remove)
        leave = _soft(leave)
        try:  # PyTorch 2.1: also when forward raised
            handle = module.register_forward_hook(leave, always_call=True)
        except (TypeError, RuntimeError):
            handle = module.register_forward_hook(leave)
        self._removers.append(handle.remove)
        if not any(True for _ in module.children()):
            self._watch_gradients(module, name + b".backward", kind)

    def _begin_forward(self, module):
        self._ops.end_all()
        if module.training:
            if self._steps:
                self._steps.begin()
            _probe.calls.phase(_annotate.FORWARD)
        elif self._steps:
            self._steps.cancel_ahead()

    def _watch_gradients(self, module, name, kind):
        """A module's backward lasts from the gradient of its output to the gradient of its own
        parameters, or of the next module's output. Full backward hooks would be more exact, but
        with them the program may not change a module's output in place.
        """

        def begin(_):
            self._ops.end(self._ops.backward)
            self._ops.begin(name, kind)
            self._ops.backward = name

        def end(_):
            self._ops.end(name)

        begin, end = _soft(begin), _soft(end)

        def leave(module, inputs, output):
            tensor = _first_tensor(output)
            # The output was changed in place: its backward counts as that of the earlier module.
            moved = _HOOKS_MOVE and any(tensor is value for value in inputs)
            if tensor is not None and not moved:
                tensor.register_hook(begin)

        self._removers.append(module.register_forward_hook(_soft(leave)).remove)
        for parameter in module.parameters(recurse=False):
            if parameter.requires_grad:
                self._removers.append(parameter.register_hook(end).remove)

    def _watch_backward(self):
        """torch.autograd.backward() is what Tensor.backward() calls; it has no hook."""
        real = torch.autograd.backward

        @functools.wraps(real)
        def backward(*args, **kwargs):
            if not self._open:
                return real(*args, **kwargs)
            _probe.calls.phase(_annotate.BACKWARD)
            try:
                return real(*args, **kwargs)
            finally:
                self._ops.end_all()
                _probe.calls.phase(_annotate.NO_PHASE)
                _soft(self._memory.report)()

        def remove():
            if torch.autograd.backward is backward:  # else somebody wrapped it once more
                torch.autograd.backward = real

        torch.autograd.backward = backward
        self._removers.append(remove)

    def _watch_optimizer(self, optimizer, is_last):
        def before(*_):
            if not self._open:
                return
            self._ops.end_all()
            _probe.calls.phase(_annotate.OPTIMIZER)

        def after(*_):
            if not self._open:
                return
            _probe.calls.phase(_annotate.NO_PHASE)
            self._memory.report()
            if is_last and self._flops:
                _annotate.flops(self._flops)
            if is_last and self._steps:
                self._steps.complete()

        before, after = _soft(before), _soft(after)
        if hasattr(optimizer, "register_step_pre_hook"):  # PyTorch 2.0
            self._removers.append(optimizer.register_step_pre_hook(before).remove)
            self._removers.append(optimizer.register_step_post_hook(after).remove)
        else:
            self._removers.append(_wrap_step(optimizer, before, after))

    def waits(self):
        """Called when a wait for the next batch begins. Returns False when nothing is watched any
        more.
        """
        if not self._open:
            return False
        if self._steps:
            self._steps.begin()
        _probe.calls.phase(_annotate.DATA)
        return True


def _wrap_step(optimizer, before, after):
    """Replaces optimizer.step by a bound method, because learning rate schedulers read __func__ of
    it.
    """
    real = optimizer.step

    @functools.wraps(real)  # with the mark that schedulers look for
    def step(_, *args, **kwargs):
        before()
        try:
            return real(*args, **kwargs)
        finally:
            after()

    ours = types.MethodType(step, optimizer)
    had = "step" in vars(optimizer)
    optimizer.step = ours

    def remove():
        if vars(optimizer).get("step") is not ours:
            return  # a scheduler wrapped it once more
        if had:
            optimizer.step = real
        else:
            del optimizer.step

    return remove


class _Steps:
    """Counts steps by the optimizer's steps. A step begins where the one before ended; the first one,
    and one after an evaluation, begins with its first wait or forward. What begins with the last
    step's end is none.
    """

    def __init__(self, first):
        self._next, self._open, self._is_ahead = first, False, False
        atexit.register(self.end)

    def begin(self):
        if not self._open and not self._is_ahead:
            _probe.calls.step(self._next)
        self._open, self._is_ahead = True, False

    def complete(self):
        if self._open:
            self._open, self._is_ahead = False, True
            self._next += 1
            _probe.calls.step(self._next)

    def cancel_ahead(self):
        """The program evaluates next, or this recording ends."""
        if self._is_ahead:
            self._is_ahead = False
            _probe.calls.step(_annotate.CANCEL_STEP)

    def end(self):
        self.cancel_ahead()
        if self._open:
            self._open = False
            self._next += 1
            _probe.calls.step(_annotate.NO_STEP)


class _DeviceMemory:
    """Reports the change of the CUDA allocator's memory since the last report."""

    def __init__(self):
        self._known = {}

    def report(self):
        if not torch.cuda.is_available() or not torch.cuda.is_initialized():
            return
        for device in range(torch.cuda.device_count()):
            now = torch.cuda.memory_stats(device).get("allocated_bytes.all.current", 0)
            if now != self._known.get(device, 0):
                _probe.calls.memory(now - self._known.get(device, 0), device)
                self._known[device] = now


def _watch_loader(loader, watch):
    """Replaces __next__ of the loaders' iterators, because neither they nor the loader have a
    hook.
    """
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    real = _BaseDataLoaderIter.__next__

    @_soft
    def before(iterator):
        if getattr(iterator, "_index_sampler", None) is not loader._index_sampler:
            return False
        if not _loader.has_more(iterator) or not watch.waits():
            return False
        ready = _loader.ready_batches(iterator)  # in the step that waits
        if ready is not None:
            _probe.calls.queue(b"DataLoader", *ready)
        return True

    @functools.wraps(real)
    def next_batch(iterator):
        watched = before(iterator)
        try:
            return real(iterator)
        finally:
            if watched:
                _probe.calls.phase(_annotate.NO_PHASE)

    def remove():
        if _BaseDataLoaderIter.__next__ is next_batch:
            _BaseDataLoaderIter.__next__ = real

    _BaseDataLoaderIter.__next__ = next_batch
    return remove


def count_flops(call, *args, **kwargs):
    """Calls `call` once, such as a forward and backward pass, and returns the FLOPs of its
    operators on this rank, as PyTorch's FlopCounterMode counts them (2.1 and newer): matrix
    products, convolutions and attention, including repeated ones.
    """
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        call(*args, **kwargs)
    return counter.get_total_flops()


def trace_handler(prof):
    """Calls record(), for torch.profiler.profile(on_trace_ready=profwrap.torch.trace_handler). A
    failure causes a warning and no exception.
    """
    _soft(record)(prof)


class profile(torch.profiler.profile):
    """torch.profiler.profile, with its arguments and methods, whose operators are also recorded: as by
    trace_handler(), at the end of each window and before on_trace_ready is called.
    """

    def __init__(self, *, on_trace_ready=None, **arguments):
        def ready(prof):
            trace_handler(prof)
            if on_trace_ready is not None:
                on_trace_ready(prof)

        super().__init__(on_trace_ready=ready, **arguments)


class record_operators(TorchDispatchMode):
    """`with record_operators():` records the operators that PyTorch dispatches below autograd, such
    as aten::addmm, on the calling thread and in the backward pass that it starts.

    Composite operators (aten::linear) are not recorded, nor operators that an operator calls
    internally; record() has all of them, from PyTorch's own profiler. Shapes have the same form as
    there.
    """

    def __init__(self, shapes=True):
        super().__init__()
        self._shapes = bool(shapes)
        self._known = {}  # overload of an operator: its name, or None; number of its arguments

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name, shapes = self._describe(func, args) or (None, None)
        if name is None:
            return func(*args, **(kwargs or {}))
        _probe.calls.op_begin(name, b"aten", shapes)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            _probe.calls.op_end()

    @_soft
    def _describe(self, func, args):
        known = self._known.get(func)
        if known is None:
            name = func._schema.name
            # Marks of PyTorch's own profiler are not operators.
            name = None if name.startswith("profiler::") else _text(name)
            known = self._known[func] = name, len(func._schema.arguments)
        name, count = known
        if name is None or not self._shapes:
            return name, None
        shapes = [list(a.shape) if isinstance(a, torch.Tensor) else [] for a in args]
        shapes += [[]] * (count - len(shapes))
        return name, str(shapes).encode()


def _innermost(optimizer):
    """Returns the innermost optimizer. accelerate wraps an optimizer by one whose step() is called
    after every micro batch; the inner one is called only for real steps.
    """
    inner = optimizer
    while isinstance(inner, torch.optim.Optimizer):
        optimizer, inner = inner, vars(inner).get("optimizer")
    return optimizer


def watch(model, optimizer=None, loader=None, *, mark_steps=None, operators=False, flops=0):
    """Records a training from now on, until close() of what this returns.

    `model`: every module's forward as an operator of the module's class, and of those without
    modules inside, the backward; phases "forward" and "backward". `optimizer`, one or a list of
    them: phase "optimizer", and steps, counted by the last one's, unless `mark_steps` is False: then
    the program calls profwrap.step(). `loader`, a DataLoader: waiting for it as phase "data", and
    with workers how many batches were ready. `operators`: the operators of this thread, as
    record_operators() does. `flops`: what the model needs of them on this rank in each step of the last
    optimizer, as profwrap.flops() takes it. The memory that the CUDA allocator holds is reported where
    phases end.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"watch() takes a torch.nn.Module, not {type(model).__name__}")
    if optimizer is None:
        optimizers = []
    else:
        optimizers = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
        optimizers = [_innermost(one) for one in optimizers]
    for one in optimizers:
        if not isinstance(one, torch.optim.Optimizer):
            raise TypeError(f"watch() takes torch optimizers, not {type(one).__name__}")
    if loader is not None and not isinstance(loader, DataLoader):
        raise TypeError(
            f"watch() takes a torch DataLoader, not {type(loader).__name__}:"
            " use profwrap.steps() for other iterables"
        )
    if mark_steps is None:
        mark_steps = bool(optimizers)
    elif mark_steps and not optimizers:
        raise ValueError("mark_steps needs an optimizer: its steps are what is counted")
    if flops and not optimizers:
        raise ValueError("flops needs an optimizer: they are those of each of its steps")
    return Watch(model, optimizers, loader, mark_steps, operators, flops)
