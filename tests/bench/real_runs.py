"""Real programs with real delays on the virtual cluster: is the right rank named, in the right phase,
with the right steps?

    real_runs.py VCLUSTER PROFWRAP TRAIN HALO WORK_DIR [RUNS]

RUNS runs (20) of the two examples in turn, one rank on each of 4 hosts whose clocks differ by
seconds; rank, phase, steps and size of the delay are drawn by a seeded generator, the size from 5 %
to 100 % of a step as it was without delays, as many below 22 % as above. As many runs without a
delay must name no rank. What is said of less than the smallest delay is printed but not counted: it
may be real, of a machine with fewer cores than ranks and collectors. Prints a line a run, and both
counts beside the budget.

The examples keep a pace: what a rank computes takes as long on every rank and in every step, so that
the delay is all that differs. Cores that ranks share, or that a virtual machine shares with others,
make ranks slow for real, and no longer the ones that are meant to be.
"""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys

from measure import at_least, report

RANKS, STEPS, LEAST = 4, 100, 0.05
vcluster, profwrap, train, halo, work = sys.argv[1:6]
runs = int(sys.argv[6]) if len(sys.argv) > 6 else 20
out = os.path.join(work, "real-out")
os.makedirs(work, exist_ok=True)
os.environ["VCLUSTER_STATE"] = os.path.join(work, "real-state")
PROGRAMS = {
    "train": ([train, "--batch", "8", "--pace", "6", "--steps", str(STEPS)],
              ("data", "forward", "backward", "optimizer")),
    "halo": ([halo, "--side", "300", "--pace", "18", "--steps", str(STEPS)], ("compute",)),
}
# A rank that waits must yield the core: each host sees but one rank, so Open MPI does not know.
os.environ["OMPI_MCA_mpi_yield_when_idle"] = "1"


def profiled(command):
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([vcluster, "mpirun", "-np", str(RANKS), profwrap, "--quiet", "-o", out,
                    *command],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=work)
    with open(os.path.join(out, "report.json")) as file:
        return json.load(file)


def jaccard(verdict, first, last):
    said = set(range(verdict["first_step"], verdict["last_step"] + 1))
    true = set(range(first, last + 1))
    return len(said & true) / len(said | true)


def said(verdicts):
    return "; ".join(f"rank {v['rank']} {v['phase']} {v['first_step']}-{v['last_step']} "
                     f"{v['excess_ns'] / 1e6:.2f} ms" for v in verdicts) or "nobody"


def counted(verdicts, step_ms):
    return {v["rank"] for v in verdicts if v["excess_ns"] >= LEAST * step_ms * 1e6}


def one_run(number, name, step_ms, draw):
    """True if the verdict is right."""
    command, phases = PROGRAMS[name]
    rank, phase = draw.randrange(RANKS), draw.choice(phases)
    first = draw.randrange(10, STEPS // 2)
    last = first + draw.randrange(20, STEPS // 2)
    ms = LEAST ** draw.random() * step_ms
    found = profiled([*command, "--inject",
                      f"rank={rank},phase={phase},ms={ms:.2f},steps={first}-{last}"])
    verdicts = found["stragglers"]
    worst = verdicts[0] if verdicts else None
    right = bool(worst) and worst["rank"] == rank and counted(verdicts, step_ms) <= {rank}
    if right and name == "train":
        right = worst["phase"] == phase
    right = right and jaccard(worst, first, last) >= 0.8
    print(f"{number:3} {name:5} rank {rank} {phase} {first}-{last} {ms:.1f} ms of {step_ms:.0f}: "
          f"{'right' if right else 'WRONG'}: {said(verdicts)}", flush=True)
    return right


def quiet_run(number, name):
    command, _ = PROGRAMS[name]
    found = profiled(command)
    step_ms = found["steps"]["mean_ns"] / 1e6
    print(f"{number:3} {name:5} no delay: {said(found['stragglers'])}", flush=True)
    return not counted(found["stragglers"], step_ms), step_ms


def main():
    draw = random.Random(1)
    names = [list(PROGRAMS)[i % 2] for i in range(runs)]
    quiet = [quiet_run(i, name) for i, name in enumerate(names)]
    step_ms = {name: statistics.median(ms for (_, ms), n in zip(quiet, names) if n == name)
               for name in PROGRAMS}
    right = [one_run(i, name, step_ms[name], draw) for i, name in enumerate(names)]
    ok = at_least("right rank, phase and steps", sum(right), runs, runs)
    return ok & report(f"of {runs} runs without a delay, naming a rank",
                       sum(not good for good, _ in quiet), 0)


done = subprocess.run([vcluster, "up", str(RANKS), "--offsets", "0,5ms,-2s,3s", "--slots", "1",
                       "--share", work])
if done.returncode:
    print("skipped: no virtual hosts: see above")
    sys.exit(77)
try:
    good = main()
finally:
    subprocess.run([vcluster, "down"], check=False)
sys.exit(0 if good else 1)
