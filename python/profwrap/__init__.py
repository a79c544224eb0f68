"""profwrap for Python: tell the profiler what the program does, and read what it recorded.

Annotations (recorded under ``profwrap python3 script.py``, no-ops everywhere else)::

    import profwrap

    for n, batch in enumerate(loader):
        profwrap.step(n)
        with profwrap.phase("forward"):
            loss = model(batch)
        with profwrap.phase("backward"), profwrap.range("loss"):
            loss.backward()
    profwrap.step(profwrap.NO_STEP)

Results (needs h5py; pandas DataFrames when pandas is installed, else numpy arrays)::

    run = profwrap.load("profwrap-4711")
    run.stragglers
    run.rank(3).events("comm", clock="cluster")

Pure Python: the verbs call the probe that profwrap preloads, through ctypes.
"""

from ._annotate import (
    ALLREDUCE,
    BACKWARD,
    DATA,
    FORWARD,
    NO_PHASE,
    NO_STEP,
    OPTIMIZER,
    active,
    phase,
    range,
    range_pop,
    range_push,
    step,
)
from ._load import Rank, Run, load

# Without `range`: `import *` must not replace the builtin.
__all__ = [
    "ALLREDUCE",
    "BACKWARD",
    "DATA",
    "FORWARD",
    "NO_PHASE",
    "NO_STEP",
    "OPTIMIZER",
    "Rank",
    "Run",
    "active",
    "load",
    "phase",
    "range_pop",
    "range_push",
    "step",
]
