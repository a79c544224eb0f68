"""Added cost of a captured MPI call, against the floors of the same run.

    call_cost.py PROFWRAP MPICALLS PASSTHROUGH

Each process compares a call of the MPI library's own function with the same call of MPI_X in alternating blocks
(see mpicalls.c), so that a machine that changes its speed changes it for both. Processes without a
tool, with a pass-through tool, profiled, and traced by EZTrace where that is installed, take turns.
The application is bound to one core, as the peers were measured; the collector has another where
there is one.
"""
import math
import os
import shutil
import statistics
import sys

from measure import figures, report, run, spread

ROUNDS = 9
BLOCK = "3000"  # calls; all blocks of a run fit the default ring
cores = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cores[0]})
os.environ["OMPI_MCA_hwloc_base_binding_policy"] = "none"
profwrap, mpicalls, passthrough = (os.path.abspath(path) for path in sys.argv[1:4])
program = ["taskset", "-c", str(cores[-1]), mpicalls]
profiled_by = [profwrap, "--quiet", "--no-merge", "--sample-hz", "0", "-o", "out"]
eztrace = ["mpirun", "-np", "1", "eztrace", "-t", "openmpi", "-o", "ez"]


def column(rows, name):
    return [row[name] for row in rows]


def measure(what, calls, pause):
    """Medians over ROUNDS runs: the added ns per call, and its ratio to each of the two floors, run
    by run. The difference that the comparison shows without any tool is subtracted."""
    nothing, through, profiled, peer = [], [], [], []
    for _ in range(ROUNDS):
        nothing.append(figures(run(program + [what, calls, pause])))
        through.append(figures(run(program + [what, calls, pause], LD_PRELOAD=passthrough)))
        profiled.append(figures(run(profiled_by + program + [what, calls, pause])))
        if shutil.which("eztrace"):
            peer.append(figures(run(eztrace + program + [what, calls, pause], quiet=True)))
    traced = f"EZTrace +{spread(column(peer, 'added_ns'))}" if peer else "EZTrace is not installed"
    print(f"{what}, {'in bursts' if pause != '0' else 'sustained'}, ns a call: "
          f"plain {spread(column(profiled, 'plain_ns'))}, "
          f"no tool +{spread(column(nothing, 'added_ns'))}, "
          f"pass-through +{spread(column(through, 'added_ns'))}, "
          f"profwrap +{spread(column(profiled, 'added_ns'))}, {traced}; floors: "
          f"2 x rdtsc + store {spread(column(profiled, 'rdtsc_floor_ns'))}, "
          f"2 x clock_gettime + store {spread(column(profiled, 'clock_floor_ns'))}")
    bias = statistics.median(column(nothing, "added_ns"))  # of the second of two equal blocks
    return (statistics.median(row["added_ns"] - bias for row in profiled),
            statistics.median((row["added_ns"] - bias) / row["rdtsc_floor_ns"] for row in profiled),
            statistics.median((row["added_ns"] - bias) / row["clock_floor_ns"] for row in profiled))


def worst(budget_ms):
    """The longest of 3 million calls. A call may be long because the machine stalled. So calls that
    no tool intercepts are made in turn with them, and give the rate of stalls."""
    rows = [figures(run(profiled_by + program + ["worst", "3000000"])) for _ in range(ROUNDS)]
    over, plain_over, spent, plain_spent = (
        sum(column(rows, name)) for name in ("over", "plain_over", "spent_ns", "plain_spent_ns"))
    expected = plain_over * spent / plain_spent
    most = expected + 2 * math.sqrt(expected + 1)
    for name, prefix in ("with profwrap", ""), ("in turn, not intercepted", "plain_"):
        took = sorted(ns / 1e6 for ns in column(rows, prefix + "worst_ns"))
        print(f"worst of 3 million calls {name}: {spread(took)} ms, best run {took[0]:.3f}; "
              f"{sum(column(rows, prefix + 'over')):.0f} of {3 * ROUNDS} million over {budget_ms} ms")
    middle = statistics.median(column(rows, "worst_ns")) / 1e6
    if middle <= budget_ms or over > most:
        return report("worst of 3 million calls", middle, budget_ms, " ms")
    return report(f"calls over {budget_ms} ms; the machine's stalls alone make {expected:.1f}, at most",
                  over, most)


ok = True
_, rdtsc, clock = measure("self", BLOCK, "5")
ok &= report("MPI_Allreduce on MPI_COMM_SELF, added / rdtsc floor", rdtsc, 1.4)
ok &= report("MPI_Allreduce on MPI_COMM_SELF, added / clock_gettime floor", clock, 0.9)
_, rdtsc, _ = measure("window", BLOCK, "5")
ok &= report("window of 32 Irecv + 32 Isend + Waitall, added per call / rdtsc floor", rdtsc, 2)
_, rdtsc, _ = measure("bcast", BLOCK, "5")
ok &= report("MPI_Bcast on MPI_COMM_SELF, added / rdtsc floor", rdtsc, 1.4)
_, rdtsc, _ = measure("sendrecv", BLOCK, "5")
ok &= report("MPI_Sendrecv to itself, two records, added / rdtsc floor", rdtsc, 2.2)
added, _, _ = measure("iprobe", BLOCK, "5")
ok &= report("MPI_Iprobe at level 1, added", added, 3, " ns")
_, rdtsc, _ = measure("self", "100000", "0")
print(f"  MPI_Allreduce without a pause, the collector draining meanwhile: {rdtsc:.2f} of the "
      f"rdtsc floor")
ok &= worst(0.3)
sys.exit(0 if ok else 1)
