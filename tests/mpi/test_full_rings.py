"""A program records faster than the collector reads. Losses are counted by kind and have times.
Records that events refer to are kept, and `--on-full wait` loses nothing. The tests stop the
collector by SIGSTOP, so that the number of records that fit does not depend on timing."""

import os
import signal
import sys
import time

import flood
import harness as h

SMALLEST = 1024  # records in a ring of 64K, of which a 64th is for definitions


class Flood(flood.Flood):
    """Gives the collector time to read the rings, before it is stopped and after it continues."""

    def stop_collector(self):
        time.sleep(0.3)
        super().stop_collector()

    def continue_collector(self):
        super().continue_collector()
        time.sleep(0.3)


def gaps(file):
    """Rows of /events/gap: reason, kind, lost, start, end."""
    table = file["events/gap"]
    return list(zip(h.enum_names(table, "reason"), h.enum_names(table, "kind"),
                    map(int, table["lost"]), map(int, table["start"]), map(int, table["end"])))


def lost(file, *kinds):
    return sum(row[2] for row in gaps(file) if row[0] == "ring_full" and row[1] in kinds)


def report():
    with open("out/report.txt") as file:
        return " ".join(file.read().split())


def check_gaps(file):
    """Each gap is within the run, and the sum of all gaps is the number of dropped events."""
    rows = gaps(file)
    times = [int(t) for name in ("start", "end") for t in file["events/comm"][name]]
    for row in rows:
        h.check(min(times) <= row[3] <= row[4], "times of", row)
    h.equal(sum(row[2] for row in rows), int(file.attrs["dropped_events"]), "sum of the losses")


def flooded(while_stopped, after):
    """The rank file of a run with small rings. The collector is stopped for the first commands
    only."""
    with Flood("--ring-size", "64K") as run:
        run.stop_collector()
        run.tell(*while_stopped)
        run.continue_collector()
        run.tell(*after)
        run.end()
    file = h.open_rank("out")
    check_gaps(file)
    return file


@h.case
def a_burst_of_100000_events_per_thread():
    h.h5py()
    with Flood() as run:
        run.stop_collector()
        run.tell("calls 100000", "threads 3 100000")
        run.continue_collector()
        run.end()
    file = h.open_complete("out")
    h.equal(h.operations(file).count("Allreduce"), 100001, "calls")
    h.equal(len(file["events/range"]), 300000, "ranges")
    h.equal(len(set(file["events/range"]["thread"])), 3, "threads")
    h.equal(gaps(file), [], "gaps")


@h.case
def losses_are_counted_by_kind():
    h.h5py()
    file = flooded(("calls 2000", "ranges 300", "steps 40", "names 50"), ("calls 10", "steps 1"))
    calls, ranges = h.operations(file).count("Allreduce"), len(file["events/range"])
    h.equal(lost(file, "communication") + calls, 2011, "calls, lost and recorded")
    h.equal(lost(file, "range") + ranges, 350, "ranges, lost and recorded")
    h.equal(lost(file, "step") + len(file["steps"]), 41, "steps, lost and recorded")
    h.check(calls > SMALLEST / 2, "only", calls, "calls were recorded")
    h.check(lost(file, "range") >= 300, "a full ring took ranges")
    h.check(0 < lost(file, "name") <= 50, lost(file, "name"), "names lost of 50")
    h.equal(file["steps"][-1]["step"], 40, "the last step, when there was room again")
    text = report()
    for kind in ("communication", "range", "step", "name"):
        h.check(f"{lost(file, kind)} {kind}" in text, "the report hides", kind, text)


