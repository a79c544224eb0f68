"""Scores a report against truth.json: whom it names first, as what, where, why, and for how much.

Only what a user reads is scored: the report's first sentence, what stands below it on the first screen
(job.highlights, job.losses) where that is about many ranks, and the rows of its tables in JSON."""
import re
import sys

NOBODY = ("none", "all", "network", "role", "cannot_tell")  # scopes that name no rank, host or link
FLOOR = 0.01  # of the run: less need not be found
SIGMAS = 3
AS_LARGE = 0.9  # of the largest loss: as a cost must be right within 10 %, either may be first
# The truth's cause, and names that say it; "stopped" is 'blocked_off_cpu' where there is no such name.
CAUSES = {"stopped": ("stopped", "blocked_off_cpu")}
OLD_CAUSES = {"host_stolen": "host_frozen"}  # the name in truth.json of older runs
# What a data loader waits for is a starved loader's.
OFF_CPU = ("file_io", "page_faults", "blocked_off_cpu")
ALL = re.compile(r"\b(all|every|each|the) ranks?\b.*\b(slow|long|grew|grow|drift|paus|checkpoint)", re.I)
CANNOT_TELL = re.compile(r"^Cannot tell whether rank \d+ is slow or has more to do", re.I)
UNEVEN = re.compile(r"\b(uneven|unequal|imbalanced?|not (evenly|equally)|more work by design)\b", re.I)
NETWORK = re.compile(r"\b(network|congest\w*|transfers? (are|were|between)|links? of)", re.I)
START = re.compile(r"\b(late start|beg[ai]ns? late|MPI_Init|start-?up|before (the|its) first|started|entered)\b",
                   re.I)
TAIL = re.compile(r"\b(after (the|its) last|tail|at the end|MPI_Finalize|ended late)\b", re.I)


def scope_of(job):
    """The scope of a first screen that names no rank, host or link."""
    if CANNOT_TELL.search(job["headline"]):
        return "cannot_tell"
    told = [job["headline"], *(one["text"] for one in job.get("highlights") or ()),
            *(one["text"] for one in job.get("losses") or () if one["kind"] not in ("rank", "host"))]
    for scope, pattern in (("role", UNEVEN), ("network", NETWORK), ("all", ALL)):
        if any(pattern.search(text) for text in told if not text.startswith("No rank")):
            return scope
    return "none"


def answer(report):
    """The subject of the first sentence: its scope, whom it names, and the row of the table about
    it."""
    text = " ".join(report["job"]["headline"].split())
    said = {"text": text, "scope": "none", "who": None, "row": None,
            "rows": report["stragglers"], "verdict": report["job"]["verdict"]}
    for scope, pattern in (("host", r"^(?:Host )(node\d+)"), ("host", r"\bhost (node\d+) (?:held|was)"),
                           ("link", r"^(?:The )?[Ll]ink\D*(\d+)\D+(\d+)"),
                           ("role", r"^(?:The )?(?:role|[Ss]tage|[Ee]xpert)\w* (\S+)"),
                           ("rank", r"^Ranks? (\d+)")):
        found = re.search(pattern, text)
        if found and not text.startswith("No rank"):
            said["scope"], said["who"] = scope, found.groups()
            break
    else:
        said["scope"] = scope_of(report["job"])
    if said["scope"] == "rank":
        said["who"] = int(said["who"][0])
        said["row"] = next((r for r in report["stragglers"] if r["rank"] == said["who"]), None)
    elif said["scope"] == "host":
        said["who"] = said["who"][0]
        said["row"] = next((h for h in report["hosts"] if h["hostname"] == said["who"]), None)
    elif said["scope"] == "link":
        said["who"] = {int(end) for end in said["who"]}
    if said["scope"] == "all" and said["verdict"] == "all_slower":
        said["row"] = max(report["trends"], key=lambda row: row["cost_ns"])
    if said["scope"] == "host" and said["verdict"] == "network":
        said["scope"] = "network"  # not the host's ranks: what is between it and others
    if said["scope"] in ("link", "network") and said["verdict"] == "network":
        said["row"] = report["network"][0]
    if said["scope"] == "role":
        said["row"] = next((r for r in report["imbalances"] if r["verdict"] == "imbalance"), None)
    return said


def is_right(said, fault):
    """Whether the answer names the subject of the fault. For a host, one of its ranks is also
    right, but not the right kind."""
    if fault["scope"] == "rank":
        return said["scope"] == "rank" and said["who"] == fault["rank"]
    if fault["scope"] == "host":
        return (said["scope"] == "host" and said["who"] == f"node{fault['host']:04d}") or (
            said["scope"] == "rank" and said["who"] in fault["ranks"])
    if fault["scope"] == "link":
        return said["scope"] == "link" and said["who"] == {fault["rank"], fault["peer"]}
    if fault["scope"] == "network":
        return said["scope"] == "network" and (
            said["who"] is None or said["who"] == f"node{fault['host']:04d}")
    if fault["scope"] == "role":
        # Where each role is one rank's, it may as well be that rank which is slow.
        return said["scope"] == "role" or (fault["alone"] and said["scope"] == "cannot_tell")
    return said["scope"] == fault["scope"]


