"""`profwrap report --format chrome`: the file satisfies the rules of trace viewers, and has every
record once, at its time."""

import collections
import gzip
import json
import sys

import harness as h

STEPS_TRACK = 1 << 16


def profile(ranks, *command):
    h.run(h.mpirun(ranks, *h.profwrap("--no-report", "-o", "out"), *command))


def timeline(*options, name="trace.json"):
    done = h.run(h.profwrap("report", "--format", "chrome", *options, "-o", name, "out"))
    opener = gzip.open if name.endswith(".gz") else open
    with opener(name, "rt", encoding="utf-8") as file:
        whole = json.load(file)
    h.equal(set(whole), {"displayTimeUnit", "otherData", "traceEvents"}, "keys")
    return whole["traceEvents"], done


def of_phase(events, phase):
    return [event for event in events if event["ph"] == phase]


def judge(events):
    """Checks the rules of the format. A viewer drops an event that breaks a rule, or crashes."""
    for event in events:
        h.check(event["ph"] in "XbesfCiM", "phase", event)
        h.check(isinstance(event["pid"], int) and isinstance(event["tid"], int), event)
        h.check(event["ph"] == "M" or event["ts"] >= 0, "before the begin:", event)
        h.check(isinstance(event["name"], str), event)
    for event in of_phase(events, "X"):
        h.check(event["dur"] >= 0, event)
    asyncs = collections.defaultdict(list)
    for event in of_phase(events, "b") + of_phase(events, "e"):
        asyncs[event["cat"], event["id"], event["pid"], event["name"]].append(event)
    for key, (begin, end) in asyncs.items():
        h.check((begin["ph"], end["ph"]) == ("b", "e") and begin["ts"] <= end["ts"], key)
    judge_slices(events)
    judge_arrows(events)


def judge_slices(events):
    """Two slices on a track are nested or do not overlap."""
    tracks = collections.defaultdict(list)
    for event in of_phase(events, "X"):
        tracks[event["pid"], event["tid"]].append(event)
    for slices in tracks.values():
        slices.sort(key=lambda event: (event["ts"], -event["dur"]))
        open_ends = []
        for event in slices:
            end = event["ts"] + event["dur"]
            while open_ends and open_ends[-1] <= event["ts"] + 5e-4:  # half a digit
                open_ends.pop()
            h.check(not open_ends or end <= open_ends[-1] + 2e-3, "crosses another:", event)
            open_ends.append(end)


def judge_arrows(events):
    slices = collections.defaultdict(list)
    for event in of_phase(events, "X"):
        slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    arrows = collections.defaultdict(list)
    for event in of_phase(events, "s") + of_phase(events, "f"):
        arrows[event["id"]].append(event)
        held = any(a - 1e-3 <= event["ts"] <= b + 1e-3 for a, b in slices[event["pid"], event["tid"]])
        h.check(held, "an arrow from or to nothing:", event)
    for number, ends in arrows.items():
        h.equal([end["ph"] for end in ends], ["s", "f"], f"ends of arrow {number}")
        h.check(ends[0]["ts"] <= ends[1]["ts"], "back in time:", ends)


@h.case
def a_training():
    profile(3, h.place("TRAIN"), "--steps", "12")
    events, _ = timeline()
    judge(events)
    for rank in range(3):
        file = h.open_complete("out", rank)
        mine = [event for event in events if event["pid"] == rank]
        wanted = collections.Counter("MPI_" + op for op in h.operations(file))
        wanted.update(h.range_names(file))
        wanted.update(f"step {n}" for n in range(12))
        h.equal(collections.Counter(event["name"] for event in of_phase(mine, "X")), wanted,
                f"slices of rank {rank}")
        nonblocking = [name for name in wanted if name == "MPI_Iallreduce"]
        h.equal(len(of_phase(mine, "b")), sum(wanted[name] for name in nonblocking), "async events")
        names = {event["args"]["name"] for event in of_phase(mine, "M")}
        h.check(any(name.startswith(f"rank {rank} on ") for name in names), names)
        counters = {e["name"] for e in of_phase(mine, "C")}
        h.check("queue batches" in counters, "the loader's queue", counters)
        h.check({"resident memory", "CPU use", "queue batches"} >= counters, "counters", counters)
    late = [event for event in of_phase(events, "s") if event["name"] == "last to come"]
    h.check(len(late) > 12, "collectives without arrows:", len(late))


