"""Every function that the installed libmpi exports is wrapped or deliberately skipped, not both; and
every Fortran spelling of a wrapped one that the libraries beside it export is wrapped too.

    table_coverage.py SOURCE_DIR PROBE LIBMPI
"""
import fnmatch
import os
import re
import subprocess
import sys

source, probe, libmpi = sys.argv[1:4]
folder = os.path.join(source, "src", "collectors", "mpi")


def symbols(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, check=True,
                         text=True).stdout
    return {m.group(1) for m in re.finditer(r" [A-Za-z] (mpi_\w+)$", out, re.M | re.I)}


def exported(library):
    """The C functions, without "MPI_"; Fortran's spellings are in capitals or end in _f, _f08."""
    names = {s[4:] for s in symbols(library) if s.startswith("MPI_")}
    capitals = {n for n in names if n.isupper() and n.capitalize() in names}
    return {n for n in names - capitals if not n.endswith(("_f", "_f08"))}


def fortran_name(symbol):
    """mpi_comm_dup of each of its spellings."""
    return re.sub(r"(_f08ts_|_f08_|__|_f08|_f|_)$", "", symbol.lower())


def unwrapped_spellings():
    ours = symbols(probe)
    names = {"mpi_" + name.lower() for name in exported(probe)}
    for library in ("libmpi_mpifh.so", "libmpi_usempif08.so"):
        path = os.path.join(os.path.dirname(libmpi), library)
        if not os.path.exists(path):
            print(f"no {path}: its spellings are not compared")
            continue
        theirs = {s for s in symbols(path) if fortran_name(s) in names}
        print(f"{len(theirs)} Fortran spellings of wrapped functions in {library}")
        yield from sorted(theirs - ours)


def skips():
    with open(os.path.join(folder, "mpi_skips.txt")) as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    return [line.split(None, 1) for line in lines]


wrapped, real, patterns = exported(probe), exported(libmpi), skips()
problems = []
for name in sorted(real - wrapped):
    if not any(fnmatch.fnmatchcase(name, pattern) for pattern, _ in patterns):
        problems.append(f"MPI_{name} is neither wrapped nor in mpi_skips.txt")
for name in sorted(wrapped - real):
    problems.append(f"MPI_{name} is wrapped but libmpi has none")
for pattern, reason in patterns:
    if not reason.strip():
        problems.append(f"{pattern} is skipped without a reason")
    if not any(fnmatch.fnmatchcase(name, pattern) for name in real - wrapped):
        problems.append(f"{pattern} skips nothing")
problems += [f"{symbol} is not wrapped" for symbol in unwrapped_spellings()]
print(f"{len(real)} functions in libmpi: {len(wrapped & real)} wrapped, "
      f"{len(real - wrapped)} skipped by {len(patterns)} patterns")
print("\n".join(problems))
sys.exit(1 if problems or len(wrapped) < 100 else 0)
