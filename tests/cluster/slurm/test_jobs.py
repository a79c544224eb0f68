"""Jobs of every kind with --profwrap, and without.   test_jobs.py VCLUSTER CMAKE BUILD TRAIN [NAME...]
"""
import sys
import time

from slurmcluster import MPI, check, read_profile, run_cases


def one_profile(cluster, directory, ranks, is_failed=False):
    """The report on a job that has failed is made after the launcher has returned."""
    profiles = cluster.profiles(directory)
    check(len(profiles) == 1, f"profiles: {profiles}")
    if is_failed:
        cluster.wait_for((profiles[0] / "report.json").exists, 40, "the report")
    found = read_profile(profiles[0])
    check(found == dict.fromkeys(range(ranks), 1), f"ranks and whether complete: {found}")
    check((profiles[0] / "report.json").exists(), "no report.json")
    return profiles[0]


def srun_without_the_option(cluster):
    directory = cluster.directory("without")
    done = cluster.user("srun", "-n2", "env", cwd=directory)
    check("PROFWRAP_" not in done.stdout and "LD_AUDIT" not in done.stdout, done.stdout)
    check(not cluster.profiles(directory), "there is a profile")


def srun_with_the_option(cluster):
    directory = cluster.directory("with")
    done = cluster.user("srun", "--profwrap", "-N2", "-n4", "sh", "-c", "echo $SLURM_PROCID; exit 3",
                        cwd=directory, check=False)
    check(done.returncode == 3, f"status {done.returncode}: {done.stderr}")
    check(sorted(done.stdout.split()) == list("0123"), f"output: {done.stdout!r}")
    check("profwrap: " in done.stderr and "report.txt" in done.stderr, f"no summary: {done.stderr}")
    one_profile(cluster, directory, 4, is_failed=True)
    cluster.check_clean()


def tasks_get_their_environment(cluster):
    """What a task prolog exports arrives, an auditor of the user's stays, ours do not leak."""
    directory = cluster.directory("environment")
    prolog = directory / "prolog.sh"
    prolog.write_text("#!/bin/sh\necho export MINE=yes\necho print hello\n")
    prolog.chmod(0o755)
    done = cluster.user("srun", "--profwrap", f"--task-prolog={prolog}", "env", cwd=directory,
                        env={"LD_AUDIT": "/nowhere.so"})
    check("MINE=yes" in done.stdout and "hello" in done.stdout, "the task prolog did not count")
    check("LD_AUDIT=/nowhere.so\n" in done.stdout, "the user's LD_AUDIT is gone")
    for name in ("PROFWRAP_SLURM_TASK", "PROFWRAP_SLURM_COMMAND", "fork_agent"):
        check(name not in done.stdout, f"{name} is in the program's environment")
    one_profile(cluster, directory, 1)


def sbatch_and_mpirun_on_4_hosts(cluster):
    directory = cluster.directory("batch")
    job = cluster.submit(MPI + f"mpirun {cluster.train} --steps 10\ndate +%s.%N >ended\n",
                         "--profwrap", "-N4", "--ntasks-per-node=2", cwd=directory)
    check(cluster.wait_job(job) == "COMPLETED", (directory / "out").read_text())
    text = (directory / "out").read_text()
    check(text.count("profwrap: ") == 1 and "report.txt" in text, f"output: {text}")
    profile = one_profile(cluster, directory, 8)
    # What the line says is the run's: on a busy machine a rank may really hold it back.
    line = cluster.on("login", cluster.prefix / "bin/profwrap", "report", "--format", "line",
                      profile).stdout.strip()
    comment = cluster.job(job).get("Comment", "").strip()
    check(comment and line.startswith(comment), f"comment: {comment!r}, the report's line: {line!r}")
    cluster.check_clean()


def the_summary_comes_by_itself(cluster):
    """Merged by rank 0, in one line, and by the epilog; prints how long after the last step it came."""
    for merger, last in (("step", "report.txt"), ("epilog", "\n           profwrap report --serve ")):
        cluster.configure_plugin(f"merge={merger}")
        directory = cluster.directory(f"summary-{merger}")
        job = cluster.submit(MPI + f"mpirun {cluster.train} --steps 10\n", "--profwrap", "-N4",
                             "--ntasks-per-node=2", cwd=directory)
        out = directory / "out"
        cluster.wait_for(lambda: out.exists() and "step   9" in out.read_text(), 30, "the training")
        late = cluster.wait_for(lambda: last in out.read_text(), 40, "the summary")
        print(f"  merged by the {merger}: the summary came {late:.1f} s after the last step")
        check(cluster.wait_job(job) == "COMPLETED", "job failed")
        one_profile(cluster, directory, 8)
    cluster.check_clean()


