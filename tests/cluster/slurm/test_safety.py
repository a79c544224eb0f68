"""Profiling that cannot work fails no job, and what the site says holds.
test_safety.py VCLUSTER CMAKE BUILD TRAIN [NAME...]
"""
import os
import shutil
import sys
import time

from slurmcluster import HOSTS, USERS, check, read_profile, run_cases


def runs_unprofiled(cluster, name, *options, said):
    """The job's output and status are its own; one line says why."""
    directory = cluster.directory(name)
    done = cluster.user("srun", *options, "-n2", "sh", "-c", "echo here; exit 5", cwd=directory,
                        check=False)
    check(done.returncode == 5 and done.stdout == "here\nhere\n", f"{done}")
    check(said in done.stderr, f"said: {done.stderr}")
    return directory


def wrong_options(cluster):
    runs_unprofiled(cluster, "wrong1", "--profwrap=--sample-hz=many", said="sample-hz")
    runs_unprofiled(cluster, "wrong2", "--profwrap=--bogus", said="bogus")
    runs_unprofiled(cluster, "wrong3", "--profwrap=--schedule=tomorrow", said="tomorrow")
    directory = cluster.directory("wrong4")
    done = cluster.user("srun", "--profwrap=--help stray; level=0", "echo", "here", cwd=directory)
    check(done.stdout == "here\n" and "left out" in done.stderr, f"{done}")


def places_that_cannot_be(cluster):
    runs_unprofiled(cluster, "place1", "--profwrap", "--profwrap-output=/proc/here", said="/proc/here")
    cluster.directory("closed", "eve").chmod(0o700)
    there = cluster.base / "home/eve/closed"
    runs_unprofiled(cluster, "place2", f"--profwrap-output={there}", said="Permission denied")
    runs_unprofiled(cluster, "place5", "--profwrap-output=/usr", said="/usr: Permission denied")
    runs_unprofiled(cluster, "place6", "--profwrap-output=runs/%h", said="no %r or %h")
    directory = cluster.directory("place7")
    (directory / "deep").mkdir(mode=0o777)
    os.chown(directory / "deep", USERS["ada"], USERS["ada"])
    cluster.user("srun", "--profwrap", "--profwrap-output=../%u-%j/here", "true",
                 cwd=directory / "deep")
    check(len(list(directory.glob("ada-*/here/profwrap-*.0/cluster.h5"))) == 1,
          f"profiles: {list(directory.rglob('*'))}")
    file = cluster.directory("place3") / "file"
    file.write_text("")
    runs_unprofiled(cluster, "place4", f"--profwrap-output={file}", said="file")


def a_broken_installation(cluster):
    program = cluster.prefix / "bin/profwrap"
    kept = program.rename(program.with_name("kept"))
    for text in (None, "#!/bin/sh\nexit 127\n", "no program"):
        if text:
            program.write_text(text)
            program.chmod(0o755)
        try:
            runs_unprofiled(cluster, f"broken{len(text or '')}", "--profwrap", said="not installed")
        except AssertionError:
            kept.rename(program)
            raise
    kept.rename(program)


def a_wrong_plugstack(cluster):
    cluster.configure_plugin("bogus", "max-level=7", "output=relative", "merge=never")
    done = cluster.user("srun", "--profwrap", "echo", "here", cwd=cluster.directory("plugstack"))
    check(done.stdout == "here\n" and "plugstack.conf" in done.stderr, f"{done}")


def limits_hold(cluster):
    cluster.configure_plugin("max-level=0", "max-size=8M", "option=sample-hz=0")
    directory = cluster.directory("limits")
    done = cluster.user("srun", "--profwrap=--level 2", "-n2", "sh", "-c",
                        "tr '\\0' ' ' </proc/$PPID/cmdline", cwd=directory)
    check("level 2 is not allowed here" in done.stderr, done.stderr)
    check("--level=0" in done.stdout and f"--max-file-size={4 << 20}" in done.stdout, done.stdout)
    check("--sample-hz=0" in done.stdout, done.stdout)
    cluster.configure_plugin("max-size=1M")
    done = cluster.user("srun", "--profwrap", "-n2", "echo", "here", cwd=directory)
    check("that it may" in done.stderr and not done.stdout.strip("here\n"), done.stderr)


def the_task_prolog_does_without_the_plugin(cluster):
    (cluster.base / "slurm/plugstack.conf").write_text("")
    directory = cluster.directory("prolog")
    done = cluster.user("srun", "-n2", "sh", "-c", "echo ${LD_AUDIT-none}", cwd=directory,
                        env={"PROFWRAP_SLURM": "on"})
    check(done.stdout == "none\nnone\n", done.stdout)
    check(read_profile(cluster.profiles(directory)[0]) == {0: 1, 1: 1}, "not complete")


