"""`profwrap merge` of one directory: several merges at once, killed merges, and too little space.
cluster.h5 is complete or does not exist, and exists after every status 0. For an error there are
one line and status 1."""

import fcntl
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time

import harness as h

RANKS = 4


def make_run(directory="run", *options):
    h.run(h.profwrap("sim", "-r", RANKS, "-s", 60, *options, directory))
    return set(os.listdir(directory))


def start(*command):
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=h.environment())


def merge(*arguments):
    return start(*h.profwrap("merge", *arguments, "run"))


def is_there_and_whole(path="run/cluster.h5"):
    if not os.path.exists(path):
        return False
    with h.h5py().File(path) as file:
        for name in file:
            if name != "rank":
                file[name][()]
        h.equal(len(file["ranks"]), RANKS, "ranks")
        h.check(len(file["steps"]) > 0, "no steps")
        h.equal(len(file["step_trace"]), len(file["steps"]), "rows of the step trace")
    return True


def finished(child, statuses=(0,)):
    out, err = child.communicate(timeout=h.PATIENCE_S)
    h.check(child.returncode in statuses, "status", child.returncode, err)
    return err


def left(before):
    return sorted(set(os.listdir("run")) - before)


def report_meanwhile(merges):
    """Makes reports as long as the merges run. As soon as there is one report, every later one must
    be complete, too."""
    made = 0
    while True:
        last = all(child.poll() is not None for child in merges)
        report = subprocess.run(h.profwrap("report", "--format", "json", "run"),
                                capture_output=True, env=h.environment())
        if report.returncode == 0:
            made += 1
        else:
            h.check(made == 0, "a report that was there is not:", report.stderr)
            h.one_line(report, "cluster.h5")
        if last:
            return made


@h.case
def several_at_once():
    h.h5py()
    before = make_run()
    merges = [merge() for _ in range(6)] + [start(*h.mpirun(2, *h.profwrap("merge", "run")))]
    h.check(report_meanwhile(merges) > 0, "no report could be made")
    for child in merges:
        finished(child)
    h.check(is_there_and_whole(), "no cluster.h5")
    h.equal(left(before), ["cluster.h5"], "files")


@h.case
def several_at_once_where_files_cannot_be_locked():
    h.h5py()
    before = make_run()
    os.mkdir("run/cluster.h5.lock")
    for child in [merge() for _ in range(6)]:
        finished(child)
        h.check(is_there_and_whole(), "no cluster.h5")
    h.equal(left(before), ["cluster.h5", "cluster.h5.lock"], "files")


@h.case
def killed_at_random():
    h.h5py()
    before, dice = make_run(), random.Random(11)
    for _ in range(10):
        merges = [merge() for _ in range(3)]
        victim = dice.choice(merges)
        try:
            victim.wait(timeout=dice.uniform(0, 0.5))
        except subprocess.TimeoutExpired:
            victim.send_signal(signal.SIGKILL)
        done = [(finished(child, (0, -signal.SIGKILL)), child.returncode) for child in merges]
        whole = is_there_and_whole()
        h.check(whole or all(status for _, status in done), "status 0, but no cluster.h5")
        if whole:
            os.remove("run/cluster.h5")
    for name in ("cluster.h5.part-0123456789abcdef", "cluster.h5.matched-1-of-16.part"):
        with open(os.path.join("run", name), "w") as file:
            file.write("left by a killed merge")
    finished(merge())
    h.check(is_there_and_whole(), "no cluster.h5")
    h.equal(left(before), ["cluster.h5"], "files")


@h.case
def files_of_similar_names_stay():
    """The merge removes only files with the exact names of its own files. Other files belong to the
    user."""
    make_run()
    names = [f"copy{end}" for end in (
        ".part", ".part-", ".part-2", ".part-0123456789abcde", ".part-0123456789abcdef0",
        ".part-0123456789ABCDEF", ".part-0123456789abcdef-.lock2", ".part-0123456789abcdef.h5", ".matched-.part", ".matched-a.part",
        ".matched-0-of-.part", ".matched-0-of-2.part.gz", ".matched-0-of-2-of-3.part")]
    ours = ["copy.part-00000000000000ff", "copy.part-00000000000000ff-1-518.lock",
            "copy.matched-0-of-2.part"]
    for name in names + ours:
        with open(name, "w") as file:
            file.write("mine")
    h.run(h.profwrap("merge", "-o", "copy", "run"))
    h.equal(sorted(name for name in os.listdir() if name.startswith("copy")),
            sorted(names + ["copy"]), "files")


@h.case
def more_files_than_descriptors():
    """Rank files stay open in a merge, as many as may; the others are opened for each table."""
    h.run(h.profwrap("sim", "-p", "halo", "-r", 48, "-s", 5, "run"))

    def merged(output, descriptors):
        child = subprocess.run(h.profwrap("merge", "-o", output, "run"), capture_output=True, text=True,
                               env=h.environment(), preexec_fn=lambda: resource.setrlimit(
                                   resource.RLIMIT_NOFILE, (descriptors, descriptors)))
        h.equal(child.returncode, 0, child.stderr)
        with h.h5py().File(output) as file:
            return {name: file[name][()].tobytes() for name in file if name != "rank"}

    h.equal(merged("few.h5", 30), merged("many.h5", 1024), "tables")


