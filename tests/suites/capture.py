"""Builds the capture programs of tests/mpi with the compiler wrappers of any MPI, and runs their cases
under it.

    capture.py WORKDIR MPICC MPIRUN [MPIFORT]      SUITES_RANKS: numbers of ranks (default: 2 4);
                                                   SUITES_TIMES: runs of each case (default: 1)
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
MPI_TESTS = os.path.join(HERE, "..", "mpi")
LEFT_OUT = ("descriptors",)  # a library of Open MPI's descriptors
ALONE = ("spawn",)  # with more ranks it opens a port, which MPICH 5.0 of PyPI cannot


def setting(name):
    """Where test_capture.py finds what it needs (harness.py)."""
    return os.environ["MPITEST_" + name]


def sources_of(program):
    """(options and sources, whether they are Fortran's); None: not of this test."""
    turns = re.fullmatch(r"turns_(\w+)", program)
    if turns:
        return [f"-DREQUIRED=MPI_THREAD_{turns[1].upper()}", "capture/turns.c", "capture/expect.c"], False
    if os.path.exists(os.path.join(MPI_TESTS, "capture", program + ".f90")):
        return ["capture/" + program + ".f90"], True
    return ["capture/" + program + ".c", "capture/expect.c"], False


def build(program, mpicc, mpifort):
    """Returns why it could not be built, or None."""
    if os.path.exists(os.path.join(setting("PROGRAMS"), program)):
        return None  # by an earlier run
    sources, is_fortran = sources_of(program)
    if is_fortran and not mpifort:
        return "no Fortran compiler was named"
    flags = ["-fallow-argument-mismatch", "-w"] if is_fortran else ["-Wno-stringop-overflow"]
    done = subprocess.run([mpifort if is_fortran else mpicc, "-O1", *flags, "-D_GNU_SOURCE",
                           "-I../../include", "-o", os.path.join(setting("PROGRAMS"), program),
                           *sources, "-lpthread"], cwd=MPI_TESTS, capture_output=True, text=True)
    return (done.stderr.strip().splitlines() or ["the compiler failed"])[0] if done.returncode else None


def first_index(program):
    """Of MPI_Waitany in `use mpi_f08`: MPICH 4.0 returns C's, also without profwrap."""
    library = subprocess.run([setting("MPIEXEC"), "--version"], capture_output=True, text=True).stdout
    is_old = re.search(r"HYDRA.*Version:\s+4\.0", library, re.S)
    return "0" if program == "usempif08" and is_old else "1"


def run_case(test_capture, harness, program, n, level):
    """Returns "passed", "skipped" or "failed"."""
    folder = os.path.join(setting("WORKDIR"), f"{program}-np{n}-level{level}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    try:
        test_capture.compare(program, n, level)
    except harness.Skipped as why:
        return f"skipped: {why}"
    except Exception:
        return "failed\n" + traceback.format_exc()
    return "passed"


def cases(test_capture, ranks):
    for program, sizes, levels in test_capture.PROGRAMS:
        if program in LEFT_OUT:
            continue
        if program in ALONE:
            sizes = (1,)
        yield from ((program, n, 1) for n in sorted(set(sizes) & set(ranks)))
        yield from ((program, 2, level) for level in levels if level != 1 and 2 in ranks)


def main(workdir, mpicc, mpirun, mpifort=None):
    workdir = os.path.abspath(workdir)
    os.environ.update(MPITEST_PROGRAMS=os.path.join(workdir, "programs"), MPITEST_WORKDIR=workdir,
                      MPITEST_MPIEXEC=mpirun, MPITEST_PROFWRAP=os.environ["SUITES_PROFWRAP"])
    os.makedirs(setting("PROGRAMS"), exist_ok=True)
    sys.path.insert(0, MPI_TESTS)
    import harness
    import test_capture

    ranks = [int(n) for n in os.environ.get("SUITES_RANKS", "2 4").split()]
    times = int(os.environ.get("SUITES_TIMES", "1"))
    count, unbuilt = {"passed": 0, "skipped": 0, "failed": 0}, {}
    for program, n, level in cases(test_capture, ranks):
        if program not in unbuilt:
            unbuilt[program] = build(program, mpicc, mpifort)
        os.environ["CAPTURE_FIRST_INDEX"] = first_index(program)
        verdicts = [f"skipped: not built: {unbuilt[program]}"] if unbuilt[program] else \
            [run_case(test_capture, harness, program, n, level) for _ in range(times)]
        for verdict in verdicts:
            count[re.match(r"\w+", verdict)[0]] += 1
        for verdict, runs in collections.Counter(verdicts).items():
            print(f"{program} np {n} level {level}: {runs} x {verdict}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in count.items()))
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
