"""Checks that every function of the installed libmpi is either wrapped or deliberately skipped, not
both. The probe must define no MPI name that libmpi does not have. It must define no Fortran name,
because the Fortran libraries call the PMPI_X functions of C.

    table_coverage.py SOURCE_DIR PROBE LIBMPI
"""
import fnmatch
import functools
import os
import re
import subprocess
import sys

source, probe, libmpi = sys.argv[1:4]
folder = os.path.join(source, "src", "collectors", "mpi")


@functools.cache
def symbols(library, which="--defined-only"):
    out = subprocess.run(["nm", "-D", which, library], stdout=subprocess.PIPE, check=True,
                         text=True).stdout
    return {m.group(1) for m in re.finditer(r" [A-Za-z] (p?mpi_\w+)$", out, re.M | re.I)}


def exported(library):
    """The names of the C functions, without "MPI_"."""
    return {s[4:] for s in symbols(library) if s.startswith("MPI_")}


@functools.cache
def later():
    """Functions of MPI-4.0. The probe defines them for libraries of another ABI (mpi4_functions.c)."""
    with open(os.path.join(source, "src", "core", "mpi_functions.def")) as file:
        rows = re.findall(r"^MPI_FN_4(_C)?\((\w+),", file.read(), re.M)
    return {name + ("_c" if large else "") for large, name in rows} - exported(libmpi)


def taken_from_others():
    ours = {prefix + name for name in later() for prefix in ("MPI_", "PMPI_")}
    yield from sorted(symbols(probe) - symbols(libmpi) - ours)


def fortran_names():
    for name in sorted(symbols(probe)):
        if not name.startswith(("MPI_", "PMPI_")) or name.split("_", 1)[1].isupper() or \
                name.endswith(("_", "_f", "_f08")):
            yield name


def fortran_problems():
    """The Fortran binding of a wrapped function is recorded only if it calls the C function."""
    path = os.path.join(os.path.dirname(libmpi), "libmpi_mpifh.so")
    if not os.path.exists(path):
        print(f"no {path}: Fortran is not looked at")
        return
    theirs, called = symbols(path), symbols(path, "--undefined-only")
    bound = {name for name in exported(probe) if f"mpi_{name.lower()}_" in theirs}
    print(f"{len(bound)} of the wrapped functions in libmpi_mpifh.so")
    for name in sorted(bound):
        if f"PMPI_{name}" not in called:
            yield f"mpi_{name.lower()}_ does not call PMPI_{name}"


def skips():
    with open(os.path.join(folder, "mpi_skips.txt")) as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    return [line.split(None, 1) for line in lines]


wrapped, real, patterns = exported(probe), exported(libmpi), skips()
problems = []
for name in sorted(real - wrapped):
    if not any(fnmatch.fnmatchcase(name, pattern) for pattern, _ in patterns):
        problems.append(f"MPI_{name} is neither wrapped nor in mpi_skips.txt")
for name in sorted(wrapped - real - later()):
    problems.append(f"MPI_{name} is wrapped but libmpi has none")
for pattern, reason in patterns:
    if not reason.strip():
        problems.append(f"{pattern} is skipped without a reason")
    if not any(fnmatch.fnmatchcase(name, pattern) for name in real - wrapped):
        problems.append(f"{pattern} skips nothing")
for name in sorted(wrapped):
    if f"PMPI_{name}" not in symbols(probe):
        problems.append(f"PMPI_{name} is not wrapped as MPI_{name} is")
problems += [f"{symbol} is taken from another library: libmpi has none" for symbol in taken_from_others()]
problems += [f"{name} is Fortran's" for name in fortran_names()]
problems += fortran_problems()
print(f"{len(real)} functions in libmpi: {len(wrapped & real)} wrapped, "
      f"{len(real - wrapped)} skipped by {len(patterns)} patterns")
print("\n".join(problems))
sys.exit(1 if problems or len(wrapped) < 100 else 0)
