# SPDX-License-Identifier: Apache-2.0
"""Records PyTorch trainings without changes to the program, by hooks of torch.

The import hook (_site/) calls on_torch() when the program has imported torch. Hooks are attached
once for all models, optimizers and loaders. They change no object of the program and raise nothing:
failures are counted. The time spent here is recorded as overhead.
"""

import atexit
import ctypes
import functools
import os
import re
import sys
import time
import weakref

from . import _collectives, _loader, _pauses, _probe, _training

_OLDEST = (1, 13)
_NULL = ctypes.py_object()
_clock = time.perf_counter_ns


class _Cost:
    """The cost of recording in this process, for /overhead."""

    def __init__(self):
        self.start_ns = self.failures = 0
        self.hooks_ns = dict.fromkeys(_training.HOOKS, 0)
        self._told = {}

    def tell(self):
        hooks = [(f"hooks_{name}", value) for name, value in self.hooks_ns.items()]
        for name, value, unit in (
            ("start", self.start_ns, "ns"),
            ("hooks", sum(self.hooks_ns.values()), "ns"),
            *((name, value, "ns") for name, value in hooks),
            ("failures", self.failures, "failures"),
        ):
            if self._told.get(name) != value:
                self._told[name] = value
                key = f"profwrap.overhead.python_{name}"
                _probe.calls.metadata(key.encode(), f"{value} {unit}".encode())


cost = _Cost()


def failures():
    """Number of failures here, each of which recorded nothing."""
    if _auto is not None:
        _auto.take_costs()
    return cost.failures


def _soft(function):
    """Returns a function that calls `function` and counts its exceptions instead of raising
    them.
    """

    def guarded(*args):
        try:
            return function(*args)
        except Exception:
            cost.failures += 1
            return None

    return guarded


class _Forwards:
    """Reports the next outermost module that is called. Uses one global hook, which is removed at
    that call, so modules inside it are called without a hook.
    """

    def __init__(self, torch, auto):
        self._modules = torch.nn.modules.module
        self.hooks = self._modules._global_forward_pre_hooks
        is_compiling = auto.is_compiling

        def hook(module, _):
            if not is_compiling():  # torch.compile() traces this function: to nothing
                auto.training.forward_begins(module)

        self.hook = hook
        self.key = self._modules.register_module_forward_pre_hook(hook).id
        self.remove()

    def remove(self):
        self.hooks.pop(self.key, None)

    def is_armed(self):
        return self.key in self.hooks

    def hide(self):
        """Suppresses the warning of torch.compile's modules about global hooks, for this hook."""
        real = getattr(self._modules, "_has_any_global_hook", None)
        if real is None:
            return lambda: None

        @functools.wraps(real)
        def has_any_global_hook():
            ours = self.hooks.pop(self.key, None)
            try:
                return real()
            finally:
                if ours is not None:
                    self.hooks[self.key] = ours

        return _replace(self._modules, "_has_any_global_hook", has_any_global_hook)


def _replace(owner, name, ours):
    """Sets owner.name. Returns a function that restores it, unless other code has replaced it
    since.
    """
    before = vars(owner)[name]
    setattr(owner, name, ours)

    def restore():
        if vars(owner).get(name) is ours:
            setattr(owner, name, before)

    return restore


