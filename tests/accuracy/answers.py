"""Scores what any tool says about the cases, and prints it in one table beside profwrap.

    answers.py RUNS ANSWERS.json [NAME]

RUNS is what `accuracy.py --keep` left: a folder CLASS-SEED for each case, with its truth.json.
ANSWERS.json is a list of {"class", "seed", "named"}; named is what the tool says, what it shows first
at the beginning (README.md has its fields). A case that is not in it counts as if no rank was named.
"""
import glob
import json
import os
import sys

import cases
import casescore

SCOPES = {"rank": ("rank",), "host": ("host",), "link": ("ranks",), "all": (), "network": (),
          "role": ()}
PARTS = {"start_up": "late start", "tail": "at the end"}  # words that casescore looks for


def check(entry):
    """A sentence about the fault of an entry, or None."""
    if not isinstance(entry, dict) or entry.get("scope") not in SCOPES:
        return f"an entry must be an object with 'scope' one of {', '.join(SCOPES)}"
    missing = [key for key in SCOPES[entry["scope"]] if key not in entry]
    return f"an entry of scope '{entry['scope']}' must have '{missing[0]}'" if missing else None


def said_of(entry):
    """The entry, in the form in which casescore takes an answer."""
    if entry is None:
        return {"text": "", "scope": "none", "who": None, "row": None, "rows": []}
    who = {"rank": entry.get("rank"), "host": entry.get("host"),
           "link": set(entry.get("ranks", ()))}.get(entry["scope"])
    row = {key: entry[key] for key in ("kind", "phase", "cause") if key in entry}
    row.setdefault("kind", None)
    if "cost_ns" in entry:
        row["gain_ns"] = entry["cost_ns"]
    return {"text": PARTS.get(entry.get("part"), ""), "scope": entry["scope"], "who": who,
            "row": row, "rows": []}


def right_in(truth):
    """For a rank at fault, its host is also right, because some tools know only hosts."""
    def is_right(said, fault):
        if fault["scope"] == "rank" and said["scope"] == "host":
            return said["who"] == f"node{fault['rank'] // truth['ranks_per_host']:04d}"
        return casescore.is_right(said, fault)
    return is_right


def is_wrong(entry, truth):
    """Whether the entry names a rank, host or link that is not at fault."""
    if entry["scope"] in ("all", "network", "role"):
        return False
    if entry["scope"] == "rank" and casescore.is_guilty(entry, truth):
        return False
    is_right = right_in(truth)
    return not any(is_right(said_of(entry), fault) for fault in casescore.losses(truth))


def score(truth, named, bare=False):
    """Scores one case. `also` is the number of entries after the first one that name somebody not
    at fault."""
    for entry in named:
        problem = check(entry)
        if problem:
            raise ValueError(problem)
    result = casescore.score_said(truth, said_of(named[0] if named else None), right_in(truth), bare)
    result["also"] = sum(is_wrong(entry, truth) for entry in named[1:])
    return result


def share(count, of):
    return f"{count} of {of}"


def line_of(name, results):
    """A line of the table: right first, right first in runs with marked steps, wrong first, wrong
    names, and fault-free runs that name somebody."""
    must = [r for r in results if r["must"]]
    quiet = [r for r in results if "lost_share" not in r]
    marked = [r for r in must if not r["bare"]]
    wrong = sum(bool(r["wrong"] or r["also"]) for r in results)
    return (f"| {name} | {share(sum(bool(r.get('first')) for r in must), len(must))} | "
            f"{share(sum(bool(r.get('first')) for r in marked), len(marked))} | "
            f"{share(sum(r['wrong'] for r in results), len(results))} | "
            f"{share(wrong, len(results))} | {share(sum(r['named'] for r in quiet), len(quiet))} |")


def by_class(tools):
    """A line for each class, with right first and wrong first of each tool."""
    first = next(iter(tools.values()))
    lines = ["| class | must be found | " + " | ".join(tools) + " |", "|---" * (2 + len(tools)) + "|"]
    for name in dict.fromkeys(r["class"] for r in first):
        cells = []
        for results in tools.values():
            mine = [r for r in results if r["class"] == name]
            right = sum(bool(r["must"] and r.get("first")) for r in mine)
            cells.append(f"{right}, {sum(r['wrong'] for r in mine)}")
        asked = sum(r["must"] for r in first if r["class"] == name)
        runs = sum(r["class"] == name for r in first)
        lines.append(f"| {name} | {asked} of {runs} | " + " | ".join(cells) + " |")
    return lines


def tables(tools):
    """The lines of both tables. `tools` has each tool's results, with the class of the case and
    whether it is bare."""
    lines = ["| tool | right first | of marked runs | wrong first | wrong names | "
             "fault-free runs named |", "|---|---|---|---|---|---|"]
    lines += [line_of(name, results) for name, results in tools.items()]
    return lines + [""] + by_class(tools)


def print_peers(results):
    """Prints the results of accuracy.py --peers."""
    tools = {"profwrap": results}
    for name in results[0]["peers"] if results else ():
        tools[name] = [{"class": r["class"], "bare": r["bare"], **r["peers"][name]} for r in results]
    print("\n".join(tables(tools)))


def main(runs, path, name="answers"):
    with open(path) as file:
        given = {(one["class"], one["seed"]): one["named"] for one in json.load(file)}
    results = []
    for truth_path in sorted(glob.glob(os.path.join(runs, "*", "truth.json"))):
        case, _, seed = os.path.basename(os.path.dirname(truth_path)).rpartition("-")
        with open(truth_path) as file:
            truth = json.load(file)
        bare = "--bare" in cases.plan(case, int(seed))["options"]
        try:
            told = score(truth, given.pop((case, int(seed)), []), bare)
        except ValueError as problem:
            sys.exit(f"{path}: {case} {seed}: {problem}")
        results.append({"class": case, "bare": bare, **told})
    if given:
        sys.exit(f"{path}: there is no run {' '.join(map(str, next(iter(given))))} in {runs}")
    print("\n".join(tables({name: results})))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.split("\n\n")[1].strip())
    main(*sys.argv[1:])
