"""A report does not contradict itself: what its first sentence is about, or says at its end, is the largest
loss that any of its tables shows.

    consistent.py PROFWRAP CLUSTER_FILE...

A table contradicts the first sentence if it shows a loss of SHARE of the run or more that is larger than
TIMES every loss that the sentence has. Each table is compared with what measures the same: waits, transfers,
or time in which all ranks were slower. "No rank held the job back" may be said only where the waits and
transfers of all parts of the run are below MUCH of it. A report that cannot tell has printed its reason
(job.reason)."""

import json
import re
import subprocess
import sys

SHARE, TIMES, MUCH = 0.03, 2, 0.1
NOBODY = re.compile(r"(?<!lsewhere )\bno rank held the job back", re.I)
WAITS, TRANSFERS, SHARED = "waits", "transfers", "shared"


def known(ns):
    return ns if ns is not None and ns > 0 else 0


def first_known(row, *names):
    return next((row[name] for name in names if row.get(name) is not None), 0)


def cost(loss):
    return first_known(loss, "gain_ns", "lost_ns")


def in_parts(report):
    """Waits in a part and, outside the steps, own work beyond the mean of the ranks."""
    for row in (report["parts"] or {"rows": []})["rows"]:
        if row["mean_ns"] is None:
            continue
        yield WAITS, f"wait of part {row['part']}", known(row["wait_ns"])
        if row["part"] in ("setup", "tail"):
            own = row["mean_ns"] - known(row["wait_ns"])
            yield WAITS, f"longest own of part {row['part']}", known(row["longest_own_ns"]) - own


def in_efficiency(report):
    """The factors apply one after the other: transfers to the run, serialisation to what is left without
    them, load balance to what is left then."""
    row = report["efficiency"]
    if not row:
        return
    left = row["elapsed_ns"] or known(report["steps"]["mean_ns"]) * report["steps"]["measured"]
    if row["transfer_efficiency"] is None:
        left *= row["communication_efficiency"] or 1
    for kind, name in ((TRANSFERS, "transfer_efficiency"), (WAITS, "serialisation_efficiency"),
                       (WAITS, "load_balance")):
        if row[name] is not None:
            yield kind, name, left * (1 - row[name])
            left *= row[name]


def in_messages(report):
    """A rank may wait for several messages at once, so it waits at most as long as it waited in all."""
    ranks = max(1, report["completeness"]["ranks_present"])
    late = sum(known(row["late_sender_ns"]) for row in report["links"]) / ranks
    if report["parts"]:
        yield WAITS, "late senders", min(late, known(report["parts"]["wait_ns"]))


def in_tables(report):
    """(what measures it, name, ns) of every loss that the report shows."""
    yield from in_parts(report)
    yield from in_efficiency(report)
    yield from in_messages(report)
    for row in report["communicators"]:
        yield WAITS, f"wait for rank {row['late_rank']} in a communicator", known(row["late_wait_ns"])
    # Of two ranks, one that is as fast as the other saves their whole difference; equal work, which the first
    # sentence tells where no rank is named, half of it.
    of_rank = 0.5 if report["completeness"]["ranks_present"] == 2 else 1
    for row in (report["whatif"] or {"scenarios": []})["scenarios"]:
        kind = TRANSFERS if row["scope"] == "network" else WAITS
        yield kind, f"what-if {row['scope']}", known(row["gain_ns"]) * (of_rank if row["scope"] == "rank" else 1)
    for row in report["stragglers"]:
        yield WAITS, f"straggler {row['rank']}", known(first_known(row, "gain_ns", "lost_ns"))
    for name in ("imbalances", "hosts"):
        for row in report[name] or []:
            yield WAITS, name, known(row["gain_ns"])
    for row in report["network"] or []:
        yield TRANSFERS, "network", known(row["gain_ns"])
    for row in report["trends"]:
        if row["kind"] == "warm_up":  # of every program: it has a line of its own, and leads no report
            continue
        yield SHARED, row["kind"], known(row["cost_ns"])
    for row in report["job"]["losses"]:
        kind = {"waits": WAITS, "transfers": TRANSFERS}.get(row["kind"], SHARED)
        yield kind, f"loss {row['kind']}", 0 if row["in_headline"] else cost(row)
    for row in report["advice"]:
        yield (TRANSFERS if row["rule"].startswith("transfer") else WAITS), f"advice {row['rule']}", \
            known(row["saves_ns"])


def told(job):
    """The largest loss that the first sentence has, by what measures it."""
    said = max([max(cost(row), known(row.get("together_ns"))) for row in job["losses"] if row["in_headline"]],
               default=0)
    total = {TRANSFERS: said, WAITS: said, SHARED: said}
    for row in job["totals"]:
        kind = TRANSFERS if row["what"] == "transfers" else WAITS
        if row["in_headline"]:
            total[kind] = max(total[kind], row["ns"])
    return total


def contradictions(report):
    """Sentences about what the report's tables show and its first sentence leaves out."""
    job = report["job"]
    verdict = (job["ending"] or {}).get("verdict_before") if job["verdict"] == "ended" else job["verdict"]
    run = known(job["run_ns"])
    if verdict in (None, "unknown", "single_rank", "hang") or not run or job["restricted_to_steps"]:
        return []
    said = told(job)
    found = [f"{name}: {ns / 1e6:.1f} ms, {100 * ns / run:.1f} % of the run; the first sentence has "
             f"{said[kind] / 1e6:.1f} ms" for kind, name, ns in in_tables(report)
             if ns >= SHARE * run and ns > TIMES * said[kind]]
    total = sum(row["ns"] for row in job["totals"])
    if NOBODY.search(job["headline"]) and total >= MUCH * run:
        found.append(f"nobody, but waits and transfers are {100 * total / run:.1f} % of the run")
    return found


def check(path, report):
    found = contradictions(report)
    assert not found, f"{path}: '{report['job']['headline']}' leaves out\n  " + "\n  ".join(found)


if __name__ == "__main__":
    bad = 0
    for each in sys.argv[2:]:
        printed = subprocess.run([sys.argv[1], "report", "--format", "json", each], stdout=subprocess.PIPE,
                                 check=True).stdout
        one = json.loads(printed)
        for line in contradictions(one):
            bad += 1
            print(f"{each}: {line}\n  {one['job']['headline']}")
    sys.exit(bad > 0)
