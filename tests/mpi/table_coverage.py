"""Every function that the installed libmpi exports is wrapped or deliberately skipped, not both.

    table_coverage.py SOURCE_DIR PROBE LIBMPI
"""
import fnmatch
import os
import re
import subprocess
import sys

source, probe, libmpi = sys.argv[1:4]
folder = os.path.join(source, "src", "collectors", "mpi")


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, check=True,
                         text=True).stdout
    return {m.group(1) for m in re.finditer(r" [A-Za-z] MPI_(\w+)$", out, re.M)}


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
print(f"{len(real)} functions in libmpi: {len(wrapped & real)} wrapped, "
      f"{len(real - wrapped)} skipped by {len(patterns)} patterns")
print("\n".join(problems))
sys.exit(1 if problems or len(wrapped) < 100 else 0)
