"""The functions that the probe wraps, and the functions that its wrappers call. A library that defines
functions with names of MPI still calls these, a tool between the program and MPI still gets all calls,
and each MPI call of the program is recorded once."""

import shutil
import subprocess
import sys

import harness as h

OWN = "own MPI_Init\nown MPI: rc 0, 3, -1\nown MPI_Finalize\n"
RUN = ("--no-merge", "-o", "out", "--level", "2")


def same(n, *command, env=None):
    """Runs the command under mpirun -np n with and without profwrap, compares status and standard
    output, and returns the standard output."""
    shutil.rmtree("out", ignore_errors=True)
    without = h.run(h.mpirun(n, *command), env=env)
    within = h.run(h.mpirun(n, *h.profwrap(*RUN), *command), env=env)
    h.equal(sorted(h.lines(within.stdout)), sorted(h.lines(without.stdout)), "standard output")
    return within.stdout.decode()


def recorded(rank=0):
    return h.operations(h.open_complete("out", rank))


@h.case
def own_functions_loaded():
    for scope in ("local", "global", "deep", "closed"):
        said = same(1, h.program("loader"), scope, h.program("libownmpi.so"))
        h.equal(said, OWN, f"what a library says that is loaded in the scope {scope}")


@h.case
def own_functions_linked():
    h.equal(same(1, h.program("ownlinked")), OWN, "what a linked library says")


@h.case
def own_functions_are_no_ranks():
    """Two ranks call a serial replacement for MPI: these calls are not recorded as calls of MPI."""
    h.run(h.mpirun(2, *h.profwrap(*RUN), h.program("loader"), "local", h.program("libownmpi.so")))
    for rank in range(2):
        file = h.open_complete("out", rank)
        h.check("comm" not in file["events"] or len(file["events/comm"]) == 0, "calls of a rank:",
                h.operations(file))


@h.case
def own_functions_beside_mpi():
    """The program acts like an interpreter: it loads Open MPI and a library with its own functions of
    MPI's names, both privately."""
    own, mpi = h.program("libownmpi.so"), h.program("libdlmpi.so")
    said = same(2, h.program("loader"), "local", own, "local", mpi)
    h.equal(said.count("own MPI: rc 0, 3, -1"), 2, "libraries that found their own functions")
    for rank in range(2):
        ops = recorded(rank)
        h.equal((ops.count("Allreduce"), ops.count("Init"), ops.count("Finalize")), (7, 1, 1),
                f"Allreduce, Init, Finalize of rank {rank} among {ops}")


@h.case
def own_functions_in_a_program_of_mpi():
    """MPI is in the global scope. So the library's calls go to MPI with and without the probe, except
    when the library's own symbols come first (RTLD_DEEPBIND)."""
    own = h.program("libownmpi.so")
    said = same(2, h.program("mpiloader"), "mpi", "deep", own, "mpi")
    h.equal(said.count("own MPI: rc 0"), 2, "libraries that found their own functions")
    for rank in range(2):
        h.equal(recorded(rank).count("Allreduce"), 10, f"Allreduce of rank {rank}")


@h.case
def own_functions_called_often_and_by_handlers():
    """The library alone, and the library before a private MPI."""
    for more in ((), ("local", h.program("libdlmpi.so"))):
        said = same(1, h.program("loader"), "local", h.program("libowncalls.so"), *more)
        h.equal(said.splitlines()[0], "cheap, right", f"what the library says before {more}")


@h.case
def own_functions_in_a_constructor():
    """A constructor, which runs under the loader's lock, waits for a thread that calls a wrapper."""
    said = same(1, h.program("loader"), "local", h.program("libowncreated.so"))
    h.equal(said, "in the constructor: 42\ncheap, right\n", "what the library says")


@h.case
def own_functions_of_nvidias_names():
    """Two libraries that define the same functions: both loaded, or one after the other, so that the
    second may get the address of the first."""
    first, second = h.program("libownnccl71.so"), h.program("libownnccl72.so")
    for scope in ("local", "closed"):
        said = same(1, h.program("loader"), scope, first, scope, second, scope, first, scope, second)
        h.equal(said, "71 gave 71, 81\n72 gave 72, 82\n" * 2, f"what the libraries say, {scope}")


@h.case
def functions_that_the_library_lacks():
    """mpi4py tests by weak references for functions that MPI-4.0 added. Open MPI 4 and 5 lack them, and a
    program must not find them because profwrap is there."""
    said = same(2, h.program("loader"), "local", h.program("libweaknames.so"))
    for rank in range(2):
        calls = recorded(rank).count("Allreduce")
        h.equal(calls, 3, f"Allreduce of rank {rank} after {said}")


