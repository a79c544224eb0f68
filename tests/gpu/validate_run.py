"""Functions that the checks of validate.py share: they run programs with time limits, read what was
recorded, and write the record of a run.

The environment comes from validate.sh: PROFWRAP_VALIDATE_BUILD, _RECORD, _KEEP, _ONLY,
_LIMIT_S (the part's), _PATIENCE_S (a program's)."""
import ctypes
import datetime
import functools
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time

import libraries
from kept import Kept
from rankfile import RankFile, count_rows

HERE = os.path.dirname(os.path.abspath(__file__))
SKIP, REFUSED = 77, 2
# Left of the part's time for what is to be written and removed.
RESERVE_S = 10
TITLES = {False: "# Validation on a GPU\n", True: "# A run with stand-ins, without a GPU: "
                                                  "this validates nothing but the script\n"}


def setting(name, fallback):
    return os.environ.get("PROFWRAP_VALIDATE_" + name) or fallback


def path_setting(name, fallback=""):
    path = setting(name, fallback)
    return os.path.abspath(path) if path else ""


BUILD = path_setting("BUILD", os.path.join(HERE, "..", "..", "build"))
RECORD, KEEP = path_setting("RECORD"), path_setting("KEEP")
PATIENCE_S = float(setting("PATIENCE_S", 120))
DEADLINE = time.monotonic() + float(setting("LIMIT_S", 480)) - RESERVE_S
PROFWRAP = os.path.join(BUILD, "bin", "profwrap")
KERNELS = os.path.join(BUILD, "tests", "gpu", "gpukernels")
# For the check that is being made: what its programs said, and the rank files that it read.
SAID, READ = [], []


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


def check(truth, *what):
    if not truth:
        raise Failed(" ".join(str(part) for part in what))


# ---- programs ----

def start(command, env=None, cwd=None):
    """Starts a command in its own session, so that all its processes can be ended."""
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                            errors="replace", cwd=cwd, env={**os.environ, **(env or {})},
                            start_new_session=True)


