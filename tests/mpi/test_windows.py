"""Recording windows: schedules by step number, starts and stops by the program, operations that
cross the edges, and the merge of such files."""

import json
import os
import shutil
import sys

import harness as h

N = 4


def windows(folder, rank=0):
    """(cause, warm-up steps, active steps) of each window."""
    table = h.open_complete(folder, rank)["windows"]
    rows = table[:]
    h.equal([int(r["window"]) for r in rows], list(range(len(rows))), "numbers of windows")
    for row, after in zip(rows, rows[1:]):
        h.check(row["start"] <= row["end"] <= after["start"], "windows overlap", row, after)
    return [(cause, (int(r["warmup_first_step"]), int(r["warmup_last_step"])),
             (int(r["first_step"]), int(r["last_step"])))
            for cause, r in zip(h.enum_names(table, "cause"), rows)]


def steps(folder, rank=0):
    table = h.open_rank(folder, rank)["steps"]
    return dict(zip((int(s) for s in table["step"]), h.enum_names(table, "recorded")))


def gaps(file):
    table = file["events/gap"]
    reasons = h.enum_names(table, "reason")
    return [(int(r["start"]), int(r["end"])) for r, name in zip(table[:], reasons) if name == "paused"]


def merged(folder):
    h.run(h.profwrap("merge", "-q", folder))
    return json.loads(h.run(h.profwrap("report", "--format", "json", folder)).stdout)


def problems(report):
    return {row["what"] for row in report["completeness"]["losses"]}


def same_output(mode, steps_of_run):
    """What the program prints without profwrap."""
    return h.run(h.mpirun(N, h.program("windows"), mode, steps_of_run)).stdout


def scheduled(schedule, mode, amount, *options):
    return h.run(h.mpirun(N, *h.profwrap("-o", "out", "--no-merge", "--schedule", schedule, *options),
                          h.program("windows"), mode, amount))


@h.case
def crossing():
    """Requests, communicators and collectives that cross the edges of windows are all matched."""
    done = scheduled("skip_first=2,wait=2,warmup=1,active=2,repeat=3", "cross", 30)
    h.equal(done.stdout, same_output("cross", 30), "standard output")
    wanted = [("schedule", (4, 4), (5, 6)), ("schedule", (9, 9), (10, 11)),
              ("schedule", (14, 14), (15, 16))]
    uids = []
    for rank in range(N):
        h.equal(windows("out", rank), wanted, f"windows of rank {rank}")
        h.equal(steps("out", rank), {4: "warmup", 5: "active", 6: "active", 9: "warmup",
                                     10: "active", 11: "active", 14: "warmup", 15: "active",
                                     16: "active"}, f"steps of rank {rank}")
        file = h.open_complete("out", rank)
        events, edges = file["events/comm"][:], gaps(file)
        h.equal(len(edges), 4, "pauses")
        begun_paused = [e for e in events if any(a < e["start"] < b for a, b in edges)]
        ops = [op for op, e in zip(h.operations(file), events)
               if any(a < e["start"] < b for a, b in edges)]
        h.equal(set(ops) - {"Waitall", "Finalize", "Init"}, set(), "operations begun in a pause")
        h.check(len(begun_paused) <= 4, "events begun in pauses:", ops)
        names = h.operations(file)
        # 9 recorded steps: each begins one of each, wherever it ended.
        for op, count in (("Iallreduce", 9), ("Irecv", 9), ("Isend", 9), ("Comm_split", 9),
                          ("Barrier", 9), ("Allreduce", 9), ("Recv_init", 9), ("Send_init", 9)):
            h.equal(names.count(op), count, f"{op} of rank {rank}")
        # In each step an Iallreduce and an Allreduce, numbered whether they were recorded or not.
        reduced = [int(e["seq"]) for op, e in zip(names, events) if op == "Allreduce"]
        h.equal(reduced, [2 * s + 1 for s in (4, 5, 6, 9, 10, 11, 14, 15, 16)], "numbers")
        uids.append({int(c["uid"]) for c in file["comms"][:] if c["size"] == 2})
        h.equal(len(uids[-1]), 30, "communicators of 30 steps")
    h.equal(uids[0], uids[2], "communicators of even ranks")
    report = merged("out")
    h.equal(problems(report) & {"collectives_incomplete", "collectives_mismatched", "steps_missing"},
            set(), "problems")
    h.equal((report["steps"]["measured"], report["steps"]["warmup"]), (6, 3), "steps")
    text = h.run(h.profwrap("report", "--full", "out")).stdout.decode()
    h.check("steps 5-6, 10-11, 15-16" in text and "warm-up 4, 9, 14" in text, text)
    restricted_to_steps()


