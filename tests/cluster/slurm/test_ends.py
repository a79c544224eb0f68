"""Jobs that do not end in order leave readable profiles, and nothing else.
test_ends.py VCLUSTER CMAKE BUILD TRAIN [NAME...]
"""
import json
import os
import shutil
import sys

from slurmcluster import HOSTS, MPI, check, read_profile, run_cases


def start_training(cluster, name, *options, steps=100000):
    """A job on 4 hosts x 2 ranks, once it has made some steps."""
    directory = cluster.directory(name)
    job = cluster.submit(MPI + f"mpirun {cluster.train} --steps {steps}\n", "--profwrap", "-N4",
                         "--ntasks-per-node=2", "--no-requeue", *options, cwd=directory)
    out = directory / "out"
    cluster.wait_for(lambda: out.exists() and "step   5" in out.read_text(), 40, "some steps")
    return job, directory


def check_profile(cluster, directory, least_ranks=8):
    profile = cluster.profiles(directory)[0]
    cluster.wait_for(lambda: (profile / "report.json").exists(), 40, "the report")
    found = read_profile(profile)
    check(len(found) >= least_ranks and all(found.values()), f"ranks: {found}")
    json.loads((profile / "report.json").read_text())
    return profile


def cancelled(cluster):
    job, directory = start_training(cluster, "cancelled")
    cluster.user("scancel", job)
    check(cluster.wait_job(job) == "CANCELLED", cluster.state(job))
    check_profile(cluster, directory)
    cluster.wait_for(lambda: "\nThe rest:" in (directory / "out").read_text(), 10, "the summary")
    cluster.check_clean()


def killed_at_once(cluster):
    """SIGKILL to all processes of all tasks: what the journals and rings have is recovered."""
    job, directory = start_training(cluster, "killed")
    for host in HOSTS:
        cluster.user("sh", "-c", "kill -9 -1", host=host, check=False)
    cluster.user("scancel", job, check=False)
    cluster.wait_job(job)
    profile = check_profile(cluster, directory)
    check(2 in read_profile(profile).values(), "nothing had to be recovered: no test")
    cluster.check_clean()


def over_its_time(cluster):
    """A minute is the least limit that jobs can ask for: root brings its end forward. slurmctld
    looks every half minute."""
    job, directory = start_training(cluster, "time", "--time=1")
    cluster.on("login", "scontrol", "update", f"JobId={job}", "EndTime=now+2")
    check(cluster.wait_job(job, 90) == "TIMEOUT", cluster.state(job))
    check_profile(cluster, directory)
    cluster.check_clean()


def accounting_is_told_of_one_job(cluster):
    """In place of sacctmgr, which needs a database, stands what notes its arguments. One job of
    an array is cancelled: the last, whose number is the array's."""
    notes = cluster.base / "sacctmgr.notes"
    stand_in = cluster.base / "sacctmgr"
    stand_in.write_text(f"#!/bin/sh\nprintf '[%s]' \"$@\" >>{notes}; echo >>{notes}\n")
    stand_in.chmod(0o755)
    for host in HOSTS:
        cluster.on(host, "mount", "--bind", stand_in, shutil.which("sacctmgr"))
    directory = cluster.directory("accounting")
    job = cluster.submit("srun sleep 100\n", "--profwrap", "--array=1-2", cwd=directory)
    cluster.wait_for(lambda: len(cluster.profiles(directory)) == 2, 20, "both to run")
    cluster.user("scancel", f"{job}_2")
    cluster.wait_for(notes.exists, 20, "the accounting to be told")
    cluster.user("scancel", job)
    cluster.wait_for(lambda: not cluster.on("login", "squeue", "-h").stdout, 30, "the array")
    cluster.check_clean()
    for host in HOSTS:
        cluster.on(host, "umount", shutil.which("sacctmgr"))
    told = notes.read_text().splitlines()
    for line, task in zip(told, (2, 1)):
        start = f"[-i][modify][job][where][JobId={job}_{task}][set][AdminComment=Rank 0 on "
        check(line.startswith(start), told)
    check(len(told) == 2, told)


def full_file_system(cluster):
    """2 MiB for the profile: the program runs to its end."""
    directory = cluster.directory("full")
    cluster.on("h1", "mount", "-t", "tmpfs", "-o", "size=2m,mode=1777", "tmpfs", directory)
    done = cluster.user("srun", "--profwrap", "-w", "h1", "-n4", "sh", "-c",
                        f"head -c 4m /dev/zero >{directory}/big; echo written; sleep 1; exit 0",
                        cwd=cluster.base / "home/ada", env={}, check=False)
    text = done.stdout + done.stderr
    check(done.returncode == 0 and done.stdout.count("written") == 4, text)
    done = cluster.user("srun", "--profwrap", f"--profwrap-output={directory}", "-w", "h1", "-n4",
                        "sh", "-c", "echo here; sleep 0.5", check=False)
    check(done.returncode == 0 and done.stdout.count("here") == 4, done.stdout + done.stderr)
    check("profwrap" in done.stderr, "nothing was said")
    cluster.configure_plugin("min-free=1G")
    done = cluster.user("srun", "--profwrap", f"--profwrap-output={directory}", "-w", "h1", "-n2",
                        "echo", "here")
    check("MiB left" in done.stderr and done.stdout.count("here") == 2, done.stderr)
    cluster.on("h1", "umount", "-l", directory)
    cluster.check_clean()


def killed_host(cluster):
    """The last: the host does not come back."""
    job, directory = start_training(cluster, "host")
    os.system(f"{cluster.vcluster} kill h4")
    check(cluster.wait_job(job, 90) in ("NODE_FAIL", "FAILED", "CANCELLED"), cluster.state(job))
    check_profile(cluster, directory, 6)
    cluster.check_clean(HOSTS[:3])


if __name__ == "__main__":
    sys.exit(run_cases([
        cancelled, killed_at_once, over_its_time, accounting_is_told_of_one_job, full_file_system,
        killed_host,
    ]))
