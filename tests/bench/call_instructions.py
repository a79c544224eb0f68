"""Instructions that profwrap executes for a recorded MPI call, under several MPIs.

    call_instructions.py PROFWRAP MPICC...

Unlike times, these counts do not depend on the machine's load and speed. Each MPICC, an MPI's compiler
wrapper, builds mpicalls.c. It runs under valgrind's callgrind with two numbers of calls; the difference
of the instructions in profwrap's own library, divided by that of the calls, is the figure.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from measure import SKIP, build_mpicalls, library_of, report

FEW, MANY = 300, 1300  # calls in a block
BLOCKS = 22  # of recorded calls in a run: one to warm up, and 21 that are measured (mpicalls.c)
# (argument of mpicalls, what it calls, most instructions)
CALLS = (("self", "MPI_Allreduce on MPI_COMM_SELF", 170),
         ("window", "window of 32 Irecv + 32 Isend + Waitall, per call", 240),
         ("bcast", "MPI_Bcast on MPI_COMM_SELF", 180),
         ("sendrecv", "MPI_Sendrecv to itself, two records", 250),
         ("iprobe", "MPI_Iprobe at level 1, not recorded", 55))


def own_instructions(path):
    """The sum of the instructions in profwrap's library, in a file of callgrind. A line of costs belongs
    to the object of the last `ob=` line, except the one after `calls=`, which is of the called
    function."""
    names, where, is_called, total = {}, "", False, 0
    with open(path) as file:
        for line in file:
            named = re.match(r"c?ob=(\(\d+\))? ?(.*)", line)
            if named:
                number, name = named[1], named[2].strip()
                names[number] = name or names.get(number, "")
                if line.startswith("ob="):
                    where = names[number]
            elif line.startswith("calls="):
                is_called = True
            elif re.match(r"[0-9+*-]", line):
                if not is_called and "libprofwrap" in where:
                    total += int(line.split()[1])
                is_called = False
    return total


def count(profwrap, program, what, calls):
    with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as where:
        command = [profwrap, "--quiet", "--no-merge", "--sample-hz", "0", "--ring-size", "16M", "-o", "out",
                   "valgrind", "--tool=callgrind", "--callgrind-out-file=costs.%p", program, what,
                   str(calls), "0"]
        subprocess.run(command, cwd=where, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return max(own_instructions(os.path.join(where, name)) for name in os.listdir(where)
                   if name.startswith("costs."))


if not shutil.which("valgrind"):
    print("skipped: no valgrind")
    sys.exit(SKIP)
os.environ["OMPI_MCA_hwloc_base_binding_policy"] = "none"
profwrap, ok = os.path.abspath(sys.argv[1]), True
with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as folder:
    for k, mpicc in enumerate(sys.argv[2:]):
        own = os.path.join(folder, str(k))
        os.mkdir(own)
        program = build_mpicalls(mpicc, own)
        print(f"{mpicc}: {library_of(program)}")
        for what, words, budget in CALLS:
            more = count(profwrap, program, what, MANY) - count(profwrap, program, what, FEW)
            ok &= report(f"{words}, {mpicc}, instructions", more / (BLOCKS * (MANY - FEW)), budget)
sys.exit(0 if ok else 1)
