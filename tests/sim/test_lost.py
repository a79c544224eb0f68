"""What cannot be known makes no verdict: records that were lost, and runs that are very short.

    test_lost.py PROFWRAP CASE        test_lost.py --list
"""
import json
import os
import sys

import simulated
from simulated import case, make, report, told

RUN = ("-r", "6", "-s", "40", "-p", "moe", "--routing", "hot", "--hot", "100", "--tell-roles",
       "--os-samples")


def replace(file, table, rows):
    kind = file[table].dtype
    del file[table]
    file.create_dataset(table, data=rows, dtype=kind)


def lose(run, rank, steps, tables, every=1):
    """Makes gaps in these steps of the rank, as if its ring had been full. The rows are removed
    only in steps whose number is a multiple of `every`."""
    with h5py.File(os.path.join(run, f"rank-{rank:05d}.h5"), "r+") as file:
        kinds = h5py.check_enum_dtype(file["events/gap"].dtype["kind"])
        marks = [mark for mark in file["steps"][()] if mark["step"] in steps]
        gaps = []
        for table, time, kind in tables:
            rows = file[table][()]
            gone = numpy.zeros(len(rows), bool)
            for mark in marks:
                lost = (rows[time] >= mark["start"]) & (rows[time] < mark["end"])
                gap = numpy.zeros(1, file["events/gap"].dtype)
                gap["start"], gap["end"] = mark["start"] + 1, mark["end"] - 1
                gap["kind"], gap["lost"] = kinds[kind], max(lost.sum(), 1)
                gaps.append(gap)
                gone |= lost & (mark["step"] % every == 0)
            replace(file, table, rows[~gone])
        replace(file, "events/gap", numpy.concatenate(gaps))
        file.attrs["dropped_events"] = sum(int(gap["lost"][0]) for gap in gaps)


def known(run, table, member):
    with h5py.File(os.path.join(run, "cluster.h5")) as file:
        return file[table][member][()] >= 0


@case
def waits_that_were_lost_are_no_work():
    run = make("run", "-r", "6", "-s", "40", "-n", "1", "--os-samples")
    lose(run, 2, range(10, 20), [("events/comm", "start", "communication")])
    found, _ = report(run)
    assert found["stragglers"] == [] and found["job"]["verdict"] == "none", found["job"]
    steps = known(run, "step_trace", "own_ns")
    assert steps[:, [0, 1, 3, 4, 5]].all() and not steps[10:20, 2].any(), steps
    assert steps[:10, 2].all() and steps[20:, 2].all(), steps
    bins = known(run, "bin_trace", "wait_ns")
    assert bins[:, 3].all() and bins[:, 2].any() and not bins[:, 2].all(), bins


@case
def amounts_that_were_lost_are_as_usual():
    whole, _ = told("whole", *RUN)
    (row,) = [row for row in whole["imbalances"] if row["kind"] == "amount"]
    for name, rank in (("heavy", row["first_rank"]), ("other", (row["first_rank"] + 1) % 6)):
        run = make(name, *RUN)
        lose(run, rank, range(10, 20), [("samples/work", "time", "range")])
        found, _ = report(run)
        assert found["stragglers"] == [] and found["job"]["verdict"] == "imbalance", found["job"]
        (again,) = [row for row in found["imbalances"] if row["kind"] == "amount"]
        assert again["first_rank"] == row["first_rank"], (again, row)
        assert abs(again["amount_ratio"] / row["amount_ratio"] - 1) < 0.05, (again, row)


@case
def rank_without_known_amounts_is_not_judged():
    whole, _ = told("whole", *RUN)
    (row,) = [row for row in whole["imbalances"] if row["kind"] == "amount"]
    run = make("run", *RUN)
    lose(run, row["first_rank"], range(40), [("samples/work", "time", "range")], every=2)
    found, _ = report(run)
    assert found["stragglers"] == [], found["stragglers"]
    assert not known(run, "step_trace", "own_ns")[:, row["first_rank"]].any()


def mean(values):
    """As the merge rounds it: the values of known steps only, -1 without any."""
    values = values[values >= 0]
    return (2 * int(values.sum()) + len(values)) // (2 * len(values)) if len(values) else -1


