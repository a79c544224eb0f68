"""What the checks of validate.py share: running programs within their time, reading rank files, and
the record of a run.

The environment comes from validate.sh: PROFWRAP_VALIDATE_BUILD, _RECORD, _LIMIT_S (the part's),
_PATIENCE_S (a program's)."""
import ctypes
import datetime
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time

import h5py

HERE = os.path.dirname(os.path.abspath(__file__))
SKIP, REFUSED = 77, 2
# Left of the part's time for what is to be written and removed.
RESERVE_S = 10
TITLES = {False: "# Validation on a GPU\n", True: "# A run with stand-ins, without a GPU: "
                                                  "this validates nothing but the script\n"}


def setting(name, fallback):
    return os.environ.get("PROFWRAP_VALIDATE_" + name) or fallback


BUILD = os.path.abspath(setting("BUILD", os.path.join(HERE, "..", "..", "build")))
RECORD = os.path.abspath(setting("RECORD", "")) if setting("RECORD", "") else ""
PATIENCE_S = float(setting("PATIENCE_S", 120))
DEADLINE = time.monotonic() + float(setting("LIMIT_S", 480)) - RESERVE_S
PROFWRAP = os.path.join(BUILD, "bin", "profwrap")


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


def check(truth, *what):
    if not truth:
        raise Failed(" ".join(str(part) for part in what))


# ---- programs ----

def start(command, env=None, cwd=None):
    """In a session of its own, so that all of it can be ended."""
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                            errors="replace", cwd=cwd, env={**os.environ, **(env or {})},
                            start_new_session=True)


def end(process):
    """profwrap passes SIGTERM on to its program; what has not gone then is killed, and what holds
    our pipes after that is not waited for."""
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
    """(stdout, stderr); fails when it takes too long, or the part's time is up."""
    patience = min(PATIENCE_S, DEADLINE - time.monotonic())
    try:
        return process.communicate(timeout=max(patience, 0.1))
    except subprocess.TimeoutExpired:
        raise Failed(what, f"did not end within {max(patience, 0.1):.0f} s") from None
    finally:
        end(process)


def run(command, status=0, env=None, cwd=None):
    process = start(command, env, cwd)
    out, err = await_end(process, command[0])
    if process.returncode == SKIP and status != SKIP:
        raise Skipped(err.strip() or "the program says that there is no GPU")
    check(process.returncode == status, command[0], "ended with", process.returncode, "instead of",
          status, err[-400:])
    return out


def profiled(folder, *program, level=1, status=0, env=None, options=()):
    run([PROFWRAP, "--quiet", "--no-merge", "--level", level, "-o", folder, *options, *program],
        status=status, env=env)
    return h5py.File(os.path.join(folder, "rank-00000.h5"), "r")


# ---- rank files ----

def rows(file, table):
    return file[table][:] if table in file else []


def texts(file):
    return [t.decode() if isinstance(t, bytes) else t for t in file["strings"][:]]


def overhead(file):
    return {row["name"].decode(): float(row["value"]) for row in file["overhead"][:]}


def enum_names(file, table, field):
    if table not in file:
        return []
    names = {v: k for k, v in h5py.check_enum_dtype(file[table].dtype[field]).items()}
    return [names[int(value)] for value in file[table][field]]


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


def refuse(why):
    print(f"validate.sh: {why}", file=sys.stderr)
    sys.exit(REFUSED)


class Record:
    """RECORD, where there is one: each row is in it as soon as it is known."""

    def __init__(self, part):
        self.path = RECORD
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
        self.write(title + self.about(part))

    def about(self, part):
        gpu = "a stand-in" if is_standin() else output_of(
            "nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
        now = datetime.datetime.now(datetime.timezone.utc)
        commit = output_of("git", "-C", HERE, "describe", "--always", "--dirty")
        return (f"\n## Part {part}\n\n"
                f"- date: {now:%Y-%m-%d %H:%M} UTC\n"
                f"- GPU and driver: {gpu or 'none that nvidia-smi knows'}\n"
                f"- profwrap: {output_of(PROFWRAP, '--version') or 'does not run'}, "
                f"commit {commit or 'unknown'}\n"
                f"- kernel: {platform.release()}, Python {platform.python_version()}, "
                f"h5py {h5py.__version__}\n\n"
                "| check | result | figure or reason |\n|---|---|---|\n")

    def row(self, name, verdict, text):
        print(f"{verdict:8} {name}: {text}", flush=True)
        self.write(f"| {name} | {verdict} | {text.replace('|', '/')} |\n")

    def write(self, text):
        if self.path:
            with open(self.path, "a", encoding="utf-8") as out:
                out.write(text)


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
    """Exit status 0 when checks passed and none failed, 1 when one failed, 77 when all were skipped;
    counts(name): whether that check alone makes it a validation."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    record = Record(part)
    verdicts, counted = set(), False
    with tempfile.TemporaryDirectory(prefix="pwgpu-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        for function in functions:
            verdict, text = verdict_of(function)
            record.row(part + " " + function.__name__[2:].replace("_", " "), verdict,
                       " ".join(text.split()))
            verdicts.add(verdict)
            counted |= verdict == "passed" and counts(function)
        os.chdir(HERE)
    return 1 if "FAILED" in verdicts else 0 if counted else SKIP
