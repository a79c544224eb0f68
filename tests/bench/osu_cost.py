"""What is added to the OSU micro-benchmarks, 2 ranks, beside what EZTrace adds in the same run.

    osu_cost.py PROFWRAP [DIR]

DIR, or PROFWRAP_OSU_DIR of the environment, has the programs of the OSU micro-benchmarks, which are not
part of the project. Runs without a tool, profiled, and traced by EZTrace take turns. A figure is the
time of a message or call of one size. Printed are the medians over the rounds of what each tool adds, and
the ratio of the two for each size. The size with the largest ratio is judged, among those where EZTrace
adds more than the noise: the quartiles' distance of the runs without a tool.
"""
import os
import shutil
import statistics
import sys

from measure import SKIP, report, run

ROUNDS = 9
PROGRAMS = ("osu_latency", "osu_bw", "osu_mbw_mr", "osu_allreduce")
MOST_BYTES = 65536
BUDGET = 0.5  # of EZTrace's

profwrap = os.path.abspath(sys.argv[1])
folder = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("PROFWRAP_OSU_DIR")


def times(program, text):
    """{size: microseconds of a message or call}, from what the program printed."""
    rows = [line.split() for line in text.splitlines() if line[:1].isdigit()]
    if program in ("osu_latency", "osu_allreduce"):
        return {int(row[0]): float(row[1]) for row in rows}
    return {int(row[0]): int(row[0]) / float(row[1]) for row in rows if float(row[1]) > 0}  # of MB/s


def measured(program, command):
    words = ["-m", str(MOST_BYTES)] if program == "osu_allreduce" else []
    found = times(program, run(command + [os.path.join(os.path.abspath(folder), program)] + words, quiet=True))
    return {size: us for size, us in found.items() if size <= MOST_BYTES}


def compare(program):
    start = ["mpirun", "-np", "2"]
    tools = {"none": start,
             "profwrap": start + [profwrap, "--quiet", "--no-merge", "-o", "out"],
             "EZTrace": start + ["eztrace", "-t", "openmpi", "-o", "ez"]}
    rounds = {name: [] for name in tools}
    for _ in range(ROUNDS):
        for name, command in tools.items():
            rounds[name].append(measured(program, command))
    worst = 0.0
    for size in sorted(rounds["none"][0]):
        plain = [one[size] for one in rounds["none"]]
        quarters = statistics.quantiles(plain, n=4)
        added = {name: statistics.median(one[size] - base for one, base in zip(rounds[name], plain))
                 for name in ("profwrap", "EZTrace")}
        counts = added["EZTrace"] > quarters[2] - quarters[0]
        ratio = added["profwrap"] / added["EZTrace"] if counts else float("nan")
        print(f"{program} {size}: {statistics.median(plain):.3f} us ({quarters[0]:.3f}..{quarters[2]:.3f}), "
              f"profwrap +{added['profwrap']:.3f}, EZTrace +{added['EZTrace']:.3f}"
              + (f": {ratio:.2f}" if counts else ", which is no more than the noise"))
        worst = max(worst, ratio) if counts else worst
    return report(f"{program}: largest added time / EZTrace's, at any size", worst, BUDGET)


missing = [program for program in PROGRAMS
           if not folder or not os.access(os.path.join(folder, program), os.X_OK)]
if missing or not shutil.which("eztrace"):
    print(f"skipped: no {', '.join(missing) if missing else 'eztrace'}; PROFWRAP_OSU_DIR names the OSU "
          "micro-benchmarks")
    sys.exit(SKIP)
results = [compare(program) for program in PROGRAMS]
sys.exit(0 if all(results) else 1)
