"""The endings matrix (tests/endings) under srun: a sample of its cells, drawn by the date.
test_endings.py VCLUSTER CMAKE BUILD TRAIN [NAME...]
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../endings"))
import launchers
import run_endings
from slurmcluster import check, run_cases

SAMPLE = os.environ.get("ENDINGS_SAMPLE", "8")


def judge(cluster, name, *srun, limit_s):
    def rows(_):
        row = launchers.Launcher(name, [*srun, "-N1", "-w", "h1", f"-n{launchers.RANKS}"], [launchers.MPICC],
                                 {"SLURM_CONF": str(cluster.base / "slurm/slurm.conf")}, has_mpi=False,
                                 limit_s=limit_s)
        row.below, row.python = [cluster.vcluster, "exec", "login"], shutil.which("python3", path="/usr/bin")
        return [row]

    options = run_endings.read_arguments([
        "--profwrap", os.path.join(cluster.build, "bin/profwrap"), "--work", str(cluster.base / name),
        *(["--all"] if SAMPLE == "all" else ["--sample", SAMPLE])])
    check(run_endings.run(options, rows) == 0, "cells failed")


def ranks_that_srun_ends(cluster):
    judge(cluster, "srun-kill", "srun", "--kill-on-bad-exit=1", limit_s=30)


def ranks_that_go_on(cluster):
    judge(cluster, "srun", "srun", "--kill-on-bad-exit=0", limit_s=5)


if __name__ == "__main__":
    sys.exit(run_cases([ranks_that_srun_ends, ranks_that_go_on], is_bare=True))
