"""`profwrap ctl start`, `stop` and `snapshot` on running jobs, and the signals with the same
effect."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import harness as h

N = 4


@contextlib.contextmanager
def running(*options, program, n=N, name="windows"):
    """Starts a job in the background, and waits until all ranks run. At the end of the block, the
    job is ended if it still runs."""
    command = h.mpirun(n, *h.profwrap("-o", "out", "--no-merge", *options), h.program(name),
                       *program)
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                           env=h.environment())
    try:
        await_steps(job, n, marked="plain" not in program)
        yield job
    finally:
        if job.poll() is None:
            job.terminate()
        job.communicate(timeout=h.PATIENCE_S)


def status():
    return json.loads(h.run(h.profwrap("ctl", "status", "--format", "json", "out")).stdout)["ranks"]


def await_steps(job, n, marked):
    """Waits until all ranks answer and, if `marked`, each has marked a step."""
    until = time.monotonic() + h.PATIENCE_S
    while True:
        with contextlib.suppress(AssertionError):
            ranks = status()
            if len(ranks) == n and all(r["threads"] and (r["step"] is not None or not marked)
                                       for r in ranks):
                return
        h.check(job.poll() is None and time.monotonic() < until, "the job did not get as far")
        time.sleep(0.2)


def order(verb, code=0):
    """The step that the ranks agreed on, or None if the order takes effect at once; and the
    text."""
    done = h.run(h.profwrap("ctl", verb, "out"), status=code)
    text = done.stdout.decode() if code == 0 else done.stderr.decode()
    found = re.search(r"at step (\d+) on all 4 ranks", text)
    return (int(found.group(1)) if found else None), text


def await_recording(wanted, seconds=40):
    until = time.monotonic() + seconds
    while [r["recording"] for r in status()] != [wanted] * N:
        h.check(time.monotonic() < until, "recording is not", wanted, "on all ranks")
        time.sleep(0.2)


def await_step(step, seconds=40):
    """Waits until all ranks are past the step."""
    until = time.monotonic() + seconds
    while not all(r["step"] is not None and r["step"] > step for r in status()):
        h.check(time.monotonic() < until, "not all ranks got past step", step)
        time.sleep(0.2)


def await_said(job, text):
    """Waits until the job says this on standard error."""
    said = b""
    while text not in said:
        line = job.stderr.readline()
        h.check(line, "the job ended without", text, "in", said)
        said += line


def let_end(job):
    """Ends the job's loops. Returns its output."""
    open("enough", "w").close()
    return job.communicate(timeout=h.PATIENCE_S)


def await_records(n, seconds=40):
    """Waits until the journal of each rank has grown by that many records, of some 8 bytes each."""
    def sizes():
        return [os.path.getsize(f"out/rank-{rank:05d}.journal") for rank in range(N)]

    before, until = sizes(), time.monotonic() + seconds
    while min(now - then for now, then in zip(sizes(), before)) < 8 * n:
        h.check(time.monotonic() < until, "no records in the journals", before, sizes())
        time.sleep(0.1)


def windows(rank):
    table = h.open_complete("out", rank)["windows"]
    return [(cause, int(r["first_step"]), int(r["last_step"]))
            for cause, r in zip(h.enum_names(table, "cause"), table[:])]


@h.case
def start_and_stop():
    """Ranks that drift apart start and stop recording at the same steps."""
    with running("--start-paused", program=("drift", "60000")) as job:
        # Mostly while the one before is still to be applied.
        at = [order(verb)[0] for verb in ("start", "stop", "start", "stop")]
        h.check(None not in at and at == sorted(set(at)), at)
        await_step(at[-1])
        let_end(job)
    h.equal(job.returncode, 0, "exit status")
    for rank in range(N):
        h.equal(windows(rank), [("ctl", at[0], at[1] - 1), ("ctl", at[2], at[3] - 1)],
                f"windows of rank {rank}")
        steps = [int(s) for s in h.open_rank("out", rank)["steps"]["step"]]
        h.equal(steps, [*range(at[0], at[1]), *range(at[2], at[3])], f"steps of rank {rank}")
    h.equal([name for name in os.listdir("out") if name.startswith(".")
             and ("ctl" in name or "status" in name)], [], "what is left over")


@h.case
def steps_by_names_of_ranges():
    """Steps that only NVTX ranges mark count as steps for status and for changes. All ranks record
    the same ones."""
    with running("--start-paused", program=("1000000", "60000"), name="nvtxsteps") as job:
        h.check(all(r["step"] < 500 for r in status()), "steps are those of inner ranges", status())
        first, text = order("start")
        h.check(first is not None, text)
        await_recording(True)
        last, text = order("stop")
        h.check(last is not None, text)
        await_recording(False)
        let_end(job)
    h.equal(job.returncode, 0, "exit status")
    for rank in range(N):
        h.equal(windows(rank), [("ctl", first, last - 1)], f"windows of rank {rank}")
        steps = [int(s) for s in h.open_rank("out", rank)["steps"]["step"]]
        h.equal(steps, list(range(first, last)), f"steps of rank {rank}")


