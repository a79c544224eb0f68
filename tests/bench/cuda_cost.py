"""CUPTI's records into a rank's file: records that one core takes in a second of its time, against
the budget of three millions.

    cuda_cost.py CUDARECORDS
"""
import os
import statistics
import sys

from measure import figures, report, run, spread

ROUNDS = 5
program = os.path.abspath(sys.argv[1])
rows = [figures(run([program])) for _ in range(ROUNDS)]
for name, what in (("convert_ns", "in the application's process, on a thread of ours"),
                   ("take_ns", "in the collector: journal, joining, rank file")):
    print(f"ns a record, {what}: {spread([row[name] for row in rows])}")
slowest = max(statistics.median(row[name] for row in rows) for name in ("convert_ns", "take_ns"))
print(f"records a second: {1e9 / slowest:.3g}")
ok = report("CUPTI record to rank file, the slower half", slowest, 1e9 / 3e6, " ns a record")
sys.exit(0 if ok else 1)
