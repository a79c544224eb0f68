"""The wheel for aarch64: made by the cross compiler in a chroot of Debian 12, as docs/compatibility.md says, and
run by qemu-user in a Debian of aarch64 that has no compiler. What it says of simulated runs is compared with
what the build of this machine says.   test_wheel_aarch64.py CASE..., or --list

Logic only: the kernel below the emulator is this machine's. PW_CHROOT_AARCH64 names a folder for both roots to
use and keep; PW_WHEEL_AARCH64 is a wheel to run instead of a new one."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import glibc
import test_chroot
import test_package
from test_package import Skipped, check, run

SKIP = 77
SITE = f"/venv/lib/{test_chroot.PYTHON}/site-packages"
TAG = "manylinux_2_28_aarch64"
PASSED_ON = r"PIP_\w+|https?_proxy|no_proxy|CMAKE_ARGUMENTS"
NOT_COPIED = (".git", "dist", "build*", "__pycache__")
SIMULATED = {"slow": ["--steps", "60", "--seed", "3", "--faults", "slow_rank:rank=2,percent=30"],
             "moe": ["--pattern", "moe", "--steps", "20", "--seed", "9"]}
# Of the format of binfmt_misc: the first bytes of a program of aarch64. P: it gets its own argv[0]; F: the
# emulator is opened now, outside of the chroot.
EMULATED = (r":aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
            r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:%s:PF")
REGISTER = 'mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && printf %s "$0" >/proc/sys/fs/binfmt_misc/register'
MOUNT = """
mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" || exit 125
exec chroot "$0" env -i HOME=/root PATH=/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \\
    DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@"
"""


def inside(root, *command):
    return run("unshare", "-m", "sh", "-c", MOUNT, root, *command)


def emulated(root, *command):
    """In a user namespace of its own, whose kernel starts programs of aarch64 by the emulator; the machine's others
    are as before."""
    return run("unshare", "-Ur", "-m", "--pid", "--fork", "--kill-child", "sh", "-c",
               REGISTER + ' && exec sh -c "$@"', EMULATED % shutil.which("qemu-aarch64-static"), MOUNT, root, *command)


def debootstrap(root, *options):
    # In a mount namespace of its own, since it leaves /proc mounted.
    done = subprocess.run(["unshare", "-m", "debootstrap", "--variant=minbase", *options, test_chroot.SUITE, root],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Skipped("debootstrap failed: " + done.stdout[-1000:])


def documented_commands():
    """The commands of docs/compatibility.md that install what the wheel is built with."""
    with open(os.path.join(os.environ["PW_SOURCE"], "docs", "compatibility.md"), encoding="utf-8") as file:
        section = file.read().partition("\n#### aarch64\n")[2]
    block = re.search(r"(?:^    .*\n)+", section, re.M)[0]
    commands = "".join(line[4:] for line in block.splitlines(True) if not line.startswith("    scripts/"))
    check("apt-get install" in commands, "no commands in", block)
    return commands


def make_wheel(root):
    """Makes it in the chroot, of a copy of the tree. Returns its path."""
    if not os.path.exists(root + "/installed"):
        debootstrap(root, "--include=ca-certificates")
        shutil.copy("/etc/resolv.conf", root + "/etc")
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", root + "/etc/ssl/certs")
        with open(root + "/etc/apt/apt.conf.d/00test", "w", encoding="utf-8") as file:
            file.write('APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n')
        inside(root, "bash", "-e", "-c", documented_commands() + "\ntouch /installed")
    for path in glob.glob(root + "/profwrap/*"):
        if os.path.basename(path) not in ("dist", "build-wheel-aarch64"):
            subprocess.run(["rm", "-r", path], check=True)
    shutil.copytree(os.environ["PW_SOURCE"], root + "/profwrap", ignore=shutil.ignore_patterns(*NOT_COPIED),
                    dirs_exist_ok=True)
    environment = [f"{name}={value}" for name, value in os.environ.items() if re.fullmatch(PASSED_ON, name)]
    inside(root, "env", *environment, "/profwrap/scripts/package", "--machine", "aarch64", "wheel")
    (path,) = glob.glob(root + "/profwrap/dist/profwrap-*.whl")
    return path


def fetch_mpi4py(folder):
    done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version",
                           "3.11", "--platform", "manylinux_2_17_aarch64", "-d", folder, "mpi4py"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Skipped("pip finds no mpi4py for aarch64: " + done.stdout[-1000:])


def make_root(root, wheels):
    """Debian of aarch64, its packages unpacked but not configured, and a virtual environment with the wheels."""
    if not os.path.exists(root + "/usr/bin/" + test_chroot.PYTHON):
        debootstrap(root, "--foreign", "--arch=arm64", "--include=python3-venv,openmpi-bin")
        for package in glob.glob(root + "/var/cache/apt/archives/*.deb"):
            run("sh", "-c", 'dpkg-deb --fsys-tarfile "$0" | tar -x -C "$1" --keep-directory-symlink', package, root)
    if os.path.islink(root + "/proc"):  # to itself, which the second stage of debootstrap would have replaced
        os.remove(root + "/proc")
        os.mkdir(root + "/proc")
    for name, text in (("passwd", "root:x:0:0:root:/root:/bin/sh\n"), ("group", "root:x:0:\n"),
                       ("hosts", f"127.0.0.1 localhost {os.uname().nodename}\n")):
        with open(root + "/etc/" + name, "w", encoding="utf-8") as file:
            file.write(text)
    test_chroot.check_no_compiler(root)
    for folder in ("/venv", "/job"):
        shutil.rmtree(root + folder, ignore_errors=True)
    shutil.copytree(wheels, root + "/job/wheels")
    # Debian's pip is used from its wheel: to install it takes the emulator half a minute.
    emulated(root, "python3", "-m", "venv", "--without-pip", "/venv")
    emulated(root, "sh", "-c", "PYTHONPATH=$(echo /usr/share/python-wheels/pip-*.whl) "
                               "python3 -m pip install -q --no-index --no-deps --no-compile /job/wheels/*.whl")


def check_programs(site):
    """Of the wheel: each runs with the glibc that its tag says, and with pages of 64 KiB."""
    programs = [file for file in glob.glob(site + "/profwrap*/**", recursive=True) if os.path.isfile(file)
                and open(file, "rb").read(4) == b"\x7fELF"]
    check(len(programs) >= 12, programs)
    for file in programs:
        check(not glibc.newer(file, "2.28"), file, "needs", glibc.newer(file, "2.28"))
        headers = run("readelf", "-hlW", file)
        check("AArch64" in headers, file, headers)
        alignments = re.findall(r"^ *LOAD.* (0x\w+)$", headers, re.M)
        check(alignments and all(int(one, 16) >= 65536 for one in alignments), file, alignments)


def simulate(profwrap, folder):
    """Runs `profwrap COMMAND...` by profwrap(). Returns {(run, what): its text}; in HTML without the random words."""
    said = {}
    for name, options in SIMULATED.items():
        out = f"{folder}/{name}"
        profwrap("sim", *options, out)
        said[name, "merge"] = profwrap("merge", out).replace(folder, "")
        said[name, "dump"] = profwrap("dump", out + "/cluster.h5").replace(folder, "")
        for kind in ("text", "json"):
            said[name, kind] = profwrap("report", "--full", "--format", kind, out).replace(folder, "")
        page = profwrap("report", "--format", "html", "--d3", folder + "/d3.min.js", out)
        said[name, "html"] = re.sub(r"nonce[-=]\"?\w+", "", page)
    return said


def compare_simulated(root, job):
    """job: a folder to be made, for the runs of this machine's build."""
    build = os.environ["PW_BUILD"]
    d3 = build + "/share/profwrap/html/d3.min.js"
    if not os.path.exists(d3):
        raise Skipped("no D3 (Debian: node-d3)")
    shutil.rmtree(job, ignore_errors=True)
    os.makedirs(job)
    for folder in (job, root + "/job"):
        shutil.copy(d3, folder)
    here = simulate(lambda *words: run(build + "/bin/profwrap", *words), job)
    # The program itself: to start Python, as the command does, takes the emulator longest.
    there = simulate(lambda *words: emulated(root, SITE + "/profwrap/_tree/bin/profwrap", *words), "/job")
    for key, text in here.items():
        check(len(text) > 100 or key[1] == "merge", key, text)
        check(text == there[key], key, "is another on aarch64:", there[key][:2000], "instead of", text[:2000])


