"""Packages of scripts/package, unpacked or installed elsewhere: they profile, merge and report without the
tree that they were made of.   test_package.py CASE..., or --list"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import glibc

SKIP = 77
CASES = {}
PROGRAM = """
import time
import profwrap
for n, batch in profwrap.steps([0.002] * 20):
    with profwrap.phase("forward"):
        time.sleep(batch * (4 if profwrap.active() and RANK == 1 else 1))
"""


class Skipped(Exception):
    pass


def case(function):
    CASES[function.__name__] = function
    return function


def check(truth, *what):
    if not truth:
        raise AssertionError(" ".join(map(str, what)))


def run(*command, status=0, **more):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-6000:]}")
    return done.stdout


def make(kind, pattern):
    """Makes the package, and returns its path."""
    source = os.environ["PW_SOURCE"]
    arguments = re.sub(r"-D\w+=(?= |$)", "", os.environ.get("PW_CMAKE_ARGUMENTS", ""))
    done = subprocess.run([sys.executable, "-B", os.path.join(source, "scripts", "package"), kind],
                          env={**os.environ, "CMAKE_ARGUMENTS": arguments}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    print(done.stdout[-3000:])
    if done.returncode and re.search("No matching distribution|ensurepip is not", done.stdout):
        raise Skipped("no auditwheel: PyPI cannot be reached, or there is no python3-venv")
    check(done.returncode == 0, "scripts/package", kind, "failed")
    found = sorted(glob.glob(os.path.join(source, "dist", pattern)), key=os.path.getmtime)
    check(found, "no", pattern, "in dist/")
    return found[-1]


def bare_environment(*path):
    """No variable of the machine, and no MPI in PATH."""
    os.makedirs("nothing", exist_ok=True)
    return {"PATH": os.pathsep.join([*path, os.path.abspath("nothing")]), "HOME": os.getcwd(), "LANG": "C.UTF-8"}


def profile(profwrap, python):
    """A job of two ranks without a launcher of its own: merged and reported by the package alone."""
    ranks = []
    for rank in range(2):
        env = {**bare_environment(), "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank),
               "MASTER_ADDR": "localhost", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "job"}
        ranks.append(subprocess.Popen([profwrap, "-o", "out", python, "-c", PROGRAM.replace("RANK", str(rank))],
                                      env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    said = [child.communicate(timeout=120)[0] for child in ranks]
    check([child.returncode for child in ranks] == [0, 0], said)
    check("20 measured" in "".join(said), "no report of 20 steps:", said)
    check(os.path.exists("out/cluster.h5"), "no cluster.h5:", said)
    run(profwrap, "merge", "-o", "again.h5", "out", env=bare_environment())
    check("Job" in run(profwrap, "report", "--full", "out", env=bare_environment()), "no report")
    check(os.path.exists("out/report.html"), "no page")
    said = run(profwrap, "doctor", env=bare_environment())
    check("FAIL" not in said, said)


@case
def wheel():
    path = make("wheel", "profwrap-*.whl")
    check("manylinux_2_28_" in path, "auditwheel gave another tag than manylinux_2_28:", path)
    run(sys.executable, "-m", "venv", "venv")
    run("venv/bin/pip", "install", "--no-index", "--no-deps", path)
    python = os.path.abspath("venv/bin/python")
    profwrap = os.path.abspath("venv/bin/profwrap")
    version = run(python, "-c", "import profwrap; print(profwrap.__version__)").strip()
    for command in ([profwrap], [python, "-m", "profwrap"]):
        check(run(*command, "--version", env=bare_environment()).split() == ["profwrap", version], command)
    site = run(python, "-c", "import os, profwrap; print(os.path.dirname(profwrap.__file__))").strip()
    check(os.path.exists(os.path.join(site, "py.typed")), "no py.typed")
    programs = [file for file in glob.glob(site + "/_tree/**", recursive=True) if os.path.isfile(file)
                and open(file, "rb").read(4) == b"\x7fELF"]
    check(len(programs) >= 6, programs)
    for file in programs + glob.glob(site + "/../profwrap.libs/*"):
        check(not glibc.newer(file, "2.28"), file, "needs", glibc.newer(file, "2.28"))
    for file in programs:
        said = run("ldd", file, status=None, env=bare_environment("/usr/bin", "/bin"))
        check("not found" not in said and "libmpi" not in said, file, said)
    profile(profwrap, python)


@case
def tarball():
    path = make("tar", "profwrap-*.tar.gz")
    run("tar", "xf", path)
    (profwrap,) = glob.glob("profwrap-*/bin/profwrap")
    os.makedirs("elsewhere")
    shutil.move(profwrap.split("/")[0], "elsewhere/tree")
    root = os.path.abspath("elsewhere/tree")
    profile(os.path.join(root, "bin", "profwrap"), sys.executable)
    for name in ("include/profwrap.h", "share/man/man1/profwrap.1", "share/bash-completion/completions/profwrap"):
        check(os.path.exists(os.path.join(root, name)), "no", name)


@case
def debian_package():
    if not shutil.which("dpkg-deb") or not shutil.which("dpkg-shlibdeps"):
        raise Skipped("no dpkg-dev")
    path = make("deb", "profwrap_*.deb")
    run("dpkg-deb", "-x", path, "root")
    profile(os.path.abspath("root/usr/bin/profwrap"), sys.executable)
    fields = run("dpkg-deb", "-f", path)
    check(re.search(r"^Depends: .*libc6 \(>= ", fields, re.M), "no Depends:", fields)
    if shutil.which("lintian"):
        # Whose address the package has is for its maker to say (DEBEMAIL).
        run("lintian", "--allow-root", "--fail-on", "error", "--suppress-tags",
            "bogus-mail-host,bogus-mail-host-in-debian-changelog", path)
    else:
        print("no lintian: the package was not checked by it")


def main(names):
    if names == ["--list"]:
        print("\n".join(name.replace("_", "-") for name in CASES))
        return 0
    for name in names:
        here = os.getcwd()
        with tempfile.TemporaryDirectory(prefix="pwpackage-", dir="/var/tmp") as folder:
            os.chdir(folder)
            try:
                CASES[name.replace("-", "_")]()
            except Skipped as reason:
                print("skipped:", reason)
                return SKIP
            finally:
                os.chdir(here)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
