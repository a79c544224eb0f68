"""`profwrap LAUNCHER ...`: each rank that a launcher starts has a rank file, there is one report, and
the launcher behaves as without profwrap. With mpirun, with torchrun and accelerate where a Python has
them, and with a stand-in (standin_launcher.py) in place of launchers that are not here."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import harness as h

STANDIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standin_launcher.py")
TORCH = os.environ.get("PROFWRAP_TEST_TORCH", os.path.expanduser("~/.cache/profwrap/torch"))

# Says what it is and what it was given; then does what its arguments say.
WORKER = f"#!{sys.executable}\n" + """
import json, os, signal, subprocess, sys, time
names = ("RANK", "SLURM_PROCID", "FLUX_TASK_RANK", "MS_NODE_ID", "PMI_RANK", "OMPI_COMM_WORLD_RANK")
rank = next((int(os.environ[name]) for name in names if name in os.environ), -1)
epoch = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
ours = sorted(k for k in os.environ if k.startswith("PROFWRAP_LAUNCH") or "profwrap" in k
              or (k.endswith("fork_agent")) or (k == "LD_AUDIT" and "launch" in os.environ[k]))
sys.stdout.write(json.dumps({"rank": rank, "argv": sys.argv, "ours": ours, "prefix": sys.prefix,
                  "preload": os.environ.get("LD_PRELOAD", ""),
                  "audit": os.environ.get("LD_AUDIT", "")}) + "\\n")
sys.stdout.flush()
for word in sys.argv[1:]:
    what, _, value = word.partition("=")
    if what == "fail" and value.split(":")[0] == str(rank) and epoch == "0":
        sys.exit(int(value.split(":")[1]))
    if what == "die" and value.split(":")[0] == str(rank) and epoch == "0":
        os.kill(os.getpid(), int(value.split(":")[1]))
    if what == "count":
        seen = []
        signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
        signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    if what == "orphan" and value == str(rank):
        with open(f"/proc/{os.getppid()}/stat") as file:
            guard = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(guard, 9)
        os.kill(os.getpid(), 9)
    if what in ("wait", "count"):
        open(f"ready-{rank}", "w").close()
        while what == "wait" or not seen:
            time.sleep(0.02)
        time.sleep(0.5)  # for a second one
        with open(f"signals-{rank}", "w") as file:
            file.write(str(len(seen)))
