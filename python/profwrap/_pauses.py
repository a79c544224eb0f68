# SPDX-License-Identifier: Apache-2.0
"""Records compilations of torch.compile() and checkpoints, which one rank may do while the others
wait, as rows of /events/runtime.

The import hook (_site/, _auto.py) calls on_torch(), on_dynamo(), ... when the program has imported these modules.
Their functions are replaced by ones that call them and measure the time; whatever fails here
records nothing, and the program's own exceptions pass.
"""

import functools
import sys
import threading
import time

from . import _collections

COMPILE, CHECKPOINT = 1, 2  # runtime_kind of /events/runtime

_is_inside = False  # the main thread is in a function that is measured


def _clock():
    """The probe's clock, ns."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def _is_main():
    return threading.get_ident() == threading.main_thread().ident


def _measured(function, kind, is_compiling=lambda: False):
    """Returns a function that calls `function`, and records the time if the main thread calls it, and not
    inside another that is measured: what runs in the background holds nobody up. While torch.compile()
    traces a function of the program (`is_compiling`), it sees `function` alone.
    """

    @functools.wraps(function)
    def measured(*args, **kwargs):
        global _is_inside
        if is_compiling() or _is_inside or _collections.ran is None or not _is_main():
            return function(*args, **kwargs)
        began = _clock()
        try:
            _is_inside = True
            return function(*args, **kwargs)
        finally:
            _is_inside = False
            _collections.ran(kind, began)

    measured._is_measured = True
    return measured


def _replace(kind, name, *modules):
    """Replaces this function in the first module, and in the others where it is the same."""
    real = vars(modules[0]).get(name) if modules[0] else None
    if not callable(real) or hasattr(real, "_is_measured"):
        return
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    ours = _measured(real, kind, getattr(compiler, "is_compiling", lambda: False))
    for module in modules:
        if module and vars(module).get(name) is real:
            setattr(module, name, ours)


def on_torch(torch):
    _replace(CHECKPOINT, "save", torch, sys.modules.get("torch.serialization"))


def on_distributed_checkpoint(module, began_ns=None):
    saver = sys.modules.get("torch.distributed.checkpoint.state_dict_saver")
    for name in ("save", "async_save"):
        _replace(CHECKPOINT, name, module, saver)
    # What the old save_state_dict() calls, which warns of the line that called it.
    _replace(CHECKPOINT, "_save_state_dict", saver)


def on_safetensors(module, began_ns=None):
    for name in ("save_file", "save_model"):
        _replace(CHECKPOINT, name, module)


def on_mindspore(mindspore):
    _replace(
        CHECKPOINT,
        "save_checkpoint",
        mindspore,
        *(
            sys.modules.get(name)
            for name in ("mindspore.train", "mindspore.train.serialization",
                         "mindspore.train.callback._checkpoint")
        ),
    )


def on_dynamo(module, began_ns=None):
    """torch.compile() calls these two at the begin and the end of all that it compiles at a time."""
    handler = getattr(sys.modules.get("torch._dynamo.callback"), "CompilationCallbackHandler", None)
    real_start = getattr(handler, "run_start_callbacks", None)
    real_end = getattr(handler, "run_end_callbacks", None)
    if real_start is None or real_end is None or hasattr(real_start, "__wrapped__"):
        return  # a torch before 2.4, or it is measured
    began = threading.local()  # .at: one for each compilation that the thread is in

    @functools.wraps(real_start)
    def run_start_callbacks(*args, **kwargs):
        began.at = [*getattr(began, "at", ()), _clock()]
        return real_start(*args, **kwargs)

    @functools.wraps(real_end)
    def run_end_callbacks(*args, **kwargs):
        *outer, last = getattr(began, "at", ()) or (None,)
        began.at = outer
        if last is not None and not outer and _collections.ran is not None:
            _collections.ran(COMPILE, last)
        return real_end(*args, **kwargs)

    handler.run_start_callbacks = run_start_callbacks
    handler.run_end_callbacks = run_end_callbacks
