"""A scripted reader: asks about a run in the order of docs/agents.md, sees nothing but the answers, and
concludes who lost time, in which phase and steps, why, and how much.

    conclude(ask) returns a dict in the form in which casescore takes what a tool says, with `calls` in order.
"""
import re

RANKED = ("rank", "host")


def first_row(answer, **wanted):
    """The first row with these values; None: there is none."""
    return next((row for row in answer.get("rows", ())
                 if all(row.get(key) == value for key, value in wanted.items())), None)


def nothing(verdict):
    return {"text": verdict["answer"], "verdict": verdict["verdict"], "scope": "none", "who": None, "row": None,
            "rows": []}


def of_rank(ask, said, rank):
    answer = ask("rank", rank=rank)
    said.update(scope="rank", who=rank)
    by_table = {row["id"].split("/")[0]: row for row in reversed(answer.get("rows", ()))}
    row = by_table.get("stragglers")
    said.update(row=row, rows=[row] if row else [], ending=by_table.get("endings"))


def of_host(ask, said, host):
    answer = ask("hosts", host=host)
    said.update(scope="host", who=host, row=first_row(answer, hostname=host))


def of_network(ask, said):
    row = first_row(ask("network"))
    said.update(scope="network", row=row)
    if row and row.get("scope") == "link":
        ends = [row[key] for key in ("src", "dst") if key in row] or re.findall(r"\d+", said["text"])[:2]
        said.update(scope="link", who={int(end) for end in ends})
    elif row and row.get("scope") == "host":
        said.update(who=row["hostname"])


def of_all(ask, said):
    rows = ask("trends").get("rows", ())
    said.update(scope="all", row=max(rows, key=lambda row: row.get("cost_ns", 0), default=None))


def of_work(ask, said):
    row = first_row(ask("imbalances"), verdict="imbalance")
    said.update(scope="role" if row else "cannot_tell", row=row)


def of_shared(ask, said, rows):
    """Nobody is named: what the ranks share."""
    kinds = {row["kind"] for row in rows}
    if said["text"].startswith("Cannot tell whether"):
        of_work(ask, said)
    elif "imbalance" in kinds:
        of_work(ask, said)
    elif "slow_network" in kinds:
        of_network(ask, said)
    elif "all_slower" in kinds:
        of_all(ask, said)
    else:
        said["parts"] = ask("ledger").get("rows", [])
        said["lacks"] = ask("completeness").get("rows", [])


def conclude(ask):
    verdict = ask("verdict")
    said, rows = nothing(verdict), verdict.get("rows", [])
    named = next((row for row in rows if row.get("in_headline") and row["kind"] in RANKED), None)
    if "ended_first" in verdict:
        of_rank(ask, said, verdict["ended_first"][0])
        said["ended"] = verdict["ended_first"]
        said["waits"] = ask("hang")
    elif verdict["verdict"] == "hang":
        said["waits"] = ask("hang")
    elif verdict["verdict"] == "held_back" and named and named["kind"] == "rank":
        of_rank(ask, said, named["rank"])
    elif verdict["verdict"] == "held_back" and named:
        of_host(ask, said, named["hostname"])
    elif verdict["verdict"] == "network":
        of_network(ask, said)
    elif verdict["verdict"] == "all_slower":
        of_all(ask, said)
    elif verdict["verdict"] == "imbalance":
        of_work(ask, said)
    else:
        of_shared(ask, said, rows)
    if said["row"]:
        check(ask, said["row"])
    return said


def check(ask, row):
    """The evidence of the row that the conclusion rests on is the row again."""
    evidence = ask("evidence", id=row["id"])
    assert all(evidence["value"].get(key) == value for key, value in row.items() if key != "id"), (row, evidence)