"""


# Two ranks train; rank 1 is killed in step 9 of epoch 0, when rank 0 is there, too. Epoch 1 goes on
# from a checkpoint at step 6, or numbers its steps from 0. No step ends before the other rank's.
TRAINING = f"#!{sys.executable}\n" + f"""
import os, signal, sys, time
sys.path.insert(0, {os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python")!r})
import profwrap
rank, epoch = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
first = 6 if epoch and sys.argv[1] == "checkpoint" else 0
for step in range(first, 10 if epoch == 0 else first + 6):
    profwrap.step(step)
    time.sleep(0.002)
    open(f"at-{{epoch}}-{{rank}}-{{step}}", "w").close()
    while not os.path.exists(f"at-{{epoch}}-{{1 - rank}}-{{step}}"):
        time.sleep(0.001)
if epoch == 0:
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1000)
profwrap.step(profwrap.NO_STEP)
"""


def write(path, text, mode=0o700):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return os.path.abspath(path)


def worker():
    return write("worker.py", WORKER)


def standin(name):
    """PATH with the stand-in under this name first. It runs in this Python, not the first in PATH."""
    os.makedirs("bin", exist_ok=True)
    if not os.path.lexists(f"bin/{name}"):
        with open(STANDIN) as file:
            write(f"bin/{name}", file.read().replace("/usr/bin/env python3", sys.executable, 1))
    return {"PATH": os.path.abspath("bin") + ":" + os.environ["PATH"]}


# accelerate takes 5 s of processor time before it starts a rank: with a tenth of a core, most of PATIENCE_S.
TORCH_S = 280


def torch_program(name):
    path = os.path.join(TORCH, "bin", name)
    if not os.path.exists(path):
        raise h.Skipped(f"there is no {path} (PROFWRAP_TEST_TORCH: a virtual environment with torch "
                        "and accelerate)")
    return path


def ranks_said(done):
    said = [json.loads(line) for line in h.lines(done.stdout) if line.startswith("{")]
    return sorted(said, key=lambda one: one["rank"])


def check_files(folder, n):
    """A launcher that was ended by a signal does not wait for the collectors: they are waited for."""
    h.wait_until_gone(os.path.join(folder, "rank-*.journal"))
    found = sorted(os.path.basename(path) for path in glob.glob(os.path.join(folder, "rank-*")))
    h.equal(found, [f"rank-{rank:05d}.h5" for rank in range(n)], f"rank files in {folder}")
    jobs = set()
    for rank in range(n):
        with h.open_complete(folder, rank) as file:
            h.equal((int(file.attrs["rank"]), int(file.attrs["world_size"])), (rank, n), "rank")
            jobs.add(h.attribute(file, "job_id"))
    h.equal(len(jobs), 1, f"jobs {jobs}")
    return jobs.pop()


def check_report(folder, done):
    h.check(os.path.exists(os.path.join(folder, "report.json")), "no report in", folder)
    said = [line for line in h.lines(done.stderr) if "report.txt" in line]
    h.equal(len(said), 1, f"reports announced in {h.lines(done.stderr)}")


def clean_workers(done, n):
    said = ranks_said(done)
    h.equal([one["rank"] for one in said], list(range(n)), "ranks that ran")
    for one in said:
        h.equal(one["ours"], [], "variables of the launch in the program")
        h.check("libprofwrap_probe.so" in one["preload"], "no probe in", one)
    return said


def under(name, *words, n=3, out="out", options=(), status=0, env=None, **more):
    """profwrap NAME -n N WORDS..., with the stand-in."""
    return h.run(h.profwrap("--summary", "-o", out, *options, name, "-n", n, *words), status=status,
                 env={**standin(name), **(env or {})}, **more)


@h.case
def mpirun():
    command = h.mpirun(3, worker(), "a b", "")
    plain = h.run(command)
    done = h.run(h.profwrap("--summary", "-o", "out", *command))
    said = clean_workers(done, 3)
    h.equal([one["argv"][1:] for one in said], [["a b", ""]] * 3, "arguments")
    h.equal(len(h.lines(done.stdout)), len(h.lines(plain.stdout)), "lines of standard output")
    check_files("out", 3)
    check_report("out", done)


@h.case
def mpirun_records_mpi():
    h.run(h.profwrap("-o", "out", *h.mpirun(2, h.place("TRAIN"), "--steps", 5)))
    check_files("out", 2)
    for rank in range(2):
        h.check(len(h.open_rank("out", rank)["events/comm"]) > 5, "no MPI calls of rank", rank)


@h.case
def job_managers():
    for name, job in (("srun", "77.3"), ("flux", "f2bX"), ("mpiexec", "b7")):
        done = under(name, worker(), out=name)
        clean_workers(done, 3)
        h.equal(check_files(name, 3), job, f"job of {name}")
        check_report(name, done)


@h.case
def launchers_that_name_no_job():
    for name in ("msrun", "mpiexec.hydra", "deepspeed"):
        done = under(name, worker(), out=name)
        clean_workers(done, 3)
        check_files(name, 3)
        check_report(name, done)


@h.case
def torchrun_and_restarts_of_a_standin():
    done = under("torchrun", "--epochs", 2, worker(), "fail=1:5", n=2)
    check_files("out", 2)
    check_files("out/epoch-1", 2)
    check_report("out/epoch-1", done)
    epochs = [line for line in h.lines(done.stderr) if "epoch" in line and "restart" in line]
    h.equal(len(epochs), 1, f"lines about epochs in {h.lines(done.stderr)}")
    h.check(re.search(r"epoch 0 ran for \d+\.\d s and ended when rank 1 \(\S+\) exited with status 5; "
                      r"the restart took \d+\.\d s", epochs[0]), epochs[0])


def epochs_of(how):
    """The epochs in the report of two ranks of which one was killed, with what was printed of it."""
    path = write("training.py", TRAINING)
    done = under("torchrun", "--epochs", 2, path, how, out=how, n=2)
    with open(f"{how}/epoch-1/report.json") as file:
        return done, json.load(file)["epochs"]


@h.case
def epochs_and_goodput():
    """Steps 6 to 8 are repeated after the checkpoint, and 9 was not ended: 6 of the first epoch's are
    kept. All reports say who ended it."""
    done, epochs = epochs_of("checkpoint")
    first, second = epochs["rows"]
    killed = {"epoch": 0, "shown": 0, "ranks": 2, "files": 2, "ended_by": "signal", "ended_rank": 1,
              "exit_signal": 9, "first_step": 0, "last_step": 8, "steps": 9, "kept_steps": 6,
              "begins_anew": 0}
    h.equal({key: first[key] for key in killed}, killed, "epoch 0")
    ended = {"epoch": 1, "shown": 1, "ranks": 2, "files": 2, "ended_by": "finished",
             "ended_rank": None, "restart_ns": None, "steps": 6, "kept_steps": 6, "begins_anew": 0}
    h.equal({key: second[key] for key in ended}, ended, "epoch 1")
    h.check(0 < first["kept_ns"] < first["steps_ns"] < first["ran_ns"], "times of", first)
    h.check(first["restart_ns"] > 0, "restart", first)
    h.equal(epochs["kept_steps"], 12, "steps that were kept")
    h.equal(epochs["goodput_least"], epochs["goodput_most"], "goodput")
    share = epochs["kept_ns"] / epochs["wall_ns"]
    h.check(abs(epochs["goodput_least"] - share) < 1e-9 and 0 < share < 1, "goodput", epochs)
    said = "ended when rank 1 (" + os.uname().nodename + ") was killed by signal 9 (Killed)"
    h.check(said in first["words"], first["words"])
    report = done.stderr.decode()
    for words in ("epoch 0 ran for", said):
        h.check(words in report, f"no '{words}' in", report)
    with open("checkpoint/epoch-1/report.txt") as file:
        text = " ".join(file.read().split())
    for words in ("Epochs: each time", said, "12 steps that were kept, of 15"):
        h.check(words in text, f"no '{words}' in", text)
    with open("checkpoint/epoch-1/report.html") as file:
        h.check('"ended_by":"signal"' in file.read(), "nothing of it in report.html")


@h.case
def epochs_that_number_from_zero():
    """What was repeated is not known: goodput is a range."""
    _, epochs = epochs_of("scratch")
    h.equal([row["kept_steps"] for row in epochs["rows"]], [0, 6], "steps kept at least")
    h.equal([row["begins_anew"] for row in epochs["rows"]], [0, 1], "begins anew")
    h.check(epochs["goodput_least"] < epochs["goodput_most"] < 1, "goodput", epochs)


@h.case
def epoch_that_is_not_the_last():
    """merge and report take the last epoch of a directory, or the one that is asked for."""
    epochs_of("checkpoint")
    profwrap = h.place("PROFWRAP")

    def job_of(*words, status=0):
        done = h.run([profwrap, "report", "--format", "json", *words], status=status)
        return done if status else json.loads(done.stdout)["epochs"]["rows"]

    h.equal([row["shown"] for row in job_of("checkpoint")], [0, 1], "the epoch without --epoch")
    made = h.run([profwrap, "report", "--epoch", "0", "checkpoint"])
    h.one_line(made, "'checkpoint' was not merged yet")
    os.remove("checkpoint/cluster.h5")
    h.run([profwrap, "merge", "-q", "--epoch", "0", "checkpoint"])
    h.equal([row["shown"] for row in job_of("--epoch", "0", "checkpoint")], [1, 0], "epoch 0")
    h.equal([row["shown"] for row in job_of("checkpoint/cluster.h5")], [1, 0], "epoch 0's file")
    h.equal([row["shown"] for row in job_of("--epoch", "0", "checkpoint/epoch-1")], [1, 0], "its")
    h.one_line(job_of("--epoch", "2", "checkpoint", status=2), "no epoch 2 .* its last is 1")
    h.one_line(job_of("--epoch", "x", "checkpoint", status=2), "--epoch expects a number")
    h.run([profwrap, "compare", "checkpoint/cluster.h5", "checkpoint"], status=4)


@h.case
def torchrun():
    done = h.run(h.profwrap("--summary", "-o", "out", torch_program("torchrun"), "--nproc-per-node",
                            4, worker(), "x"), timeout=TORCH_S)
    said = clean_workers(done, 4)
    h.equal({one["prefix"] for one in said}, {os.path.realpath(TORCH)}, "sys.prefix")
    check_files("out", 4)
    check_report("out", done)


@h.case
def torchrun_as_a_module_restarts():
    """A rank is killed; torchrun starts all again."""
    done = h.run(h.profwrap("--summary", "-o", "out", torch_program("python"), "-m",
                            "torch.distributed.run", "--nproc-per-node", 2, "--max-restarts", 1,
                            worker(), "die=1:9"), timeout=TORCH_S)
    check_files("out/epoch-1", 2)
    check_report("out/epoch-1", done)
    h.check(any(re.search(r"epoch 0 .* rank 1 .* was killed by signal 9", line)
                for line in h.lines(done.stderr)), h.lines(done.stderr))


@h.case
def torchrun_fails():
    """A rank fails and the others wait for ever: torchrun ends them, and there is a report."""
    path = torch_program("torchrun")
    command = (path, "--nproc-per-node", 2, worker(), "fail=0:3", "wait")
    plain = h.run(command, status=None, timeout=TORCH_S)
    done = h.run(h.profwrap("--summary", "-o", "out", *command), status=None, timeout=TORCH_S)
    h.equal(done.returncode, plain.returncode, "exit status")
    with h.open_rank("out", 0) as file:
        h.equal(int(file.attrs["exit_code"]), 3, "exit code of rank 0")
    check_report("out", done)


@h.case
def accelerate():
    done = h.run(h.profwrap("--summary", "-o", "out", torch_program("accelerate"), "launch",
                            "--multi_gpu", "--num_processes", 2, "--num_machines", 1, "--mixed_precision", "no",
                            "--dynamo_backend", "no", worker(), "x"), timeout=TORCH_S,
                 env={"HOME": os.getcwd()})
    clean_workers(done, 2)
    check_files("out", 2)
    check_report("out", done)


@h.case
def workers_of_each_kind():
    """A script with #!, one without, a shell, another argv[0], a program that starts programs."""
    path = worker()
    bare = write("bare.sh", "echo '{\"rank\": '$SLURM_PROCID'}'\n")
    for k, command in enumerate(((path,), (sys.executable, path), ("bash", "-c", f"{path} y; true"),
                                 ("bash", bare), ("env", "A=b", path), ("nice", "-n1", path))):
        done = under("srun", *command, out=f"out{k}")
        h.equal([one["rank"] for one in ranks_said(done)], [0, 1, 2], f"ranks of {command}")
        check_files(f"out{k}", 3)


@h.case
def own_preload_and_audit_are_kept():
    """The launcher and the ranks have what the user gave; a child of a rank is left alone."""
    path = write("show.sh", "#!/bin/sh\necho \"$LD_AUDIT|$LD_PRELOAD\"\n")
    libraries = sorted(glob.glob("/lib/*/libm.so.6") + glob.glob("/lib64/libm.so.6"))
    if not libraries:
        raise h.Skipped("no libm.so.6 to preload")
    done = under("srun", path, n=1, env={"LD_PRELOAD": libraries[0]})
    (line,) = h.lines(done.stdout)
    audit, preload = line.split("|")
    h.equal(audit, "", "LD_AUDIT")
    h.check(preload.endswith(":" + libraries[0]), "LD_PRELOAD is", preload)
    own = os.path.join(os.path.dirname(h.place("PROFWRAP")), "../libexec/profwrap/libprofwrap_audit.so")
    h.check(os.path.exists(own), "no", own)  # any auditor would do
    done = under("srun", path, n=1, out="audited", env={"LD_AUDIT": own})
    h.equal(h.lines(done.stdout)[0].split("|")[0], own, "LD_AUDIT")
    check_files("audited", 1)


@h.case
def exit_statuses():
    path = worker()
    for status in (0, 3, 255):
        under("srun", "--status", status, path, out=f"out{status}", status=status)
        check_files(f"out{status}", 3)
    under("srun", path, "fail=2:7", out="failed", status=7)
    check_files("failed", 3)
    h.run(h.profwrap("--summary", "-o", "mpi", *h.mpirun(2, path, "fail=1:3")), status=3)


def start(command, env, ready):
    """Popen, once all of `ready` are there."""
    process = subprocess.Popen(list(map(str, command)), env=h.environment(**env),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + h.PATIENCE_S
    while not all(glob.glob(name) for name in ready):
        if process.poll() is not None:
            h.check(False, "it ended early with", process.returncode, *process.communicate(timeout=h.PATIENCE_S))
        if time.monotonic() > end:
            process.kill()
            h.check(False, "never there:", ready)
        time.sleep(0.02)
    return process


def signal_counts(name, number, out):
    """How often each of two ranks gets a signal that is sent to profwrap alone; the exit status."""
    process = start(h.profwrap("-o", out, name, "-n", 2, worker(), "count"),
                    standin(name), ("ready-0", "ready-1", "launcher-*"))
    process.send_signal(number)
    process.communicate(timeout=h.PATIENCE_S)
    counts = []
    for rank in range(2):
        with open(f"signals-{rank}") as file:
            counts.append(int(file.read()))
        os.unlink(f"ready-{rank}")
        os.unlink(f"signals-{rank}")
    for path in glob.glob("launcher-*"):
        os.unlink(path)
    return counts, process.returncode


@h.case
def signals_reach_the_ranks_once():
    """A report is made later in each directory, so each job has its own."""
    for name in ("srun", "torchrun"):
        for number in (signal.SIGINT, signal.SIGTERM):
            out = f"out-{name}-{number}"
            h.equal(signal_counts(name, number, out), ([1, 1], 0), f"{name}: signals and exit status")
            check_files(out, 2)


@h.case
def launcher_ended_by_a_signal():
    """As without profwrap: by the same signal."""
    process = start(h.profwrap("-o", "out", *h.mpirun(2, worker(), "wait")), {},
                    ("ready-0", "ready-1"))
    plain = start(h.mpirun(2, worker(), "wait"), {}, ("ready-0", "ready-1"))
    results = []
    for one in (process, plain):
        one.send_signal(signal.SIGTERM)
        one.communicate(timeout=h.PATIENCE_S)
        results.append(one.returncode)
    h.equal(results[0], results[1], "exit status of mpirun after SIGTERM")


@h.case
def rank_0_is_killed():
    """Its guard, too: the launcher's profwrap makes the report all the same."""
    done = under("srun", worker(), "orphan=0", status=None)
    h.equal(done.returncode, 128 + 9, "exit status of the launcher")
    with h.open_rank("out", 0) as file:
        h.equal(int(file.attrs["exit_signal"]), 9, "signal of rank 0")
    check_report("out", done)


@h.case
def launcher_that_is_not_found():
    for name in ("torchrun", "flux"):
        done = h.run(h.profwrap("-o", "out", name, "x"), status=127, env={"PATH": "/nonexistent"})
        h.one_line(done, f"cannot run {name}: no such program")
    h.check(not os.path.exists("out"), "there is a directory")


@h.case
def nothing_with_a_rank():
    """One line says what to do; the exit status is the launcher's."""
    done = h.run(h.profwrap("--launcher", "-o", "out", "nothing", "--status", 5, "true"), status=5,
                 env=standin("nothing"))
    h.one_line(done, "no process with a rank", "mpirun -np 4 profwrap")
    h.check(not os.path.exists("out"), "there is a directory")
    write("bin/accelerate", "#!/bin/sh\nexit 5\n")  # as with --cpu: one process, without a rank
    done = h.run(h.profwrap("-o", "out", "bin/accelerate", "launch", "--cpu", "x.py"), status=5)
    h.one_line(done, "accelerate started one process, without a rank", "--num_processes 4")
    static = h.program("hello_static")
    os.mkdir("profwrap")  # as a clone may be named
    program = shutil.copy(static, "profwrap/hello")
    done = under("srun", program, status=3)  # its own
    h.one_line(done, "no process with a rank")


@h.case
def other_launchers():
    """--launcher: a script of one's own, with two jobs in it."""
    path = worker()
    standin("srun")
    script = write("job.sh", f"#!/bin/sh\nbin/srun -n 2 {path} first && SLURM_JOB_ID= bin/byhand -n 3 "
                   f"{path}\n")
    env = standin("byhand")
    done = h.run(h.profwrap("--launcher", "--summary", "-o", "out-%j", script), env=env)
    folders = sorted(glob.glob("out-*"), key=lambda name: name != "out-77.3")
    h.equal(len(folders), 2, f"directories {folders}")
    h.equal(check_files(folders[0], 2), "77.3", "job")
    check_files(folders[1], 3)
    h.equal(len([line for line in h.lines(done.stderr) if "report.txt" in line]), 2, "reports")


@h.case
def launcher_in_a_launcher():
    """srun starts a torchrun on each node: the ranks are torchrun's. Below variables of Kubernetes,
    which number the nodes; one torchrun is found by env, as scripts are."""
    path = worker()
    standin("torchrun")
    env = standin("srun")
    done = h.run(h.profwrap("--summary", "-o", "out", "srun", "-n", 1, "env", "A=b",
                            "torchrun", "-n", 2, path),
                 env={**env, "RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"})
    clean_workers(done, 2)
    job = check_files("out", 2)
    h.check(job.startswith("77"), "the job is", job)
    check_report("out", done)


@h.case
def nested_profwrap():
    """The inner one's options come after the outer's; each rank is recorded once."""
    path = worker()
    inner = h.place("PROFWRAP")
    done = under("srun", inner, "--level", 2, path)
    clean_workers(done, 3)
    check_files("out", 3)
    check_report("out", done)
    done = h.run(h.profwrap("--summary", "-o", "mpi", *h.mpirun(2, inner, path)))
    clean_workers(done, 2)
    check_files("mpi", 2)
    check_report("mpi", done)


@h.case
def nested_profwrap_with_its_own_directory():
    done = under("srun", h.place("PROFWRAP"), "-o", "inner", worker())
    clean_workers(done, 3)
    check_files("inner", 3)
    check_report("inner", done)
    h.check(not os.path.exists("out"), "there is an outer directory")


@h.case
def directory_of_another_job():
    under("srun", worker())
    done = under("srun", worker(), status=2)
    h.one_line(done, "out holds the profile of another job")
    h.equal(done.stdout, b"", "standard output")
    os.makedirs("full")
    write("full/x", "")
    done = under("srun", worker(), out="full", status=2)
    h.one_line(done, "not empty and not profwrap's")


def by_hand(n, out, size=None, options=(), env=None):
    """`profwrap` before each of N workers that have RANK and WORLD_SIZE only, all at once."""
    command = h.profwrap("--summary", *options, *(("-o", out) if out else ()), worker(), "x")
    workers = []
    for rank in range(n):
        given = {"RANK": str(rank), "WORLD_SIZE": str((size or {}).get(rank, n)), **(env or {})}
        workers.append(subprocess.Popen(command, env=h.environment(**given), stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE))
    ends = [(w.communicate(timeout=h.PATIENCE_S), w.returncode) for w in workers]
    return [status for _, status in ends], b"".join(text[1] for text, _ in ends)


@h.case
def rank_and_world_size_only():
    """The ranks find each other by the directory; the next job gets another, or is refused."""
    for expected in ("profwrap-job", "profwrap-job-2", "profwrap-job-3"):
        statuses, said = by_hand(4, None)
        h.equal(statuses, [0] * 4, f"exit statuses ({said})")
        check_files(expected, 4)
        h.check(os.path.exists(f"{expected}/report.json"), "no report in", expected)
    h.equal(by_hand(4, "out")[0], [0] * 4, "exit statuses")
    check_files("out", 4)
    statuses, said = by_hand(4, "out")
    h.equal(statuses, [2] * 4, "exit statuses of a second job in its directory")
    h.check(b"holds the profile of another job" in said, said)


@h.case
def address_and_port():
    """As Kubernetes' PyTorchJob sets them: the next job has the same."""
    env = {"MASTER_ADDR": "job-master-0", "MASTER_PORT": "23456"}
    for expected in ("profwrap-job-master-0-23456", "profwrap-job-master-0-23456-2"):
        statuses, said = by_hand(3, None, env=env)
        h.equal(statuses, [0] * 3, f"exit statuses ({said})")
        check_files(expected, 3)


@h.case
def world_sizes_that_contradict():
    statuses, said = by_hand(3, "out", size={0: 3, 1: 3, 2: 5})
    h.equal(statuses, [0] * 3, "exit statuses")
    lines = [line for line in h.lines(said) if "unprofiled" in line]
    h.equal(len(lines), 1, f"lines about it in {h.lines(said)}")
    h.check("ranks" in lines[0] and "5" in lines[0] and "3" in lines[0], lines)
    done = h.run(h.profwrap("-o", "x", worker()), env={"RANK": "5", "WORLD_SIZE": "4"})
    h.one_line(done, "RANK is 5, but WORLD_SIZE is 4; running .* unprofiled")
    h.equal(len(ranks_said(done)), 1, "programs that ran")


@h.case
def without_mpirun():
    """The merge is one process then."""
    path = worker()
    standin("torchrun")
    done = h.run(h.profwrap("--summary", "-o", "out", "torchrun", "-n", 8, path),
                 env={"PATH": os.path.abspath("bin")})
    clean_workers(done, 8)
    check_files("out", 8)
    check_report("out", done)
    with h.h5py().File("out/cluster.h5", "r") as file:
        h.equal(int(file.attrs["merge_processes"]), 1, "processes of the merge")


def merged_by(script):
    """The report of a job whose mpirun is this script, for all but its version."""
    if os.cpu_count() < 2:
        raise h.Skipped("one core: the merge is one process anyway")
    path = worker()
    standin("torchrun")
    with open("bin/mpirun", "w") as file:
        file.write(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "mpirun (Open MPI) 4.1.4"; exit; }}\n{script}\n')
    os.chmod("bin/mpirun", 0o755)
    return h.run(h.profwrap("--summary", "-o", "out", "torchrun", "-n", 2, path),
                 env={"PATH": os.path.abspath("bin") + ":" + os.environ["PATH"],
                      "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})


@h.case
def an_mpirun_that_fails():
    """As without a place for its files: the merge is one process then."""
    done = merged_by("exit 1")
    h.check(b"mpirun could not start the merge: it runs in one process" in done.stderr, done.stderr)
    check_report("out", done)


@h.case
def a_merge_that_fails_is_not_made_again():
    done = merged_by('while [ "$1" != merge ]; do p=$1; shift; done; "$p" "$@"; exit 1')
    h.check(b"the merge failed" in done.stderr and b"could not start" not in done.stderr, done.stderr)


@h.case
def root_without_leave():
    """mpirun refuses root: the merge does without."""
    if os.geteuid() != 0:
        raise h.Skipped("only root is refused")
    env = {**h.environment(), **standin("srun")}
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        env.pop(name, None)
    done = subprocess.run(h.profwrap("--summary", "-o", "out", "srun", "-n", "2", worker()), env=env,
                          capture_output=True, timeout=h.PATIENCE_S)
    h.equal(done.returncode, 0, "exit status")
    check_report("out", done)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