def steps_of_a_batch_job(cluster):
    """Steps inherit the option; one can turn it off or have others."""
    directory = cluster.directory("steps")
    job = cluster.submit("srun sleep 0.1\nsrun --profwrap=off sleep 0.1\n"
                         "srun --profwrap='--sample-hz 100' sleep 0.1\n",
                         "--profwrap", "--profwrap-output=deep/er", "-n2", cwd=directory)
    check(cluster.wait_job(job) == "COMPLETED", "job failed")
    names = [path.name for path in cluster.profiles(directory / "deep/er")]
    check(names == [f"profwrap-{job}.0", f"profwrap-{job}.2"], f"profiles: {names}")


def a_step_without_the_batch_option(cluster):
    directory = cluster.directory("inner")
    job = cluster.submit("srun --export=NONE --profwrap /bin/sleep 0.1\nsrun sleep 0.1\n", cwd=directory)
    check(cluster.wait_job(job) == "COMPLETED", "job failed")
    one_profile(cluster, directory, 1)
    cluster.check_clean()


def a_profiled_job_submits_another(cluster):
    directory = cluster.directory("submits")
    other = cluster.directory("submitted")
    (other / "job.sh").write_text("#!/bin/sh\nsrun sleep 0.1\n")
    job = cluster.submit(f"cd {other} && sbatch --parsable job.sh >id\n", "--profwrap", cwd=directory)
    check(cluster.wait_job(job) == "COMPLETED", "job failed")
    check(cluster.wait_job((other / "id").read_text().strip()) == "COMPLETED", "other job failed")
    check(not cluster.profiles(other), "the other job is profiled, too")


def salloc_and_mpirun(cluster):
    directory = cluster.directory("salloc")
    done = cluster.user("salloc", "--profwrap", "-N2", "-n4", "bash", "-c",
                        MPI + f"mpirun {cluster.train} --steps 3", cwd=directory)
    check("report.txt" in done.stderr, done.stderr)
    one_profile(cluster, directory, 4)
    cluster.check_clean()


def job_array(cluster):
    directory = cluster.directory("array")
    cluster.submit("srun sleep 0.1\n", "--profwrap", "--array=1-3", cwd=directory)
    cluster.wait_for(lambda: not cluster.on("login", "squeue", "-h").stdout, 30, "the array")
    profiles = cluster.profiles(directory)
    check(len(profiles) == 3, f"profiles: {profiles}")
    check(all(read_profile(p) == {0: 1} for p in profiles), "not complete")


def each_job_of_an_array_has_its_own_comment(cluster):
    """The number of the last one is the array's, too: Slurm takes it for all of them."""
    directory = cluster.directory("comments")
    job = cluster.submit("srun sleep $SLURM_ARRAY_TASK_ID\n", "--profwrap", "--array=1-3",
                         cwd=directory)
    cluster.wait_for(lambda: not cluster.on("login", "squeue", "-h").stdout, 30, "the array")
    for task in (1, 2, 3):
        comment = cluster.job(f"{job}_{task}").get("Comment", "")
        check(f"in a run of {task}." in comment, f"task {task}: {comment}")


def multi_prog(cluster):
    directory = cluster.directory("multi")
    (directory / "programs").write_text("0 sleep 0.1\n1-2 echo task %t\n")
    done = cluster.user("srun", "--profwrap", "-n3", "--multi-prog", "programs", cwd=directory)
    check(sorted(done.stdout.split("\n")) == ["", "task 1", "task 2"], done.stdout)
    one_profile(cluster, directory, 3)


def heterogeneous_job(cluster):
    directory = cluster.directory("het")
    done = cluster.user("srun", "--profwrap", "-n2", "sleep", "0.1", ":", "-n1", "sleep", "0.1",
                        cwd=directory)
    check("report.txt" in done.stderr, done.stderr)
    one_profile(cluster, directory, 3)
    cluster.check_clean()


if __name__ == "__main__":
    sys.exit(run_cases([
        srun_without_the_option, srun_with_the_option, tasks_get_their_environment,
        sbatch_and_mpirun_on_4_hosts, the_summary_comes_by_itself, steps_of_a_batch_job,
        a_step_without_the_batch_option, a_profiled_job_submits_another, salloc_and_mpirun,
        job_array, each_job_of_an_array_has_its_own_comment, multi_prog, heterogeneous_job,
    ]))
