"""The rules of other tools, and the scorer of their answers, on small runs written by hand.

    test_peers.py PROFWRAP CASE        test_peers.py --list
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

CASES = {}
MS = 1000000
PARTS = ("data", "forward", "backward", "optimizer")


def case(function):
    CASES[function.__name__] = function
    return function


def run(ranks=4, steps=60, per_host=2, slow=None, step_ms=10):
    """A run with 1 ms of work in data, 3 in forward, 5 in backward and 1 in optimizer, in each step
    of each rank. slow(rank, step, part) is a factor. A step lasts as long as that of the slowest
    rank, and 0.2 ms for an Allreduce."""
    factor = slow or (lambda rank, step, part: 1)
    base = dict(zip(PARTS, (1 * MS, 3 * MS, 5 * MS, 1 * MS)))
    work = {part: np.array([[base[part] * factor(r, s, part) for s in range(steps)]
                            for r in range(ranks)]) for part in PARTS}
    total = sum(work.values())
    ends = np.cumsum(total.max(axis=0) + MS // 5).astype(np.int64)
    end = np.tile(ends, (ranks, 1))
    start = np.concatenate((np.zeros((ranks, 1), dtype=np.int64), end[:, :-1]), axis=1)
    every = np.arange(steps)
    sections = [{part: seen.Section(every, work[part][r], work[part][r]) for part in PARTS}
                for r in range(ranks)]
    calls = [reduce_at(start[r] + total[r].astype(np.int64), end[r]) for r in range(ranks)]
    hosts = [f"node{r // per_host:04d}" for r in range(ranks)]
    return seen.Seen(True, hosts, start, end, total, sections, calls,
                     [{0: list(range(ranks))} for _ in range(ranks)])


def reduce_at(start, end):
    """An Allreduce in each step, from the end of a rank's work to the end of the step."""
    many, zero = len(start), np.zeros(len(start), dtype=np.int64)
    return seen.Calls(np.array(["Allreduce"] * many, dtype=object), zero, start, end, zero + 1024,
                      zero - 1, zero)


def slows(rank, part, by, first=0, last=10 ** 9):
    return lambda r, s, p: by if r == rank and p == part and first <= s <= last else 1


def ranks_of(named):
    return [entry.get("rank") for entry in named]


@case
def nvrx_names_scores_below_the_threshold():
    # GPU score of rank 2: kernels of 1, 3, 1 ms have 1; backward of 6.5 ms 5/6.5 = 0.77, by weights
    # (5 + 6.5 * 0.77) / 11.5 = 0.87; but its section backward has 0.77.
    slow = run(slow=slows(2, "backward", 1.3))
    assert peers.nvrx(slow) == [] and peers.nvrx(slow, 0.78) == [peers.rank(2)]
    # 5/7 = 0.714: below 0.75, not below 0.7.
    slow = run(slow=slows(2, "backward", 1.4))
    assert peers.nvrx(slow) == [peers.rank(2)] and peers.nvrx(slow, 0.7) == []
    assert peers.nvrx(run()) == []


@case
def nvrx_weighs_kernels_by_their_time():
    found = peers.medians(run(slow=slows(1, "forward", 2)), 0, 20)
    # Rank 1: forward 6 of 13 ms with score 0.5, the rest 7 ms with 1: (3 + 7) / 13.
    assert abs(peers.gpu_score(found[1], peers.of_all_ranks(found, 1)) - 10 / 13) < 1e-9
    assert peers.gpu_score(found[0], peers.of_all_ranks(found, 1)) == 1


@case
def nvrx_compares_a_rank_with_its_own_reports_before():
    # All ranks are slow from step 20 on: no relative score, all individual ones: no rank stands out.
    assert peers.nvrx(run(slow=lambda r, s, p: 2 if s >= 20 else 1)) == [{"scope": "all"}]
    # Median of 20 steps: 9 slow ones of them are not seen, 11 are.
    assert peers.nvrx(run(slow=slows(3, "data", 2, 0, 8))) == []
    assert peers.nvrx(run(slow=slows(3, "data", 2, 0, 10))) == [peers.rank(3)]