@case
def what_is_not_known_is_in_no_mean():
    """/rank_means are those of the two tables, and a summary without it, as of an older file, is the same."""
    run = make("run", "-r", "6", "-s", "40", "-n", "5", "-f", "slow_rank:rank=1,ms=6")
    lose(run, 2, range(10, 20), [("events/comm", "start", "communication")])
    for rank in range(6):
        with h5py.File(os.path.join(run, f"rank-{rank:05d}.h5"), "r+") as file:
            rows = file["steps"][()]
            rows["recorded"][:3] = 1  # warm-up
            replace(file, "steps", rows)
    found, _ = report(run)
    text, rest = simulated.profwrap("report", run), simulated.profwrap("report", "--full", run)
    path = os.path.join(run, "cluster.h5")
    with h5py.File(path, "r+") as file:
        rows, measured = file["rank_means"][()], file["steps"]["recorded"][()] == 0
        assert list(rows["rank"]) == [0, 1, 2, 3, 4, 5, -1] and sum(measured) == 37, rows["rank"]
        for table in ("step_trace", "phase_trace"):
            cells = file[table][()][measured]
            for name in cells.dtype.names:
                wanted = [mean(cells[name][:, rank]) for rank in range(6)] + [mean(cells[name])]
                assert list(rows[name]) == wanted, (name, rows[name], wanted)
        steps = (file["step_trace"]["total_ns"][()][measured] >= 0).sum(axis=0)
        assert list(rows["steps"]) == [*steps, steps.sum()], rows["steps"]
        del file["rank_means"]
    assert "Rank 1 on" in text and simulated.profwrap("report", run) == text
    assert simulated.profwrap("report", "--full", run) == rest
    assert json.loads(simulated.profwrap("report", "--format", "json", run)) == found


# Less than 0.3 s, of which there are no bins: what looks at them must not.
SHORT = {
    "slow": ("-r", "4", "-s", "20", "-f", "slow_rank:rank=1,percent=80"),
    "stopped": ("-r", "4", "-s", "20", "-f", "sigstop:rank=1,at_ms=50,ms=60"),
    "frozen": ("-r", "4", "-s", "12", "--ranks-per-host", "2", "-f", "freeze:host=1,at_ms=50,ms=60"),
    "paused": ("-r", "4", "-s", "16", "-f", "checkpoint:period=4,ms=10"),
    "slower": ("-r", "4", "-s", "24", "-f", "slow_all:percent=60,steps=10-20"),
    "unequal": ("-r", "8", "-s", "10", "-p", "moe", "--routing", "hot", "--hot", "200", "--tell-roles"),
    "late": ("-r", "4", "-s", "12", "-f", "late_setup:rank=1,ms=60", "--ends-ms", "10"),
    "stalled": ("-r", "4", "-s", "20", "--unmarked", "-f", "stall:rank=2,ms=40"),
    "congested": ("-r", "9", "-s", "10", "-p", "halo", "--ranks-per-host", "1", "-f",
                  "congestion:percent=3000,steps=4-6"),
    "one": ("-r", "1", "-s", "3"),
}


@case
def short_runs_have_no_bins():
    for name, options in SHORT.items():
        run = make(name, *options, "--os-samples", "--step-us", "4000")
        found, _ = report(run)
        assert found["job"]["headline"], name
        with h5py.File(os.path.join(run, "cluster.h5")) as file:
            assert file["bin_trace"].shape[0] == 0 and file.attrs["bin_ns"] == -1, name
        for format in ("text", "html", "csv"):
            simulated.profwrap("report", "--format", format, "-o", f"{name}.{format}", run)


@case
def waits_in_collectives_are_not_known_without_collectives():
    """The ranks wait for rank 3's messages, which blame and critical do not count."""
    for collectives, is_known in (("0", False), ("2", True)):
        found, _ = told(f"c{collectives}", "-p", "halo", "-c", collectives, "-f",
                        "slow_rank:rank=3,percent=50")
        row = found["stragglers"][0]
        assert row["rank"] == 3 and row["gain_ns"] > 0, row
        assert [row[name] is not None for name in ("blame_ns", "critical_ns")] == [is_known] * 2, row


@case
def operators_are_no_evidence_for_a_part_of_the_run():
    """Rank 3 is late before its first step; that it is slow in an operator says nothing of that."""
    found, _ = told("late", "--operators", "5", "--os-samples", "-f",
                    "slow_operator:rank=3,name=conv2d,factor=3;late_setup:rank=3,ms=1500")
    assert [row["part"] for row in found["stragglers"]] == ["setup"], found["stragglers"]
    text = " ".join(simulated.profwrap("report", "--section", "stragglers", "late").split())
    assert "before its first step" in text and "over the run" not in text, text


if sys.argv[1:] != ["--list"]:
    try:
        import h5py
        import numpy
    except ImportError:
        print("skipped: this Python has no h5py")
        sys.exit(77)
simulated.main()
