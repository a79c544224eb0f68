"""The templates for sbatch, as they are installed, and the module file. What is smaller than in the
template is an option of sbatch: its own lines all hold.   test_templates.py VCLUSTER CMAKE BUILD TRAIN
"""
import os
import pathlib
import shutil
import subprocess
import sys

from slurmcluster import MPI, check, read_profile, run_cases

MODULES = pathlib.Path("/usr/share/modules/init/bash")
# What torch.distributed does with init_method="env://", by itself where there is no PyTorch.
TRAIN_PY = """
import os, sys
rank, size, local = (int(os.environ[n]) for n in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
try:
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method="env://")
    total = torch.tensor([float(rank)])
    dist.all_reduce(total)
    how, total = "torch " + torch.__version__, int(total.item())
    dist.destroy_process_group()
except ImportError:
    import socket, time
    how, address = "sockets", (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    if rank == 0:
        with socket.create_server(address) as server:
            peers = [server.accept()[0] for _ in range(size - 1)]
            total = sum(int(peer.recv(16)) for peer in peers)
            for peer in peers:
                peer.sendall(b"%d" % total)
    else:
        for _ in range(200):
            try:
                peer = socket.create_connection(address)
                break
            except OSError:
                time.sleep(0.1)
        peer.sendall(b"%d" % rank)
        total = int(peer.recv(16))
print("rank", rank, "local", local, "sum", total, "by", how)
"""


def exports(text):
    return dict(word.split("=", 1) for word in text.replace("export", "").split())


def submit(cluster, directory, template, *options, arguments=()):
    path = cluster.prefix / "share/profwrap/slurm/templates" / template
    environment = {**exports(MPI), "PATH": f"{cluster.prefix}/bin:/usr/bin:/bin:/usr/sbin",
                   "GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"}
    done = cluster.user("sbatch", "--parsable", *options, path, *arguments, cwd=directory,
                        env=environment)
    return done.stdout.strip()


def output(directory, job):
    return "".join(path.read_text() for path in directory.glob(f"*{job}*.out"))


def mpi(cluster):
    directory = cluster.directory("mpi")
    shutil.copy(cluster.train, directory / "train")
    job = submit(cluster, directory, "mpi.sbatch", "--ntasks-per-node=2")
    check(cluster.wait_job(job, 90) == "COMPLETED", output(directory, job))
    check("report.txt" in output(directory, job), output(directory, job))
    check(len(read_profile(cluster.profiles(directory)[0])) == 8, "not 8 ranks")


def pytorch(cluster):
    directory = cluster.directory("pytorch")
    (directory / "train.py").write_text(TRAIN_PY)
    job = submit(cluster, directory, "pytorch-nccl.sbatch", "--ntasks-per-node=2",
                 "--cpus-per-task=1")
    check(cluster.wait_job(job, 150) == "COMPLETED", output(directory, job))
    text = output(directory, job)
    for rank in range(4):
        check(f"rank {rank} local {rank % 2} sum 6 by " in text, text)
    print("  the training's sum came by " + text.split(" by ")[1].split("\n")[0])
    check("report.txt" in text, text)
    check(len(read_profile(cluster.profiles(directory)[0])) == 4, "not 4 ranks")


def array(cluster):
    directory = cluster.directory("array")
    (directory / "simulate").write_text("#!/bin/sh\necho case $2\nsleep 0.1\n")
    (directory / "simulate").chmod(0o755)
    job = submit(cluster, directory, "array.sbatch", "--ntasks=2", "--array=1-3")
    cluster.wait_for(lambda: not cluster.on("login", "squeue", "-h").stdout, 60, "the array")
    profiles = cluster.profiles(directory / "profiles")
    check([read_profile(p) for p in profiles] == 3 * [{0: 1, 1: 1}], f"profiles: {profiles}")
    for task in (1, 2, 3):
        text = (directory / f"array.sbatch-{job}_{task}.out").read_text()
        check(text.count(f"case {task}\n") == 2 and text.count("report.txt") == 1, text)


def merge(cluster):
    cluster.configure_plugin("merge=none")
    directory = cluster.directory("merge")
    job = cluster.submit(MPI + f"mpirun {cluster.train} --steps 5\n", "--profwrap", "-N2",
                         "--ntasks-per-node=2", cwd=directory)
    start = f"{directory}/profwrap-{job}"
    cluster.wait_for(lambda: cluster.profiles(directory), 30, "the profile")
    profile = cluster.profiles(directory)[0]
    later = submit(cluster, directory, "merge.sbatch", "--ntasks=2",
                   f"--dependency=afterany:{job}", arguments=[profile])
    check(cluster.wait_job(later, 90) == "COMPLETED", output(directory, later))
    check(str(profile).startswith(start) and (profile / "cluster.h5").exists(), "not merged")
    check("4 ranks on 2 hosts" in output(directory, later), output(directory, later))


def module_file(cluster):
    """Loaded and unloaded as a user does it."""
    if not MODULES.exists():
        print(f"  not run, there is no {MODULES} (Debian: environment-modules)")
        return
    done = cluster.user("bash", "-c", f"""
. {MODULES}
module use {cluster.prefix}/share/profwrap/modulefiles
before=$PATH
module load profwrap && module help profwrap 2>&1 && command -v profwrap && profwrap --version &&
    PYTHONPATH=$PYTHONPATH /usr/bin/python3 -c 'import profwrap; print(profwrap.__file__)' &&
    ls $PROFWRAP_ROOT/include/profwrap.h $CPATH/profwrap.h
module unload profwrap
[ "$PATH" = "$before" ] && [ -z "$PROFWRAP_ROOT$CPATH" ] && echo as before
""", env={"PATH": os.defpath})
    text = done.stdout + done.stderr
    for wanted in ("srun --profwrap", f"\n{cluster.prefix}/bin/profwrap\n",
                   f"\n{cluster.prefix}/share/profwrap/python/profwrap/__init__.py\n",
                   f"\n{cluster.prefix}/include/profwrap.h\n", "as before\n"):
        check(wanted in text, f"no {wanted!r} in {text}")


def shell_clean(cluster):
    """The lint looks at the repository; this at what is installed, with all that shellcheck has."""
    if not shutil.which("shellcheck"):
        print("  not run, there is no shellcheck")
        return
    where = cluster.prefix / "share/profwrap/slurm"
    names = [path for path in [*where.iterdir(), *(where / "templates").iterdir()]
             if path.is_file() and path.read_text().startswith("#!")]
    check(len(names) >= 9, f"only {names}")
    done = subprocess.run(["shellcheck", "--external-sources", "--severity=style",
                           "--exclude=SC1091,SC2016,SC2154,SC2317", *names], cwd=where,
                          capture_output=True, text=True)
    check(done.returncode == 0, done.stdout)


if __name__ == "__main__":
    sys.exit(run_cases([mpi, pytorch, array, merge, module_file, shell_clean]))