@case
def dlrover_wants_twice_the_median_in_both_rounds():
    # Rank 5 (node0002) at 21 ms of work beside 10: 2.1 times the median of the four nodes.
    def slow(by, first=0, last=19):
        return lambda r, s, p: by if r == 5 and first <= s <= last else 1
    assert peers.dlrover(run(ranks=8, slow=slow(2.1))) == [{"scope": "host", "host": "node0002"}]
    assert peers.dlrover(run(ranks=8, slow=slow(1.9))) == []
    # In one round of 10 steps only: the better round counts.
    assert peers.dlrover(run(ranks=8, slow=slow(5, 0, 9))) == []
    # Two nodes: the median of 10 and 21 is 15.5.
    assert peers.dlrover(run(ranks=4, slow=slow(2.1))) == []


@case
def megatron_names_the_longest_forward_and_the_longest_batch():
    both = run(slow=lambda r, s, p: 1.2 if (r, p) == (1, "forward") else
               3 if (r, p, s) == (2, "data", 7) else 1)
    # 3 times the median for the batch of one step, 1.2 times for the forward's mean.
    assert peers.megatron(both) == [peers.rank(2), peers.rank(1)]
    assert peers.megatron(run()) == [peers.rank(0)]  # no threshold: always somebody
    assert peers.megatron(run(slow=slows(3, "optimizer", 9))) == [peers.rank(0)]  # not timed


@case
def traceml_takes_from_backward_what_others_delay():
    # +0.9 and +1.2 ms of a step of 11.1 and 11.4: 8.1 and 10.5 %.
    assert peers.traceml(run(slow=slows(2, "forward", 1.3))) == []
    assert peers.traceml(run(slow=slows(2, "forward", 1.4))) == [peers.rank(2)]
    assert peers.traceml(run(steps=49, slow=slows(2, "forward", 1.4))) == []
    # Others wait in backward for rank 2's data: 4 ms in theirs, that its 4 more of data explain. Without
    # that all would have a clean step of 14.2 ms; with it the others have 10.2.
    late = run(slow=slows(2, "data", 5))
    assert peers.traceml(late) == [peers.rank(2)]
    # A rank that is slow in backward is not seen: the others wait as long in theirs.
    assert peers.traceml(run(slow=slows(2, "backward", 2))) == []
    # All ranks alike.
    everybody = run(slow=lambda r, s, p: 5 if p == "data" else 1)
    assert peers.traceml(everybody) == []


@case
def hta_names_the_two_that_start_last():
    # The latest is rank 3, then rank 1; without any delay somebody is named as well.
    late = run(slow=lambda r, s, p: {3: 2, 1: 1.5}.get(r, 1) if p == "forward" else 1)
    assert peers.hta(late) == [peers.rank(1), peers.rank(3)]  # as often: the lowest first
    # Rank 3 in all of 59 steps (the first is left out), rank 1 in 29, rank 0 in 30.
    late = run(slow=lambda r, s, p: 2 if r == 3 and p == "forward" else
               1.5 if p == "forward" and r == (1 if s < 30 else 0) else 1)
    assert peers.hta(late) == [peers.rank(3), peers.rank(0)]
    assert peers.hta(run()) == [peers.rank(0), peers.rank(1)]
    # Calls shorter than 1 % of a step (30.2 ms) are not looked at: 0.2 ms.
    assert peers.hta(run(slow=lambda r, s, p: 3)) == []


