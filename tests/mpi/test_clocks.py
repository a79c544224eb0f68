"""Clocks with known errors (PROFWRAP_TEST_CLOCK). Every error bound, measured or inferred, must
contain the true error. The report must say what cannot be known."""

import json
import os
import subprocess
import sys
import time

import harness as h

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

CLOCKS = ("", "5000000:50:1", "-2000000000:-50:1", "3000000000:20:1")


def truth():
    try:
        import clock_truth
    except ImportError:
        raise h.Skipped("this Python has no h5py or no numpy") from None
    return clock_truth


def load(*arguments):
    return [os.path.join(h.place("BUILD"), "tests", "bench", "clockload"), *arguments]


def command(clocks, options, program):
    """The command of mpirun, with one clock for each rank."""
    words = [h.place("MPIEXEC")]
    for i, clock in enumerate(clocks):
        words += [":"] * (i > 0) + ["-np", 1, "-x", f"PROFWRAP_TEST_CLOCK={clock}"]
        words += h.profwrap(*options, "-o", "out") + program
    return [str(word) for word in words]


def run(clocks, options, program):
    h.run(command(clocks, options, program))
    with open("out/report.json") as file:
        return json.load(file)


def check_bounds(clocks):
    lib = truth()
    found, bounds = lib.errors("out", lambda rank, host: (0, lib.TestClock(clocks[rank])))
    h.check(len(found) > 0, "nothing to compare")
    h.check((abs(found) <= bounds).all(), "off by", abs(found).max(), "ns beyond the bound")
    print(lib.line(f"{len(clocks)} clocks", found, bounds))


def sources(report):
    return [rank["source"] for rank in report["clock"]["ranks"]]


@h.case
def measured():
    """Short runs, whose clocks the collectors measure; nothing is sent over MPI."""
    report = run(CLOCKS, [], load(400, 0, 200))
    h.equal(sources(report), ["reference"] + ["both"] * 3, "sources")
    h.equal([rank["violations_beyond"] for rank in report["clock"]["ranks"]], [0] * 4, "violations")
    check_bounds(CLOCKS)
    for rank in range(4):
        with h.open_complete("out", rank) as file:
            events, knots = file["events/comm"][:], file["clock"][:]
            cost = {truth().text(row["name"]): row["value"] for row in file["overhead"][:]}
        h.equal([cost[f"clock_sync_{what}"] for what in ("messages", "collectives")], [0, 0],
                f"calls of MPI on rank {rank}")
        if rank > 0:
            end = int(events["start"].max())  # of MPI_Finalize
            h.check(len(knots) >= 2, "rank", rank, "has", len(knots), "knots")
            h.check(int(knots["local_ns"].max()) > end, "rank", rank, "was not measured at the end")


@h.case
def measured_over_mpi():
    report = run(CLOCKS, ["--clock-interval", 0], load(400, 0, 200))
    h.equal(sources(report), ["reference"] + ["both"] * 3, "sources")
    h.equal([rank["violations_beyond"] for rank in report["clock"]["ranks"]], [0] * 4, "violations")
    check_bounds(CLOCKS)
    for rank in range(4):
        with h.open_complete("out", rank) as file:
            h.equal(len(file["clock"]), 2, "knots: MPI_Init and MPI_Finalize")


@h.case
def inferred():
    report = run(CLOCKS, ["--clock-sync", "passive"], load(1500, 0, 200))
    h.equal(sources(report), ["reference"] + ["passive"] * 3, "sources")
    h.check(report["clock"]["error_max_ns"] < 1e6, "error", report["clock"])
    check_bounds(CLOCKS)
    with h.open_complete("out", 1) as file:
        h.equal(len(file["clock"]), 0, "knots")


@h.case
def probed_during_the_run():
    run(CLOCKS, ["--clock-interval", 1], load(10**9, 5, 20000))
    check_bounds(CLOCKS)
    for rank in range(1, 4):
        with h.open_complete("out", rank) as file:
            h.check(len(file["clock"]) >= 5, "rank", rank, "has", len(file["clock"]), "knots")
            names = [truth().text(row["name"]) for row in file["overhead"][:]]
            h.check("clock_probe" in names, "no cost of clock probes among", names)
    left = [name for name in os.listdir("out") if name.startswith(".clock-")]
    h.equal(left, [], "files left behind")


