"""What a call costs while recording is paused, above a tool that only passes it through.

    pause_cost.py PROFWRAP MPICALLS PASSTHROUGH

As call_cost.py measures: of MPI_X and of the library's own function in alternating blocks of one process.
A range has no other name: above what it costs without any tool. Runs with and without profwrap take
turns.
"""
import os
import statistics
import sys

from measure import figures, report, run, spread

ROUNDS = 9
BLOCK = "20000"
cores = sorted(os.sched_getaffinity(0))
os.environ["OMPI_MCA_hwloc_base_binding_policy"] = "none"
profwrap, mpicalls, passthrough = (os.path.abspath(path) for path in sys.argv[1:4])
program = ["taskset", "-c", str(cores[-1]), mpicalls]
paused_by = [profwrap, "--quiet", "--no-merge", "--sample-hz", "0", "--start-paused", "-o", "out"]


def measure(what, calls, **floor):
    """The cost of a paused call above that of the floor's environment, as a median over ROUNDS."""
    least, paused = [], []
    for _ in range(ROUNDS):
        least.append(figures(run(program + [what, BLOCK, "0"], **floor))["added_ns"])
        paused.append(figures(run(paused_by + program + [what, BLOCK, "0"]))["added_ns"])
    print(f"{what}: floor +{spread(least)} ns, paused +{spread(paused)} ns")
    return (statistics.median(paused) - statistics.median(least)) / calls


ok = report("MPI_Allreduce on MPI_COMM_SELF, paused, above pass-through",
            measure("self", 1, LD_PRELOAD=passthrough), 3, " ns")
ok &= report("MPI_Iprobe, paused, above pass-through",
             measure("iprobe", 1, LD_PRELOAD=passthrough), 3, " ns")
ok &= report("profwrap_range_push or _pop, paused, above no tool, a call",
             measure("range", 2), 3, " ns")
sys.exit(0 if ok else 1)
