"""One rank still waits for messages while the others enter MPI_Finalize (programs/lastwait.c). With
profwrap the program ends as it does without, several times each, because profwrap sends nothing over
MPI where all ranks have one clock. Where it does, its messages must not keep the program from its
end either."""

import os
import subprocess
import sys

import harness as h

RANKS, TIMES, LIMIT_S = 4, 3, 20
KINDS = ("nonblocking", "persistent", "neighbours", "onesided")
SIZES = {"eager": 64, "rendezvous": 1 << 20}


def launcher(library):
    if library == "mpich":
        os.environ["MPITEST_MPIEXEC"] = h.place("MPICH_RUN")
        return h.program("mpich/lastwait")
    return h.program("lastwait")


def bounded(command):
    try:
        return h.run(command, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        h.check(False, "still running after", LIMIT_S, "s:", *command)


def calls_of_mpi(folder):
    """What profwrap has sent over MPI itself, on all ranks."""
    costs = [h.overhead(h.open_complete(folder, rank)) for rank in range(RANKS)]
    return sum(cost["clock_sync_messages"] + cost["clock_sync_collectives"] for cost in costs)


def ends(library, kind, size, clocks, *options):
    """`clocks`: whether each rank has a clock of its own."""
    command = [launcher(library), kind, size]
    for i in range(TIMES):
        out = f"out-{size}-{i}"
        split = ["sh", "-c", SPLIT, "sh"] if clocks else []
        done = bounded(h.mpirun(RANKS, *split, *h.profwrap("--no-merge", *options, "-o", out),
                                *command))
        h.equal(done.stdout.decode(), f"{size * sum(range(1, RANKS))}\n", "standard output")
        h.equal(calls_of_mpi(out) > 0, bool(options), "calls of MPI by profwrap")


# Each rank's clock is another microsecond ahead.
SPLIT = ('rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; export PROFWRAP_TEST_CLOCK=${rank}000:0:0; '
         'exec "$@"')


def add_case(library, kind, words):
    def case():
        for size in SIZES.values():
            ends(library, kind, size, words != "one_clock",
                 *(["--clock-interval", 0] if words == "clocks_over_mpi" else []))
    h.CASES[f"{library}-{kind}-{words}".replace("_", "-")] = case


for library in ("mpich", "openmpi"):
    for kind in KINDS:
        add_case(library, kind, "one_clock")
    add_case(library, "nonblocking", "clocks_over_udp")
    add_case(library, "nonblocking", "clocks_over_mpi")

if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