@h.case
def definitions_survive_a_flood():
    h.h5py()
    file = flooded(("calls 5000", "dup kept", "names 3", "calls 5000"), ("dup-calls 7",))
    h.equal(lost(file, "name", "other"), 0, "lost definitions")
    names = h.texts(file)
    comms = [names[int(row["name"])] for row in file["comms"][:]]
    h.check("kept" in comms, "no communicator kept among", comms)
    on_it = [op for op, comm in zip(h.operations(file), file["events/comm"]["comm"])
             if comm == comms.index("kept")]
    h.equal(on_it.count("Allreduce"), 7, "calls on the communicator made in the flood")
    for name in ("name 0", "name 1", "name 2"):
        h.check(name in names, "no", name, "among", names)


@h.case
def waiting_loses_nothing():
    h.h5py()
    with Flood("--ring-size", "64K", "--on-full", "wait") as run:
        run.tell("calls 200000", "threads 2 100000", "names 3000")
        run.end()
    file = h.open_complete("out")
    h.equal(h.operations(file).count("Allreduce"), 200001, "calls")
    h.equal(len(file["events/range"]), 203000, "ranges")
    h.equal(len([name for name in h.texts(file) if name.startswith("name ")]), 3000, "names")
    check_gaps(file)
    rows = gaps(file)
    h.equal({row[0] for row in rows}, {"ring_wait"}, "reasons of gaps")
    waited = sum(row[4] - row[3] for row in rows)
    h.equal(int(h.overhead(file)["ring_wait"]), waited, "ring_wait in /overhead")
    h.check(waited > 0, "so many events fitted 1024 records without waiting")
    h.check(len(rows) < 403000 * 16 / SMALLEST, len(rows), "waits: each made too little room")
    h.check("ring_wait" in report(), "the report hides the waiting:", report())


@h.case
def waiting_for_a_stopped_collector_ends():
    h.h5py()
    with Flood("--ring-size", "64K", "--on-full", "wait") as run:
        run.stop_collector()
        begin = time.monotonic()
        run.tell("calls 100000")
        took = time.monotonic() - begin
        run.continue_collector()
        run.tell("calls 100000")
        run.end()
    h.check(1.5 < took < 20, "the program waited", took, "s for a stopped collector")
    file = h.open_rank("out")
    check_gaps(file)
    recorded = h.operations(file).count("Allreduce")
    h.equal(lost(file, "communication") + recorded, 200001, "calls, lost and recorded")
    h.check(recorded > 100000, "no waiting any more once the collector went on:", recorded)
    h.check(h.overhead(file)["ring_wait"] > 1.5e9, "the waiting in vain is not accounted")


@h.case
def waiting_for_a_killed_collector():
    """A new collector replaces the killed one, and nothing is lost."""
    h.h5py()
    with Flood("--no-merge", "--ring-size", "64K", "--on-full", "wait") as run:
        run.process.stdin.write("calls 300000\n")
        run.process.stdin.flush()
        time.sleep(0.1)
        os.kill(run.collector(), signal.SIGKILL)
        h.equal(run.process.stdout.readline(), "done\n", "answer")
        run.end()
    file = h.open_rank("out")
    h.equal(int(file.attrs["complete"]), 2, "complete: made from the journal")
    h.equal(int(file.attrs["dropped_events"]), 0, "drops")
    h.equal(h.operations(file).count("Allreduce"), 300001, "calls")


@h.case
def killed_in_a_full_ring():
    """There is no record of the last losses. The collector reads them from the counters."""
    h.h5py()
    with Flood("--ring-size", "64K", "--no-merge") as run:
        run.stop_collector()
        run.tell("calls 3000", "ranges 100")
        os.kill(flood.only_child(run.collector()), signal.SIGKILL)
        run.continue_collector()
        run.process.communicate(timeout=h.PATIENCE_S)
    file = h.open_rank("out")
    h.equal(int(file.attrs["exit_signal"]), signal.SIGKILL, "how it ended")
    check_gaps(file)
    calls = h.operations(file).count("Allreduce")
    h.equal(lost(file, "communication") + calls, 3001, "calls, lost and recorded")
    h.equal(lost(file, "range"), 100, "lost ranges")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