def check_wrapped(said):
    h.equal(said.splitlines()[-1], "counted 6 2 2 2", "what the tool counted")
    for rank in range(2):
        ops = recorded(rank)
        found = {op: ops.count(op) for op in set(ops)}
        wanted = {"Init": 1, "Comm_rank": 1, "Comm_size": 1, "Allreduce": 3, "Comm_dup": 1, "Bcast": 1,
                  "Irecv": 1, "Isend": 1, "Waitall": 1, "Comm_free": 1, "Barrier": 1, "Finalize": 1}
        h.equal(found, wanted, f"calls of rank {rank}")
        rows = {row["name"].decode(): row["value"] for row in h.open_complete("out", rank)["overhead"][:]}
        h.equal(int(rows.get("nested_calls", 0)), 0, "nested calls: the tool's are no news")


@h.case
def a_tool_preloaded():
    check_wrapped(same(2, h.program("wrapped"), env={"LD_PRELOAD": h.program("libwrappers.so")}))


@h.case
def a_tool_linked():
    check_wrapped(same(2, h.program("wrapped_linked")))


@h.case
def a_tool_in_the_program():
    """The tool's functions are found before the probe's. So the probe records the call of PMPI_X that
    each of them makes, and no other calls."""
    check_wrapped(same(2, h.program("wrapped_inside")))


def sequence_numbers(rank):
    file = h.open_complete("out", rank)
    return [(op, int(row["seq"])) for op, row in zip(h.operations(file), file["events/comm"][:])
            if op in ("Allreduce", "Barrier") and int(row["comm"]) == 0]


@h.case
def a_tool_while_recording_is_paused():
    """While recording is paused, each collective is counted once, also with a tool between the program
    and MPI: a call of the program and the PMPI call inside it count as one."""
    wanted = [("Allreduce", 0), ("Allreduce", 1), ("Allreduce", 2), ("Barrier", 11)]
    tool = {"LD_PRELOAD": h.program("libwrappers.so")}
    for name, env in (("wrapped", None), ("wrapped", tool), ("wrapped_inside", None)):
        shutil.rmtree("out", ignore_errors=True)
        h.run(h.mpirun(2, *h.profwrap(*RUN), h.program(name), "paused"), env=env)
        for rank in range(2):
            h.equal(sequence_numbers(rank), wanted, f"sequence numbers of {name} with {env}")


@h.case
def a_fortran_layer_of_another_name():
    """The Fortran library is recognised by a function that it defines, not by its file name."""
    h.equal(same(2, h.program("useotherlayer")), "size 2\n" * 2, "output")
    for rank in range(2):
        h.equal(recorded(rank), ["Init", "Comm_size", "Barrier", "Barrier", "Barrier", "Finalize"],
                f"calls of rank {rank}")


@h.case
def rmpi():
    """R's Rmpi has a function mpi_comm_size of its own."""
    if not shutil.which("Rscript") or h.run(["Rscript", "-e", "library(Rmpi)"], status=None).returncode:
        raise h.Skipped("R's package Rmpi (r-cran-rmpi) is not installed")
    with open("rmpi.R", "w") as file:
        file.write('library(Rmpi)\nr <- mpi.comm.rank(0)\n'
                   's <- mpi.allreduce(as.integer(r + 1), type = 1, op = "sum", comm = 0)\n'
                   'cat(sprintf("rank %d of %d sum %d\\n", r, mpi.comm.size(0), s))\nmpi.quit()\n')
    said = same(2, "Rscript", "rmpi.R")
    h.equal(sorted(said.splitlines()), [f"rank {r} of 2 sum 3" for r in range(2)], "what R says")
    for rank in range(2):
        h.equal(recorded(rank).count("Allreduce"), 1, "Allreduce")


@h.case
def mumps_seq():
    """MUMPS for one process, whose MPI is a library of its own with MPI's names."""
    compiler = shutil.which("gfortran")
    source = ("      program t\n      integer n, ierr\n      call mpi_init(ierr)\n"
              "      call mpi_comm_size(0, n, ierr)\n      print *, 'size', n\n"
              "      call mpi_finalize(ierr)\n      end\n")
    with open("seq.f", "w") as file:
        file.write(source)
    if not compiler or h.run([compiler, "seq.f", "-o", "seq", "-ldmumps_seq", "-lmpiseq_seq"],
                             status=None).returncode:
        raise h.Skipped("MUMPS for one process (libmumps-seq-dev) or gfortran is not installed")
    alone = h.run(["./seq"])
    h.equal(h.run(h.profwrap(*RUN, "./seq")).stdout, alone.stdout, "output")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
