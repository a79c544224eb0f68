"""What a user, eve, does to make root's hooks or slurmstepd touch what is not hers, run what is hers,
or wait for her.   test_attacks.py VCLUSTER CMAKE BUILD TRAIN [NAME...]
"""
import os
import subprocess
import sys
import time

from slurmcluster import HOSTS, USERS, check, run_cases

EVE = USERS["eve"]


def fingerprint(path):
    status = path.lstat()
    return status.st_uid, status.st_mode, status.st_size, status.st_mtime_ns, path.read_bytes()


def made_for(user, path):
    path.mkdir()
    os.chown(path, USERS[user], USERS[user])
    return path


def evil_programs(cluster, directory):
    """A script and a library that note as whom they run."""
    script = directory / "evil.sh"
    script.write_text(f"#!/bin/sh\nid -u >>{directory}/ran\n")
    script.chmod(0o755)
    for name in ("profwrap", "scontrol", "squeue", "timeout", "stat", "dirname", "logger"):
        (directory / name).symlink_to(script)
    source = directory / "evil.c"
    source.write_text('#include <stdio.h>\n#include <unistd.h>\n'
                      '__attribute__((constructor)) static void begin(void)\n'
                      f'{{ FILE *f = fopen("{directory}/ran", "a");'
                      ' if (f) fprintf(f, "%d\\n", geteuid()), fclose(f); }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", directory / "evil.so", source], check=True)
    (directory / "ran").write_text("")
    (directory / "ran").chmod(0o666)


def ran_as(directory):
    return set((directory / "ran").read_text().split())


def hostile_environment(cluster):
    """Nothing that she exports is in root's way: libraries, shells' start files, paths, Slurm's own."""
    directory = cluster.directory("environment", "eve")
    evil_programs(cluster, directory)
    hostile = {"LD_PRELOAD": directory / "evil.so", "LD_AUDIT": directory / "evil.so",
               "LD_LIBRARY_PATH": directory, "BASH_ENV": directory / "evil.sh",
               "ENV": directory / "evil.sh", "PATH": f"{directory}:{os.environ['PATH']}",
               "TMPDIR": directory, "IFS": "/", "PYTHONPATH": directory,
               "HDF5_PLUGIN_PATH": directory, "SHELLOPTS": "xtrace",
               "PROFWRAP_SLURM_COMMAND": directory / "evil.sh", "SLURM_JOB_UID": "0",
               "SLURM_JOB_ID": "1", "SLURM_JOB_USER": "ada"}
    lines = "".join(f"export {name}='{value}'\nexport SPANK_{name}='{value}'\n"
                    for name, value in hostile.items() if name != "SHELLOPTS")
    job = cluster.submit(lines + "/usr/bin/srun --export=ALL /bin/sleep 0.1\n", "--profwrap",
                         cwd=directory, user="eve",
                         env={f"SPANK_{name}": str(value) for name, value in hostile.items()})
    cluster.wait_job(job)
    cluster.check_clean()
    check(ran_as(directory) == {str(EVE)}, f"hers ran as {ran_as(directory)}; she herself must have")


def links_and_swaps(cluster):
    """After the plugin has looked at her directory she puts root's and ada's in its place."""
    victims = [cluster.directory("victim") / "secret", cluster.base / "roots"]
    for path in victims:
        path.write_text("not hers\n")
        path.chmod(0o600)
    directory = cluster.directory("links", "eve")
    profiles = made_for("eve", directory / "profiles")
    job = cluster.submit(f"""
srun sleep 0.1
touch ready; until [ -e go ]; do sleep 0.1; done
mv {profiles} {directory}/away
ln -s {cluster.base}/roots-run {profiles}
rm -f out; ln -s {victims[1]} out
""", "--profwrap", f"--profwrap-output={profiles}", cwd=directory, user="eve")
    cluster.wait_for((directory / "ready").exists, 20, "her step")
    roots_run = cluster.base / f"roots-run/profwrap-{job}.1"
    adas_run = cluster.base / f"roots-run/profwrap-{job}.2"
    roots_run.mkdir(parents=True)
    made_for("ada", adas_run)
    for run in (roots_run, adas_run):
        (run / "rank-00000.h5").write_text("not hers\n")
        (run / "rank-00000.journal").write_text("not hers\n")
        victims += [run / "rank-00000.h5", run / "rank-00000.journal"]
    (cluster.base / f"roots-run/profwrap-{job}.3").symlink_to(adas_run)
    before = [fingerprint(path) for path in victims]
    (directory / "go").write_text("")
    cluster.wait_job(job)
    cluster.check_clean()
    after = [fingerprint(path) for path in victims]
    check(before == after, f"{before} became {after}")
    for run in (roots_run, adas_run):
        check(len(os.listdir(run)) == 2, f"made in {run}: {os.listdir(run)}")


def roots_directory_is_roots(cluster):
    """What the hooks keep of a job is neither to be changed nor to be read by its user."""
    directory = cluster.directory("state", "eve")
    job = cluster.submit("""
srun sleep 0.1
cd /run/profwrap && stat -c '%u %a' . $SLURM_JOB_ID
for try in "touch mine" "mkdir mine" "rm -f $SLURM_JOB_ID" "ln -s /etc/passwd $SLURM_JOB_ID.off" \\
    "sh -c 'echo x >>$SLURM_JOB_ID'" "cat $SLURM_JOB_ID"; do
    eval "$try" 2>/dev/null && echo "could: $try"
done
true
""", "--profwrap", cwd=directory, user="eve")
    check(cluster.wait_job(job) == "COMPLETED", "job failed")
    text = (directory / "out").read_text()
    check("0 755\n0 600\n" in text and "could" not in text, text)
    cluster.check_clean()


HOLD = """
import ctypes, os, signal, time
call = ctypes.CDLL(None).syscall
wanted = ("job-end", "profwrap recover", "profwrap report", "profwrap sweep")
def is_hers(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            line = file.read().replace("\\0", " ")
        # A process that has just become hers and has not started her program has no files to read.
        return (os.stat(f"/proc/{pid}").st_uid == os.getuid() and not line.startswith("setpriv ")
                and (line.startswith("timeout ") or any(word in line for word in wanted)))
    except OSError:
        return False
def hold(pid):
    process, kept = call(434, int(pid), 0), False  # pidfd_open
    for fd in (1, 3):  # pidfd_getfd: only what root has made is worth it
        copy = call(438, process, fd, 0)
        if copy < 0:
            continue
        if os.fstat(copy).st_uid == 0 and "pipe" in os.readlink(f"/proc/self/fd/{copy}"):
            kept = True
        else:
            os.close(copy)
    if process >= 0:
        os.close(process)
    return kept
held = False
while not os.path.exists("now"): # before, what reports the step is caught, and no hook comes
    time.sleep(0.01)
while not os.path.exists("enough"):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if is_hers(pid):
            os.kill(int(pid), signal.SIGSTOP)
            held = held or hold(pid)
            open("held" if held else "caught", "w").close()
time.sleep(300)
"""


def she_stops_and_holds_the_epilog(cluster):
    """Processes of hers that live on, of another job, stop the hook's and keep its pipe open."""
    settings = cluster.prefix / "etc/profwrap/hooks.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("epilog_seconds=2\n")
    directory = cluster.directory("holds", "eve")
    (directory / "hold.py").write_text(HOLD)
    other = cluster.submit(f"exec {sys.executable} hold.py\n", "-w", "h1", "--time=3", cwd=directory,
                           user="eve")
    cluster.wait_for(lambda: cluster.state(other) == "RUNNING", 10, "her other job")
    profile = cluster.directory("held", "eve")
    # A pipe in the report's place gives her time.
    job = cluster.submit("srun sleep 0.1\nrm profwrap-*.0/cluster.h5; mkfifo profwrap-*.0/cluster.h5\n"
                         f"touch {directory}/now\n",
                         "--profwrap", "-w", "h1", cwd=profile, user="eve")
    try:
        took = cluster.wait_for(lambda: cluster.state(job) not in ("PENDING", "RUNNING",
                                                                   "COMPLETING"), 60, "the epilog")
        print(f"  the job had ended after {took:.1f} s")
        check((directory / "held").exists(), f"she has not caught it: {(directory / 'out').read_text()}")
    finally:
        (directory / "enough").write_text("")
        cluster.user("scancel", other, name="eve", check=False)
        cluster.user("sh", "-c", "kill -9 -1", name="eve", host="h1", check=False)
        settings.unlink()
    cluster.wait_job(other)
    cluster.user("srun", "-w", "h1", "true")
    cluster.check_clean()


def pipes_instead_of_files(cluster):
    """A process that opens a pipe waits: neither root nor, for long, the hooks' user parts."""
    directory = cluster.directory("pipes", "eve")
    job = cluster.submit("""
srun sleep 0.1
for d in profwrap-*.0; do rm $d/cluster.h5; mkfifo $d/cluster.h5 $d/rank-00000.journal; done
rm -f out; mkfifo out
""", "--profwrap", cwd=directory, user="eve")
    settings = cluster.prefix / "etc/profwrap/hooks.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("epilog_seconds=3\n")
    try:
        cluster.wait_job(job, 40)
        cluster.check_clean()
    finally:
        settings.unlink()
    done = cluster.user("srun", "--profwrap", f"--profwrap-output={directory}/out", "echo", "here",
                        name="eve")
    check(done.stdout == "here\n" and "unprofiled" in done.stderr, f"{done}")


def names_with_everything(cluster):
    """A job's name, directory and options are text, to shells and to logs."""
    name = "x\n   StdOut=/tmp/forged\nJobId=1 $(touch pwned) `touch pwned`; touch pwned #'\""
    directory = made_for("eve", cluster.base / "home/eve/a b;touch pwned;$(touch pwned)'\"")
    job = cluster.submit("srun --profwrap sleep 0.1\n", "--profwrap", f"--job-name={name}",
                         "-w", "h1", cwd=directory, user="eve")
    check(cluster.wait_job(job) == "COMPLETED", cluster.state(job))
    check(len(cluster.profiles(directory)) == 1, "no profile")
    forged = "/nowhere/\nslurmd: error: forged\x1b[2J"
    done = cluster.user("srun", "-w", "h1", "--profwrap", f"--profwrap-output={forged}", "echo", "here",
                        name="eve", cwd=directory)
    check(done.stdout == "here\n" and "/nowhere/?slurmd" in done.stderr, f"{done}")
    check("\nslurmd: error: forged" not in done.stderr and "\x1b" not in done.stderr, done.stderr)
    log = (cluster.base / "slurm/slurmd.h1.log").read_text()
    check("nowhere" in log and "\nslurmd: error: forged" not in log and "\x1b" not in log, "forged")
    cluster.check_clean()
    pwned = subprocess.run(["find", cluster.base, "-name", "pwned"], capture_output=True, text=True)
    check(not pwned.stdout, f"executed: {pwned.stdout}")
    for host in HOSTS:
        found = cluster.on(host, "find", "/", "/tmp", "/run", "-maxdepth", "1", "-name", "pwned")
        check(not found.stdout and not cluster.on(host, "find", "/tmp/forged", check=False).stdout,
              f"on {host}: {found.stdout}")


def killed_with_what_it_started(cluster):
    """job-tell gets five seconds; what it has started does not stay."""
    program = cluster.prefix / "share/profwrap/slurm/job-tell"
    kept = program.rename(program.with_name("kept"))
    try:
        program.write_text("#!/bin/sh\nsleep 300\n")
        program.chmod(0o755)
        start = time.monotonic()
        cluster.user("srun", "--profwrap", "true", cwd=cluster.directory("slow"))
        check(time.monotonic() - start > 4, "it was not called: no test")
        cluster.check_clean()
    finally:
        kept.rename(program)


def world_writable_directories(cluster):
    """Where others can write, root makes nothing, reads nothing and trusts nothing."""
    open_to_all = cluster.base / "open"
    made_for("eve", open_to_all).chmod(0o777)
    settings = cluster.prefix / "etc/profwrap/hooks.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    for mode, state in ((0o644, f"{open_to_all}/state"), (0o666, "/run/other")):
        settings.write_text(f"state={state}\n")
        settings.chmod(mode)
        cluster.user("srun", "-w", "h1", "true", name="eve")
    there = list(open_to_all.rglob("*"))
    check(not there, f"made: {there}")
    settings.unlink()
    made = cluster.on("h1", "find", "/run/other", check=False).stdout
    check(not made, f"configuration that all can write was read: {made}")


if __name__ == "__main__":
    sys.exit(run_cases([
        hostile_environment, links_and_swaps, roots_directory_is_roots,
        she_stops_and_holds_the_epilog, pipes_instead_of_files, names_with_everything,
        killed_with_what_it_started, world_writable_directories,
    ]))
