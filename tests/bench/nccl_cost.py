"""Cost of an operation of NCCL in the profiler plugin, against the floor of the same process.

    nccl_cost.py PROFWRAP NCCLEVENTS

There is no NCCL: a program plays its calls of the plugin, and their own cost is in the figures.
"""
import os
import statistics
import sys

from measure import figures, report, run, spread

ROUNDS = 9
cores = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cores[0]})
profwrap, ncclevents = (os.path.abspath(path) for path in sys.argv[1:3])
command = [profwrap, "--quiet", "--no-merge", "--sample-hz", "0", "-o", "out",
           "taskset", "-c", str(cores[-1]), ncclevents, "1000", "5"]
rows = [figures(run(command)) for _ in range(ROUNDS)]
print("ns an operation: " + ", ".join(
    f"{name} {spread([row[name + '_ns'] for row in rows])}" for name in ("rdtsc_floor", "v4", "v6")))
ok = True
for name, records in (("v4", 2), ("v6", 2)):
    ratio = statistics.median(row[name + "_ns"] / row["rdtsc_floor_ns"] for row in rows)
    print(f"{name}: {ratio / records:.2f} floors a record")
    ok &= report(f"operation by {name} / rdtsc floor", ratio, 30)
sys.exit(0 if ok else 1)
