"""Added cost of a call in windows of messages while 1 million other requests are open, against 10.

    open_requests.py PROFWRAP OPENREQUESTS

Runs are interleaved and bound to one core; each figure is the lower quartile of its kind, as in
call_cost.py. MPI's own cost is in both the plain and the profiled run, and so subtracted.
"""
import os
import sys

from measure import figures, report, run, spread

ROUNDS, FEW, MANY = 7, "10", "1000000"
CALLS, PAUSE = str(21 * 30000), "20"
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["OMPI_MCA_hwloc_base_binding_policy"] = "none"
profwrap, openrequests = sys.argv[1:3]
kinds = {
    (many, profiled): ([profwrap, "--quiet", "--no-merge", "--sample-hz", "0", "-o", "out"]
                       if profiled else []) + [openrequests, many, CALLS, PAUSE]
    for many in (FEW, MANY) for profiled in (False, True)
}
seen = {kind: [] for kind in kinds}
for _ in range(ROUNDS):
    for kind, command in kinds.items():
        seen[kind].append(figures(run(command))["calls_ns"])

added = {}
for many in (FEW, MANY):
    plain, profiled = (sorted(seen[many, kind]) for kind in (False, True))
    added[many] = profiled[ROUNDS // 4] - plain[ROUNDS // 4]
    print(f"{many} open: plain {spread(plain)} ns a call, profiled {spread(profiled)}, added "
          f"{added[many]:.2f}")
ok = report(f"added cost a call, {MANY} open requests / {FEW}", added[MANY] / added[FEW], 1.5)
sys.exit(0 if ok else 1)
