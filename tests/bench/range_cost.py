"""Cost of a range by NVTX and by profwrap.h, against the floors of the same process.

    range_cost.py PROFWRAP RANGECALLS

The application is bound to one core; the collector has another where there is one.
"""
import os
import statistics
import sys

from measure import figures, report, run, spread

ROUNDS = 9
BLOCK = "2000"  # pairs; the blocks between two pauses fit the default ring
cores = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cores[0]})
profwrap, rangecalls = (os.path.abspath(path) for path in sys.argv[1:3])
program = ["taskset", "-c", str(cores[-1]), rangecalls, BLOCK, "5"]
profiled_by = [profwrap, "--quiet", "--no-merge", "--sample-hz", "0", "-o", "out"]

rows = [figures(run(profiled_by + program)) for _ in range(ROUNDS)]
plain = [figures(run(program)) for _ in range(ROUNDS)]
names = ["rdtsc_floor", "clock_floor", "literal", "registered", "changing", "api"]
for title, runs in (("profiled", rows), ("no tool", plain)):
    print(f"ns a pair, {title}: " + ", ".join(
        f"{name} {spread([row[name + '_ns'] for row in runs])}" for name in names))


def ratio(name, floor):
    return statistics.median(row[name + "_ns"] / row[floor + "_ns"] for row in rows)


ok = True
for name, what in (("literal", "NVTX push/pop"), ("registered", "NVTX push/pop, registered string"),
                   ("api", "profwrap_range_push/pop")):
    ok &= report(f"{what}, pair / rdtsc floor", ratio(name, "rdtsc_floor"), 1.5)
    print(f"  of the clock_gettime floor: {ratio(name, 'clock_floor'):.2f}")
print(f"NVTX push/pop of a text that changes at its address, pair / rdtsc floor: "
      f"{ratio('changing', 'rdtsc_floor'):.2f}")
for name in ("literal", "api"):
    closed = statistics.median(row[f"closed_{name}_ns"] for row in rows)
    ok &= report(f"call with a closed gate, {name}", closed, 3, " ns")
sys.exit(0 if ok else 1)
