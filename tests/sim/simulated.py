"""Functions that the tests of synthetic runs share: their cases, and the options of a run."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))
import stored  # noqa: E402

CASES = {}
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def case(function):
    CASES[function.__name__] = function
    return function


def profwrap(*words):
    """Runs profwrap, and returns what it printed."""
    done = subprocess.run([sys.argv[1], *words], stdout=subprocess.PIPE, text=True, check=True,
                          env=ENVIRONMENT)
    return done.stdout


def make(name, *options):
    """Makes a run in the case's own directory, which is the working directory. Returns the run's
    directory."""
    profwrap("sim", *options, name)
    return name


def report(run):
    """Merges the run. Returns its report and its truth."""
    profwrap("merge", "-q", run)
    stored.compare(sys.argv[1], os.path.join(run, "cluster.h5"))
    with open(os.path.join(run, "truth.json")) as file:
        return json.loads(profwrap("report", "--format", "json", run)), json.load(file)


def told(name, *options):
    return report(make(name, *options))


def require_h5py():
    """Ends the program if it is called with --list, or if it must be skipped because there is no
    h5py."""
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CASES))
        sys.exit(0)
    try:
        import h5py
        import numpy
    except ImportError:
        print("skipped: this Python has no h5py")
        sys.exit(77)
    return h5py, numpy


def main():
    """Runs TEST.py PROFWRAP CASE..., or TEST.py --list."""
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CASES))
        return
    sys.argv[1] = os.path.abspath(sys.argv[1])
    for wanted in sys.argv[2:]:
        where = tempfile.mkdtemp(prefix="profwrap-sim-")
        os.chdir(where)
        try:
            CASES[wanted]()
        finally:
            os.chdir("/")
            shutil.rmtree(where, ignore_errors=True)
