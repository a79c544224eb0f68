"""Complete runs of examples/train. The report names the straggler, or no rank if there is none. The
files and keys have the names that other programs rely on. The result of a merge depends neither on
how it is run nor on missing files."""

import json
import os
import re
import shutil
import signal
import sys

import contract
import harness as h

INJECTION = ("--inject", "rank=3,phase=backward,ms=30,steps=20-40")
FILES = ("cluster.h5", "report.txt", "report.json")


def train(n, *arguments, out="out"):
    h.run(h.mpirun(n, *h.profwrap("-o", out), h.place("TRAIN"), *arguments))
    wanted = sorted([f"rank-{r:05d}.h5" for r in range(n)] + list(FILES))
    found = sorted(name for name in os.listdir(out) if not name.startswith("."))
    h.check(set(wanted) <= set(found), "files", found, "lack", set(wanted) - set(found))
    h.check(not [name for name in found if name.endswith(".part")], "unfinished files", found)
    return read_report(out)


def read_report(folder):
    def no_constant(name):
        raise AssertionError(f"report.json has {name}")

    with open(os.path.join(folder, "report.json")) as file:
        return json.load(file, parse_constant=no_constant)


def headline(folder):
    with open(os.path.join(folder, "report.txt")) as file:
        return file.read().split("\n\n")[0]


def names_somebody(text):
    """Whether a headline says of a rank that it held the job back (also for the part before the
    steps, or as one that cost less than what comes first)."""
    told = re.sub(r"(no rank( alone)?|cannot tell whether a rank) held the job back", "", " ".join(text.split()),
                  flags=re.IGNORECASE)
    return "held back" in told or "held the job back" in told


def check_names(file, attributes, datasets, what):
    lacking = [a for a in attributes if a not in file.attrs]
    for name, fields in datasets.items():
        if name not in file:
            lacking.append(name)
        else:
            lacking += [f"{name}.{f}" for f in fields.split() if f not in file[name].dtype.names]
    h.check(not lacking, what, "lacks", lacking)


def check_files(n, folder="out"):
    for rank in range(n):
        with h.open_complete(folder, rank) as file:
            check_names(file, contract.RANK_ATTRIBUTES, contract.RANK_DATASETS, f"rank {rank}")
            h.equal((int(file.attrs["rank"]), int(file.attrs["world_size"])), (rank, n), "rank")
            h.check("strings" in file, "no /strings")
            h.check(len(file["samples/process"]) > 0, "no samples of rank", rank)
    with h.h5py().File(os.path.join(folder, "cluster.h5"), "r") as file:
        check_names(file, contract.CLUSTER_ATTRIBUTES, contract.CLUSTER_DATASETS, "cluster.h5")
        h.equal(file["step_trace"].shape, (len(file["steps"]), n), "shape of /step_trace")
        h.equal(len(file["rank/00000/events/comm"]), len(h.open_rank(folder)["events/comm"]),
                "events behind the link to rank 0")


@h.case
def straggler_is_named():
    """Also where other programs take the CPUs, the files have the delay, and every step of it."""
    report = train(8, *INJECTION)
    first = headline("out")
    h.equal([k for k in contract.REPORT_KEYS if k not in report], [], "sections that lack")
    check_files(8)
    with h.h5py().File("out/cluster.h5", "r") as file:
        backward = file["phase_trace"]["backward_ns"][20:41, 3]
    h.check((backward >= 30_000_000).all(), "backward of rank 3 in steps 20-40:", backward)
    if h.is_short_of_cpus(report):
        print("ranks had no CPU for a part of the steps; the report says:", first)
        return
    h.check(report["stragglers"], "nobody is named:", first)
    worst = report["stragglers"][0]
    h.equal([k for k in contract.STRAGGLER_KEYS if k not in worst], [], "keys that lack")
    h.equal((worst["rank"], worst["phase"]), (3, "backward"), "the slow rank and its phase")
    h.check("ank 3" in first and "backward" in first, "the headline is", first)


@h.case
def no_rank_is_named_without_a_fault():
    # 10 ms of a step, a third of what straggler_is_named injects: 8 ranks share these few cores.
    report = train(8, "--pace", 20)
    first = headline("out")
    h.equal(names_somebody(first), bool(report["stragglers"]), f"whether this names somebody: {first}")
    if h.is_short_of_cpus(report):
        print("ranks had no CPU for a part of the steps; the report says:", first)
        return
    h.equal([row for row in h.accused(report, 0.15) if row["cause"] not in h.SEEN_BY_THE_KERNEL], [],
            "who is named")


@h.case
def halo_exchange():
    halo = os.path.join(os.path.dirname(h.place("TRAIN")), "halo")
    command = [halo, "--side", "60", "--steps", "50"]
    plain = h.run(h.mpirun(4, *command)).stdout
    profiled = h.run(h.mpirun(4, *h.profwrap("-o", "out"), *command)).stdout
    h.equal(profiled, plain, "output with profwrap")
    h.equal(len(h.lines(plain)), 5, "lines: one every tenth step")
    with h.h5py().File("out/cluster.h5", "r") as file:
        pairs = [(int(r["src"]), int(r["dst"]), int(r["messages"]), int(r["bytes"]))
                 for r in file["p2p"][:]]
    beside = [(0, 1), (0, 2), (1, 0), (1, 3), (2, 0), (2, 3), (3, 1), (3, 2)]
    h.equal(sorted(pairs), [(a, b, 50, 50 * 60 * 8) for a, b in beside], "messages matched")


