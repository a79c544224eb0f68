"""Added cost of a captured MPI call, against the floors of the same run.

    call_cost.py PROFWRAP MPICALLS PASSTHROUGH

Each process compares a call by its PMPI name with the same call by its MPI name in alternating blocks
(see mpicalls.c); the processes without a tool, with a pass-through tool and profiled are interleaved.
All are bound to one core, as the peers were measured.
"""
import os
import statistics
import sys

from measure import figures, report, run, spread

ROUNDS = 9
BURST = "30000"  # less than a quarter of the default ring
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["OMPI_MCA_hwloc_base_binding_policy"] = "none"
profwrap, mpicalls, passthrough = (os.path.abspath(path) for path in sys.argv[1:4])
profiled_by = [profwrap, "--quiet", "--no-merge", "--sample-hz", "0", "-o", "out"]


def column(rows, name):
    return [row[name] for row in rows]


def measure(what, calls, pause):
    """Medians over ROUNDS runs: added ns a call, and its ratios to the two floors, run by run."""
    nothing, through, profiled = [], [], []
    for _ in range(ROUNDS):
        nothing.append(figures(run([mpicalls, what, calls, pause])))
        through.append(figures(run([mpicalls, what, calls, pause], LD_PRELOAD=passthrough)))
        profiled.append(figures(run(profiled_by + [mpicalls, what, calls, pause])))
    print(f"{what}, {'in bursts' if pause != '0' else 'sustained'}: "
          f"plain {spread(column(profiled, 'plain_ns'))} ns a call, "
          f"no tool +{spread(column(nothing, 'added_ns'))}, "
          f"pass-through +{spread(column(through, 'added_ns'))}, "
          f"profwrap +{spread(column(profiled, 'added_ns'))}; floors: "
          f"2 x rdtsc + store {spread(column(profiled, 'rdtsc_floor_ns'))}, "
          f"2 x clock_gettime + store {spread(column(profiled, 'clock_floor_ns'))}")
    return (statistics.median(column(profiled, "added_ns")),
            statistics.median(row["added_ns"] / row["rdtsc_floor_ns"] for row in profiled),
            statistics.median(row["added_ns"] / row["clock_floor_ns"] for row in profiled))


def worst(command):
    return min(figures(run(command + [mpicalls, "worst", "3000000"]))["worst_ns"] / 1e6
               for _ in range(ROUNDS))


ok = True
_, rdtsc, clock = measure("self", BURST, "20")
ok &= report("MPI_Allreduce on MPI_COMM_SELF, added / rdtsc floor", rdtsc, 1.4)
ok &= report("MPI_Allreduce on MPI_COMM_SELF, added / clock_gettime floor", clock, 0.9)
_, rdtsc, _ = measure("window", BURST, "20")
ok &= report("window of 32 Irecv + 32 Isend + Waitall, added per call / rdtsc floor", rdtsc, 2)
added, _, _ = measure("iprobe", BURST, "20")
ok &= report("MPI_Iprobe at level 1, added", added, 3, " ns")
_, rdtsc, _ = measure("self", "100000", "0")
print(f"  MPI_Allreduce without a pause, the collector draining on the same core: {rdtsc:.2f} of the "
      f"rdtsc floor")
os.sched_setaffinity(0, range(os.cpu_count()))
print(f"worst call without a tool: {worst([]):.3f} ms")
ok &= report(f"worst call of 3 million, best of {ROUNDS} runs", worst(profiled_by), 0.3, " ms")
sys.exit(0 if ok else 1)
