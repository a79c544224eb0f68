"""The checker of reports that contradict themselves (tests/mpi/consistent.py), on reports written by hand.

    test_consistent.py PROFWRAP CASE        test_consistent.py --list
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))
import consistent  # noqa: E402

CASES = {}
MS = 1000000


def case(function):
    CASES[function.__name__] = function
    return function


def loss(kind, ms, told=True):
    return {"kind": kind, "gain_ns": ms * MS, "lost_ns": 4 * ms * MS, "in_headline": told}


def total(what, ms, told=False):
    return {"what": what, "ns": ms * MS, "in_headline": told}


def report(*losses, totals=(), headline="", verdict="held_back", **tables):
    """A run of 1 s without any loss but those that are given."""
    job = {"headline": headline, "verdict": verdict, "ending": None, "run_ns": 1000 * MS,
           "restricted_to_steps": None, "losses": list(losses), "totals": list(totals)}
    empty = {"parts": None, "efficiency": None, "whatif": None, "steps": {"mean_ns": None, "measured": 0},
             "completeness": {"ranks_present": 4}}
    lists = ("links", "communicators", "stragglers", "imbalances", "hosts", "network", "trends", "advice")
    return {"job": job, **empty, **{name: [] for name in lists}, **tables}


def names(said):
    return [line.split(":")[0] for line in consistent.contradictions(said)]


def part(name, wait, own=0, mean=500):
    return {"part": name, "mean_ns": mean * MS, "wait_ns": wait * MS, "longest_own_ns": own * MS}


def parts(*rows):
    return {"wait_ns": sum(row["wait_ns"] for row in rows), "rows": list(rows)}


@case
def a_loss_is_told_if_it_is_at_most_twice_the_first():
    rank = loss("rank", 40)
    assert names(report(rank, parts=parts(part("steps", 80)))) == []
    assert names(report(rank, parts=parts(part("steps", 81)))) == ["wait of part steps"]
    assert names(report(parts=parts(part("steps", 29)))) == []  # less than 3 % of the run
    assert names(report(parts=parts(part("steps", 30)))) == ["wait of part steps"]


@case
def a_total_is_told_of_what_it_measures():
    waits, transfers = total("steps_wait", 300, True), total("transfers", 300, True)
    shown = parts(part("steps", 300))
    network = {"scenarios": [{"scope": "network", "gain_ns": 300 * MS}]}
    assert names(report(totals=[waits], parts=shown, whatif=network)) == ["what-if network"]
    assert names(report(totals=[transfers], parts=shown, whatif=network)) == ["wait of part steps"]
    assert names(report(totals=[waits, transfers], parts=shown, whatif=network)) == []
    assert names(report(totals=[total("steps_wait", 300)], parts=shown)) == ["wait of part steps"]


@case
def outside_the_steps_the_longest_own_work_counts():
    """The ranks work 250 ms on average in a tail of 500 ms, one of them 450 ms."""
    tail = parts(part("tail", 250, 450))
    assert names(report(loss("rank", 130), parts=tail)) == []
    assert names(report(loss("rank", 99), parts=tail)) == ["wait of part tail", "longest own of part tail"]


@case
def efficiencies_apply_one_after_the_other():
    """Of 1 s, transfers are 200 ms; of the other 800 ms, order costs 80 ms; of the other 720, balance 180."""
    row = {"elapsed_ns": 1000 * MS, "transfer_efficiency": 0.8, "serialisation_efficiency": 0.9,
           "load_balance": 0.75, "communication_efficiency": 0.72}
    found = {name: round(ns / MS) for _, name, ns in consistent.in_efficiency({"efficiency": row})}
    assert found == {"transfer_efficiency": 200, "serialisation_efficiency": 80, "load_balance": 180}
    row.update(transfer_efficiency=None, serialisation_efficiency=None)
    assert [round(ns / MS) for _, _, ns in consistent.in_efficiency({"efficiency": row})] == [180]


@case
def every_table_is_asked():
    pauses = [{"kind": "pauses", "cost_ns": 100 * MS}]
    assert names(report(trends=pauses)) == ["pauses"]
    assert names(report(loss("mpi_init", 100, False))) == ["loss mpi_init"]
    assert names(report(communicators=[{"late_rank": 2, "late_wait_ns": 100 * MS}])) == \
        ["wait for rank 2 in a communicator"]
    assert names(report(advice=[{"rule": "load_imbalance", "saves_ns": 100 * MS}])) == ["advice load_imbalance"]
    assert names(report(stragglers=[{"rank": 1, "gain_ns": None, "lost_ns": 100 * MS}])) == ["straggler 1"]
    assert names(report(hosts=[{"gain_ns": 100 * MS}], network=[{"gain_ns": 100 * MS}])) == ["hosts", "network"]


@case
def late_senders_are_at_most_what_ranks_waited():
    """Of 4 ranks, each waits for two messages at once: 400 ms in sum are 100 ms of a rank, or 50 at most."""
    links = [{"late_sender_ns": 400 * MS}]
    assert names(report(loss("rank", 20), links=links, parts=parts(part("steps", 40)))) == []
    assert names(report(loss("rank", 20), links=links, parts=parts(part("steps", 50)))) == \
        ["wait of part steps", "late senders"]


@case
def nobody_is_said_of_small_sums_only():
    small, much = [total("setup_wait", 49), total("transfers", 50)], [total("setup_wait", 50), total("transfers", 50)]
    for text, found in (("No rank held the job back: 9 steps.", True), ("No rank alone held the job back.", False),
                        ("Elsewhere no rank held the job back.", False),
                        ("All ranks paused; no rank held the job back.", True)):
        assert names(report(totals=small, headline=text, verdict="none")) == []
        assert bool(names(report(totals=much, headline=text, verdict="none"))) == found, text


@case
def a_report_without_evidence_has_its_reason():
    shown = parts(part("steps", 500))
    assert names(report(verdict="unknown", parts=shown)) == []
    ended = report(verdict="ended", parts=shown)
    ended["job"]["ending"] = {"verdict_before": "unknown"}
    assert names(ended) == []
    ended["job"]["ending"] = {"verdict_before": "none"}
    assert names(ended) == ["wait of part steps"]


if sys.argv[1:] == ["--list"]:
    print("\n".join(CASES))
    sys.exit(0)
for wanted in sys.argv[2:]:
    CASES[wanted]()
