"""Hangs in NCCL. The ranks of a training wait on their GPUs for a collective that one rank has not
called, or has called otherwise; no thread need be in a call. programs/ncclstand.c stands in for NCCL:
its collectives wait as those on GPUs would. The first sentence is that of the page, and all of it."""

import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

import harness as h

RANKS = 4


def start(rank, fault, version, more, options=("--hang-timeout", "2")):
    """A directory for each kind of job: the merge of an earlier one may still write to its own."""
    env = {"NCCLSTAND_VERSION": str(version)} if version else {}
    return subprocess.Popen(
        [*h.profwrap("-o", f"{fault}-{version}", "--no-report", *options), h.program("nccltrain"), fault,
         "2", "30"],
        env=h.environment(RANK=str(rank), WORLD_SIZE=str(RANKS), LOCAL_RANK=str(rank),
                          TORCHELASTIC_RUN_ID="job",
                          NCCLSTAND_MEETING=os.path.abspath(f"meeting-{fault}-{version}"), **env, **more),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def page(fault, version=6, **more):
    """The first sentence of the page, and the page as JSON. Ends the job then."""
    running = [start(rank, fault, version, more) for rank in range(RANKS)]
    until = time.monotonic() + h.PATIENCE_S
    path = f"{fault}-{version}/hang"
    try:
        while not os.path.exists(path + ".txt"):
            h.check(time.monotonic() < until and any(p.poll() is None for p in running),
                    "no page", fault, version)
            time.sleep(0.05)
        with open(path + ".txt", encoding="utf-8") as text:
            first = text.read().split("\n\n")[0]
        with open(path + ".json", encoding="utf-8") as data:
            found = json.load(data)
    finally:
        for p in running:
            p.send_signal(signal.SIGTERM)
        for p in running:
            p.communicate(timeout=h.PATIENCE_S)
    return " ".join(first.split()), found


def check(sentence, *patterns):
    for pattern in patterns:
        h.check(re.search(pattern, sentence), repr(sentence), "has no", repr(pattern))


def held(call, doing="asleep", comm="stand"):
    return (rf"Ranks 0-1,3 wait in {call} on {comm} for rank 2, which has (been in no communication "
            rf"call for .* s, and is {doing}|been computing \(in no MPI call\) for .* s)\.")


@h.case
def the_rank_that_has_not_called_a_collective_is_named():
    sentence, found = page("sleep")
    check(sentence, "^" + held("ncclAllReduce #30") + "$")
    h.equal((found["kind"], found["roots"]), ("held", [2]), "verdict")
    (group,) = found["collectives"]
    h.equal((group["seq"], group["waiting"], group["missing"]), (30, [0, 1, 3], [2]), "collective")


@h.case
def without_the_plugin_too():
    sentence, _ = page("sleep", version=0)
    check(sentence, held("ncclAllReduce #30", comm="communicator 0x[0-9a-f]*"))


@h.case
def a_rank_that_computes_is_named_by_an_old_nccl():
    for version in (1, 4):
        sentence, _ = page("compute", version)
        check(sentence, held("ncclAllReduce #30"))


@h.case
def a_rank_that_left_one_out_is_named_with_the_call():
    sentence, _ = page("skip")
    check(sentence, r"^Rank 2 called ncclBroadcast #31 on stand, where ranks 0-1,3 called ncclAllReduce, "
          r"which it is likely to have skipped", held("ncclBroadcast #32"))


@h.case
def another_size_root_or_operation_is_named_though_all_have_called():
    for fault, words in (
            ("count", "ncclAllReduce #31 on stand with 204 bytes, ranks 0-1,3 with 200 bytes"),
            ("root", "ncclBroadcast #32 on stand with root 1, ranks 0-1,3 with root 0"),
            ("operation", "ncclAllGather #32 on stand, where ranks 0-1,3 called ncclBroadcast")):
        sentence, _ = page(fault)
        h.equal(sentence, f"Rank 2 called {words}.", fault)


@h.case
def two_communicators_in_another_order_are_a_likely_deadlock():
    sentence, found = page("cross")
    check(sentence, r"^Likely deadlock: rank \d \(in ncclAllReduce #10 on stand 0x0\d0\d\) waits for "
          r"rank \d \(in ncclAllReduce #10 on stand 0x0\d0\d\), which waits for rank \d")
    h.check(2 in found["cycle"], found["cycle"])


@h.case
def a_rank_that_does_not_come_to_the_first_communicator_is_named():
    sentence, _ = page("init")
    h.equal(sentence, "Ranks 0-1,3 wait in ncclCommInitRank of all ranks for rank 2, which has made no "
            "communication call yet, and is asleep.", "sentence")


@h.case
def a_call_that_does_not_return_is_shown():
    """As the first one on a communicator, which connects the ranks."""
    sentence, found = page("sleep", NCCLSTAND_BLOCKING="1")
    check(sentence, held("ncclAllReduce #30"))
    threads = [t for t in found["ranks"][0]["threads"] if t["queue"] == "thread"]
    h.equal([(t["op"], t["seq"]) for t in threads], [("Allreduce", 30)], "in the call")


@h.case
def the_stage_of_a_pipeline_that_has_not_sent_is_named():
    sentence, found = page("stage")
    check(sentence, r"^Rank (1 waits in ncclSend to|3 waits in ncclRecv from) rank "
          r"2 on stand for rank 2, which has been in no communication call for .* s, and is asleep")
    h.equal((found["kind"], found["roots"], found["held"]), ("held", [2], 3), "verdict")


@h.case
def a_rank_that_has_ended_is_named():
    """It had a step less than the others, which wait in that step."""
    sentence, found = page("uneven")
    h.equal(sentence, "Ranks 0-1,3 wait in ncclAllReduce #90 on stand for rank 2, which has ended.",
            "sentence")
    h.equal(([r["state"] for r in found["ranks"]].index("X"), found["silent"]), (2, []), "ranks")


@h.case
def a_rank_that_has_ended_without_sending_is_named():
    sentence, _ = page("unsent")
    h.equal(sentence, "Rank 3 waits in ncclRecv from rank 2 on stand for rank 2, which has ended.",
            "sentence")


def open_calls(folder):
    with h.h5py().File(os.path.join(folder, "cluster.h5"), "r") as file:
        table = file["open_calls"]
        return [(int(row["rank"]), op, int(row["seq"]))
                for row, op in zip(table[:], h.enum_names(table, "op"))]


def killed(fault, waiting):
    """What the report tells of a job that was killed, by its files, when `waiting` ranks had called nothing
    for two seconds."""
    running = [start(rank, fault, 6, {}, options=()) for rank in range(RANKS)]
    until = time.monotonic() + h.PATIENCE_S
    while not have_waited(f"{fault}-6", waiting):
        h.check(time.monotonic() < until, "the ranks do not wait")
        time.sleep(0.2)
    for p in running:
        p.send_signal(signal.SIGTERM)
    for p in running:
        p.communicate(timeout=h.PATIENCE_S)
    told = h.run(h.profwrap("report", "--section", "hang", f"{fault}-6")).stdout.decode()
    return " ".join(told.split())


def ranks_of(folder):
    done = h.run(h.profwrap("ctl", "status", "--format", "json", folder), status=None)
    return json.loads(done.stdout)["ranks"] if done.returncode == 0 else []


def have_waited(folder, waiting):
    """A job that is killed sooner did not hang."""
    queues = [t for r in ranks_of(folder) for t in r["threads"] if t["queue"] == "queue"]
    return len(queues) == waiting and all(t["since_ns"] > 2e9 for t in queues)


@h.case
def of_a_job_that_was_killed_the_report_tells_it():
    """The first collective that rank 2 had not called."""
    check(killed("sleep", RANKS), "rank 2, for which ranks 0-1,3 waited, was in no MPI call; ranks 0-1,3 were in "
          "ncclAllReduce #30 on stand", "rank 3: in ncclAllReduce #30 on stand for")
    h.equal(open_calls("sleep-6"), [(rank, "Allreduce", 30) for rank in (0, 1, 3)], "open calls")


@h.case
def of_a_job_that_was_killed_after_a_rank_had_ended():
    check(killed("uneven", RANKS - 1), "^Ranks 0-1,3 were killed by signal 15 .*; rank 2, for which ranks 0-1,3 "
          "waited, had ended; ranks 0-1,3 were in ncclAllReduce #90 on stand; rank 2 ended well")


@h.case
def of_a_job_that_did_not_record_at_its_end_nothing_is_told():
    """Each rank stops recording at another collective: what it called then is not known."""
    running = [start(rank, "long", 6, {}) for rank in range(RANKS)]
    until = time.monotonic() + h.PATIENCE_S
    while not all(r["comms"] and r["comms"][0]["reached"] > 50 for r in ranks_of("long-6") or [{"comms": []}]):
        h.check(time.monotonic() < until, "the ranks do not begin")
        time.sleep(0.2)
    h.run(h.profwrap("ctl", "stop", "long-6"))
    while any(r["recording"] for r in ranks_of("long-6") or [{"recording": True}]):
        h.check(time.monotonic() < until, "the ranks record")
        time.sleep(0.2)
    for p in running:
        p.send_signal(signal.SIGTERM)
    for p in running:
        p.communicate(timeout=h.PATIENCE_S)
    told = h.run(h.profwrap("report", "--section", "hang", "long-6")).stdout.decode()
    h.check("waited" not in told and "All ranks were killed by signal 15" in told, told)
    h.equal((open_calls("long-6"), glob.glob("long-6/hang*")), ([], []), "open calls and pages")


@h.case
def of_a_job_that_ends_nothing_is_left_open():
    for p in [start(rank, "none", 6, {}) for rank in range(RANKS)]:
        h.check(p.communicate(timeout=h.PATIENCE_S)[0] == "done\n" and p.returncode == 0, p.returncode)
    h.run(h.profwrap("report", "none-6"))  # waits for the merge
    h.equal(open_calls("none-6"), [], "open calls")


@h.case
def no_page_where_nothing_waits():
    """A training that calls nothing for five seconds, one that has aborted a communicator on which a
    rank had called less than the others, and a pipeline of which the last stage works on alone."""
    for fault in ("quiet", "abort", "last"):
        running = [start(rank, fault, 6, {}) for rank in range(RANKS)]
        for p in running:
            out, err = p.communicate(timeout=h.PATIENCE_S)
            h.equal((p.returncode, out), (0, "done\n"), err)
            h.check("wait" not in err and "hang" not in err, err)
        h.equal(glob.glob(f"{fault}-6/hang*"), [], fault)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