@h.case
def messages():
    """Every message between two ranks is an arrow from its send to its receive."""
    profile(2, h.program("stream"))
    events, _ = timeline()
    judge(events)
    arrows = [event for event in events if event.get("name") == "message" and event["ph"] == "s"]
    heads = {e["id"]: e for e in of_phase(events, "f")}
    h.equal(len(arrows), 20, "arrows")
    for tail in arrows:
        h.equal((tail["pid"], heads[tail["id"]]["pid"]), (0, 1), "ends")
    # The k-th send leads to the k-th receive, though two tags take turns.
    order = sorted(arrows, key=lambda event: event["ts"])
    ends = [heads[event["id"]]["ts"] for event in order]
    h.equal(ends, sorted(ends), "receives in the order of their sends")


@h.case
def waits_without_length():
    """If the Wait of a receive began and ended in the same tick of the clock, the arrow leads to
    the Wait."""
    profile(2, h.program("stream"))
    with h.h5py().File(h.rank_path("out", 1), "r+") as file:
        rows = file["events/comm"][:]
        names = h.enum_names(file["events/comm"], "op")
        waits = {int(row["end"]): row for name, row in zip(names, rows) if name == "Wait"}
        received = [row for name, row in zip(names, rows) if name == "Irecv"]
        h.check(len(received) == 10 and all(int(row["end"]) in waits for row in received), names)
        for row in received:
            for changed, start in ((row, "wait_start"), (waits[int(row["end"])], "start")):
                changed["inside_ns"] -= changed["end"] - changed[start]
                changed[start] = changed["end"]
        file["events/comm"][:] = rows
    h.run(h.profwrap("merge", "out"))
    events, _ = timeline()
    judge(events)
    heads = [event for event in of_phase(events, "f")]
    h.equal(len(heads), 20, "arrows")


@h.case
def parts():
    profile(3, h.place("TRAIN"), "--steps", "40")
    whole, _ = timeline()
    some, _ = timeline("--ranks", "1-2")
    judge(some)
    h.equal({event["pid"] for event in some}, {1, 2}, "ranks")
    packed, _ = timeline(name="trace.json.gz")
    h.equal(packed, whole, "compressed")
    small, done = timeline("--max-size", "200K")
    judge(small)
    h.check(b"the timeline holds the first" in done.stderr, done.stderr)
    h.check(len(whole) / 20 < len(small) < len(whole) / 2, len(small), "of", len(whole))
    for wrong in ("3", "2-1", "x", "1,", "-1", "99999999999999999999"):
        done = h.run(h.profwrap("report", "--format", "chrome", "--ranks", wrong, "out"), status=1)
        h.check(b"--ranks is '" in done.stderr and b"ranks 0 to 2" in done.stderr, done.stderr)
        h.equal(len(h.lines(done.stderr)), 1, "lines")


@h.case
def strange_names():
    h.run([*h.profwrap("--no-report", "-o", "out"), h.program("notes"), "3", "strange"])
    events, _ = timeline()
    judge(events)
    found = {event["name"] for event in events}
    h.check({"conv", "inner", "queue batches", "allocated memory of device 0"} <= found, found)


@h.case
def samples_of_gpus():
    h.run([*h.profwrap("sim"), "-r", "2", "-s", "4", "--gpu", "out"])
    h.run(h.profwrap("merge", "-q", "out"))
    events, _ = timeline()
    for rank in range(2):
        wanted = [int(p) / 1000 for p in h.open_rank("out", rank)["samples/gpu"]["power_mw"]]
        h.check(wanted, "the simulation has no samples of GPUs")
        found = [e["args"]["W"] for e in of_phase(events, "C") if e["name"] == "GPU 0 power" and e["pid"] == rank]
        h.equal(len(found), len(wanted), "values of the power")
        h.check(all(abs(a - b) < 1e-3 * b for a, b in zip(found, wanted)), found, wanted)


@h.case
def without_rank_files():
    profile(2, h.place("TRAIN"), "--steps", "4")
    h.run(["sh", "-c", "mkdir alone && cp out/cluster.h5 alone"])
    done = h.run(h.profwrap("report", "--format", "chrome", "-o", "t.json", "alone"), status=1)
    h.check(b"there are no rank files in 'alone'" in done.stderr, done.stderr)
    h.run(["sh", "-c", "test ! -e t.json && rm out/rank-00001.h5"])
    events, done = timeline()
    judge(events)
    h.check(b"1 rank files cannot be read" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
