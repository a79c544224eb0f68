"""Added cost of a captured MPI call, against the floors of the same run.

    call_cost.py PROFWRAP MPICALLS PASSTHROUGH

Runs are interleaved (plain, pass-through, profiled) and bound to one core. A shared machine has two
speeds, and a run is in one or the other: figures are differences of the lower quartiles of each kind,
the medians are printed beside them.
"""
import os
import statistics
import sys

from measure import figures, report, run, spread

ROUNDS = 9
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["OMPI_MCA_hwloc_base_binding_policy"] = "none"
BURST = str(21 * 30000)  # 21 blocks: less than a quarter of the default ring each
profwrap, mpicalls, passthrough = sys.argv[1:4]
profiled_by = [profwrap, "--quiet", "--no-merge", "--sample-hz", "0", "-o", "out"]


def low(values):
    """Lower quartile."""
    return sorted(values)[len(values) // 4]


def measure(what, calls, pause):
    rows = []
    for _ in range(ROUNDS):
        plain = figures(run([mpicalls, what, calls, pause]))
        through = figures(run([mpicalls, what, calls, pause], LD_PRELOAD=passthrough))
        profiled = figures(run(profiled_by + [mpicalls, what, calls, pause]))
        rows.append((plain, through, profiled))
    rdtsc = [plain["rdtsc_floor_ns"] for plain, _, _ in rows]
    clock = [plain["clock_floor_ns"] for plain, _, _ in rows]
    through = [t["calls_ns"] - plain["calls_ns"] for plain, t, _ in rows]
    added = [p["calls_ns"] - plain["calls_ns"] for plain, _, p in rows]
    kind = "in bursts" if pause != "0" else "sustained"
    print(f"{what}, {kind}: plain {spread([plain['calls_ns'] for plain, _, _ in rows])} ns a call, "
          f"pass-through +{spread(through)}, profwrap +{spread(added)}; floors: "
          f"2 x rdtsc + store {spread(rdtsc)}, 2 x clock_gettime + store {spread(clock)}")
    worst = [p.get("worst_ns", 0) for _, _, p in rows]
    cost = (low([p["calls_ns"] for _, _, p in rows]) -
            low([plain["calls_ns"] for plain, _, _ in rows]))
    print(f"  median of pairwise differences / floor: "
          f"{statistics.median(added) / statistics.median(rdtsc):.2f}")
    return (cost, low(rdtsc), low(clock),
            min(worst), min(plain.get("worst_ns", 0) for plain, _, _ in rows))


ok = True
added, rdtsc, clock, worst, worst_plain = measure("self", BURST, "20")
ok &= report("MPI_Allreduce on MPI_COMM_SELF, added / rdtsc floor", added / rdtsc, 1.5)
print(f"  beside the clock_gettime floor: {added / clock:.2f}; worst single call of 3 million, best "
      f"of {ROUNDS} runs: {worst / 1e6:.3f} ms (plain {worst_plain / 1e6:.3f} ms)")
added, rdtsc, clock, _, _ = measure("window", BURST, "20")
print(f"  window of 32 Irecv + 32 Isend + Waitall, added per call / rdtsc floor: {added / rdtsc:.2f}")
added, rdtsc, clock, _, _ = measure("iprobe", BURST, "20")
print(f"  MPI_Iprobe at level 1, added: {added:.2f} ns")
added, rdtsc, _, _, _ = measure("self", "2100000", "0")
print(f"  MPI_Allreduce without a pause, the collector draining beside it: {added / rdtsc:.2f} of the "
      f"rdtsc floor")
sys.exit(0 if ok else 1)