@case
def greyhound_needs_a_change_of_the_iterations():
    assert peers.change_points([1.0, 1.01, 0.99, 1.0] * 10) == []
    assert 20 in peers.change_points([1.0, 1.01] * 10 + [1.5, 1.51] * 10)
    slow = peers.slow_steps([1.0, 1.01] * 10 + [1.5, 1.51] * 10 + [1.0, 1.01] * 10)
    assert list(np.flatnonzero(slow)) == list(range(20, 40)), slow
    assert not peers.slow_steps([1.0, 1.001] * 10 + [1.05, 1.051] * 10).any()  # below 10 %
    # Step from 10 to 12 ms; rank 2 at 1.2 of its own, the others at 1.
    wobble = run(slow=lambda r, s, p: (1 + 0.005 * (s % 2)) *
                 (1.4 if r == 2 and p == "backward" and s >= 30 else 1))
    assert peers.greyhound(wobble) == [peers.rank(2)]
    assert peers.greyhound(run(slow=slows(2, "backward", 1.4))) == []  # slow from the beginning


@case
def greyhound_looks_into_groups_that_others_outdo():
    one = run()
    groups = {0: (0, 1), 1: (0, 1), 2: (2, 3), 3: (2, 3)}
    one.members = [{0: groups[r]} for r in range(4)]
    # Calls of 1 ms in the group of ranks 0 and 1, of 1.2 ms in that of 2 and 3: median 1.1, limit 1.21.
    for r in range(4):
        one.calls[r].end = one.calls[r].start + (MS if r < 2 else int(1.2 * MS))
    slow = np.ones(60, dtype=bool)
    assert peers.suspicious(one, slow) == set()
    for r in (2, 3):
        one.calls[r].end = one.calls[r].start + int(1.4 * MS)  # median 1.2, limit 1.32
    assert peers.suspicious(one, slow) == {2, 3}
    one.members = [{0: (0, 1, 2, 3)}] * 4
    assert peers.suspicious(one, slow) == {0, 1, 2, 3}  # one group has none to compare it with


@case
def messages_begin_when_both_ends_have():
    one = run(ranks=2, steps=4)
    zero = np.zeros(1, dtype=np.int64)
    send = seen.Calls(np.array(["Send"], dtype=object), zero, zero + 5, zero + 9, zero, zero + 1, zero)
    recv = seen.Calls(np.array(["Recv"], dtype=object), zero, zero + 7, zero + 12, zero, zero, zero)
    one.calls = [send, recv]
    assert peers.transfers(one) == {(0, 1): [(0, 5)]}
    recv.start = zero + 2
    assert peers.transfers(one) == {(0, 1): [(0, 7)]}


@case
def iterations_are_the_period_of_the_calls():
    assert seen.period_of([1, 2, 2, 3] * 50) == 4
    assert seen.period_of([7] * 50) == 1
    assert seen.period_of([1, 2]) is None
    # 200 numbers without a period: the digits of n * n.
    assert seen.period_of([n * n % 101 for n in range(100)]) is None


@case
def time_outside_calls_counts_overlaps_once():
    inside = seen.Inside(np.array([10, 12, 30]), np.array([20, 15, 40]))
    starts, ends = np.array([0, 13, 14, 25, 35]), np.array([50, 18, 32, 28, 60])
    assert list(inside.outside(starts, ends)) == [30, 0, 10, 3, 20]
    none = seen.Inside(np.array([], dtype=int), np.array([], dtype=int))
    assert list(none.outside(np.array([5]), np.array([9]))) == [4]


def truth(*faults):
    return {"elapsed_ns": 20000 * MS, "steps": 100, "noise": 0.01, "step_work_ns": 100 * MS,
            "ranks_per_host": 4, "faults": list(faults)}


def fault(**changes):
    """Rank 5 of 8, on the second of two hosts, loses 2 s in step 10 of a run of 20 s."""
    return {"kind": "stall", "scope": "rank", "part": "steps", "rank": 5, "host": 0, "peer": 0,
            "ranks": [5], "steps": [10], "phase": "forward", "cause": "blocked_off_cpu",
            "lost_ns": 2000 * MS, "start_ns": 5000 * MS, "end_ns": 7000 * MS, **changes}


