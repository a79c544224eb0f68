"""Operations of torch.distributed's Gloo process groups are recorded, whichever code starts them.
programs/standin/gloo.cc stands in for PyTorch; tests/python/test_torch_collectives.py uses the real
one."""

import contextlib
import glob
import json
import os
import signal
import subprocess
import sys
import time

import harness as h
from ending import children


def library():
    return os.path.join(os.path.dirname(h.program("glooactor")), "standin", "libstandin_gloo.so")


def start(scenario, size=2, options=("--no-merge",)):
    return [subprocess.Popen(
        [*h.profwrap("-o", "out", *options), h.program("glooactor"), library(), scenario, "meeting"],
        env=h.environment(RANK=str(r), WORLD_SIZE=str(size), LOCAL_RANK=str(r),
                          TORCHELASTIC_RUN_ID="job"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for r in range(size)]


def play(scenario, size=2, options=("--no-merge",)):
    """Runs the scenario. Returns the standard output of rank 0; the files are in `out`."""
    running = start(scenario, size, options)
    done = [p.communicate(timeout=h.PATIENCE_S) for p in running]
    for process, (out, err) in zip(running, done):
        h.check(process.returncode == 0, "status", process.returncode, out, err)
    return done[0][0]


def await_wait(rank, seq):
    """Waits until a thread of the rank waits for the operation of this number. Returns what `ctl status` says of that thread."""
    until = time.monotonic() + h.PATIENCE_S
    while time.monotonic() < until:
        done = subprocess.run(h.profwrap("ctl", "status", "--format", "json", "out"),
                              capture_output=True, text=True)
        found = json.loads(done.stdout)["ranks"] if done.returncode == 0 else []
        for thread in [t for r in found if r["rank"] == rank for t in r["threads"]]:
            if thread["op"] == "Wait" and thread["seq"] == seq:
                return thread
        time.sleep(0.1)
    return h.check(False, "rank", rank, "did not come to wait for operation", seq)


def rows(rank):
    """The operations of a rank, without the waits for them and the creation of the group, which is the first row."""
    with h.open_rank("out", rank) as file:
        table = file["events/comm"]
        names, sources = h.enum_names(table, "op"), h.enum_names(table, "source")
        found = [dict(zip(table.dtype.names, row)) for row in table[:]]
        for one, name, source in zip(found, names, sources):
            one.update(op=name, source=source)
        if found:
            first = found.pop(0)
            h.equal((first["op"], first["source"], int(first["comm"])), ("Init", "gloo", -1), "the first row")
            h.check(first["start"] <= first["end"] <= found[0]["start"], "times", first, found[0])
        return [one for one in found if one["op"] not in ("Wait", "Waitall")]


def overview(found):
    return [(r["op"], int(r["seq"]), int(r["sent_bytes"]), int(r["recv_bytes"]), int(r["peer"]))
            for r in found]


@h.case
def each_operation():
    out = play("all")
    h.check("requires non-empty tensor list" in out, "the exception reaches the program", out)
    wanted = [
        ("Allreduce", 0, 4000, 4000, -1),
        ("Allreduce", 1, 120, 120, -1),
        ("Bcast", 2, 0, 4000, 1),
        ("Allgather", 3, 40, 80, -1),
        ("Barrier", 4, 0, 0, -1),
        ("Send", 0, 4000, 0, 1),
        ("Barrier", 6, 0, 0, -1),  # number 5 ended by an exception
    ]
    h.equal(overview(rows(0)), wanted, "rank 0")
    wanted[2] = ("Bcast", 2, 4000, 0, 1)
    h.equal(overview(rows(1)), wanted[:5] + wanted[6:], "rank 1")
    for rank in (0, 1):
        for row in rows(rank):
            h.equal(row["source"], "gloo", "source")
            h.check(row["start"] <= row["end"], "times", row)
        with h.open_rank("out", rank) as file:
            comm = file["comms"][0]
            texts = h.texts(file)
            h.equal((int(comm["size"]), int(comm["my_rank"]), texts[comm["name"]]),
                    (2, rank, "default_pg 0"), "the group")
            h.equal(file["comm_members"][:]["world_rank"].tolist(), [0, 1], "members")


@h.case
def the_same_group_on_all_ranks():
    play("all")
    uids = []
    for rank in (0, 1):
        with h.open_rank("out", rank) as file:
            uids.append(int(file["comms"][0]["uid"]))
    h.equal(uids[0], uids[1], "uid")
    h.check(uids[0] != 0, "uid", uids)


@h.case
def without_what_python_tells():
    play("plain")
    found = rows(0)
    h.equal([r["op"] for r in found],
            ["Allreduce", "Allreduce", "Bcast", "Allgather", "Barrier", "Send", "Barrier"],
            "operations")
    h.equal([int(r["sent_bytes"]) for r in found if r["op"] in ("Allreduce", "Send")], [-1] * 3, "sizes")
    with h.open_rank("out", 0) as file:
        h.equal(file["comm_members"][:]["world_rank"].tolist(), [0, 1], "all ranks of the job")


@h.case
def a_slow_rank_is_named():
    play("steps", size=4, options=())
    with open("out/report.json", encoding="utf-8") as file:
        report = json.load(file)
    h.equal([s["rank"] for s in report["stragglers"]][:1], [1], "the first row")
    h.check(report["job"]["headline"].startswith("Rank 1 "), report["job"]["headline"])
    lost = report["stragglers"][0]["lost_ns"]
    h.check(0.9e9 <= lost <= 2.4e9, "60 times 20 ms, and what a busy machine adds", lost)


@h.case
def a_rank_that_comes_late_to_the_first_group_is_named():
    play("late", size=4, options=())
    with open("out/report.json", encoding="utf-8") as file:
        report = json.load(file)
    found = report["stragglers"][0]
    h.equal((found["rank"], found["part"], found["cause"]), (1, "start", "late_start"), "the first row")
    h.check(1.3e9 <= found["lost_ns"] <= 3e9, "1.5 s, and what a busy machine adds", found["lost_ns"])
    h.check(" before it entered init_process_group (" in report["job"]["headline"], report["job"]["headline"])
    parts = {row["part"]: row for row in report["parts"]["rows"]}
    h.equal(parts["start"]["longest_rank"], 1, "who came last")
    h.equal(parts["init"]["words"], "in init_process_group", "words")
    h.check(0.9e9 <= parts["init"]["wait_ns"] <= 2.5e9, "three of four wait for 1.5 s", parts["init"])


@h.case
def waits_begin_where_the_program_waits():
    play("steps")
    found = [r for r in rows(0) if r["op"] == "Allreduce"]
    h.equal(len(found), 120, "operations")
    waited = [int(r["end"] - r["wait_start"]) for r in found[1::2] if r["wait_start"]]
    # Rank 1 begins its second bucket 20 ms later: rank 0 stands still for it in finalize_backward().
    h.check(len(waited) >= 55, "second buckets that were waited for", len(waited))
    h.check(sorted(waited)[len(waited) // 2] > 15e6, "the middle wait", sorted(waited))


@h.case
def a_root_that_is_blocked_waits():
    """Rank 0 sends, and cannot leave before rank 1 has come: that is no work of rank 0."""
    play("root", options=())
    first, late = ([r for r in rows(rank) if r["op"] == "Bcast"] for rank in (0, 1))
    h.equal((len(first), len(late)), (3, 3), "operations")
    with h.h5py().File("out/cluster.h5") as file:
        trace = file["step_trace"][:]
        waits = [int(w) for w in trace["wait_ns"].reshape(-1, 2)[:, 0]]
        owns = [int(w) for w in trace["own_ns"].reshape(-1, 2)[:, 0]]
        totals = [int(w) for w in trace["total_ns"].reshape(-1, 2)[:, 0]]
    wanted = [max(0, int(b["start"]) - max(int(a["start"]), int(a["wait_start"])))
              for a, b in zip(first, late)]
    for wait, want in zip(waits, wanted):
        h.check(abs(wait - want) < 1000, "waits of the root", waits, "wanted", wanted)
    h.equal(owns, [total - wait for total, wait in zip(totals, waits)], "its own work")


@h.case
def what_a_killed_rank_waited_for():
    running = start("stuck")
    try:
        thread = await_wait(0, 1)
    finally:
        for process in running:
            for program in [pid for one in children(process.pid) for pid in children(one)]:
                os.kill(program, signal.SIGKILL)
        for process in running:
            process.communicate(timeout=h.PATIENCE_S)
    h.equal((thread["awaited"], thread["seq"], thread["comm_name"]), ("Allreduce", 1, "default_pg 0"),
            "while it waits")
    with h.open_rank("out", 0) as file:
        row = file["events/open"][0]
        h.equal(h.enum_names(file["events/open"], "awaited"), ["Allreduce"], "what it waited for")
        h.equal((int(row["seq"]), int(row["comm"])), (1, 0), "its number and group")
        h.equal(h.enum_names(file["events/open"], "source"), ["gloo"], "whose operation it was")
    with h.open_rank("out", 1) as file:
        h.check("open" not in file["events"], "rank 1 was in no operation")
    h.equal(thread["source"], "gloo", "whose operation it is, while it waits")
    h.run([h.place("PROFWRAP"), "merge", "-q", "out"])
    done = h.run([h.place("PROFWRAP"), "report", "--section", "completeness", "out"])
    said = " ".join(done.stdout.decode().split())
    h.check("in gloo wait (for gloo allreduce #1 on default_pg 0), entered" in said, said)
    h.check("MPI_" not in said, "MPI in the report of a job without it", said)


@h.case
def the_rank_that_has_not_entered_is_named():
    """Rank 0 waits in an operation, and rank 1 is in none: it is asleep elsewhere in the program."""
    found = hang_of("stuck")
    h.check(found["headline"].startswith("Rank 0 waits in gloo allreduce #1 on default_pg 0 for rank 1, which "),
            found["headline"])
    h.equal((found["kind"], found["roots"]), ("held", [1]), "verdict")
    [group] = found["collectives"]
    h.equal((group["waiting"], group["missing"], group["seq"]), ([0], [1], 1), "the operation")


@h.case
def the_operation_that_was_left_out_is_named():
    """Rank 1 leaves out operation #16. Both sizes of reductions are in the order, so the barrier that it
    calls there, and all that follows it, tell that it is one operation ahead."""
    found = hang_of("skip")
    h.check(found["headline"].startswith("Rank 1 skipped gloo allreduce #16 on default_pg 0, which rank 0 called, "
                                         "and went on to gloo barrier. Rank 0 waits in gloo barrier #23 "),
            found["headline"])
    [order] = found["order"]
    h.equal((order["kind"], order["seq"], order["other_call"]["bytes"]), ("skipped", 16, 40), "the difference")


@h.case
def the_rank_that_does_not_create_a_group_is_named():
    """Where the group has all ranks of the job."""
    found = hang_of("creation")
    h.check(found["headline"].startswith("Rank 0 waits in the creation of a gloo group of all ranks for rank 1, which has been in "
                                         "no communication call "), found["headline"])
    h.equal((found["kind"], found["roots"]), ("held", [1]), "verdict")


@h.case
def of_a_group_of_a_part_it_is_not_known_who_did_not_come():
    found = hang_of("part")
    h.check(found["headline"].startswith("1 of 2 ranks wait in MPI calls, rank 0 longest: in the creation of a gloo group for "),
            found["headline"])
    h.check(found["headline"].endswith("; the rank that they wait for is not known"), found["headline"])


@h.case
def a_circle_over_gloo_and_mpi():
    """Rank 0 is in a reduction of gloo, and rank 1 receives by MPI what rank 0 would send after it."""
    running = [subprocess.Popen(h.mpirun(2, *h.profwrap("-o", "out", "--no-merge", "--hang-timeout", "1"), h.program("gloompi"),
                                         library(), "circle", "meeting"), env=h.environment(),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)]
    found = page_of(running, "deadlock")  # one of them may be late: then a page of the other comes before
    h.equal(found["cycle"], [0, 1], found["headline"])
    h.check(found["headline"].startswith("Deadlock: rank 0 (in gloo wait (for gloo allreduce #3 on default_pg 0)) waits for "
                                         "rank 1 (in MPI_Recv from rank 0 (tag 7) on MPI_COMM_WORLD), which waits for rank 0"),
            found["headline"])


def report_of_all_ranks(kind):
    """The first report for which all ranks answered, of the kind if one is given; None: there is none yet."""
    for name in sorted(glob.glob("out/hang*.json")):
        with open(name, encoding="utf-8") as file:
            found = json.load(file)
        if not found["silent"] and kind in (None, found["kind"]):
            return found
    return None


def hang_of(scenario):
    return page_of(start(scenario, options=("--no-merge", "--hang-timeout", "1")))


def page_of(running, kind=None):
    """Waits for the report, and ends the job."""
    found, until = None, time.monotonic() + h.PATIENCE_S
    try:
        while not found and time.monotonic() < until:
            time.sleep(0.1)
            found = report_of_all_ranks(kind)
        h.check(found, "no such report for which all ranks answered in", glob.glob("out/hang*"))
    finally:
        for program in [rank["pid"] for rank in found["ranks"]] if found else []:
            with contextlib.suppress(ProcessLookupError):
                os.kill(program, signal.SIGKILL)
        for process in running if not found else []:
            process.terminate()
        for process in running:
            process.communicate(timeout=h.PATIENCE_S)
    return found


@h.case
def no_activity_no_rows():
    play("all", options=("--no-merge", "--activities", "annotations"))
    h.equal(rows(0), [], "rows")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