def end(process):
    """Ends a process. profwrap passes SIGTERM on to its program. Processes that still run are
    killed. Processes that hold our pipes after that are not waited for."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.communicate(timeout=3)
            return
        except subprocess.TimeoutExpired:
            continue


def await_end(process, what):
    """(stdout, stderr). Fails if the process or the part takes too long."""
    patience = min(PATIENCE_S, DEADLINE - time.monotonic())
    try:
        out, err = process.communicate(timeout=max(patience, 0.1))
        SAID.append(f"{what}: status {process.returncode}\n{out[-20000:]}{err[-20000:]}")
        return out, err
    except subprocess.TimeoutExpired:
        SAID.append(f"{what}: did not end")
        raise Failed(what, f"did not end within {max(patience, 0.1):.0f} s") from None
    finally:
        end(process)


def run(command, status=0, env=None, cwd=None):
    process = start(command, env, cwd)
    SAID.append("$ " + " ".join(map(str, command)))
    out, err = await_end(process, command[0])
    missing = libraries.missing_library(err)
    if process.returncode not in (0, status) and missing:
        raise Skipped(f"{command[0]} has no {missing} here")
    if process.returncode == SKIP and status != SKIP:
        raise Skipped(err.strip() or "the program says that there is no GPU")
    check(process.returncode == status, command[0], "ended with", process.returncode, "instead of",
          status, err[-400:])
    return out


def record(folder, *program, level=1, status=0, env=None, options=()):
    """Runs a program under profwrap. Returns its output; the rank file is then in the folder."""
    return run([PROFWRAP, "--quiet", "--no-merge", "--level", level, "-o", folder, *options,
                *program], status=status, env=env)


def opened(folder, rank=0):
    path = os.path.join(folder, f"rank-{rank:05d}.h5")
    check(os.path.exists(path), "there is no", path)
    READ.append(path)
    return RankFile(PROFWRAP, path)


def profiled(folder, *program, **more):
    record(folder, *program, **more)
    return opened(folder)


def counted(folder):
    """count_rows() of a file that is too large to be opened."""
    path = os.path.join(folder, "rank-00000.h5")
    READ.append(path)
    return count_rows(PROFWRAP, path)


def percentile(values, percent):
    return sorted(values)[int(len(values) * percent / 100)]


# ---- what there must be ----

@functools.cache
def need_gpu():
    """Skips the check, with the program's own reason, if there is no GPU or no library to record it
    with."""
    if not os.access(KERNELS, os.X_OK):
        raise Skipped(f"{KERNELS} was not built")
    run([KERNELS, "kernels", 1])
    Record.gpu_was_met = True
    if not libraries.cupti():
        raise Skipped("no libcupti.so, of a toolkit or of PyTorch; PROFWRAP_CUPTI names one")


def need_torch():
    """A Python whose PyTorch has CUDA."""
    python, why = libraries.torch()
    if not python:
        raise Skipped(f"no Python with a PyTorch that has CUDA: {why}")
    return python


# ---- the record ----

def is_standin():
    """Whether the GPU is tests/gpu/standin/cuda.c."""
    try:
        return hasattr(ctypes.CDLL("libcuda.so.1"), "standin_cuda")
    except OSError:
        return False


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True,
                              timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def commit_of_pack():
    """The commit that `pack` was made from."""
    try:
        with open(os.path.join(HERE, "..", "..", "commit"), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def refuse(why):
    print(f"validate.sh: {why}", file=sys.stderr)
    sys.exit(REFUSED)


class Record:
    """The file RECORD, if one is given. Each row is written as soon as it is known. Nothing is
    written if the machine has no GPU and nothing failed."""

    gpu_was_met = False

    def __init__(self, part):
        self.path = RECORD
        self.waiting = ""
        if not self.path:
            return
        title = TITLES[is_standin()]
        kept = os.path.realpath(os.path.join(HERE, "..", "..", "docs", "validation"))
        if is_standin() and os.path.realpath(self.path).startswith(kept + os.sep):
            refuse("a run with stand-ins is not written into docs/validation")
        if os.path.exists(self.path) and os.path.getsize(self.path):
            with open(self.path, encoding="utf-8") as old:
                if old.readline() != title:
                    refuse(f"{self.path} is not a record of such a run; name another file")
            title = ""
        self.waiting = title + self.about(part)

    def about(self, part):
        gpu = "a stand-in" if is_standin() else output_of(
            "nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
        now = datetime.datetime.now(datetime.timezone.utc)
        commit = commit_of_pack() or output_of("git", "-C", HERE, "describe", "--always", "--dirty")
        return (f"\n## Part {part}\n\n"
                f"- date: {now:%Y-%m-%d %H:%M} UTC\n"
                f"- GPU and driver: {gpu or 'none that nvidia-smi knows'}\n"
                f"- profwrap: {output_of(PROFWRAP, '--version') or 'does not run'}, "
                f"commit {commit or 'unknown'}\n"
                f"- CUPTI: {libraries.cupti() or 'none was found'}\n"
                f"- kernel: {platform.release()}, {os.cpu_count()} CPUs, "
                f"Python {platform.python_version()}\n\n"
                "| check | result | figure or reason |\n|---|---|---|\n")

    def row(self, name, verdict, text):
        print(f"{verdict:8} {name}: {text}", flush=True)
        self.waiting += f"| {name} | {verdict} | {text.replace('|', '/')} |\n"
        if self.path and (Record.gpu_was_met or verdict == "FAILED"):
            with open(self.path, "a", encoding="utf-8") as out:
                out.write(self.waiting)
            self.waiting = ""


def verdict_of(function):
    if time.monotonic() >= DEADLINE:
        return "FAILED", "not run: the part's time was up"
    try:
        return "passed", function()
    except Skipped as reason:
        return "skipped", str(reason)
    # Whatever goes wrong is this check's, and the others are still to be made.
    except Exception as error:  # pylint: disable=broad-except
        return "FAILED", f"{type(error).__name__}: {error}"


def run_checks(part, functions, counts):
    """Returns exit status 0 if checks passed and none failed, 1 if one failed, 77 if all were
    skipped. counts(name): whether that check alone makes the run a validation."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    libraries.cupti()
    record_of_part, kept = Record(part), Kept(KEEP)
    verdicts, counted_as = set(), False
    with tempfile.TemporaryDirectory(prefix="pwgpu-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        named = {part + " " + f.__name__.removeprefix("check_").replace("_", " "): f for f in functions}
        for name, function in named.items():
            if not re.search(setting("ONLY", ""), name):
                continue
            SAID.clear()
            READ.clear()
            kept.begin()
            verdict, text = verdict_of(function)
            record_of_part.row(name, verdict, " ".join(text.split()))
            if verdict == "FAILED":
                kept.failed(name, [*SAID, text], READ)
            verdicts.add(verdict)
            counted_as |= verdict == "passed" and counts(function)
        os.chdir(HERE)
    return 1 if "FAILED" in verdicts else 0 if counted_as else SKIP
