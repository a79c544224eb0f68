"""Functions that the Python tests share: the module under test, runs of profwrap, and skipping."""

import os
import socket
import subprocess
import sys
import tempfile
import unittest

SKIP = 77
SOURCE = os.environ.get("PW_SOURCE") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
BUILD = os.environ.get("PW_BUILD") or os.path.join(SOURCE, "build")
PROFWRAP = os.path.join(BUILD, "bin", "profwrap")
MODULE_DIR = os.path.join(SOURCE, "python")

sys.path.insert(0, MODULE_DIR)


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIP)


def require_h5py():
    try:
        import h5py
    except ImportError:
        skip("h5py is not installed for " + sys.executable)
    return h5py


WHEEL = os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "profwrap", "torch"
)


def wheel_python():
    """The interpreter of the newest PyTorch. Without one the test is skipped."""
    path = os.path.join(WHEEL, "bin", "python")
    if not os.access(path, os.X_OK):
        skip(f"no PyTorch in {WHEEL} (scripts/setup --torch-wheel)")
    return path


def use_wheel_if_asked():
    """If the first argument is --wheel, starts the test again with that interpreter."""
    if sys.argv[1:2] != ["--wheel"]:
        return
    path = wheel_python()
    if os.path.abspath(sys.prefix) != os.path.abspath(WHEEL):
        os.execv(path, [path, "-B", *sys.argv])
    del sys.argv[1]


MINDSPORE = os.path.join(os.path.dirname(WHEEL), "mindspore")


def mindspore_python():
    """The interpreter of MindSpore's environment; without one the test is skipped."""
    path = os.path.join(MINDSPORE, "bin", "python")
    if not os.access(path, os.X_OK):
        skip(f"no MindSpore in {MINDSPORE} (scripts/setup --mindspore-wheel)")
    return path


def use_mindspore():
    """This test runs by that interpreter, from its beginning."""
    path = mindspore_python()
    if os.path.abspath(sys.prefix) != os.path.abspath(MINDSPORE):
        os.execv(path, [path, "-B", *sys.argv])


INTEROP = os.path.join(os.path.dirname(WHEEL), "interop")


def use_interop():
    """This test runs by the interpreter that has the libraries of other tools' formats; without one the
    test is skipped."""
    path = os.path.join(INTEROP, "bin", "python")
    if not os.access(path, os.X_OK):
        skip(f"no pyarrow in {INTEROP} (scripts/setup --interop-wheels)")
    if os.path.abspath(sys.prefix) != os.path.abspath(INTEROP):
        os.execv(path, [path, "-B", *sys.argv])


def require_torch():
    try:
        import torch
    except ImportError:
        skip("torch is not installed (scripts/setup --torch)")
    return torch


# The beginning of scripts that train under profwrap.
SMALL_MODEL = """
import json, sys
import torch, torch.profiler
import profwrap.torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.Flatten(),
    nn.Linear(8 * 14 * 14, 64), nn.Tanh(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(32, 3, 16, 16), torch.zeros(32, dtype=torch.long)
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment():
    """Our environment, with the module on the path and without .pyc files in the source tree."""
    paths = [MODULE_DIR, os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run(*command, status=0):
    """Runs a command with the settings that mpirun needs here. Returns its output, or fails."""
    shell = ["bash", "-c", '. scripts/env.sh && exec "$@"', "env", *command]
    done = subprocess.run(
        shell, cwd=SOURCE, env=environment(), capture_output=True, text=True, timeout=100
    )
    if done.returncode != status:
        raise AssertionError(f"{command} exited {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def profile(out, script, *options):
    """Runs Python source under profwrap into directory `out`, without a merge."""
    return run(PROFWRAP, "--no-merge", *options, "-o", out, sys.executable, "-c", script)


class TempDirTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tmp = folder.name

    def path(self, name):
        return os.path.join(self.tmp, name)