class Auto:
    """All hooks that are attached to torch; detach() removes them."""

    def __init__(self, torch, shared):
        self._torch = torch
        self.is_compiling = _compile_test(torch)
        self._removers = []
        self._forwards = _Forwards(torch, self)
        self._iterator = None  # that was waited for last: a weak reference
        self._loaders = _loader.Loaders()
        self._workers = None  # of the loader that was described
        # Hooks after forward are called also when it raises from then on.
        report_end = self._report_end if _version(torch) >= (2, 1) else None
        self.training = _training.Training(
            shared,
            self._forwards.hooks,
            self._forwards.key,
            self._forwards.hook,
            grad_enabled=torch.is_grad_enabled,
            is_worker=self._is_worker,
            state_of=_state_of,
            report_end=report_end,
            use_iterator=self._use_iterator,
            describe_loader=self._describe_loader,
            count_ready=_loader.count_ready,
            report_cost=self._report_cost,
        )
        for attach in (
            self._forwards.hide,
            self._attach_loaders,
            self._attach_backward,
            self._attach_optimizers,
            self._attach_scalers,
            self._attach_compile,
        ):
            try:
                self._removers.append(attach())
            except Exception:  # a torch whose inside is another: recorded without this
                cost.failures += 1

    def detach(self):
        for remove in reversed(self._removers):
            _soft(remove)()
        self._removers = []
        self.training.detach()
        self._forwards.remove()
        self.take_costs()

    def take_costs(self):
        shared = self.training.shared
        cost.failures += shared.failures
        shared.failures = 0
        for name, value in zip(_training.HOOKS, shared.cost_ns):
            cost.hooks_ns[name] += value
        shared.cost_ns[:] = [0] * len(_training.HOOKS)

    def _report_cost(self):
        """Reports at steps 1, 2, 4, 8, ..., because a process that is killed runs nothing at its
        end.
        """
        self.training.shared.next_report = 2 * max(self.training.number, 1)
        if self.training.number:
            self.take_costs()
            cost.tell()

    def _is_worker(self):
        """Whether this is a worker process of a loader, which must not record: its first record
        would make it the rank's process.
        """
        workers = sys.modules.get("torch.utils.data._utils.worker")
        return workers is not None and workers._worker_info is not None

    def _report_end(self, module):
        """Reports the end of this call of the module only."""

        def end(*_):
            handle.remove()
            self.training.evaluation_ends()

        try:
            handle = module.register_forward_hook(_soft(end), always_call=True)
        except Exception:  # a scripted module
            self.training.evaluation_ends()

    def _attach_loaders(self):
        from torch.utils.data.dataloader import _BaseDataLoaderIter as Iterator

        real = Iterator.__next__
        begin, end = self.training.wait_begins, self.training.wait_ends

        @functools.wraps(real)
        def next_batch(iterator):
            if not begin(iterator):
                return real(iterator)
            has_batch = False
            try:
                batch = real(iterator)
                has_batch = True
                return batch
            finally:
                end(has_batch)

        return _replace(Iterator, "__next__", next_batch)

    def _use_iterator(self, iterator):
        """Called when the program waits for another iterator than before."""
        shared, key = self.training.shared, id(iterator)

        def freed(_):
            if shared.iterator == key:
                shared.iterator, shared.room = None, _NULL

        self._iterator = weakref.ref(iterator, freed)
        shared.length = _loader.length(iterator)
        shared.source = self._loaders.number(iterator)
        shared.capacity = _loader.capacity(iterator)
        shared.room, shared.full = _loader.room(iterator) or (_NULL, 0)
        shared.is_described = False
        shared.iterator = key

    def _describe_loader(self, iterator):
        """Of a training."""
        self.training.shared.is_described = True
        workers = _loader.describe(iterator)
        if workers != self._workers:
            self._workers = workers
            text = b'{"workers": %d, "prefetch_factor": %d}' % workers
            _probe.calls.metadata(b"torch.DataLoader", text)

    def _attach_backward(self):
        """torch.autograd.backward() is what Tensor.backward() calls; it has no hook."""
        real = self._torch.autograd.backward
        begin, end = self.training.backward_begins, self.training.backward_ends

        @functools.wraps(real)
        def backward(*args, **kwargs):
            if not begin():
                return real(*args, **kwargs)
            try:
                return real(*args, **kwargs)
            finally:
                end()

        return _replace(self._torch.autograd, "backward", backward)

    def _attach_optimizers(self):
        Optimizer = self._torch.optim.Optimizer
        real, created = Optimizer.__init__, self.training.created
        remove_hooks = self._attach_steps()

        @functools.wraps(real)
        def init(optimizer, *args, **kwargs):
            real(optimizer, *args, **kwargs)
            if remove_hooks is None:
                _soft(self._wrap_class)(type(optimizer))
            created(optimizer)

        restore = _replace(Optimizer, "__init__", init)

        def remove():
            restore()
            if remove_hooks:
                remove_hooks()

        return remove

    def _attach_steps(self):
        """Attaches to the hooks of all optimizers. Returns None when torch has no such hooks
        (before 2.1).
        """
        module = sys.modules["torch.optim.optimizer"]
        if not hasattr(module, "register_optimizer_step_post_hook"):
            return None
        is_compiling = self.is_compiling
        begin, end = self.training.optimizer_begins, self.training.optimizer_ends

        def before(optimizer, *_):
            if not is_compiling():
                begin(optimizer)

        def after(optimizer, *_):
            if not is_compiling():
                end(optimizer)

        handles = (
            module.register_optimizer_step_pre_hook(before),
            module.register_optimizer_step_post_hook(after),
        )
        return lambda: [handle.remove() for handle in handles]

    def _wrap_class(self, kind):
        """Optimizers before torch 2.1 have no hooks: their class gets a step() that reports."""
        real = kind.step
        if getattr(real, "_is_profwraps", False):
            return
        begin, end = self.training.optimizer_begins, self.training.optimizer_ends

        @functools.wraps(real)  # with the mark of torch that it has wrapped it
        def step(optimizer, *args, **kwargs):
            begin(optimizer)
            try:
                return real(optimizer, *args, **kwargs)
            finally:
                end(optimizer)

        step._is_profwraps = True
        kind.step = step

        def remove():
            if vars(kind).get("step") is step:
                kind.step = real

        self._removers.append(remove)

    def _attach_scalers(self):
        """A GradScaler that finds an overflow does not call the optimizer; then the step ends with
        the scaler's call.
        """
        begin, end = self.training.optimizer_begins, self.training.optimizer_ends
        removers = []
        for name in ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler"):
            kind = getattr(sys.modules.get(name), "GradScaler", None)
            if kind is None or "step" not in vars(kind):
                continue
            removers.append(_replace(kind, "step", _scaled_step(kind.step, begin, end)))
        return lambda: [remove() for remove in removers]

    def _attach_compile(self):
        """A module that was compiled in place (torch 2.1) is called without any hooks."""
        Module = self._torch.nn.Module
        real = getattr(Module, "compile", None)
        if real is None:
            return lambda: None

        @functools.wraps(real)
        def compile(module, *args, **kwargs):
            real(module, *args, **kwargs)
            call = module._compiled_call_impl
            if call is not None:
                module._compiled_call_impl = self._reporting(module, call)

        return _replace(Module, "compile", compile)

    def _reporting(self, module, call):
        is_compiling, forwards, shared = self.is_compiling, self._forwards, self.training.shared
        begin, report = self.training.forward_begins, self.training.report_forwards
        grad_enabled = self._torch.is_grad_enabled

        @functools.wraps(call)
        def reported(*args, **kwargs):
            if is_compiling() or not forwards.is_armed():
                return call(*args, **kwargs)
            if grad_enabled() and (module.training or not shared.needs_mode):
                begin(module)
                return call(*args, **kwargs)
            report(False)
            try:
                return call(*args, **kwargs)
            finally:
                report(True)

        return reported