@h.case
def nothing_listens_on_one_clock():
    run_it = subprocess.Popen(command(["", ""], ["--clock-interval", 1], load(10**9, 3, 1000)),
                              env=h.environment(), stderr=subprocess.DEVNULL)
    seen = set()
    while run_it.poll() is None:
        if os.path.isdir("out"):
            seen.update(os.listdir("out"))
        time.sleep(0.1)
    h.equal(run_it.returncode, 0, "status")
    h.check(".clock-reference" in seen, "no collector looked for others:", seen)
    h.check(".clock-service" not in seen, "a collector listened without need")


@h.case
def one_rank():
    report = run(["5000000:50:1"], [], load(20, 0, 200))
    h.equal((report["clock"]["error_max_ns"], sources(report)), (0, ["reference"]), "clock")
    h.equal([name for name in os.listdir("out") if name.startswith(".clock-")], [], "files")


@h.case
def skew_is_no_straggler():
    """Two clocks differ by 5 ms, a tenth of a step, and no rank is slow. No rank may be named for
    that much. A machine may take CPUs away from a rank, which the kernel's counters show: that is a
    real loss. The pace hides that one CPU is slower than another, which no counter shows."""
    report = run(["", "5000000:0:0"], [], [h.place("TRAIN"), "--steps", 60, "--pace", 15])
    error = report["clock"]["error_max_ns"]
    h.check(error is not None and error < 2500000, "clock error", error)
    h.equal([row for row in h.accused(report) if row["cause"] not in h.SEEN_BY_THE_KERNEL], [],
            "who is named")


@h.case
def skew_without_sync_names_no_rank():
    """The same without a synchronisation. What the kernel's counters show is a real loss here, too.
    The pace hides that one CPU is slower than another, which no counter shows."""
    report = run(["", "5000000:0:0"], ["--clock-sync", "none"],
                 [h.place("TRAIN"), "--steps", 30, "--pace", 15])
    named = [row for row in report["stragglers"] if row["cause"] not in h.SEEN_BY_THE_KERNEL]
    h.equal(named, [], "stragglers")
    if not report["stragglers"]:
        h.check("are not aligned" in report["job"]["headline"], report["job"]["headline"])
    h.equal(report["clock"]["error_max_ns"], None, "clock error")
    h.equal(sources(report), ["reference", "none"], "sources")
    with open("out/report.txt") as file:
        h.check("Not known: the ranks' clocks are not aligned" in file.read(), "no word of it")


@h.case
def ranks_that_never_communicate():
    report = run(["", "5000000:0:0", "7:0:0"], ["--clock-sync", "passive"], load(0, 0, 0))
    h.equal(sources(report), ["reference", "none", "none"], "sources")
    losses = {(row["rank"], row["what"]) for row in report["completeness"]["losses"]}
    h.equal(losses, {(1, "unaligned_clock"), (2, "unaligned_clock"), (None, "no_communication")},
            "losses")


@h.case
def a_rank_dies_between_syncs():
    killed = ["timeout", "-s", "KILL", 3, *load(10**9, 60, 20000)]
    done = h.run(command(CLOCKS, ["--clock-interval", 1], killed), status=None)
    h.check(done.returncode != 0, "the job should have failed")
    h.run(h.profwrap("merge", "out"))
    text = h.run(h.profwrap("report", "--full", "out")).stdout.decode()
    h.check("killed" in text or "ended with an error" in text, text)
    check_bounds(CLOCKS)


@h.case
def bad_test_clock():
    for value in ("5", "a:b:c", "0:1000:0"):
        done = h.run(h.profwrap("true"), env={"PROFWRAP_TEST_CLOCK": value})
        h.check(b"PROFWRAP_TEST_CLOCK is '" in done.stderr, done.stderr)
        h.check(b"running true unprofiled" in done.stderr, done.stderr)
    done = h.run(h.profwrap("--clock-interval", "100000", "true"), status=2)
    h.check(b"--clock-interval is" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
