"""`profwrap mpirun` with ranks on hosts that mpirun reaches by ssh: the environment does not travel.

    test_launch.py VCLUSTER PROFWRAP TRAIN WORK_DIR

Two hosts with two ranks each, in directories whose names have a space or not. Exit 77 where the
machine has no namespaces.
"""
import os
import shutil
import subprocess
import sys

try:
    import h5py
except ImportError:
    print("skipped: this Python has no h5py")
    sys.exit(77)

vcluster, profwrap, train, work = sys.argv[1:5]
os.environ["VCLUSTER_STATE"] = os.path.join(work, "launch-state")

# `vcluster mpirun` executes the mpirun in PATH, on login.
WRAPPER = """#!/bin/sh
PATH=${{PATH#*:}}
exec {profwrap} --summary -o "{out}" mpirun "$@"
"""


def vc(*arguments, check=True, **more):
    return subprocess.run([vcluster, *arguments], check=check, text=True, cwd=work,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def run_in(out):
    """The faults of a run in this directory."""
    folder = os.path.join(work, "launch-bin")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "mpirun"), "w") as file:
        file.write(WRAPPER.format(profwrap=profwrap, out=out))
    os.chmod(os.path.join(folder, "mpirun"), 0o755)
    env = {**os.environ, "PATH": folder + ":" + os.environ["PATH"]}
    done = vc("mpirun", "-np", "4", "-x", "FOO=1", train, "--steps", "5", env=env, check=False)
    wrong = [] if done.returncode == 0 else [f"exit status {done.returncode}: {done.stdout}"]
    hosts = []
    for rank in range(4):
        path = os.path.join(out, f"rank-{rank:05d}.h5")
        if not os.path.exists(path):
            wrong.append(f"no {path}: {done.stdout}")
            continue
        with h5py.File(path) as file:
            name = file.attrs["hostname"]
            hosts.append(name.decode() if isinstance(name, bytes) else name)
    if hosts != ["h1", "h1", "h2", "h2"]:
        wrong.append(f"the ranks ran on {hosts}")
    if not os.path.exists(os.path.join(out, "report.json")):
        wrong.append(f"no report in {out}: {done.stdout}")
    return wrong


def main():
    os.makedirs(work, exist_ok=True)
    up = vc("up", "2", check=False)
    if up.returncode == 77:
        print(up.stdout)
        return 77
    try:
        wrong = run_in(os.path.join(work, "launch-out")) + run_in(os.path.join(work, "launch out"))
    finally:
        vc("down", check=False)
    print(*wrong, sep="\n")
    return 1 if wrong else 0


sys.exit(main())
