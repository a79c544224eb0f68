"""The wheel in an empty virtual environment of a chroot that has no compiler: jobs of 4 ranks, started by
torchrun and by mpirun, each report the rank that is delayed.   test_chroot.py CASE..., or --list

The chroot is Debian 12, made by debootstrap. PyTorch and mpi4py are linked into the environment from the one
of `scripts/setup --torch-wheel`, since they have gigabytes. PW_CHROOT names a folder to use and keep."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import test_package
from test_package import Skipped, check, run

SKIP = 77
SUITE = "bookworm"
PYTHON = "python3.11"
TORCH = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "profwrap", "torch")
LEFT_OUT = ("pip", "setuptools", "_distutils_hack", "distutils-precedence", "pkg_resources", "h5py", "profwrap")
TORCH_JOB = ["--nproc-per-node", "4"], ["/job/train.py", "--slow", "rank=2,phase=backward,ms=60,steps=20-40"]
MPI_PROGRAM = """
import time
from mpi4py import MPI
import profwrap
rank = MPI.COMM_WORLD.Get_rank()
for step, _ in profwrap.steps(range(20)):
    with profwrap.phase("forward"):
        time.sleep(0.01)
    with profwrap.phase("backward"):
        time.sleep(0.01 + 0.06 * (rank == 2 and 5 <= step < 15))
    MPI.COMM_WORLD.allreduce(step)
"""
MOUNT = """
mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" || exit 125
exec chroot "$0" env -i HOME=/job PATH=/venv/bin:/usr/bin:/bin LANG=C.UTF-8 OMP_NUM_THREADS=1 \\
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@"
"""


def inside(root, *command, **more):
    return run("unshare", "-m", "sh", "-c", MOUNT, root, *command, **more)


def check_no_compiler(root):
    compilers = [name for name in ("cc", "gcc", "g++", "clang", "tcc", "as", "ld") if
                 glob.glob(f"{root}/usr/bin/{name}") or glob.glob(f"{root}/usr/local/bin/{name}")]
    check(not compilers, "the chroot has", compilers)


def make_root(root):
    """Debian without a compiler, and with the virtual environment /venv, which has PyTorch and mpi4py."""
    if not os.path.exists(root + "/usr/bin/" + PYTHON):
        if not shutil.which("debootstrap"):
            raise Skipped("no debootstrap (Debian: debootstrap)")
        # In a mount namespace of its own, since it leaves /proc mounted.
        done = subprocess.run(["unshare", "-m", "debootstrap", "--variant=minbase", "--include=python3-venv,openmpi-bin", SUITE,
                               root], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Skipped("debootstrap failed: " + done.stdout[-1000:])
    check_no_compiler(root)
    with open(root + "/etc/hosts", "w", encoding="utf-8") as file:  # debootstrap makes none, and torchrun needs it
        file.write(f"127.0.0.1 localhost {os.uname().nodename}\n")
    shutil.rmtree(root + "/venv", ignore_errors=True)
    inside(root, "python3", "-m", "venv", "/venv")
    there = f"{root}/venv/lib/{PYTHON}/site-packages/"
    for path in glob.glob(f"{TORCH}/lib/{PYTHON}/site-packages/*"):
        if not os.path.basename(path).startswith(LEFT_OUT):
            subprocess.run(["cp", "-al", path, there], check=True)
    with open(TORCH + "/bin/torchrun", encoding="utf-8") as file:
        text = re.sub("^#!.*", "#!/venv/bin/python3", file.read())
    with open(root + "/venv/bin/torchrun", "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(root + "/venv/bin/torchrun", 0o755)


def names_rank_2(how, said):
    verdict = re.findall(r"^(?:Rank|Host) \S+ .*?held.*?\n\n", said, re.M | re.S)
    print(how, "->", *verdict)
    check(len(verdict) == 1 and re.match(r"Rank 2 on \S+ held\b.*\bin\s+backward\b", verdict[0], re.S), how, "said", said)


def jobs(root):
    options, program = TORCH_JOB
    names_rank_2("profwrap torchrun", inside(root, "profwrap", "-o", "/job/outside", "torchrun", *options, *program))
    names_rank_2("torchrun profwrap", inside(root, "torchrun", "--no-python", *options, "profwrap", "-o", "/job/within",
                                             "python3", *program))
    mpirun = ["mpirun", "--oversubscribe", "-np", "4"]
    names_rank_2("mpirun profwrap", inside(root, *mpirun, "profwrap", "-o", "/job/mpi", "python3", "/job/mpi.py"))


def wheel_without_compiler():
    if os.geteuid() != 0:
        raise Skipped("only root can make a chroot")
    if not os.path.exists(f"{TORCH}/lib/{PYTHON}/site-packages/torch"):
        raise Skipped(f"no PyTorch of {PYTHON} in {TORCH} (scripts/setup --torch-wheel)")
    path = os.environ.get("PW_WHEEL") or test_package.make("wheel", "profwrap-*x86_64.whl")
    # On the same file system as PyTorch, so that links can be made.
    kept = os.environ.get("PW_CHROOT")
    root = kept or tempfile.mkdtemp(prefix="pwchroot-", dir=os.path.dirname(TORCH))
    try:
        make_root(root)
        os.makedirs(root + "/job", exist_ok=True)
        shutil.copy(path, root + "/job")
        source = os.environ["PW_SOURCE"]
        shutil.copy(source + "/examples/torch/train.py", root + "/job")
        with open(root + "/job/mpi.py", "w", encoding="utf-8") as file:
            file.write(MPI_PROGRAM)
        for out in glob.glob(root + "/job/*/"):
            shutil.rmtree(out)
        inside(root, "/venv/bin/pip", "install", "--no-index", "--no-deps", "/job/" + os.path.basename(path))
        jobs(root)
    finally:
        if not kept:
            shutil.rmtree(root)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("wheel-without-compiler")
        sys.exit(0)
    try:
        wheel_without_compiler()
    except Skipped as why:
        print("skipped:", why)
        sys.exit(SKIP)