def when(fault, steps):
    hit = len(fault["steps"])
    return "one_off" if hit <= 2 else "persistent" if 2 * hit >= steps else "intermittent"


def overlaps(row, fault):
    """Whether a stretch of the run and the fault share at least half of the time of both
    together."""
    if row.get("start_ns") is None or fault["start_ns"] < 0:
        return False
    both = min(row["end_ns"], fault["end_ns"]) - max(row["start_ns"], fault["start_ns"])
    either = max(row["end_ns"], fault["end_ns"]) - min(row["start_ns"], fault["start_ns"])
    return 2 * both >= either


def is_kind(said, fault, truth, bare=False):
    """Whether the kind is right: rank or host; start-up, steps or tail; once or repeated."""
    if said["scope"] != fault["scope"]:
        return False
    if fault["part"] == "start_up":
        return bool(START.search(said["text"]))
    if fault["part"] == "tail":
        return bool(TAIL.search(said["text"]))
    if fault["scope"] != "rank" or not said["row"]:
        return True
    kind = said["row"]["kind"]
    if abs(2 * len(fault["steps"]) - truth["steps"]) <= 0.2 * truth["steps"]:
        return kind in ("persistent", "intermittent", "stretch")  # about half of the steps
    if bare and when(fault, truth["steps"]) == "one_off" and kind == "intermittent":
        return True
    return kind == when(fault, truth["steps"]) or (kind == "stretch" and overlaps(said["row"], fault))


def cost_of(said):
    row = said["row"] or {}
    for name in ("gain_ns", "lost_ns", "cost_ns"):
        if row.get(name) is not None and row[name] >= 0:
            return row[name]
    return row["excess_ns"] * row["steps_hit"] if "excess_ns" in row else None


def costs(truth, fault):
    """The total loss by the faults of the same kind and rank."""
    same = ("kind", "scope", "rank", "host")
    return sum(f["lost_ns"] for f in losses(truth) if all(f[key] == fault[key] for key in same))


def noise_around(fault, truth):
    """One sigma of the noise: of the steps that were hit, or of the work before the first step or
    after the last."""
    if fault["kind"] in ("late_setup", "late_end"):
        return truth["noise"] * truth.get("ends_work_ns", 0)
    return truth.get("noise_all", truth["noise"]) * truth["step_work_ns"] * max(1, len(fault["steps"])) ** 0.5


def must_be_found(fault, truth):
    """Whether the loss is at least 1 % of the run and, except for links, the network and roles, at
    least 3 sigma of the noise."""
    sigma = noise_around(fault, truth)
    return (fault["lost_ns"] >= FLOOR * truth["elapsed_ns"] and
            (fault["scope"] in ("link", "network", "role") or fault["lost_ns"] >= SIGMAS * sigma))


def is_cause(said, fault):
    cause = OLD_CAUSES.get(fault["cause"], fault["cause"])
    accepted = CAUSES.get(cause, (cause,))
    if fault["phase"] == "data" and fault["cause"] in OFF_CPU:
        accepted += ("data_starvation",)
    return said in accepted


def is_guilty(row, truth):
    return any(row["rank"] in f["ranks"] for f in truth["faults"])


def is_listed(fault, rows):
    """Whether the table of stragglers has the rank of a fault, with a row about the fault's part."""
    ends = {"start_up": ("start", "init", "setup"), "tail": ("tail", "finalize", "end")}
    wanted = ends.get(fault["part"])
    return any(row["rank"] == fault["rank"] and ((row.get("part") in wanted) if wanted else
                                                 row.get("part") not in sum(ends.values(), ()))
               for row in rows)


def losses(truth):
    """The losses of the job: by faults, and by work that is unequal by design, which is no rank's
    fault."""
    found = [f for f in truth["faults"] if f["lost_ns"] > 0]
    found += [{"kind": d["kind"], "scope": "role", "part": "steps", "rank": -1, "host": -1, "peer": -1,
               "ranks": [], "steps": list(range(truth["steps"])), "phase": "none", "cause": "",
               "lost_ns": d["lost_ns"], "start_ns": -1, "alone": d.get("alone", False)} for d in truth.get("design", [])
              if d["lost_ns"] > 0]
    return sorted(found, key=lambda f: f["lost_ns"], reverse=True)