@h.case
def few_descriptors_for_mpirun():
    """The mpirun of the merge at the end of a run would wait for ever; one process merges instead."""
    for descriptors in 28, 200:
        out = f"out{descriptors}"
        h.run(h.mpirun(2, "bash", "-c", f'ulimit -n {descriptors}; exec "$@"', "bash",
                       *h.profwrap("-o", out), "true"))
        h.equal(len(h.h5py().File(f"{out}/cluster.h5")["ranks"]), 2, "ranks")


@h.case
def what_a_merge_needs_more_memory_than():
    """The line names the memory limit, and how to raise it. A merge without MPI needs less."""
    make_run("run", "-c", 60)
    alone, parallel = h.profwrap("merge", "run"), h.mpirun(2, *h.profwrap("merge", "run"))
    # Less than 8 MiB is 8 MiB: HDF5 crashes when it gets less.
    for wish, limit, command in (("8M", 8, alone), ("1M", 8, alone), ("20M", 20, parallel)):
        done = h.run(command, None, env={"PROFWRAP_READ_MEMORY": wish})
        h.equal(done.returncode, 1, "status")
        said = [line for line in h.lines(done.stderr) if line.startswith("profwrap")]
        h.equal(len(said), 1, f"lines of profwrap: {done.stderr}")
        h.check(f"more than {limit} MiB" in said[0] and "PROFWRAP_READ_MEMORY" in said[0], said[0])


@h.case
def another_merge_is_waited_for():
    h.h5py()
    before = make_run()
    with open("run/cluster.h5.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        busy = h.run(h.profwrap("merge", "--wait", "0", "run"), 1)
        h.one_line(busy, "another merge is writing run/cluster.h5")
        h.check(not os.path.exists("run/cluster.h5"), "it was merged")
        patient = start(*h.mpirun(2, *h.profwrap("merge", "run")))
        first = patient.stderr.readline()
        h.check(b"waiting" in first, first)
        h.check(not os.path.exists("run/cluster.h5"), "it did not wait")
        fcntl.flock(file, fcntl.LOCK_UN)
    finished(patient)
    h.check(is_there_and_whole(), "no cluster.h5")
    h.equal(left(before), ["cluster.h5"], "files")


@h.case
def run_that_is_asked_to_end_is_merged_by_another_process():
    """A launcher ends the profwrap of rank 0 in its merge when a rank has failed, and kills it soon after."""
    program = f"while [ ! -e go ]; do sleep 0.01; done; exec {h.program('tally')} - 20 return 3"
    child = start(*h.profwrap("-o", "out"), "sh", "-c", program)
    while not os.path.lexists("out/.job"):  # before, the directory must stay empty
        h.check(child.poll() is None, "the run ended")
        time.sleep(0.01)
    with open("out/cluster.h5.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with open("go", "w"):
            pass
        while b"waiting" not in (said := child.stderr.readline()):
            h.check(said, "the merge did not wait")
        child.send_signal(signal.SIGTERM)
        said = child.stderr.readline()
        h.check(b"is being made and will be in out/report.txt" in said, said)
        _, rest = child.communicate(timeout=h.PATIENCE_S)
    h.equal((child.returncode, rest), (3, b""), "status of the program, and further lines")
    h.wait_for_report("out")


@h.case
def planted_files_are_not_followed():
    h.h5py()
    before = make_run()
    with open("victim", "w") as file:
        file.write("precious")
    for name in ("cluster.h5.lock", "cluster.h5.part"):
        os.symlink("../victim", os.path.join("run", name))
    finished(merge())
    h.check(is_there_and_whole(), "no cluster.h5")
    with open("victim") as file:
        h.equal(file.read(), "precious", "victim")
    h.equal(os.stat("run/cluster.h5").st_mode & 0o777, 0o600, "mode")
    h.check(not os.path.islink("run/cluster.h5"), "a link")
    h.equal(left(before), ["cluster.h5", "cluster.h5.lock", "cluster.h5.part"], "files")


def in_small_file_system(options, *command):
    """Runs the command with its output in a file system of this size. Returns what the command
    printed and the names of the files that it left."""
    script = (f'mount -t tmpfs -o {options} none out || exit 99; shift; "$@"; status=$?; '
              'ls out >&2; exit $status')
    return h.run(["unshare", "-m", "sh", "-c", script, "sh", "", *command], 1)


@h.case
def disk_full():
    """The disk may be full at any point of the merge."""
    h.own_mounts()
    make_run()
    os.mkdir("out")
    finished(merge())
    size = os.path.getsize("run/cluster.h5")
    for share in (0.02, 0.3, 0.6, 0.9):
        for command in (h.profwrap(), h.mpirun(2, *h.profwrap())):
            room = max(4096, int(size * share) // 4096 * 4096)
            done = in_small_file_system(f"size={room}", *command, "merge", "-o", "out/cluster.h5",
                                        "run")
            lines = [line for line in h.lines(done.stderr) if line.startswith("profwrap")]
            h.equal(len(lines), 1, h.lines(done.stderr))
            h.check(re.search("cannot write out/cluster.h5: No space left", lines[0]), lines)
            if command[0] == h.place("PROFWRAP"):
                h.equal(h.lines(done.stderr), lines, "standard error")
            h.check("cluster.h5" not in str(h.lines(done.stderr)[1:]), h.lines(done.stderr))


@h.case
def inodes_exhausted():
    h.own_mounts()
    make_run()
    os.mkdir("out")
    done = in_small_file_system("size=16m,nr_inodes=1", *h.profwrap(), "merge", "-o",
                                "out/cluster.h5", "run")
    h.one_line(done, "cannot write out/cluster.h5: No space left")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
