# SPDX-License-Identifier: Apache-2.0
"""profwrap for Python: tell the profiler what the program does, and read what it recorded.

Annotations (recorded under ``profwrap python3 script.py``, no-ops everywhere else)::

    import profwrap

    for n, batch in profwrap.steps(loader):
        with profwrap.phase("forward"):
            loss = model(batch)
        with profwrap.phase("backward"), profwrap.range("loss"):
            loss.backward()

or, for all parts of a PyTorch model at once::

    profwrap.watch(model, optimizer, loader)

Results (needs h5py; pandas DataFrames when pandas is installed, else numpy arrays)::

    run = profwrap.load("profwrap-4711")
    run.stragglers
    run.rank(3).events("comm", clock="cluster")

Pure Python: the annotation functions call the probe, which profwrap preloads, through ctypes.
"""

from . import _collections
from ._annotate import (
    ALLREDUCE,
    BACKWARD,
    CANCEL_STEP,
    DATA,
    FORWARD,
    NO_PHASE,
    NO_STEP,
    OPTIMIZER,
    active,
    flops,
    mark,
    memory,
    metadata,
    op,
    op_begin,
    op_end,
    op_past,
    phase,
    queue,
    queue_past,
    range,
    range_pop,
    range_push,
    role,
    start,
    step,
    steps,
    stop,
    transformer_flops,
    work,
)
from ._frames import frames
from ._schedule import Action, Window, profile, schedule

__version__ = "0.1.0"

_collections.attach()

_READERS = {"FileError": "_files", "Rank": "_load", "Run": "_load", "load": "_load"}


def __getattr__(name):
    """Imports the readers of results when they are first used, so that programs that only record do
    not import them.
    """
    if name not in _READERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module("." + _READERS[name], __name__), name)
    globals()[name] = value
    return value


def watch(model, optimizer=None, loader=None, **options):
    """Records a PyTorch training: see profwrap.torch.watch(), which this imports."""
    from . import torch

    return torch.watch(model, optimizer, loader, **options)


# Without `range`: `import *` must not replace the builtin.
__all__ = [
    "ALLREDUCE",
    "BACKWARD",
    "CANCEL_STEP",
    "DATA",
    "FORWARD",
    "NO_PHASE",
    "NO_STEP",
    "OPTIMIZER",
    "Action",
    "FileError",
    "Rank",
    "Run",
    "Window",
    "active",
    "flops",
    "frames",
    "load",
    "mark",
    "memory",
    "metadata",
    "op",
    "op_begin",
    "op_end",
    "op_past",
    "phase",
    "profile",
    "queue",
    "queue_past",
    "range_pop",
    "range_push",
    "role",
    "schedule",
    "start",
    "step",
    "steps",
    "stop",
    "transformer_flops",
    "watch",
    "work",
]