def score(truth, report, bare=False):
    """Scores one case, from its truth and from the report. Where only MPI calls were recorded
    (`bare`), no phase is known, and a step of the program may be several steps of the report."""
    said = answer(report)
    result = score_said(truth, said, is_right, bare)
    result["also"] = sum(not is_guilty(row, truth) for row in said["rows"])
    if said["row"] and "confidence" in said["row"]:
        result["confidence"] = said["row"]["confidence"]
    result["rows"] = [[row["confidence"], is_guilty(row, truth)] for row in said["rows"]
                      if "confidence" in row]
    several = [fault for fault in losses(truth) if fault["scope"] == "rank" and must_be_found(fault, truth)]
    if len({(fault["rank"], fault["part"]) for fault in several}) > 1:
        result["each"] = [is_listed(fault, said["rows"]) for fault in several]
    return result


def score_said(truth, said, is_right, bare=False):
    """Scores any answer. `is_right` decides whether it is about a fault."""
    lost = losses(truth)
    result = {"headline": said["text"],
              "named": said["scope"] not in NOBODY,
              "right": any(is_right(said, f) for f in lost)}
    result["wrong"] = result["named"] and not result["right"]
    if said["scope"] in ("all", "network", "role"):
        result["shared"] = result["right"]
    wanted = [f for f in lost if must_be_found(f, truth)]
    result["must"] = bool(wanted)
    if lost:
        result["lost_share"] = lost[0]["lost_ns"] / truth["elapsed_ns"]
    # The largest loss, or one as large; but where work is unequal by design, a fault beside it will do.
    worst = next((f for f in wanted if is_right(said, f)), None)
    if worst and worst["lost_ns"] < AS_LARGE * wanted[0]["lost_ns"] and wanted[0]["scope"] != "role":
        worst = None
    if not worst:
        return result
    result["first"] = True
    if said["scope"] == "cannot_tell":
        return result
    result["kind"] = is_kind(said, worst, truth, bare)
    row = said["row"] or {}
    if worst["phase"] != "none" and not bare and worst["scope"] in ("rank", "host"):
        result["phase"] = row.get("phase") == worst["phase"]
    if worst["cause"] and worst["scope"] in ("rank", "host"):
        result["cause"] = is_cause(row.get("cause"), worst)
        result["said_cause"] = row.get("cause")
    cost, one, together = cost_of(said), worst["lost_ns"], costs(truth, worst)
    result["said_cost"], result["true_cost"] = cost, one
    result["cost"] = cost is not None and min(abs(cost - together), abs(cost - one)) <= max(
        0.1 * one, truth["elapsed_ns"] / 1000)
    return result


def share(rows, key):
    """"7/9": 7 of the 9 rows that have the key."""
    asked = [row[key] for row in rows if key in row]
    return f"{sum(asked)}/{len(asked)}" if asked else "-"


def line_of(name, rows, runs):
    must = [row for row in rows if row["must"]]
    first = [row for row in must if row.get("first")]
    nobody = sum(not row["named"] and not row.get("first") for row in must)
    return (f"| {name} | {runs} | {len(must)} | {len(first)} | {nobody} | "
            f"{sum(row['wrong'] for row in rows)} | {sum(row['also'] > 0 for row in rows)} | "
            f"{share(first, 'kind')} | {share(first, 'phase')} | {share(first, 'cause')} | "
            f"{share(first, 'cost')} |")


def print_table(results, key, out=sys.stdout):
    """Prints one line for each value of results[...][key], and one for all."""
    print("| class | runs | must be found | right first | nobody named | wrong first | wrong rows | "
          "kind | phase | cause | cost |\n|---|---|---|---|---|---|---|---|---|---|---|", file=out)
    for value in dict.fromkeys(result[key] for result in results):
        rows = [r for r in results if r[key] == value]
        print(line_of(value, rows, len(rows)), file=out)
    print(line_of("all", results, len(results)), file=out)


def figures(results):
    """(name, number of right cases, number of cases)."""
    must = [r for r in results if r["must"]]
    first = [r for r in must if r.get("first")]
    named = [r for r in results if r["named"]]
    shared = [r["shared"] for r in results if "shared" in r]
    quiet = [r for r in results if "lost_share" not in r]
    asked = {key: [r[key] for r in first if key in r] for key in ("kind", "phase", "cause", "cost")}
    rows = [("recall: right first, of those that must be found", len(first), len(must)),
            ("precision: named first and at fault", sum(r["right"] for r in named), len(named)),
            ("told of all ranks, the network or unequal work, and so", sum(shared), len(shared)),
            ("fault-free runs that name nobody", sum(not r["named"] for r in quiet), len(quiet))]
    rows += [(f"right {key}", sum(values), len(values)) for key, values in asked.items()]
    several = [one for r in results for one in r.get("each", ())]
    rows += [("of several at once, each: those in the table", sum(several), len(several))]
    return rows


BUDGETS = {"recall": 0.97, "precision": 0.99, "right kind": 0.95, "right phase": 0.95, "right cost": 0.90}


def budget(name, count):
    """The least share that a figure may have with `count` cases, or None if there is no budget."""
    if name.startswith("fault-free"):
        return 1 - max(1, count // 1000) / max(1, count)
    return BUDGETS.get(name.split(":")[0])
