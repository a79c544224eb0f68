"""Repeats test_capture.py with the capture programs built for MPICH. The test is skipped if MPICH
is not installed beside Open MPI (Debian: mpich, libmpich-dev)."""

import json
import os
import re
import subprocess
import sys

import harness as h
import test_capture

# Not run: spawned processes under MPICH; a library of Open MPI's Fortran descriptors.
LEFT_OUT = ("spawn", "descriptors")
PROGRAMS = os.environ.get("MPITEST_PROGRAMS", "")


def first_index(program):
    """The first index that MPI_Waitany returns. In MPICH 4.0, `use mpi_f08` returns the index of C,
    also without profwrap."""
    said = subprocess.run(["mpichversion"], capture_output=True, text=True).stdout
    return "0" if program == "usempif08" and re.search(r"MPICH Version:\s*4\.0", said) else "1"


def use_mpich():
    os.environ["MPITEST_PROGRAMS"] = os.path.join(PROGRAMS, "mpich")
    os.environ["MPITEST_MPIEXEC"] = h.place("MPICH_RUN")


def under_mpich(program, n, level):
    os.environ["CAPTURE_FIRST_INDEX"] = first_index(program)
    use_mpich()
    test_capture.compare(program, n, level)


def again():
    use_mpich()
    test_capture.again_as_by_the_slow_functions()


def add_case(program, n, level):
    name = f"{program}-np{n}" + (f"-level{level}" if level != 1 else "")
    h.CASES[name] = lambda: under_mpich(program, n, level)


def functions_of_mpi_4(*command):
    """Functions that MPI-4.0 added, which the program refers to weakly, are there and recorded."""
    run = [h.place("MPICH_RUN"), "-np", "2"]
    without = h.run([*run, *command])
    within = h.run([*run, *h.profwrap("--no-merge", "-o", "out", "--level", "2"), *command])
    h.equal(within.stdout, without.stdout, "standard output")
    h.equal(within.stdout.decode(), "Allreduce_c 1 Barrier_init 1\n", "functions that are there")
    for rank in range(2):
        ops = h.operations(h.open_complete("out", rank))
        h.equal((ops.count("Allreduce"), ops.count("Barrier_init")), (3, 1), f"calls of rank {rank}")


def in_a_library_that_needs_another_name():
    """The same when the library needs libmpi.so.12, and that is a link to a library which has
    another name in itself."""
    library = in_mpich_programs("libweaknames.so")
    needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    with open(library, "rb") as file:
        code = file.read()
    own = b"libmpich.so.12\0"
    h.check(code.count(own) == 1, needed)
    os.mkdir("links")
    os.symlink(re.search(r"libmpich\.so\.12 => (\S+)", needed)[1], "links/libmpi.so.12")
    with open("renamed.so", "wb") as file:
        file.write(code.replace(own, b"libmpi.so.12\0\0\0"))
    os.environ["LD_LIBRARY_PATH"] = os.path.abspath("links")
    functions_of_mpi_4(h.program("loader"), "local", os.path.abspath("renamed.so"))


def sessions(*arguments):
    """Runs a program that has sessions and never calls MPI_Init, without and with profwrap."""
    command = [in_mpich_programs("sessions"), *map(str, arguments)]
    run = [h.place("MPICH_RUN"), "-np", "4"]
    without = h.run([*run, *command])
    within = h.run([*run, *h.profwrap("--no-report", "-o", "out"), *command])
    h.equal(within.stdout, without.stdout, "standard output")
    return [h.open_complete("out", rank) for rank in range(4)]


def sessions_without_init():
    """All calls of a program of sessions are recorded, and its slow rank is named."""
    for rank, file in enumerate(sessions(20, 2, 30)):
        h.equal((int(file.attrs["rank"]), int(file.attrs["world_size"])), (rank, 4), "place")
        ops = [op for op in h.operations(file) if op != "Comm_rank"]
        h.equal(ops, ["Session_init", "Comm_create_from_group", *["Allreduce"] * 20, "Comm_free",
                      "Session_finalize"], f"calls of rank {rank}")
    with h.h5py().File("out/cluster.h5", "r") as cluster:
        h.equal([int(n) for n in cluster["collectives"]["nranks"]], [4] * 20, "ranks of collectives")
    report = json.loads(h.run(h.profwrap("report", "--format", "json", "out")).stdout)
    h.equal([row["rank"] for row in report["stragglers"]][:1], [2], "named first")


def sessions_of_a_program_that_another_starts():
    """The functions of MPI-4.0 are recorded also when the program is not the command's first word."""
    run = [h.place("MPICH_RUN"), "-np", "2", *h.profwrap("--no-merge", "-o", "out"), "env", "A=1"]
    h.run([*run, "sh", "-c", 'exec "$@"', "sh", in_mpich_programs("sessions"), "5", "0", "1"])
    for rank in range(2):
        ops = h.operations(h.open_complete("out", rank))
        h.equal([ops.count(op) for op in ("Session_init", "Allreduce")], [1, 5], f"calls of rank {rank}")


def sessions_again():
    """Recording ends with the last session, and begins again with the next."""
    run = [h.place("MPICH_RUN"), "-np", "1", in_mpich_programs("sessions"), "1", "0", "0", "2"]
    if subprocess.run(run, capture_output=True).returncode:
        raise h.Skipped("this MPICH crashes when sessions begin again (MPICH 4.0 does)")
    for rank, file in enumerate(sessions(5, 0, 1, 3)):
        ops = h.operations(file)
        h.equal([ops.count(op) for op in ("Session_init", "Allreduce", "Session_finalize")], [3, 15, 3],
                f"calls of rank {rank}")


def in_mpich_programs(name):
    return os.path.join(PROGRAMS, "mpich", name)


h.CASES.clear()
h.CASES["again-as-by-the-slow-functions"] = again
h.CASES["sessions-without-init"] = sessions_without_init
h.CASES["sessions-of-a-program-that-another-starts"] = sessions_of_a_program_that_another_starts
h.CASES["sessions-again"] = sessions_again
h.CASES["mpi-4-in-a-linked-program"] = lambda: functions_of_mpi_4(in_mpich_programs("weaknames"))
h.CASES["mpi-4-in-a-loaded-library"] = lambda: functions_of_mpi_4(
    h.program("loader"), "local", in_mpich_programs("libweaknames.so"))
h.CASES["mpi-4-in-a-library-that-needs-another-name"] = in_a_library_that_needs_another_name
for program, sizes, levels in test_capture.PROGRAMS:
    if program in LEFT_OUT:
        continue
    for n in set(sizes) & {2, 4}:
        add_case(program, n, 1)
    for level in set(levels) - {1}:
        add_case(program, 2, level)

if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
