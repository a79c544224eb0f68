"""The time that --profwrap adds to the start of a job: from srun to the first instruction of the
last task, with 8 tasks on one node. slurm_start.py VCLUSTER CMAKE BUILD"""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cluster", "slurm"))

import measure
import slurmcluster

RUNS, TASKS, BUDGET_MS = 15, 8, 100


def start_ms(cluster, directory, *options):
    """The time until date runs, which prints the time as its only action."""
    begin = time.time()
    done = cluster.user("srun", *options, "-N1", f"-n{TASKS}", "date", "+%s.%N", cwd=directory)
    times = [float(line) for line in done.stdout.split()]
    if len(times) != TASKS:
        raise RuntimeError(f"{len(times)} of {TASKS} tasks: {done.stderr}")
    return 1e3 * (max(times) - begin)


def main():
    vcluster, cmake, build = sys.argv[1:4]
    plain, profiled = [], []
    try:
        with slurmcluster.Cluster(vcluster, cmake, build) as cluster:
            directory = cluster.directory("start")
            start_ms(cluster, directory, "--profwrap")
            for _ in range(RUNS):
                plain.append(start_ms(cluster, directory))
                profiled.append(start_ms(cluster, directory, "--profwrap"))
    except slurmcluster.Skipped as reason:
        print(f"skipped: {reason}")
        return 77
    print(f"start of {TASKS} tasks on a node, ms: without {measure.spread(plain)}, "
          f"with --profwrap {measure.spread(profiled)}, {os.cpu_count()} processors")
    added = statistics.median(profiled) - statistics.median(plain)
    return 0 if measure.report("added to a job's start", added, BUDGET_MS, " ms") else 1


if __name__ == "__main__":
    sys.exit(main())
