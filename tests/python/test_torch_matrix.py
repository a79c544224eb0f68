"""Programs that know nothing of profwrap, started as people start them, with 4 ranks: {torchrun with
DistributedDataParallel, with FSDP, with gradient accumulation, with accelerate, with Hugging Face's
Trainer, without a DataLoader; mpirun with mpi4py} x {no fault, rank 2 slow in data, forward, backward}. In
each the right rank and phase are named, or none. Without a DataLoader, the data are outside any phase.

    test_torch_matrix.py [--runs N] [PROGRAM[:PHASE,...] ...]   N runs of each cell (1)

By the newest PyTorch of scripts/setup --torch-wheel; skipped without it.
"""

import json
import os
import subprocess
import sys
import tempfile

import support

PROGRAMS = ("ddp", "fsdp", "accumulate", "accelerated", "trainer", "loop", "overmpi")
PHASES = ("none", "data", "forward", "backward")
OF_LOOP = ("none", "other", "forward", "backward")
NEEDS = {"accelerated": "accelerate", "trainer": "transformers", "overmpi": "mpi4py"}
HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 40


def launcher(program, python):
    bin_dir = os.path.dirname(python)
    if program == "overmpi":
        return ["mpirun", "-np", "4", python]
    return [os.path.join(bin_dir, "torchrun"), "--standalone", "--nproc-per-node", "4"]


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def run(program, phase, folder, python):
    """The report.json of one run."""
    out = os.path.join(folder, "out")
    command = [support.PROFWRAP, "--quiet", "-o", out, *launcher(program, python),
               os.path.join(HERE, "programs", program + ".py"), phase]
    shell = ["bash", "-c", '. scripts/env.sh && exec "$@"', "env", *command]
    done = subprocess.run(shell, cwd=support.SOURCE, capture_output=True, text=True, timeout=600,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode:
        raise AssertionError(f"status {done.returncode}\n{done.stdout}{done.stderr}")
    with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
        return json.load(file)


def problem(report, phase):
    """The error in the verdict, or None."""
    headline = report["job"]["headline"]
    rows = [row for row in report["stragglers"] if row["part"] in ("any", "steps")]
    steps = report["job"].get("steps") or len(report.get("steps", []))
    if phase == "none":
        named = [row for row in rows if row["phase"] != "none" and row["steps_hit"] > STEPS / 2]
        return f"names {named[0]['rank']}: {headline}" if named else None
    if not rows:
        return f"names nobody: {headline}"
    first = rows[0]
    if (first["rank"], first["phase"]) != (2, phase):
        return f"names rank {first['rank']} in {first['phase']}: {headline}"
    if not headline.startswith("Rank 2 "):
        return f"another first sentence: {headline}"
    if not 0.8 * STEPS <= first["steps_hit"] <= STEPS:
        return f"in {first['steps_hit']} of {steps} steps: {headline}"
    return None


def main():
    arguments = sys.argv[1:]
    runs = 1
    if arguments[:1] == ["--runs"]:
        runs, arguments = int(arguments[1]), arguments[2:]
    python = support.wheel_python()
    wrong = cells = 0
    for argument in arguments or PROGRAMS:
        program, _, phases = argument.partition(":")
        if program in NEEDS and not has(python, NEEDS[program]):
            print(f"skipped: {program}: {NEEDS[program]} is not in the environment", flush=True)
            continue
        for phase in phases.split(",") if phases else OF_LOOP if program == "loop" else PHASES:
            for _ in range(runs):
                with tempfile.TemporaryDirectory() as folder:
                    report = run(program, phase, folder, python)
                found = problem(report, phase)
                cells, wrong = cells + 1, wrong + (found is not None)
                print(f"{'WRONG' if found else 'right'}  {program:12} {phase:9}"
                      f" {found or report['job']['headline']}", flush=True)
    print(f"{cells - wrong} of {cells} are right")
    return 1 if wrong or not cells else 0


if __name__ == "__main__":
    sys.exit(main())
