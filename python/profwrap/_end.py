# SPDX-License-Identifier: Apache-2.0
"""Reports the exception that ends the program, for the report's first sentence.

The import hook (_site/) calls report() from sys.excepthook, so that the time is that of the exception:
what the program does at its exit may take longer than other ranks need to fail after it.
"""

import os
import sys

from . import _probe

# The merge reads this key, and the lines of its value (docs/schema.md).
_KEY = b"profwrap.exception"
_LONGEST = 250  # characters of the file's name and of the message
# The program has one of these when it has recorded something.
_RECORDED = ("mpi4py.MPI", "torch", "mindspore", "jax")


def _is_rank():
    """Whether this is the rank's process. Another process of the rank must not record: its first
    record would make it the rank's process.
    """
    processes = sys.modules.get("multiprocessing.process")
    if processes is not None and processes.parent_process() is not None:
        return False
    if any(name in sys.modules for name in _RECORDED):
        return True
    with open(f"/proc/{os.getppid()}/comm") as file:
        return file.read().strip() == "profwrap"


def _is_library(path):
    return (
        not os.path.exists(path)  # "<string>", and a source that only its author has (.pyx)
        or "/site-packages/" in path
        or "/dist-packages/" in path
        or path.startswith(os.path.dirname(os.__file__) + os.sep)  # Python's own
    )


def _place(trace):
    """File and line of the innermost frame of the program; of a library, if there is no other."""
    inner = own = None
    while trace is not None:
        inner = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        if not _is_library(inner[0]):
            own = inner
        trace = trace.tb_next
    return own or inner or ("", 0)


def _text(value):
    try:
        return " ".join(str(value).split())[:_LONGEST]
    except Exception:  # __str__ of the program
        return ""


def describe(kind, value, trace, is_main=True):
    """The lines that the merge reads."""
    path, line = _place(trace)
    if os.path.exists(path):
        path = os.path.abspath(path)
    return "\n".join(
        (str(int(is_main)), kind.__name__[:60], str(line), path[-_LONGEST:], _text(value))
    )


def report(kind, value, trace, is_main=True):
    """`is_main`: the exception ends the process."""
    if issubclass(kind, KeyboardInterrupt) or "metadata" not in _probe.calls.present:
        return
    if _is_rank():
        text = describe(kind, value, trace, is_main)
        _probe.calls.metadata(_KEY, text.encode("utf-8", "replace"))