def wheel_aarch64():
    if os.geteuid() != 0:
        raise Skipped("only root can make a chroot")
    for program, package in (("debootstrap", "debootstrap"), ("qemu-aarch64-static", "qemu-user-static")):
        if not shutil.which(program):
            raise Skipped(f"no {program} (Debian: {package})")
    if subprocess.run(["unshare", "-Ur", "-m", "sh", "-c", REGISTER, EMULATED % shutil.which("qemu-aarch64-static")],
                      stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skipped("a user namespace has no binfmt_misc of its own here (Linux 6.7 or later)")
    kept = os.environ.get("PW_CHROOT_AARCH64")
    roots = kept or tempfile.mkdtemp(prefix="pwchroot-", dir="/var/tmp")
    root = roots + "/run"
    try:
        wheels = roots + "/wheels"
        shutil.rmtree(wheels, ignore_errors=True)
        fetch_mpi4py(wheels)
        wheel = os.environ.get("PW_WHEEL_AARCH64") or make_wheel(roots + "/build")
        shutil.copy(wheel, wheels)
        check(TAG in wheel, "auditwheel gave another tag than", TAG, wheel)
        make_root(root, wheels)
        check_programs(root + SITE)
        version = emulated(root, "python3", "-c", "import profwrap; print(profwrap.__version__)").strip()
        check(emulated(root, "profwrap", "--version").split() == ["profwrap", version], "no version")
        check("FAIL" not in emulated(root, "profwrap", "doctor"), "the doctor fails")
        compare_simulated(root, roots + "/job")
        with open(root + "/job/mpi.py", "w", encoding="utf-8") as file:
            file.write(test_chroot.MPI_PROGRAM.replace("0.06", "0.2"))
        test_chroot.names_rank_2("mpirun profwrap", emulated(root, "mpirun.openmpi", "--oversubscribe", "-np", "3", "profwrap",
                                                             "-o", "/job/mpi", "python3", "/job/mpi.py"))
    finally:
        if not kept:
            shutil.rmtree(roots)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("wheel-aarch64")
        sys.exit(0)
    try:
        wheel_aarch64()
    except Skipped as why:
        print("skipped:", why)
        sys.exit(SKIP)