@case
def answers_are_scored_by_what_comes_first():
    told = answers.score(truth(fault()), [peers.rank(5), peers.rank(2)])
    assert told["must"] and told["first"] and not told["wrong"] and told["also"] == 1
    told = answers.score(truth(fault()), [peers.rank(2), peers.rank(5)])
    assert told["wrong"] and not told.get("first") and told["also"] == 0
    told = answers.score(truth(fault()), [])
    assert told["must"] and not told["named"] and not told["wrong"]
    told = answers.score(truth(), [peers.rank(2)])
    assert told["wrong"] and not told["must"] and "lost_share" not in told


@case
def hosts_links_and_all_ranks_are_answers():
    for host, right in (("node0001", True), ("node0000", False)):
        told = answers.score(truth(fault()), [{"scope": "host", "host": host}])
        assert bool(told.get("first")) == right and told["wrong"] != right
        assert not told.get("kind")  # a rank's fault told as its host's
    slow = fault(scope="link", rank=3, peer=4)
    assert answers.score(truth(slow), [{"scope": "link", "ranks": [4, 3]}])["first"]
    assert answers.score(truth(slow), [{"scope": "link", "ranks": [2, 3]}])["wrong"]
    drift = fault(scope="all", ranks=list(range(8)))
    told = answers.score(truth(drift), [{"scope": "all"}])
    assert told["first"] and not told["named"] and not told["wrong"]


@case
def more_fields_are_scored_where_given():
    one = {**peers.rank(5), "kind": "one_off", "phase": "forward", "cost_ns": 2100 * MS,
           "cause": "blocked_off_cpu"}
    told = answers.score(truth(fault()), [one])
    assert all(told[key] for key in ("kind", "phase", "cost", "cause")), told
    told = answers.score(truth(fault()), [{**one, "phase": "data", "cost_ns": 2300 * MS}])
    assert told["kind"] and told["cause"] and not told["phase"] and not told["cost"]
    late = fault(part="start_up", steps=[])
    assert answers.score(truth(late), [{**peers.rank(5), "part": "start_up"}])["kind"]


@case
def an_entry_without_its_fields_is_refused():
    for entry, word in (({"scope": "gpu"}, "scope"), ({"scope": "link"}, "'ranks'"), (5, "object")):
        assert word in answers.check(entry)
    assert answers.check(peers.rank(1)) is None


@case
def the_tables_count_what_they_say():
    rows = [{"class": "none", "bare": False, **answers.score(truth(), [peers.rank(1)])},
            {"class": "stall", "bare": False, **answers.score(truth(fault()), [peers.rank(5)])},
            {"class": "stall", "bare": True, **answers.score(truth(fault()), [])},
            {"class": "stall", "bare": False,
             **answers.score(truth(fault()), [peers.rank(5), peers.rank(1)])}]
    lines = answers.tables({"tool": rows})
    assert lines[2] == "| tool | 2 of 3 | 2 of 2 | 1 of 4 | 2 of 4 | 1 of 1 |", lines[2]
    assert lines[-2] == "| none | 0 of 1 | 0, 1 |" and lines[-1] == "| stall | 3 of 3 | 2, 0 |", lines


def write_rank(directory, number, steps, sections, calls):
    """Writes a rank file with these rows only. Its clock is 1000 ns behind the cluster's."""
    comm = np.dtype([("start", "i8"), ("end", "i8"), ("op", enum("Allreduce", "Wait", "Iallreduce")),
                     ("flags", "u1"), ("comm", "i4"), ("sent_bytes", "i8"), ("recv_bytes", "i8"),
                     ("peer", "i4"), ("tag", "i4")])
    ranges = np.dtype([("start", "i8"), ("end", "i8"), ("name", "u4"), ("kind", enum("phase", "user"))])
    with h5py.File(os.path.join(directory, f"rank-{number:05d}.h5"), "w") as file:
        file.attrs["hostname"] = f"node{number:04d}"
        file["clock"] = np.array([(0, 1000, 1)], dtype=[("local_ns", "i8"), ("offset_ns", "i8"),
                                                        ("error_ns", "i8")])
        file["steps"] = np.array(steps, dtype=[("start", "i8"), ("end", "i8")])
        file["strings"] = np.array([b"", b"forward", b"mine"])
        file["events/range"] = np.array(sections, dtype=ranges)
        file["events/comm"] = np.array(calls, dtype=comm)
        file["comm_members"] = np.array([(0,), (1,)], dtype=[("world_rank", "i4")])
        file["comms"] = np.array([(0, 2)], dtype=[("first_member", "i8"), ("size", "i8")])


