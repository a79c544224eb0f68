"""Ranks of launchers that do not name the job: they find each other, and no other job."""

import glob
import os
import subprocess
import sys

import harness as h

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
    if what in ("wait", "count"):
        open(f"ready-{rank}", "w").close()
        while what == "wait" or not seen:
            time.sleep(0.02)
        time.sleep(0.5)  # for a second one
        with open(f"signals-{rank}", "w") as file:
            file.write(str(len(seen)))
"""


def write(path, text, mode=0o700):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return os.path.abspath(path)


def worker():
    return write("worker.py", WORKER)


def ranks_said(done):
    import json
    said = [json.loads(line) for line in h.lines(done.stdout) if line.startswith("{")]
    return sorted(said, key=lambda one: one["rank"])


def check_files(folder, n, epoch_job=None):
    found = sorted(os.path.basename(path) for path in glob.glob(os.path.join(folder, "rank-*")))
    h.equal(found, [f"rank-{rank:05d}.h5" for rank in range(n)], f"rank files in {folder}")
    jobs = set()
    for rank in range(n):
        with h.open_complete(folder, rank) as file:
            h.equal((int(file.attrs["rank"]), int(file.attrs["world_size"])), (rank, n), "rank")
            jobs.add(h.attribute(file, "job_id"))
    h.equal(len(jobs), 1, f"jobs {jobs}")
    return jobs.pop()


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


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