def _state_of(optimizer):
    """Returns how often the optimizer's first and last parameters were changed."""
    try:
        groups = optimizer.param_groups
        return groups[0]["params"][0]._version + groups[-1]["params"][-1]._version
    except Exception:  # such as of inference tensors
        return None


def _scaled_step(real, begin, end):
    @functools.wraps(real)
    def step(scaler, optimizer, *args, **kwargs):
        begin(optimizer, scaler)
        try:
            return real(scaler, optimizer, *args, **kwargs)
        finally:
            end(optimizer, scaler)

    return step


def _version(torch):
    return tuple(map(int, re.findall(r"\d+", torch.__version__)[:2]))


def _compile_test(torch):
    compiler = getattr(torch, "compiler", None)
    test = getattr(compiler, "is_compiling", None)
    return test or getattr(torch._utils, "is_compiling", None) or (lambda: False)


_auto = None  # the one Auto of the process


def _say(text):
    """Prints one line, in one process of each host."""
    local = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
    if all(os.environ.get(name, "0") == "0" for name in local):
        print("profwrap:", text, file=sys.stderr, flush=True)


def on_torch(torch, began_ns=None):
    """Called when the program has imported torch: records it from now on. Raises nothing."""
    global _auto
    began_ns = _clock() if began_ns is None else began_ns
    try:
        if _auto is None and _probe.calls.present >= {"step", "phase"}:
            if _version(torch) < _OLDEST:
                _say(f"PyTorch {torch.__version__} is not instrumented: 1.13 or newer is needed")
                return
            shared = _training.find()
            if shared is None:
                return
            _auto = Auto(torch, shared)
            atexit.register(_at_exit)
            _collectives.attach(torch)
            _pauses.on_torch(torch)
    except Exception:  # a module of this name that is not PyTorch
        cost.failures += 1
    cost.start_ns += _clock() - began_ns


def _at_exit():
    if _auto is not None and _auto.training.number:
        _auto.training.end_step()
        _auto.take_costs()
        cost.tell()


def take_over():
    """Called when the program itself says what to record: ends the automatic recording. Returns the
    number of the next step.
    """
    global _auto
    if _auto is None:
        return 0
    _auto.detach()
    number, _auto = _auto.training.number, None
    if number:
        cost.tell()
    return number
