# SPDX-License-Identifier: Apache-2.0
"""Reports the exception that ends the program, for the report's first sentence.

The import hook (_site/) calls report() from sys.excepthook, so that the time is that of the exception:
what the program does at its exit may take longer than other ranks need to fail after it. It calls
report_exit() when the interpreter ends after sys.exit() with a status other than 0.
"""

import os
import re
import sys

from . import _probe

# The merge reads this key, and the lines of its value (docs/schema.md).
_KEY = b"profwrap.exception"
_LONGEST = 250  # characters of the file's name and of the message
# A frame in the text of a traceback: how an exception of another process comes to this one.
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+)', re.MULTILINE)
_HEAD = "Traceback (most recent call last):"
_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
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
        or os.path.abspath(path).startswith(_OWN)
    )


def _frames(trace):
    while trace is not None:
        yield (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next


def _remote(value):
    """The text of the traceback in another process, in which the exception was raised: the workers of
    a DataLoader and of torch.multiprocessing put it into the message, those of a Pool into the cause.
    "" where there is none.
    """
    texts = (str(value), str(getattr(value.__cause__, "tb", "")))
    return next((text for text in texts if _HEAD in text), "")


def _place(trace, remote=""):
    """File and line of the innermost frame of the program, in the other process if there is one; of a
    library, if there is no other.
    """
    inner = None
    far = [(path, int(line)) for path, line in _FRAME.findall(remote)]
    for frames in (far, list(_frames(trace))):
        inner = inner or (frames[-1] if frames else None)
        own = [frame for frame in frames if not _is_library(frame[0])]
        if own:
            return own[-1]
    return inner or ("", 0)


def _text(value):
    """The message on one line; of a traceback in it, only what is before, without rules and their titles,
    and the exception.
    """
    text = str(value)
    before, head, after = text.partition(_HEAD)
    if head:
        lines = before.replace("Original", "").splitlines()
        lines = [line for line in lines if line[:2] != "- " and line.strip("-")]
        raised = _raised_line(text) or (after.strip().splitlines() or [""])[-1]
        text = " ".join(lines) + " " + raised
    return " ".join(text.split())[:_LONGEST]


def _tried(function, value):
    try:
        return function(value)
    except Exception:  # __str__ of the program
        return ""


def _raised_line(remote):
    """The line of the exception in the text of a traceback: the first that is not indented, behind the last
    frame. "" when it is not found.
    """
    _, _, frames = remote.rpartition(_HEAD)
    lines = [line for line in frames.splitlines() if line and not line[0].isspace()]
    return lines[0] if lines and re.match(r"[A-Za-z_][\w.]*(:|$)", lines[0]) else ""


def _raised(remote):
    """The type of that exception, without its module; "" when it is not found."""
    return _raised_line(remote).partition(":")[0].rpartition(".")[2]


def _name(kind, value, remote):
    """The type; of an exception that another process, or MindSpore's data pipeline, has passed on as text, the
    type there. torch.multiprocessing.spawn() raises one of its own types for a process that it started: then
    what ended that process, and its number.
    """
    number = getattr(value, "error_index", None)
    if kind.__module__ != "torch.multiprocessing.spawn" or not isinstance(number, int):
        return (_raised(remote) or kind.__name__)[:60]
    ended = getattr(value, "signal_name", None)
    if ended is None and getattr(value, "exit_code", None) is not None:
        ended = f"exit status {value.exit_code}"
    name = (_raised(remote) or kind.__name__)[:30]
    return f"{name} (process {number}{f': {ended}' if ended else ''})"[:60]


def describe(kind, value, trace, is_main=True):
    """The lines that the merge reads."""
    remote = _tried(_remote, value)
    path, line = _place(trace, remote)
    if os.path.exists(path):
        path = os.path.abspath(path)
    name = _tried(lambda it: _name(kind, it, remote), value) or kind.__name__[:60]
    return "\n".join(
        (str(int(is_main)), name, str(line), path[-_LONGEST:], _tried(_text, value))
    )


def _send(lines):
    if "metadata" in _probe.calls.present and _is_rank():
        _probe.calls.metadata(_KEY, lines.encode("utf-8", "replace"))


def report_exit(status, frames):
    """The program ends by sys.exit(status), which is no success. `frames`: the callers of sys.exit(),
    the innermost first.
    """
    own = [frame for frame in frames if not _is_library(frame[0])]
    path, line = (own or frames or [("", 0)])[0]
    if os.path.exists(path):
        path = os.path.abspath(path)
    _send("\n".join(("1", "SystemExit", str(line), path[-_LONGEST:], _tried(_text, status))))


def report(kind, value, trace, is_main=True):
    """`is_main`: the exception ends the process."""
    if not issubclass(kind, KeyboardInterrupt):
        _send(describe(kind, value, trace, is_main))