def kill_a_run(cluster, user):
    """Leaves its shared memory on h1."""
    directory = cluster.directory(f"stale-{time.monotonic_ns()}", user)
    script = f"{cluster.prefix}/bin/profwrap --no-merge -o x sleep 60 & sleep 1; kill -9 -1"
    cluster.user("sh", "-c", script, name=user, host="h1", cwd=directory, check=False)


def owners(cluster):
    return sorted(os.path.basename(path) and owner for path, owner in (
        line.split() for line in
        cluster.on("h1", "find", "/dev/shm", "-name", "profwrap-*", "-printf", "%p %u\\n")
        .stdout.splitlines()))


def stale_rings_go_and_those_of_others_stay(cluster):
    kill_a_run(cluster, "ada")
    kill_a_run(cluster, "eve")
    check(owners(cluster) == ["ada", "eve"], f"no stale memory to begin with: {owners(cluster)}")
    live = cluster.directory("live", "eve")
    command = ["srun", "--profwrap", "-w", "h1", "sleep", "4"]
    job = cluster.submit("srun --profwrap sleep 5\n", "-w", "h1", cwd=live, user="eve")
    cluster.wait_for(lambda: owners(cluster).count("eve") == 2, 10, "a live run")
    cluster.user("srun", "-w", "h1", "true", name="eve")
    cluster.wait_for(lambda: owners(cluster) == ["ada", "eve"], 10, f"eve's stale memory to go")
    check(cluster.state(job) == "RUNNING", f"the live run was no longer there: {command}")
    cluster.wait_job(job)
    check(read_profile(cluster.profiles(live)[0]) == {0: 1}, "the live run was disturbed")
    cluster.wait_for(lambda: owners(cluster) == ["ada"], 10, "only ada's to be there")
    cluster.user("srun", "-w", "h1", "true")
    cluster.wait_for(lambda: owners(cluster) == [], 10, "ada's to go")


def the_output_root(cluster):
    """Root makes the user's directory only where no other user could have put something."""
    settings = cluster.prefix / "etc/profwrap/hooks.conf"
    settings.parent.mkdir(parents=True)
    root = cluster.base / "profiles"
    root.mkdir(mode=0o755)
    settings.write_text(f"output_root={root}\n")
    cluster.configure_plugin(f"output={root}/%u")
    cluster.user("srun", "--profwrap", "-n2", "sleep", "0.1", cwd=cluster.directory("central"))
    check((root / "ada").stat().st_uid == USERS["ada"], "not ada's")
    check(cluster.profiles(root / "ada"), "no profile there")
    victim = cluster.base / "victim"
    victim.mkdir(mode=0o755)
    (root / "eve").symlink_to(victim)
    cluster.user("srun", "true", name="eve")
    check(victim.stat().st_uid == 0, "a link was followed")
    shutil.rmtree(root)
    root.mkdir()
    root.chmod(0o777)
    cluster.user("srun", "true", name="eve")
    check(not (root / "eve").exists(), "made where anybody could have put a link")
    settings.write_text("shared_memory_least_mib=10000000\n")
    cluster.configure_plugin()
    runs_unprofiled(cluster, "noroom", "--profwrap", said="/dev/shm has only")
    settings.write_text("")
    settings.chmod(0o666)
    cluster.user("srun", "true")
    settings.unlink()
    cluster.check_clean()


def no_node_is_drained(cluster, name):
    cluster.user("srun", "-w", "h1", "--profwrap", "true", cwd=cluster.directory(name))
    cluster.check_clean()
    cluster.wait_for(lambda: cluster.idle_hosts() == len(HOSTS), 10, f"h1 to be idle after {name}")


def wrong_settings_of_the_hooks(cluster):
    """What is wrong in hooks.conf drains no node, and what is right there holds."""
    settings = cluster.prefix / "etc/profwrap/hooks.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.mkdir()  # there, and not to be read: as when it goes in that moment
    try:
        no_node_is_drained(cluster, "directory")
        settings.rmdir()
        for i, text in enumerate(['output_root="(\n', "exit 3\n", "epilog_seconds=many\n",
                                  "state=relative\ncomment=$(exit 3)\n", "\0\1=\n;;\n&&", "= =\n=\n"]):
            settings.write_text(text)
            no_node_is_drained(cluster, f"wrong-settings{i}")
        executed = cluster.base / "executed"
        settings.write_text(f"touch {executed}\noutput_root=$(touch {executed})\n"
                            "  shared_memory_least_mib='10000000'  # more than there is")
        runs_unprofiled(cluster, "right", "--profwrap", said="/dev/shm has only")
        check(not executed.exists(), "executed")
    finally:
        shutil.rmtree(settings) if settings.is_dir() else settings.unlink()
    cluster.check_clean()


if __name__ == "__main__":
    sys.exit(run_cases([
        wrong_options, places_that_cannot_be, a_broken_installation, a_wrong_plugstack, limits_hold,
        the_task_prolog_does_without_the_plugin, stale_rings_go_and_those_of_others_stay,
        the_output_root, wrong_settings_of_the_hooks,
    ]))
