"""FLOP/s and MFU of synthetic runs whose ranks say how many FLOPs their model needs. The expected
values are computed here from the times of the steps."""
import json
import subprocess
import sys

import simulated
from simulated import ENVIRONMENT, case, make, profwrap

A100, PEAK = b"NVIDIA A100-SXM4-80GB", 312e12
STEPS = 8


def rank_file(run, rank):
    return h5py.File(f"{run}/rank-{rank:05d}.h5", "a")


def make_run(gpus=True, **names):
    """Makes a run of four ranks, on GPUs or not. The GPUs are A100s, unless `names` gives another
    name for a rank (rN=...)."""
    run = make("run", "-r", "4", "-s", str(STEPS), *(["--gpu"] if gpus else []))
    for rank in range(4 if gpus else 0):
        with rank_file(run, rank) as file:
            rows = file["devices"][()]
            rows["name"] = names.get(f"r{rank}", A100)
            rows["multiprocessors"] = 108
            file["devices"][...] = rows
    return run


def say(run, rank, flops):
    """Adds a row in the middle of each step of `flops`, a list of (step, FLOPs)."""
    with rank_file(run, rank) as file:
        steps = {int(row["step"]): row for row in file["steps"][()]}
        kind = numpy.dtype([("time", "i8"), ("thread", "u2"), ("flops", "f8")])
        file["samples/flops"] = numpy.array(
            [((int(steps[s]["start"]) + int(steps[s]["end"])) // 2, 0, n) for s, n in flops], kind)


def merge(run, *options, processes=1):
    command = [sys.argv[1], "merge", "-q", *options, run]
    if processes > 1:
        command = ["mpirun", "-np", str(processes), *command]
    subprocess.run(command, check=True, env=ENVIRONMENT)
    return h5py.File(f"{run}/cluster.h5", "r")


def shown(run):
    return (" ".join(profwrap("report", "--full", run).split()),
            json.loads(profwrap("report", "--format", "json", run))["flops"])


def near(value, wanted):
    assert abs(value - wanted) <= 1e-9 * abs(wanted), (value, wanted)


def check_rank(file, rank, needs, peak):
    """`needs` is {step: FLOPs}."""
    row, = [row for row in file["flops"][()] if row["rank"] == rank]
    measured = {int(row["step"]): i for i, row in enumerate(file["steps"][()])
                if row["recorded"] == 0}
    known = {s: n for s, n in needs.items() if s in measured}
    ns = sum(int(file["step_trace"][measured[s], rank]["total_ns"]) for s in known)
    assert (int(row["steps"]), int(row["ns"]), int(row["ranks"])) == (len(known), ns, 1), row
    near(row["flops"], sum(known.values()))
    near(row["flops_per_s"], sum(known.values()) / (ns / 1e9))
    near(row["peak_flops"], peak)
    near(row["mfu"], row["flops_per_s"] / peak if peak > 0 else -1)
    return row


@case
def flops_of_ranks_steps_and_the_job():
    run = make_run()
    needs = [{s: 1e11 * (rank + 1) + 1e10 * s for s in range(STEPS)} for rank in range(4)]
    for rank in range(4):
        say(run, rank, [(s, n / 2) for s, n in needs[rank].items() for _ in range(2)])
    with merge(run, processes=2) as file:
        rows = [check_rank(file, rank, needs[rank], PEAK) for rank in range(4)]
        all_ranks = file["flops"][0]
        assert (int(all_ranks["rank"]), int(all_ranks["ranks"]), int(all_ranks["gpus"])) == (-1, 4, 4)
        assert all_ranks["type"] == b"bf16"
        near(all_ranks["flops_per_s"], sum(row["flops_per_s"] for row in rows))
        near(all_ranks["mfu"], all_ranks["flops_per_s"] / (4 * PEAK))
        steps = {int(row["step"]): row for row in file["steps"][()]}
        for row in file["step_flops"][()]:
            s = int(row["step"])
            ns = int(steps[s]["end"]) - int(steps[s]["start"])
            near(row["flops"], sum(of[s] for of in needs))
            near(row["mfu"], row["flops"] / (ns / 1e9) / (4 * PEAK))
        mfu = float(all_ranks["mfu"])
    text, data = shown(run)
    assert f"MFU {100 * mfu:.1f} %: " in text, text
    assert "FLOP/s and MFU" in text
    near(data["mfu"], mfu)
    assert [row["rank"] for row in data["by_rank"]] == [0, 1, 2, 3]
    assert len(data["per_step"]) == len(steps)


@case
def other_types_and_given_peaks():
    run = make_run()
    for rank in range(4):
        say(run, rank, [(s, 1e12) for s in range(STEPS)])
    needs = {s: 1e12 for s in range(STEPS)}
    with merge(run, "--flops-type", "tf32") as file:
        check_rank(file, 1, needs, 156e12)
    with merge(run, "--flops-type", "fp8") as file: # which an A100 has not
        check_rank(file, 1, needs, -1)
        assert file["flops"][0]["mfu"] == -1 and (file["step_flops"]["mfu"] == -1).all()
    text, data = shown(run)
    assert "MFU not known" in text and data["mfu"] is None and data["flops_per_s"] > 0, text
    with merge(run, "--peak-flops", "2e14") as file:
        check_rank(file, 1, needs, 2e14)
    for wrong in ("0", "-1", "x", "1e12x", "nan", "inf"):
        done = subprocess.run([sys.argv[1], "merge", "--peak-flops", wrong, run],
                              stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and "--peak-flops" in done.stderr, (wrong, done)


@case
def what_is_not_known():
    """A GPU that is not in the table, a part of a GPU, and a rank that says nothing."""
    run = make_run(r1=b"NVIDIA Something")
    with rank_file(run, 2) as file:
        rows = file["devices"][()]
        rows["multiprocessors"] = 14
        file["devices"][...] = rows
    for rank in range(3):
        say(run, rank, [(s, 1e12) for s in range(STEPS) if s != 5])
    needs = {s: 1e12 for s in range(STEPS) if s != 5}
    with merge(run) as file:
        for rank, peak in enumerate((PEAK, -1, -1)):
            check_rank(file, rank, needs, peak)
        assert sorted(file["flops"]["rank"]) == [-1, 0, 1, 2]
        assert int(file["flops"][0]["ranks"]) == 3 and file["flops"][0]["mfu"] == -1
        assert 5 not in file["step_flops"]["step"]


@case
def flops_given_by_an_option():
    """The program says nothing, but an option gives the FLOPs. Without GPUs, the peak is known only
    if an option gives it."""
    run = make_run(gpus=False)
    needs = {s: 3e11 for s in range(STEPS)}
    with merge(run) as file:
        assert len(file["flops"]) == len(file["step_flops"]) == 0
    assert shown(run)[1] is None and "MFU" not in shown(run)[0]
    with merge(run, "--step-flops", "3e11") as file:
        check_rank(file, 0, needs, -1)
    with merge(run, "--step-flops", "3e11", "--peak-flops", "1e14") as file:
        row = check_rank(file, 3, needs, 1e14)
        assert int(row["gpus"]) == 0
        near(file["flops"][0]["peak_flops"], 4e14)
    say(run, 0, [(s, 5e11) for s in range(STEPS)])
    with merge(run, "--step-flops", "3e11", "--peak-flops", "1e14") as file:
        check_rank(file, 0, {s: 5e11 for s in range(STEPS)}, 1e14)
        check_rank(file, 1, needs, 1e14)


@case
def numbers_that_cannot_be():
    run = make_run()
    say(run, 0, [(1, float("nan")), (2, float("inf")), (3, -1e12), (4, 1e30), (5, 2e12)])
    with merge(run) as file:
        check_rank(file, 0, {5: 2e12}, PEAK)


if __name__ == "__main__":
    try:
        import h5py
        import numpy
    except ImportError:
        if "--list" not in sys.argv:
            print("skipped: this Python has no h5py")
            sys.exit(77)
    simulated.main()