def restricted_to_steps():
    """`report --steps` of the run above. Each step has an Iallreduce, an Allreduce and two
    Barriers."""
    part = json.loads(h.run(h.profwrap("report", "--format", "json", "--steps", "5,10-11", "out")).stdout)
    h.equal((part["steps"]["measured"], part["job"]["restricted_to_steps"]), (3, "5,10-11"), "steps")
    counts = {}
    for row in part["collectives"]:
        counts[row["op"]] = counts.get(row["op"], 0) + row["count"]
    h.equal({op: counts.get(op) for op in ("Iallreduce", "Allreduce", "Barrier")},
            {"Iallreduce": 3, "Allreduce": 3, "Barrier": 6}, "collectives of 3 steps")
    text = h.run(h.profwrap("report", "--full", "--steps", "5,10-11", "out")).stdout.decode()
    h.check("steps 5,10-11: " in text, text)
    titles = {line for line in text.splitlines() if line.endswith(" (of the whole run)")}
    h.check("Memory (of the whole run)" in titles and not any("Steps" in one for one in titles), titles)
    said = part["job"]["restriction"]
    h.check(said.startswith("steps 5,10-11: ") and "queues" in said and "memory" in said, said)
    for bad in ("6-5", "x", "1-", "5,", "-1", "1-2-3", "99999999999999999999"):
        done = h.run(h.profwrap("report", "--steps", bad, "out"), status=2)
        h.equal(len(h.lines(done.stderr)), 1, f"lines of --steps {bad}")


@h.case
def steps_that_go_back_and_repeat():
    """All ranks record the same steps, as often as the program ran them, also with a schedule. The
    merge uses the first of each, and says so."""
    greatest = 2**63 - 1
    plain = same_output("astray", 10)
    walked = [*range(10), *range(5, 10), 9, 9, 9, greatest]
    for options, wanted, used in (((), walked, 11),
                                  (("--schedule", "wait=2,active=2"), [2, 3, 6, 7, 6, 7, greatest], 5)):
        done = h.run(h.mpirun(N, *h.profwrap("-o", "out", "--no-merge", *options), h.program("windows"),
                              "astray", 10))
        h.equal(done.stdout, plain, "output")
        for rank in range(N):
            h.equal(h.open_complete("out", rank)["steps"]["step"].tolist(), wanted,
                    f"steps of rank {rank}")
        report = merged("out")
        h.check("steps_repeated" in problems(report), problems(report))
        h.equal(report["steps"]["measured"], used, "steps that are used")
        shutil.rmtree("out")


@h.case
def steps_that_are_cancelled():
    """A step that was begun for data that had ended is none, and its number comes again. A window's
    last step is one that counts."""
    plain = same_output("epochs", 5)
    for options, wanted, ends in (((), range(10), [("run", (-1, -1), (0, 9))]),
                                  (("--schedule", "wait=3,active=3"), (3, 4, 5, 9),
                                   [("schedule", (-1, -1), step) for step in ((3, 4), (5, 5), (9, 9))])):
        done = h.run(h.mpirun(N, *h.profwrap("-o", "out", "--no-merge", *options), h.program("windows"),
                              "epochs", 5))
        h.equal(done.stdout, plain, "output")
        for rank in range(N):
            rows = h.open_complete("out", rank)["steps"][:]
            h.equal([int(row["step"]) for row in rows], list(wanted), f"steps of rank {rank}")
            h.check(all(a["end"] <= b["start"] for a, b in zip(rows, rows[1:])), rows)
            h.equal(windows("out", rank), ends, f"windows of rank {rank}")
        report = merged("out")
        h.check("steps_repeated" not in problems(report), problems(report))
        h.equal(report["steps"]["measured"], len(wanted), "steps that are used")
        shutil.rmtree("out")


@h.case
def steps_by_names_of_ranges():
    """A schedule also follows steps that only NVTX marks, by each of its kinds of ranges."""
    h.run(h.mpirun(N, *h.profwrap("-o", "out", "--no-merge", "--schedule",
                                  "skip_first=2,wait=2,warmup=1,active=3,repeat=2"),
                   h.program("nvtxsteps"), 30))
    wanted = {4: "warmup", **{n: "active" for n in (5, 6, 7)},
              10: "warmup", **{n: "active" for n in (11, 12, 13)}}
    for rank in range(N):
        h.equal(windows("out", rank), [("schedule", (4, 4), (5, 7)), ("schedule", (10, 10), (11, 13))],
                f"windows of rank {rank}")
        h.equal(steps("out", rank), wanted, f"steps of rank {rank}")
        file = h.open_rank("out", rank)
        table, strings = file["events/range"], h.texts(file)
        kinds = h.enum_names(table, "kind")
        found = [(strings[r["name"]], int(r["sequence"])) for r, kind in zip(table[:], kinds)
                 if kind == "step" and r["depth"] == 1]
        h.equal(found, [("ProfilerStep" if n % 4 == 0 else "Iteration" if n % 4 == 2 else "step", n)
                        for n in wanted], f"step ranges of rank {rank}")
    report = merged("out")
    h.equal((report["steps"]["measured"], report["steps"]["inferred"]), (6, False), "steps")


