"""Functions that the benchmarks share: interleaved runs, medians, and one line per figure with its
budget."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

# What Open MPI wants of root, and of machines with fewer cores than ranks; as scripts/env.sh has it.
os.environ["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
if os.geteuid() == 0:
    os.environ["OMPI_ALLOW_RUN_AS_ROOT"] = os.environ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
# What is measured may take more than strangers' files are allowed.
os.environ["PROFWRAP_READ_MEMORY"] = "16G"


SKIP = 77
HERE = os.path.dirname(os.path.abspath(__file__))


def h5py():
    """The module h5py. Without it the program ends as a test that is skipped."""
    try:
        import h5py as module
    except ImportError as problem:
        print(f"skipped: this Python has no {problem.name}")
        sys.exit(SKIP)
    return module


def run(command, quiet=False, **environment):
    """Runs a command in a new directory that is removed afterwards. Returns its standard output."""
    where = tempfile.mkdtemp(prefix="profwrap-bench-")
    try:
        done = subprocess.run(command, cwd=where, env={**os.environ, **environment},
                              stdout=subprocess.PIPE, check=True, text=True,
                              stderr=subprocess.DEVNULL if quiet else None)
        return done.stdout
    finally:
        shutil.rmtree(where)


def figures(text):
    """Lines "name value" as a dictionary."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}


def spread(values):
    """The median and the quartiles, as text."""
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 4], ordered[(3 * len(ordered)) // 4]
    return f"{statistics.median(values):.2f} ({low:.2f}..{high:.2f})"


def report(what, value, budget, unit=""):
    """Prints a figure beside its budget. Returns True if it is within."""
    within = value <= budget
    verdict = "within" if within else "OVER"
    print(f"{what}: {value:.2f}{unit}, budget {budget:.2f}{unit}: {verdict}")
    return within


def at_least(what, value, budget, count):
    """The same for a share that must not be lower. The number of cases is printed, too."""
    within = value >= budget
    print(f"{what}: {value:.3f} of {count}, at least {budget:.4g}: {'within' if within else 'UNDER'}")
    return within


def build_mpicalls(mpicc, folder):
    """Builds mpicalls.c with an MPI's compiler wrapper. Returns the program."""
    program = os.path.join(folder, "mpicalls")
    source = os.path.join(HERE, "..", "..", "src")
    subprocess.run([mpicc, "-O2", "-DNDEBUG", "-D_GNU_SOURCE", "-Wno-stringop-overflow", "-I", source,
                    "-I", source + "/../include", "-o", program, os.path.join(HERE, "mpicalls.c"),
                    "-ldl"], check=True)
    return program


def library_of(program):
    """The MPI library that the program is linked to, as the loader finds it."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
    return next(line.split()[2] for line in lines if "libmpi" in line.split()[0])