@h.case
def without_marks():
    """If the program marks no steps, an order takes effect at once, and the output says so."""
    with running("--start-paused", program=("plain", "100000")) as job:
        step, text = order("start")
        h.check(step is None and "now on 4 of 4 ranks" in text and "marks no steps" in text, text)
        await_recording(True)
        await_records(100)
        step, text = order("stop")
        h.check("now on 4 of 4 ranks" in text, text)
        await_recording(False)
        said = let_end(job)[0].decode()
    calls = float(said.split()[1])  # "sum CALLS signals 0"
    for rank in range(N):
        h.equal(windows(rank), [("ctl", -1, -1)], f"windows of rank {rank}")
        count = h.operations(h.open_rank("out", rank)).count("Allreduce")
        h.check(10 < count < calls, count, "of", calls, "Allreduces")


@h.case
def snapshot():
    """All rank files of a snapshot end before the same step. They are merged and reported while the
    job goes on."""
    with running(program=("drift", "60000")) as job:
        done = h.run(h.profwrap("ctl", "snapshot", "out")).stdout.decode()
        step = int(re.search(r"4 of 4 ranks, up to step (\d+)", done).group(1))
        for rank in range(N):
            file = h.open_rank("out/snapshot-1", rank)
            h.equal((int(file.attrs["complete"]), int(file.attrs["snapshot"])), (0, 1), "attributes")
            steps = [int(s) for s in file["steps"]["step"]]
            h.equal(steps, list(range(step)), f"steps of rank {rank}")
            file.close()
        h.run(h.profwrap("merge", "-q", "out/snapshot-1"))
        report = h.run(h.profwrap("report", "--full", "out/snapshot-1")).stdout.decode()
        h.check("Incomplete: the job was still running." in report, report[:600])
        data = json.loads(h.run(h.profwrap("report", "--format", "json", "out/snapshot-1")).stdout)
        h.equal((data["job"]["snapshot"], data["steps"]["measured"]), (True, step), "job")
        h.run(h.profwrap("ctl", "snapshot", "-o", "elsewhere", "out"))
        h.equal(len(os.listdir("elsewhere")), N, "files elsewhere")
        h.run(h.profwrap("ctl", "snapshot", "-o", "elsewhere", "out"), status=1)
        let_end(job)
    h.equal(job.returncode, 0, "exit status")
    for rank in range(N):
        h.check(len(h.open_complete("out", rank)["steps"]) > step, "the job's own file")


def guard_of(rank):
    """The process ID of the guard, which mpirun started for this rank."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/environ", "rb") as file:
                mine = f"OMPI_COMM_WORLD_RANK={rank}\0".encode() in file.read()
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            if mine and os.readlink(f"/proc/{pid}/cwd") == os.getcwd() and \
                    os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "profwrap" and \
                    fields[2] == pid:
                return int(pid)
    return None


@h.case
def signals():
    """SIGUSR1 or SIGUSR2, sent to one profwrap, is an order for all ranks if the program does not
    handle the signal."""
    with running("--start-paused", program=("drift", "60000")) as job:
        os.kill(guard_of(1), signal.SIGUSR1)
        await_said(job, b"on all 4 ranks")
        await_recording(True)
        os.kill(guard_of(2), signal.SIGUSR2)
        await_said(job, b"on all 4 ranks")
        await_recording(False)
        out, err = let_end(job)
    h.equal((job.returncode, out), (0, b"sum 4 signals 0\n"), "what the program did")
    h.check(b"on all 4 ranks" not in err, "a third order:", err)
    found = [windows(rank) for rank in range(N)]
    h.check(len(found[0]) == 1 and found[0][0][0] == "signal", found[0])
    h.equal(found, [found[0]] * N, "windows")


@h.case
def signals_of_the_program():
    """A program that handles SIGUSR1 receives it."""
    with running("--start-paused", program=("usr1", "1500")) as job:
        os.kill(guard_of(0), signal.SIGUSR1)
        out, _ = job.communicate(timeout=h.PATIENCE_S)
    h.equal((job.returncode, out.split()[-1]), (0, b"1"), "signals that the program got")
    h.equal(windows(0), [], "windows")


@h.case
def refusals():
    """profwrap refuses a directory without a running job, and a command that does not exist."""
    os.mkdir("empty")
    for verb in ("start", "stop", "snapshot"):
        done = h.run(h.profwrap("ctl", verb, "empty"), status=1)
        h.equal(h.lines(done.stderr), ["profwrap: empty has no running job: 'profwrap report empty' shows "
                                       "one that has ended"], verb)
    h.equal(len(h.lines(h.run(h.profwrap("ctl", "begin", "empty"), status=2).stderr)), 1, "lines")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
