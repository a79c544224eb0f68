"""MindSpore's trainings that know nothing of profwrap, with 4 ranks: {msrun with Model.train,
TrainOneStepCell and value_and_grad, in PyNative and in graph mode; mpirun} x {no fault, rank 2 slow in
data, in forward}. In each the right rank and phase are named, or none. Under mpirun, function is MindSpore
with its own scheduler, and overmpi a loop whose gradients mpi4py averages (left out without mpi4py).

    test_mindspore_matrix.py [--runs N] [PROGRAM ...]   N runs of each cell (1); PROGRAM: pynative-cell

By the MindSpore of scripts/setup --mindspore-wheel; skipped without it. What a graph computes is in one
phase, forward.
"""

import json
import os
import subprocess
import sys
import tempfile

import support

PROGRAMS = ("pynative-model", "pynative-fit", "pynative-cell", "pynative-function", "graph-model",
            "graph-function", "mpirun-function", "mpirun-overmpi")
PHASES = ("none", "data", "forward")
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "mindspore_train.py")
STEPS = 16


def environment(python):
    path = os.path.dirname(python) + os.pathsep + os.environ["PATH"]
    return {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "GLOG_v": "3"}


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0


def execute(folder, python, phase, program):
    """Status and output of one run; the profile is in folder/out."""
    mode, loop = program.split("-")
    environ = environment(python)
    profwrap = [support.PROFWRAP, "--quiet", "-o", os.path.join(folder, "out")]
    arguments = [SCRIPT, "pynative" if mode == "mpirun" else mode, loop, phase]
    scheduler = None
    if loop == "overmpi":
        command = ["mpirun", "-np", "4", *profwrap, "python", *arguments]
    elif mode == "mpirun":
        environ.update(MS_WORKER_NUM="4", MS_SCHED_HOST="127.0.0.1", MS_SCHED_PORT=str(support.free_port()),
                       MS_ROLE="MS_WORKER")
        scheduler = subprocess.Popen(["python", *arguments], cwd=folder, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, env={**environ, "MS_ROLE": "MS_SCHED"})
        command = ["mpirun", "-np", "4", *profwrap, "python", *arguments]
    else:
        command = [*profwrap, "msrun", "--worker_num=4", "--local_worker_num=4", "--join=True",
                   f"--master_port={support.free_port()}", "--log_dir=" + folder, *arguments]
    shell = ["bash", "-c", '. "$0"/scripts/env.sh && exec "$@"', support.SOURCE, *command]
    try:
        done = subprocess.run(shell, cwd=folder, capture_output=True, text=True, timeout=600, env=environ)
    finally:
        if scheduler:
            scheduler.kill()
            scheduler.wait()
    return done


def run(program, phase, folder, python):
    """report.json of one run."""
    done = execute(folder, python, phase, program)
    if done.returncode:
        raise AssertionError(f"status {done.returncode}\n{done.stdout}{done.stderr}")
    with open(os.path.join(folder, "out", "report.json"), encoding="utf-8") as file:
        return json.load(file)


def problem(report, phase):
    """What is wrong with the verdict, or None."""
    headline = report["job"]["headline"]
    rows = [row for row in report["stragglers"] if row["part"] in ("any", "steps")]
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
    return None


def main():
    arguments = sys.argv[1:]
    runs = 1
    if arguments[:1] == ["--runs"]:
        runs, arguments = int(arguments[1]), arguments[2:]
    python = support.mindspore_python()
    wrong = cells = 0
    for program in arguments or PROGRAMS:
        if program == "mpirun-overmpi" and not has(python, "mpi4py.MPI"):
            print(f"left out  {program}: no mpi4py")
            continue
        for phase in PHASES:
            for _ in range(runs):
                with tempfile.TemporaryDirectory() as folder:
                    report = run(program, phase, folder, python)
                found = problem(report, phase)
                cells, wrong = cells + 1, wrong + (found is not None)
                print(f"{'WRONG' if found else 'right'}  {program:18} {phase:9}"
                      f" {found or report['job']['headline']}", flush=True)
    print(f"{cells - wrong} of {cells} are right")
    return 1 if wrong or not cells else 0


if __name__ == "__main__":
    sys.exit(main())