def enum(*names):
    return h5py.enum_dtype({name: number for number, name in enumerate(names)}, basetype="u1")


@case
def rank_files_are_read_as_they_are():
    directory = tempfile.mkdtemp()
    # Forward 0 to 60, of which a blocking call takes 40 to 50; an Iallreduce from 70 on, waited for
    # from 90 to 100: the time outside calls is 100 - 10 - 10. The user's range is no section.
    calls = [(40, 50, 0, 0, 0, 8, 8, -1, 0), (90, 100, 1, 0, -1, 0, 0, -1, 0),
             (70, 100, 2, 4, 0, 16, 8, -1, 0)]
    for number in range(2):
        write_rank(directory, number, [(0, 100), (100, 200)], [(0, 60, 1, 0), (0, 30, 2, 1)], calls)
    one = seen.read(directory)
    shutil.rmtree(directory)
    assert one.marked and one.hosts == ["node0000", "node0001"] and one.members[1] == {0: [0, 1]}
    assert one.start.tolist() == [[1000, 1100]] * 2 and one.work.tolist() == [[80, 100]] * 2
    assert list(one.sections[0]) == ["forward"]
    assert one.total("forward").tolist() == [[60, 0]] * 2
    assert one.total("forward", "work").tolist() == [[50, 0]] * 2
    assert list(one.calls[1].op) == ["Allreduce", "Iallreduce"]
    assert list(one.calls[1].start) == [1040, 1070] and list(one.calls[1].bytes) == [8, 16]


@case
def confidence_is_compared_with_the_share_that_is_right():
    # 4 verdicts of 0.92, 3 right; 2 of 1.0, both right.
    pairs = [(0.92, True)] * 3 + [(0.92, False)] + [(1.0, True)] * 2
    low, high = reliability.bins(pairs)
    assert low[:3] == (0.9, 0.95, 4) and abs(low[3] - 0.92) < 1e-9 and low[4] == 3
    assert high == (0.99, 1.0, 2, 1.0, 2)
    # (4 * |0.92 - 0.75| + 2 * 0) / 6
    assert abs(reliability.calibration_error(pairs) - 0.68 / 6) < 1e-9
    # Wilson's interval of 8 of 10, as in its tables: 0.490 to 0.943.
    least, most = reliability.wilson(8, 10)
    assert abs(least - 0.490) < 0.001 and abs(most - 0.943) < 0.001


def keys_of(value):
    if isinstance(value, list):
        return set().union(set(), *(keys_of(one) for one in value))
    return set(value) | keys_of(list(value.values())) if isinstance(value, dict) else set()


@case
def the_document_has_all_fields_of_the_truth():
    directory, found = tempfile.mkdtemp(), set()
    for number, given in enumerate((
            ["--gpu", "--queues", "-f", "slow_gpu:rank=1;starved_loader:rank=2"],
            ["--operators", "2", "-f", "slow_operator:rank=1"], ["-p", "moe", "--routing", "hot"])):
        where = os.path.join(directory, str(number))
        subprocess.run([sys.argv[1], "sim", "-r", "4", "-s", "20", *given, where], check=True)
        with open(os.path.join(where, "truth.json")) as file:
            found |= keys_of(json.load(file))
    shutil.rmtree(directory)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "README.md")) as file:
        text = file.read()
    missing = {key for key in found if f"`{key}`" not in text}
    assert len(found) > 40 and not missing, (len(found), missing)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(CASES))
        sys.exit(0)
    try:
        import h5py
        import numpy as np
    except ImportError as problem:
        print(f"skipped: this Python has no {problem.name}")
        sys.exit(77)
    import answers
    import peers
    import reliability
    import seen
    CASES[sys.argv[2]]()
