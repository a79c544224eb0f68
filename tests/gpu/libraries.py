"""Finds NVIDIA's libraries and the PyTorch that the checks use. If one is missing, the checks that
need it are skipped, and its name is printed."""
import functools
import glob
import os
import re
import subprocess
import sys

# From `pack --with`.
CARRIED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "with")
# The loader's words, and Python's when a module's library cannot be loaded.
MISSING = re.compile(r"(?:loading shared libraries|ImportError|OSError): (lib\S+?\.so[.\d]*): "
                     r"cannot open shared object file: No such file")
TOOLKITS = ("/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64",
            "/usr/local/cuda-*/lib64", "/usr/local/cuda-*/extras/CUPTI/lib64",
            "/usr/local/cuda-*/targets/*/lib")
# Below site-packages: CUDA 13's packages share one folder, CUDA 12's have one each.
WHEELS = ("nvidia/cu13/lib", "nvidia/cuda_cupti/lib", "nvidia/nccl/lib")
SITES = "import site, sys; print(*site.getsitepackages(), *sys.path, sep='\\n')"
TORCH = "import torch; assert torch.cuda.is_available(), 'torch.cuda.is_available() is False'"


def pythons():
    return dict.fromkeys([sys.executable, "python3"])


def ask(python, program):
    """(stdout, "") or (None, reason)."""
    try:
        done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=100,
                              check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return None, str(error)
    if done.returncode == 0:
        return done.stdout, ""
    return None, missing_library(done.stderr) or (done.stderr.strip().splitlines() or ["?"])[-1]


def missing_library(text):
    """The name of the library that a program did not find, or None if it failed for another
    reason."""
    found = MISSING.search(text)
    return found.group(1) if found else None


def wheel_folders():
    for python in pythons():
        sites = (ask(python, SITES)[0] or "").split("\n")
        yield from (os.path.join(site, wheel) for site in sites if site for wheel in WHEELS)


def first_of(folders, name):
    """The newest file of this name in the first folder that has one."""
    for folder in folders:
        found = sorted(glob.glob(os.path.join(folder, name)))
        if found:
            return found[-1]
    return None


@functools.cache
def cupti():
    """The libcupti to use: that of PROFWRAP_CUPTI; that of the toolkit, which profwrap finds by
    itself; or else the one from PyTorch or from the pack, to which PROFWRAP_CUPTI is then set."""
    found = os.environ.get("PROFWRAP_CUPTI") or first_of(TOOLKITS[:2], "libcupti.so.*")
    if not found:
        found = first_of([*wheel_folders(), CARRIED], "libcupti.so.*")
        if found:
            os.environ["PROFWRAP_CUPTI"] = found
    return found


def cupti_12():
    """The libcupti of CUDA 12; with stand-ins, the one with the layouts of CUDA 12."""
    if os.environ.get("STANDIN_LIBRARIES"):
        return first_of([os.environ["STANDIN_LIBRARIES"]], "libcupti.so.11.8")
    return first_of([CARRIED, *TOOLKITS, *wheel_folders()], "libcupti.so.12*")


def nccl():
    """PyTorch's NCCL, or else the toolkit's."""
    if os.environ.get("STANDIN_LIBRARIES"):
        return first_of([os.environ["STANDIN_LIBRARIES"]], "libnccl.so.2")
    return first_of([*wheel_folders(), *TOOLKITS, CARRIED, "/usr/lib/x86_64-linux-gnu"],
                    "libnccl.so.2")


@functools.cache
def torch():
    """(a Python whose PyTorch has CUDA and a GPU for it, "") or (None, reason)."""
    why = ""
    for python in pythons():
        said, why = ask(python, TORCH)
        if said is not None:
            return python, ""
    return None, why
