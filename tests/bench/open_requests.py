"""Added cost of a call in windows of messages while 1 million other requests are open, against 10.

    open_requests.py PROFWRAP OPENREQUESTS

The application is bound to one core; the collector has another where there is one. By its MPI names
and by its PMPI names in alternating blocks, and with 10 and with 1 million open, all in one process:
it has one speed, most of the time. Median over processes.
"""
import os
import statistics
import sys

from measure import figures, report, run, spread

ROUNDS, FEW, MANY = 9, "10", "1000000"
CALLS, PAUSE = "20000", "20"
os.environ["OMPI_MCA_hwloc_base_binding_policy"] = "none"
profwrap, openrequests = sys.argv[1:3]
command = [profwrap, "--quiet", "--no-merge", "--sample-hz", "0", "-o", "out", "taskset", "-c",
           str(max(os.sched_getaffinity(0))), openrequests, FEW, MANY, CALLS, PAUSE]
rows = [figures(run(command)) for _ in range(ROUNDS)]
for name, count in (("few", FEW), ("many", MANY)):
    print(f"{count} open: plain {spread([row[name + '_plain_ns'] for row in rows])} ns a call, profwrap "
          f"+{spread([row[name + '_added_ns'] for row in rows])}")
ratios = [row["many_added_ns"] / row["few_added_ns"] for row in rows]
print(f"ratio in one process: {spread(ratios)}")
ok = report(f"added cost a call, {MANY} open requests / {FEW}", statistics.median(ratios), 1.5)
sys.exit(0 if ok else 1)