@h.case
def rank_that_ends_late():
    """The others have ended meanwhile: they wait for its end. The run ends with the last sample, up to 0.1 s before."""
    late = '"$@" && if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then sleep 1; fi'
    h.run(h.mpirun(3, *h.profwrap("-q", "-o", "out"), "sh", "-c", late, "sh", h.place("TRAIN"), "--steps", "20"))
    with h.h5py().File("out/cluster.h5", "r") as file:
        end = file["part_trace"][-1]
        held = [(int(r["rank"]), int(r["lost_ns"])) for r in file["stragglers"][:] if int(r["part"]) == 7]
    own = [int(own) for own in end["total_ns"] - end["wait_ns"]]
    h.check(own[1] >= 800_000_000, "own time of rank 1 after MPI_Finalize", own)
    h.equal([rank for rank, _ in held], [1], "who ended late")
    h.check(abs(held[0][1] - (own[1] - (own[0] + own[2]) // 2)) <= 1, "cost", held, own)


def datasets(path):
    """The contents of a cluster file, without the links to rank files and the number of merge
    processes."""
    found = {}
    with h.h5py().File(path, "r") as file:
        found["attributes"] = {
            k: str(v) for k, v in file.attrs.items() if k not in ("merge_processes",)
        }
        for name in file:
            if name != "rank":
                found[name] = (str(file[name].dtype), file[name].shape, file[name][()].tobytes())
    return found


def merge(processes, *arguments, status=0):
    command = h.profwrap("merge", *arguments)
    return h.run(h.mpirun(processes, *command) if processes > 1 else command, status)


@h.case
def merge_processes():
    train(5, "--steps", "12")
    wanted = datasets("out/cluster.h5")
    for processes in (1, 2, 3):
        merge(processes, "-o", f"out/c{processes}.h5", "out")
        found = datasets(f"out/c{processes}.h5")
        h.equal(sorted(found), sorted(wanted), "datasets")
        differing = [name for name in wanted if found[name] != wanted[name]]
        h.equal(differing, [], f"datasets that differ with {processes} processes")
    h.check("collectives" in wanted and len(wanted) > 5, "too few datasets", list(wanted))


def completeness(path="out/cluster.h5"):
    with h.h5py().File(path, "r") as file:
        rows = [(int(r["rank"]), r["what"].decode()) for r in file["completeness"][:]]
        return sorted(rows), [int(p) for p in file["ranks"]["present"]]


@h.case
def merge_of_damaged_runs():
    train(3, "--steps", "8")
    train(3, "--steps", "8", out="other")
    h.equal(completeness(), ([], [1, 1, 1]), "completeness of a whole run")
    saved = h.rank_path("saved", 1)
    os.mkdir("saved")
    os.rename(h.rank_path("out", 1), saved)
    for processes in (1, 2):
        merge(processes, "out")
        h.equal(completeness(), ([(-1, "collectives_incomplete"), (1, "missing")], [1, 0, 1]),
                "completeness without rank 1")

    shutil.copy(h.rank_path("other", 1), h.rank_path("out", 1))
    merge(2, "out")
    rows, present = completeness()
    h.equal(present, [1, 0, 1], "present with a file of another job")
    h.check((1, "left_out") in rows and (1, "missing") in rows, "completeness", rows)

    with open(saved, "rb") as whole, open(h.rank_path("out", 1), "wb") as half:
        half.write(whole.read()[:2000])
    merge(2, "out")
    rows, present = completeness()
    h.equal(present, [1, 0, 1], "present with a truncated file")
    h.check((-1, "unreadable") in rows and (1, "missing") in rows, "completeness", rows)
    report = json.loads(h.run(h.profwrap("report", "--format", "json", "out")).stdout)
    scopes = [row["scope"] for row in report["whatif"]["scenarios"]]
    h.check("rank" in scopes and "host" not in scopes, "what-ifs of ranks that all ran on one host", scopes)
    done = h.run(h.profwrap("report", "--full", "out"))
    h.check(b"2 of 3" in done.stdout or b"missing" in done.stdout, "the report hides it")


@h.case
def merge_of_nothing():
    os.mkdir("empty")
    with open("file", "w") as file:
        file.write("not a directory")
    os.mkdir("junk")
    with open(h.rank_path("junk", 0), "w") as file:
        file.write("not a rank file")
    for name in ("empty", "absent", "file", "junk"):
        for processes in (1, 2):
            command = h.profwrap("merge", name)
            done = h.run(h.mpirun(2, *command) if processes == 2 else command, None)
            h.equal(done.returncode, 1, f"status of merge {name}")
            said = [line for line in h.lines(done.stderr) if line.startswith("profwrap")]
            h.equal(len(said), 1, f"lines said about {name}: {h.lines(done.stderr)}")
            h.check(name in said[0], said[0])


@h.case
def killed_rank():
    """Rank files of ranks that a signal ended are merged, and the report says so."""
    h.run(h.profwrap("-o", "out", h.program("plain"), "raise", "9"), -signal.SIGKILL)
    rows, present = completeness()
    h.equal((rows, present), ([(0, "killed")], [1]), "completeness")


@h.case
def late_in_finalize():
    """Ranks wait for rank 2 for 3 s of a run of about 4 s, in a call whose waits are not recorded."""
    h.run(h.mpirun(4, *h.profwrap("--quiet", "-o", "out"), h.program("latecomer"), "2", "0", "0", "0", "3000"))
    report = json.loads(h.run(h.profwrap("report", "--format", "json", "out")).stdout)
    [row] = [row for row in report["stragglers"] if row["part"] == "finalize"]
    h.equal(row["rank"], 2, "the late rank")
    h.check(2.4e9 < row["lost_ns"] < 4e9, "lost", row["lost_ns"], "ns of 3 s")
    h.check("rank 2" in report["job"]["headline"].lower() and "in MPI_Finalize" in report["job"]["headline"],
            report["job"]["headline"])


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
