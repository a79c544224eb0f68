"""What start and end of a job cost on a shared file system, and how that grows with the ranks.

    start_cost.py PROFWRAP MPICALLS SLOWFS AGREEHOSTS

A preloaded library makes each operation on a path in the output directory 1 ms longer, and counts the
operations of each rank. A job of MPI runs with 8 to 32 ranks, four on each of its hosts (ranks with
test clocks of their own are on different hosts for profwrap), without the merge. Printed:

  - operations of a rank (median), and of the rank with the most of them;
  - by how much the job takes longer when each operation takes 1 ms longer.

Then the agreement on clock measurements of up to 10 000 hosts, and the end of their collectors, in a few
processes of this machine, with the same delay. Last, what start and end of 10 000 ranks cost: the
operations of the rank with the most of them, one after another, and what the medians grow by; the
agreement; and the end.
"""
import array
import os
import statistics
import subprocess
import sys
import tempfile
import time

import measure

RUNS, SIZES, PER_HOST, DELAY_US, SLOTS = 3, (8, 16, 32), 4, 1000, 65536
HOSTS, PROCESSES = ((79, 128), (1000, 1), (10000, 1)), 21
BUDGET_S = 5


class SlowDirectory:
    """A new directory whose operations are counted, in a working directory of its own."""

    def __init__(self, slowfs):
        self.work = tempfile.TemporaryDirectory(prefix="profwrap-bench-")
        self.path = os.path.join(self.work.name, "out")
        self.log = os.path.join(self.work.name, "log")
        self.slowfs = slowfs
        with open(self.log, "wb") as log:
            log.truncate(8 * SLOTS)

    def environment(self, delay_us):
        return {"PW_SLOWFS_DIR": self.path, "PW_SLOWFS_US": str(delay_us),
                "PW_SLOWFS_LOG": self.log, "LD_PRELOAD": self.slowfs}

    def operations(self):
        with open(self.log, "rb") as log:
            return array.array("Q", log.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.work.cleanup()


def job_s(profwrap, program, slowfs, ranks, delay_us):
    """Seconds of one job, and the operations of each rank."""
    with SlowDirectory(slowfs) as slow:
        variables = [f"{name}={value}" for name, value in slow.environment(delay_us).items()]
        script = (f"PROFWRAP_TEST_CLOCK=$((OMPI_COMM_WORLD_RANK / {PER_HOST})):0:0 exec "
                  f"env {' '.join(variables)} {profwrap} --no-merge -o {slow.path} "
                  f"{program} self 100 0")
        begin = time.time()
        subprocess.run(["mpirun", "-np", str(ranks), "sh", "-c", script], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.time() - begin, list(slow.operations()[:ranks])


def jobs(profwrap, program, slowfs):
    """The operations of the rank with the most of them, at 10 000 ranks: the most that was seen, and what
    the medians grow by. The most of a few ranks changes from run to run, so it gives no slope."""
    most, median = 0, {}
    for ranks in SIZES:
        differences = []
        for _ in range(RUNS):
            fast, _ = job_s(profwrap, program, slowfs, ranks, 0)
            slow, operations = job_s(profwrap, program, slowfs, ranks, DELAY_US)
            differences.append(slow - fast)
        most, median[ranks] = max(most, *operations), statistics.median(operations)
        print(f"{ranks} ranks on {ranks // PER_HOST} hosts: operations of a rank "
              f"{statistics.median(operations):.0f}, at most {max(operations)}; "
              f"1 ms an operation adds {measure.spread(differences)} s")
    (few, low), (many, high) = min(median.items()), max(median.items())
    return most + max(0, (high - low) / (many - few) * (10000 - many))


def agreements(program, slowfs):
    """Seconds of the agreement and of the end, of the last number of hosts."""
    for hosts, per_host in HOSTS:
        times, ends, operations = [], [], 0
        for _ in range(RUNS):
            with SlowDirectory(slowfs) as slow:
                os.mkdir(slow.path)
                done = subprocess.run([program, slow.path, str(hosts), str(per_host), str(PROCESSES)],
                                      env={**os.environ, **slow.environment(DELAY_US)}, text=True,
                                      stdout=subprocess.PIPE, check=True)
                agreed, ended = done.stdout.split()[:2]
                times.append(float(agreed))
                ends.append(float(ended))
                operations = sum(slow.operations())
        print(f"agreement of {hosts} hosts with {per_host} ranks each: {measure.spread(times)} s, "
              f"end {measure.spread(ends)} s, {operations / hosts:.1f} operations a host")
    return statistics.median(times), statistics.median(ends)


def main():
    profwrap, program, slowfs, agreehosts = (os.path.abspath(path) for path in sys.argv[1:5])
    operations = jobs(profwrap, program, slowfs)
    agreed_s, ended_s = agreements(agreehosts, slowfs)
    measure.report("start and end of 10 000 ranks, 1 ms an operation",
                   operations * DELAY_US / 1e6 + agreed_s + ended_s, BUDGET_S, " s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
