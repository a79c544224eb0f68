"""How often the merge's verdicts are right, over a seeded battery of synthetic runs.

    accuracy.py PROFWRAP [--runs N] [--keep DIR] [--jobs N] [--table]
    accuracy.py PROFWRAP --classes all|CLASS,... --seeds A-B [--held-out] [--jobs N] [--table]
                [--keep DIR] [--peers] [--json FILE]

Each run has one declared fault or none; DIR keeps the runs, so that only the merge is repeated.
Prints the confusion matrix per kind of fault, then every figure beside its budget. With --classes, the
cases of cases.py instead, scored by casescore.py, in a table with a line for each class; --table prints
the cases that were not right; --peers scores the rules of other tools (peers.py) on the same files, too,
in one table. Seeds from 1000000 on are held out: do not look at them while you mend.
"""
import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))
import answers  # noqa: E402
import cases  # noqa: E402
import casescore  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import seen  # noqa: E402
import stored  # noqa: E402
from measure import at_least, report  # noqa: E402

h5py = measure.h5py()
import numpy as np  # noqa: E402

KINDS = ["slow_rank", "slow_rank", "starved_loader", "jitter", "slow_host", "slow_link", "skew",
         "none", "missing", "truncated"]
MAGNITUDES = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100]
NOISES = [0.5, 1, 2, 3, 5, 10]
RANKS = [8, 8, 16, 16, 32, 32, 64, 64, 128, 256, 512]
PATTERNS = ["data", "halo", "hybrid"]
PHASES = ["data", "forward", "backward", "optimizer"]
SIGMAS = 3  # a fault at least this many times the rank's step noise must be found
STEP_US = 10000
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def plan(number):
    """Run `number` of the battery. All its properties are drawn from this number."""
    draw = random.Random(1000 + number)
    kind = KINDS[number % len(KINDS)]
    run = {"number": number, "kind": kind, "ranks": draw.choice(RANKS),
           "noise": draw.choice(NOISES), "percent": draw.choice(MAGNITUDES),
           "pattern": draw.choice(PATTERNS), "phase": draw.choice(PHASES)}
    run["steps"] = draw.choice([60, 100, 200]) if run["ranks"] <= 64 else 60
    run["per_host"] = 2 if run["ranks"] == 8 else 4 if run["ranks"] <= 32 else 8
    length = draw.choice([run["steps"], run["steps"] // 2, run["steps"] // 5])
    first = draw.randrange(run["steps"] - length + 1)
    rank = draw.randrange(run["ranks"])
    window = f"steps={first}-{first + length - 1}"
    work = f"{window},phase={run['phase']},percent={run['percent']}"
    neighbour = rank + 1 if rank % run["per_host"] == 0 else rank - 1
    run["faults"] = {
        "slow_rank": f"slow_rank:rank={rank},{work}",
        "starved_loader": f"starved_loader:rank={rank},{window},percent={run['percent']}",
        "jitter": f"jitter:rank={rank},period={draw.choice([3, 5, 8])},steps=0-{run['steps'] - 1},"
                  f"phase={run['phase']},percent={run['percent']}",
        "slow_host": f"slow_host:host={rank // run['per_host']},{work}",
        "slow_link": f"slow_link:from={rank},to={neighbour},percent=400,{window}",
        "skew": f"skew:host={draw.randrange(1, run['ranks'] // run['per_host'])},"
                f"offset_ns={draw.choice([10**6, 10**9])},"
                f"error_ns={draw.choice([1000, 50000, 2000000])}",
        "none": "",
        "missing": f"missing:rank={rank};slow_rank:rank={(rank + 1) % run['ranks']},{work}",
        "truncated": f"truncated:rank={rank};slow_rank:rank={(rank + 1) % run['ranks']},{work}",
    }[kind]
    return run


def make(run, directory):
    made = os.path.join(directory, "plan.json")
    if os.path.exists(made) and json.load(open(made)) == run:
        return
    shutil.rmtree(directory, ignore_errors=True)
    subprocess.run([profwrap, "sim", "-p", run["pattern"], "-r", str(run["ranks"]),
                    "-s", str(run["steps"]), "-n", str(run["noise"]), "--step-us", str(STEP_US),
                    "--ranks-per-host", str(run["per_host"]), "--seed", str(run["number"]),
                    "-f", run["faults"], directory], check=True)
    with open(made, "w") as file:
        json.dump(run, file)


def hit_steps(file, row):
    """The steps that a verdict is about: the steps of its window or, if at most half of these are
    hit, only those far above the other ranks."""
    span = list(range(int(row["first_step"]), int(row["last_step"]) + 1))
    if 2 * int(row["steps_hit"]) > len(span):
        return set(span)
    own = file["step_trace"]["own_ns"].astype(float)
    own[own < 0] = np.nan
    rank, numbers = int(row["rank"]), file["steps"]["step"]
    excess = own[:, rank] - np.nanmedian(np.delete(own, rank, axis=1), axis=1)
    return {int(n) for n, e in zip(numbers, excess) if n in span and e > row["excess_ns"] / 2}


def read(directory):
    """The findings of the cluster file: stragglers, links, and the residual of the replay."""
    with h5py.File(os.path.join(directory, "cluster.h5")) as file:
        names = h5py.check_enum_dtype(file["stragglers"].dtype["phase"])
        phases = {value: name for name, value in names.items()}
        found = [{"rank": int(row["rank"]), "phase": phases[row["phase"]],
                  "steps": sorted(hit_steps(file, row)), "gain": int(row["gain_ns"]),
                  "excess": int(row["excess_ns"])} for row in file["stragglers"][()]]
        scored = {name: [{key: (value.decode() if isinstance(value, bytes) else value)
                          for key, value in zip(row.dtype.names, row.tolist())}
                         for row in file[name][()]] if name in file else []
                  for name in ("hosts", "links", "whatif")}
    return {"stragglers": found, **scored}


def judge(run):
    directory = os.path.join(where, f"run-{run['number']:04d}")
    make(run, directory)
    subprocess.run([profwrap, "merge", directory], check=True, env=ENVIRONMENT,
                   stderr=subprocess.DEVNULL)
    with open(os.path.join(directory, "truth.json")) as file:
        truth = json.load(file)
    result = {**run, **read(directory), "truth": truth}
    if not keep:
        shutil.rmtree(directory)
    return result


def judge_case(case):
    """Makes, merges and scores one case of cases.py."""
    directory = os.path.join(where, f"{case['class']}-{case['seed']}")
    os.makedirs(directory, exist_ok=True)
    try:
        for command in ([profwrap, "sim", *case["options"], directory],
                        [profwrap, "merge", "-q", directory]):
            subprocess.run(command, check=True, env=ENVIRONMENT, stderr=subprocess.PIPE)
        said = subprocess.run([profwrap, "report", "--format", "json", directory], check=True,
                              stdout=subprocess.PIPE)
        stored.compare(profwrap, os.path.join(directory, "cluster.h5"))
        with open(os.path.join(directory, "truth.json")) as file:
            truth, bare = json.load(file), "--bare" in case["options"]
        result = {**case, "bare": bare, **casescore.score(truth, json.loads(said.stdout), bare)}
        if options.peers:
            run = seen.read(directory)
            result["peers"] = {name: answers.score(truth, rule(run), bare)
                               for name, rule in peers.TOOLS.items()}
        return result
    except subprocess.CalledProcessError as problem:
        # Not sys.exit: it would end a worker, for whose results the pool would wait for ever.
        raise RuntimeError(f"{case['class']} {case['seed']}: {problem} {problem.stderr}") from problem
    finally:
        if not keep:
            shutil.rmtree(directory)


def planned():
    """The requested cases."""
    first, _, last = options.seeds.partition("-")
    first, last = int(first), int(last or first)
    if last >= cases.HELD_OUT and not options.held_out:
        sys.exit(f"seeds from {cases.HELD_OUT} on are held out: --held-out, for the nightly bench only")
    names = options.classes.split(",")
    if names == ["all"]:
        names = [name for name in cases.CLASSES if name not in cases.APART]
    unknown = [name for name in names if name not in cases.CLASSES]
    if unknown:
        sys.exit(f"there is no class '{unknown[0]}', but there are {', '.join(cases.CLASSES)}")
    return [cases.plan(name, seed) for name in names for seed in range(first, last + 1)]


def is_bad(result):
    asked = [result[key] for key in ("kind", "phase", "cause", "cost") if key in result]
    return result["wrong"] or result["also"] or (result["must"] and not result.get("first")) or (
        result["must"] and not all(asked)) or not all(result.get("each", ()))


def score_cases(pool):
    results = pool.map(judge_case, planned(), chunksize=1)
    for result in results if options.table else []:
        if is_bad(result):
            told = {k: v for k, v in result.items() if k not in ("options", "headline", "class", "seed")}
            print(result["class"], result["seed"], told, "\n   ", result["headline"])
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    casescore.print_table(results, "class")
    print()
    casescore.print_table(results, "program")
    if options.peers:
        answers.print_peers(results)
    return conclude_cases(results)


def conclude_cases(results):
    """Whether every figure is within its budget. A figure without cases counts as within."""
    within = True
    for name, right, count in casescore.figures(results):
        budget = casescore.budget(name, count)
        if budget is None or not count:
            print(f"{name}: {right / count if count else 0:.3f} of {count}, no budget")
        else:
            within &= at_least(name, right / count, budget, count)
    return within


def slowing(result):
    faults = [f for f in result["truth"]["faults"]
              if f["kind"] in ("slow_rank", "slow_host", "starved_loader", "jitter")]
    return faults[0] if faults else None


def must_be_found(result, fault):
    return fault["percent"] >= SIGMAS * result["noise"] and len(fault["steps"]) >= 3


def is_predicted(gain, truth, elapsed):
    """Whether the gain is within 10 % of the truth, or within a thousandth of the run."""
    return abs(gain - truth) <= max(0.1 * truth, elapsed / 1000)


def jaccard(a, b):
    return len(set(a) & set(b)) / len(set(a) | set(b))


def score(results):
    """One row for every verdict on a rank, and for every verdict that is missing."""
    rows = []
    for result in results:
        fault = slowing(result)
        guilty = set(fault["ranks"]) if fault else set()
        missing = {f["rank"] for f in result["truth"]["faults"] if f["kind"] in
                   ("missing", "truncated")}
        found = {s["rank"]: s for s in result["stragglers"]}
        for rank in sorted((guilty | set(found)) - missing):
            row = {"run": result["number"], "kind": result["kind"], "rank": rank,
                   "right": rank in guilty and rank in found, "wrong": rank not in guilty,
                   "missed": rank in guilty and rank not in found and must_be_found(result, fault),
                   "must": rank in guilty and must_be_found(result, fault)}
            if row["right"]:
                verdict = found[rank]
                row["phase"] = verdict["phase"] == fault["phase"]
                row["said"] = verdict["phase"]
                row["jaccard"] = jaccard(verdict["steps"], fault["steps"])
                if len(guilty) == 1:
                    row["gain"], row["true_gain"] = verdict["gain"], fault["gain_ns"]
                    row["predicted"] = is_predicted(verdict["gain"], fault["gain_ns"],
                                                    result["truth"]["elapsed_ns"])
            rows.append(row)
    return rows


def share(rows, good):
    rows = list(rows)
    return sum(bool(good(row)) for row in rows) / len(rows) if rows else 0.0


def print_matrix(results, rows):
    print(f"{'fault':15} {'runs':>5} {'right':>6} {'missed':>7} {'below':>6} {'wrong':>6} "
          f"{'others':>7}")
    for kind in sorted(set(KINDS)):
        mine = [row for row in rows if row["kind"] == kind]
        runs = [r for r in results if r["kind"] == kind]
        guilty = sum(len(slowing(r)["ranks"]) if slowing(r) else 0 for r in runs)
        right, missed = sum(r["right"] for r in mine), sum(r["missed"] for r in mine)
        wrong = sum(row["wrong"] for row in mine)
        others = sum(r["ranks"] for r in runs) - guilty - wrong
        print(f"{kind:15} {len(runs):5} {right:6} {missed:7} {guilty - right - missed:6} "
              f"{wrong:6} {others:7}")
    print("ranks: right = named and guilty; missed = guilty, at least 3 sigma, not named; below = "
          "guilty,\nbelow 3 sigma, not named; wrong = named, not guilty; others = neither.")


def host_figures(results):
    runs = [r for r in results if r["kind"] == "slow_host"]
    must = [r for r in runs if must_be_found(r, slowing(r))]
    named = [r for r in must if [h["hostname"] for h in r["hosts"]] ==
             [f"node{slowing(r)['host']:04d}"]]
    return len(named) / max(1, len(must)), len(must)


def ends_of_slow_links(result):
    return [{f["rank"], f["peer"]} for f in result["truth"]["faults"] if f["kind"] == "slow_link"]


def count_slow_steps(run):
    first, last = re.search(r"steps=(\d+)-(\d+)", run["faults"]).groups()
    return int(last) - int(first) + 1


def link_figures(results, long):
    """Links can be told apart only where nothing hides their messages (halo). They are judged by
    the mean over the whole run, so `long` has the links that were slow for a third of it or
    more."""
    runs = [r for r in results if r["kind"] == "slow_link" and r["pattern"] == "halo" and
            (3 * count_slow_steps(r) >= r["steps"]) == long]
    right = [r for r in runs if r["links"] and all(
        {link["src"], link["dst"]} in ends_of_slow_links(r) for link in r["links"])]
    return len(right) / max(1, len(runs)), len(runs)


def count_wrong_links(results):
    return sum({link["src"], link["dst"]} not in ends_of_slow_links(r)
               for r in results for link in r["links"])


def conclude(results, rows):
    named = [row for row in rows if row["right"] or row["wrong"]]
    must = [row for row in rows if row["must"]]
    right = [row for row in must if row["right"]]
    gains = [row for row in right if "gain" in row]
    whole = [row for row in gains if row["kind"] not in ("missing", "truncated")]
    partial = [row for row in gains if row["kind"] in ("missing", "truncated")]
    quiet = [r for r in results if r["kind"] in ("none", "skew")]
    ok = at_least("precision", share(named, lambda row: row["right"]), 0.97, len(named))
    ok &= at_least("recall, fault >= 3 sigma", share(must, lambda row: row["right"]), 0.97,
                   len(must))
    ok &= at_least("right phase", share(right, lambda row: row["phase"]), 0.95, len(right))
    ok &= at_least("right steps (Jaccard >= 0.8)",
                   share(right, lambda row: row["jaccard"] >= 0.8), 0.90, len(right))
    ok &= at_least("what-if gain within 10 % of the truth, all files there",
                   share(whole, lambda row: row["predicted"]), 0.95, len(whole))
    print(f"what-if gain within 10 % of the truth, a rank's file missing: "
          f"{share(partial, lambda row: row['predicted']):.3f} of {len(partial)}, no budget")
    ok &= report(f"verdicts on {len(quiet)} fault-free and skew-only runs",
                 sum(len(r["stragglers"]) for r in quiet), 0)
    ratios = [row["gain"] / row["true_gain"] for row in whole if row["true_gain"] > 0]
    if ratios:
        print(f"gain / truth, all files there: median {statistics.median(ratios):.3f}, "
              f"{sum(abs(ratio - 1) <= 0.1 for ratio in ratios)} of {len(ratios)} within 10 %")
    rate, n = host_figures(results)
    ok &= at_least("slow host named as such, and no other", rate, 0.95, n)
    rate, n = link_figures(results, True)
    ok &= at_least("link slow for a third of the run or more named, and no other (halo)", rate, 0.95,
                   n)
    rate, n = link_figures(results, False)
    print(f"link slow for less named, and no other (halo): {rate:.3f} of {n}, no budget")
    print(f"links named that are not slow: {count_wrong_links(results)} in {len(results)} runs")
    residuals = [row["residual"] for r in results for row in r["whatif"]]
    if residuals:
        ok &= report("largest residual of the replay", 100 * max(map(abs, residuals)), 1.0, " %")
    return ok


def print_table(results, rows):
    for row in rows:
        result = results[row["run"]]
        bad = row["wrong"] or row["missed"] or (
            row["must"] and not (row.get("phase") and row["jaccard"] >= 0.8 and
                                 row.get("predicted", True)))
        if bad:
            print(row["run"], result["pattern"], "R", result["ranks"], "S", result["steps"],
                  "noise", result["noise"], result["faults"],
                  {k: v for k, v in row.items() if k not in ("run", "kind")})


parser = argparse.ArgumentParser()
parser.add_argument("profwrap")
parser.add_argument("--runs", type=int, default=300)
parser.add_argument("--keep")
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--table", action="store_true")
parser.add_argument("--classes")
parser.add_argument("--seeds", default="0-9", help="A-B, both included")
parser.add_argument("--held-out", action="store_true")
parser.add_argument("--peers", action="store_true")
parser.add_argument("--json", help="file for the cases with their scores")
options = parser.parse_args()
profwrap, keep = os.path.abspath(options.profwrap), options.keep
where = keep or tempfile.mkdtemp(prefix="profwrap-accuracy-")
os.makedirs(where, exist_ok=True)
if options.classes:
    try:
        with multiprocessing.Pool(options.jobs) as workers:
            good = score_cases(workers)
    except RuntimeError as problem:
        sys.exit(str(problem))
    finally:
        if not keep:
            shutil.rmtree(where)
    sys.exit(0 if good else 1)
with multiprocessing.Pool(options.jobs) as pool:
    outcome = pool.map(judge, [plan(number) for number in range(options.runs)], chunksize=1)
if not keep:
    shutil.rmtree(where)
verdicts = score(outcome)
print_matrix(outcome, verdicts)
if options.table:
    print_table(outcome, verdicts)
sys.exit(0 if conclude(outcome, verdicts) else 1)
