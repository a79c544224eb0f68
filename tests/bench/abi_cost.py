"""Added cost of a captured MPI call under several MPIs, against the floor of the same process.

    abi_cost.py PROFWRAP MPICC...      PROFWRAP_BENCH_ROUNDS: rounds (default: 9)

Each MPICC, an MPI's compiler wrapper, builds mpicalls.c, whose processes compare the library's own
function with MPI_X in alternating blocks. Processes of all MPIs take turns, with profwrap and without
any tool. The budgets are those of call_cost.py, for every MPI.
"""
import os
import statistics
import sys
import tempfile

from measure import SKIP, build_mpicalls, figures, library_of, report, run, spread

ROUNDS = int(os.environ.get("PROFWRAP_BENCH_ROUNDS", "9"))
BLOCK = "3000"  # calls; all blocks of a run fit the default ring
# (argument of mpicalls, what it calls, most of the added cost, in rdtsc floors)
CALLS = (("self", "MPI_Allreduce on MPI_COMM_SELF", 1.4),
         ("window", "window of 32 Irecv + 32 Isend + Waitall, per call", 2),
         ("bcast", "MPI_Bcast on MPI_COMM_SELF", 1.4),
         ("sendrecv", "MPI_Sendrecv to itself, two records", 2.2))


class Figures:
    """What was measured under one MPI: a row for each round."""

    def __init__(self):
        self.without, self.profiled = [], []

    def ratios(self):
        """Of the added time to the floor, without the difference that is seen without any tool."""
        bias = statistics.median(row["added_ns"] for row in self.without)
        return [(row["added_ns"] - bias) / row["rdtsc_floor_ns"] for row in self.profiled]

    def text(self):
        plain, added, floor = (spread([row[name] for row in self.profiled])
                               for name in ("plain_ns", "added_ns", "rdtsc_floor_ns"))
        nothing = spread([row["added_ns"] for row in self.without])
        return (f"ns a call: plain {plain}, no tool +{nothing}, profwrap +{added}, floor {floor};"
                f" added / floor {spread(self.ratios())}")


def measure(profiled_by, programs, what):
    """{MPICC: Figures} of ROUNDS rounds."""
    found = {mpicc: Figures() for mpicc in programs}
    for _ in range(ROUNDS):
        for mpicc, program in programs.items():
            command = ["taskset", "-c", str(cores[-1]), program, what, BLOCK, "5"]
            found[mpicc].without.append(figures(run(command)))
            found[mpicc].profiled.append(figures(run(profiled_by + command)))
    return found


cores = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cores[0]})
os.environ["OMPI_MCA_hwloc_base_binding_policy"] = "none"
compilers = sys.argv[2:]
if len(compilers) < 2:
    print("skipped: no other MPI (mpicc.mpich, or PROFWRAP_BENCH_MPICC)")
    sys.exit(SKIP)
ok = True
with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as where:
    programs = {}
    for k, mpicc in enumerate(compilers):
        os.mkdir(os.path.join(where, str(k)))
        programs[mpicc] = build_mpicalls(mpicc, os.path.join(where, str(k)))
        print(f"{mpicc}: {library_of(programs[mpicc])}")
    profiled_by = [os.path.abspath(sys.argv[1]), "--quiet", "--no-merge", "--sample-hz", "0", "-o", "out"]
    for what, words, budget in CALLS:
        for mpicc, of_mpi in measure(profiled_by, programs, what).items():
            print(f"{what}, {mpicc}, {of_mpi.text()}", flush=True)
            ok &= report(f"{words}, {mpicc}, added / floor", statistics.median(of_mpi.ratios()), budget)
sys.exit(0 if ok else 1)