@h.case
def pauses():
    """The program calls profwrap_stop() and profwrap_start() within steps. Ranges stay balanced,
    and such steps are not measured."""
    done = h.run(h.mpirun(N, *h.profwrap("-o", "out", "--no-merge"), h.program("windows"), "verbs", 6))
    # profwrap_active() is 1 in the three steps without a stop.
    plain = float(same_output("verbs", 6).split()[1])
    h.equal(float(done.stdout.split()[1]), plain + 300, "sum")
    file = h.open_complete("out")
    h.equal(steps("out"), {n: "partial" if n % 2 else "active" for n in range(6)}, "steps")
    h.equal([w[0] for w in windows("out")], ["run", "program", "program", "program"], "causes")
    h.equal([w[2] for w in windows("out")], [(0, 1), (1, 3), (3, 5), (5, 5)], "steps of windows")
    names = h.range_names(file)
    h.equal({n: names.count(n) for n in sorted(set(names))},
            {"inside": 3, "into": 6, "kept": 6, "out of": 3}, "ranges")
    depths = {(h.texts(file)[int(r["name"])], int(r["depth"])) for r in file["events/range"][:]}
    h.equal(depths, {("kept", 0), ("into", 1), ("inside", 1), ("out of", 1)}, "depths")
    h.equal(h.operations(file).count("Allreduce"), 15, "Allreduces that were recorded")
    report = merged("out")
    h.equal(report["steps"]["measured"], 3, "measured steps")
    h.equal(problems(report) & {"collectives_incomplete", "steps_repeated"}, set(), "problems")


@h.case
def start_paused():
    """Nothing is recorded until the program starts the recording."""
    h.run(h.mpirun(N, *h.profwrap("-o", "out", "--no-merge", "--start-paused"), h.program("windows"),
                   "verbs", 4))
    file = h.open_complete("out")
    h.equal([(w[0], w[2]) for w in windows("out")], [("program", (1, 3)), ("program", (3, 3))],
            "windows")
    h.equal(steps("out"), {1: "partial", 2: "active", 3: "partial"}, "steps")
    h.equal(h.operations(file).count("Allreduce"), 1 + 3 + 2, "Allreduces")


@h.case
def pcontrol():
    """MPI_Pcontrol(0) stops, 1 starts at the level of the run, and 2 starts at the highest
    level."""
    h.run(h.mpirun(2, *h.profwrap("-o", "out", "--no-merge", "--level", "0"), h.program("windows"),
                   "levels", 9))
    file = h.open_complete("out")
    h.equal({w[0] for w in windows("out")}, {"run", "pcontrol"}, "causes")
    names = h.operations(file)
    h.equal((names.count("Allreduce"), names.count("Iprobe")), (6, 3), "Allreduces and Iprobes")


@h.case
def stragglers():
    """A rank that is late inside a window is named. A rank that is late only outside is not."""
    for where, wanted in (("20-49", [2]), ("60-89", [])):
        folder = "out" + where
        h.run(h.mpirun(N, *h.profwrap("-o", folder, "--no-merge", "--schedule",
                                      "skip_first=18,warmup=2,active=30,repeat=1"), h.place("TRAIN"),
                       "--steps", "100", "--pace", "3", "--batch", "4", "--hidden", "32", "--inject",
                       f"rank=2,phase=forward,ms=40,steps={where}"))
        report = merged(folder)
        h.equal((report["steps"]["measured"], report["steps"]["warmup"]), (30, 2), "steps")
        # The delay is 30 x 40 ms. Of 30 steps of 10 ms, a machine takes a few ms from any rank.
        named = [(row["rank"], row["lost_ns"]) for row in report["stragglers"]]
        h.equal([rank for rank, lost_ns in named if lost_ns >= 600e6], wanted,
                f"late in {where}, of {named}")


@h.case
def bad_arguments():
    """Each bad argument gives one line and status 2."""
    for text in ("active=0", "active=-1", "wait=2", "activ=1", "active=1,active=1",
                 "active=99999999999999999999", "active", ","):
        done = h.run(h.profwrap("--schedule", text, "true"), status=2)
        h.equal(len(h.lines(done.stderr)), 1, f"lines of {text}")
        h.check(b"--schedule" in done.stderr, done.stderr)
    h.check(not os.path.exists("profwrap-1"), os.listdir("."))


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
