"""How often a reader that sees nothing but the answers of `profwrap mcp` is right about labelled runs.

    labelled.py PROFWRAP [--simulated N] [--real N --build BUILD] [--imported N] [--keep DIR]

Simulated runs are cases of cases.py, two of a class at most, scored by casescore.py. Real faults are the
examples with one rank that sleeps, and programs of which a rank ends badly. Imported ones are the made
inputs of tests/import. The reader (reader.py) asks in the order of docs/agents.md. A run is right if who,
phase, steps, cause and cost are, each of which the truth has. Prints the runs that are not, and for each
kind: right of all, calls, bytes / 4 of arguments and answers, and report.json's bytes / 4.
"""
import argparse
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "import"), os.path.join(os.path.dirname(HERE), "bench")]
import cases  # noqa: E402
import casescore  # noqa: E402
import reader  # noqa: E402
from mcpclient import Server  # noqa: E402

SEED = 700
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
# The delay is long beside what the load of the machine does to a step.
RANKS, STEPS, DELAY_MS = 4, 40, 200
PHASES = ("data", "forward", "backward", "optimizer")
# The exit code or signal of each way to end (tests/endings/cells.py).
ENDINGS = {"return-status": ("exit_code", 3), "_exit": ("exit_code", 3), "abort": ("exit_signal", 6),
           "segv": ("exit_signal", 11), "kill": ("exit_signal", 9), "term": ("exit_signal", 15),
           "mpi-abort": ("exit_code", 3)}


def run(*words, **options):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**ENVIRONMENT, **
                          options.pop("more", {})}, text=True, check=False, **options)


def must(*words, **options):
    done = run(*words, **options)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stderr}")
    return done.stdout


# ---- each kind of run: made in `where`, it gives its directory and a judge of what the reader says ----


def planned(n):
    """Cases of all classes in turn."""
    names = list(cases.CLASSES)
    return [cases.plan(names[i % len(names)], SEED + i // len(names)) for i in range(n)]


def simulated(profwrap, plans, where):
    for case in plans:
        directory = os.path.join(where, f"{case['class']}-{case['seed']}")
        os.makedirs(directory, exist_ok=True)
        must(profwrap, "sim", *case["options"], directory)
        must(profwrap, "merge", "-q", directory)
        with open(os.path.join(directory, "truth.json"), encoding="utf-8") as file:
            truth = json.load(file)
        yield directory, lambda said, truth=truth, case=case: judge_simulated(said, truth, case)


def judge_simulated(said, truth, case):
    """None, or what is wrong."""
    result = casescore.score_said(truth, said, casescore.is_right, "--bare" in case["options"])
    if result["wrong"]:
        return "names somebody else"
    if result["must"] and not result.get("first"):
        return "does not name the fault"
    wrong = [key for key in ("kind", "phase", "cause", "cost") if result["must"] and result.get(key) is False]
    return f"wrong {', '.join(wrong)}" if wrong else None


def real(profwrap, n, where, build):
    for i in range(n):
        directory = os.path.join(where, f"real-{i}")
        os.makedirs(directory, exist_ok=True)
        yield delayed(profwrap, i, directory, build) if i % 2 else ended(profwrap, i // 2, directory, build)


def delayed(profwrap, i, directory, build):
    draw = random.Random(f"delay {i}")
    is_train = draw.random() < 0.5
    rank, phase = draw.randrange(RANKS), draw.choice(PHASES) if is_train else "compute"
    first = draw.randrange(5, 15)
    last = first + draw.randrange(12, 22)
    program = ["train", "--batch", "8", "--pace", "6"] if is_train else ["halo", "--side", "300", "--pace", "18"]
    out = os.path.join(directory, "out")
    must("mpirun", "-np", str(RANKS), profwrap, "-q", "--report", "none", "-o", out,
         os.path.join(build, "examples", program[0]), *program[1:], "--steps", str(STEPS), "--inject",
         f"rank={rank},phase={phase},ms={DELAY_MS},steps={first}-{last}", cwd=directory)
    truth = {"rank": rank, "phase": phase if is_train else None, "first": first, "last": last}
    return out, lambda said: judge_delay(said, truth)


def judge_delay(said, truth):
    row = said["row"] or {}
    if said["who"] != truth["rank"] or not row:
        return f"rank {truth['rank']} was delayed"
    steps, wanted = set(range(row["first_step"], row["last_step"] + 1)), set(range(truth["first"], truth["last"] + 1))
    cost, lost = row.get("gain_ns", -1), len(wanted) * DELAY_MS * 1e6
    wrong = [what for what, good in (
        ("phase", truth["phase"] in (None, row["phase"])),
        ("steps", len(steps & wanted) >= 0.8 * len(steps | wanted)),
        ("cause", row["cause"] == "blocked_off_cpu" or (truth["phase"] == "data" and row["cause"] == "data_starvation")),
        # The other ranks share the machine's cores: what they are late takes away from the delay's cost.
        ("cost", abs(cost - lost) <= 0.25 * lost)) if not good]
    return f"wrong {', '.join(wrong)}: {row}, of {truth}" if wrong else None


def ended(profwrap, i, directory, build):
    way = list(ENDINGS)[i % len(ENDINGS)]
    victim, rank = (("first", 0), ("last", RANKS - 1), ("middle", RANKS // 2))[i // len(ENDINGS)]
    out = os.path.join(directory, "out")
    run("mpirun", "-np", str(RANKS), profwrap, "-q", "--report", "none", "-o", out,
        os.path.join(build, "tests", "endings", "work", "programs", "ender-openmpi4-main"), cwd=directory,
        more={"ENDING_WAY": way, "ENDING_VICTIM": victim, "ENDING_OTHERS": "collective", "ENDING_LIMIT_S": "10"})
    run(profwrap, "ask", out)  # waits for its merge
    return out, lambda said: judge_ending(said, rank, *ENDINGS[way])


def judge_ending(said, rank, member, value):
    if said.get("ended") != [rank]:
        return f"rank {rank} ended first"
    ending = said["ending"] or {}
    return None if ending.get(member) == value else f"it ended with {member} {value}: {ending}"


def imported(profwrap, n, where):
    """Of each kind of made inputs; those of which the names do not say the rank are refused, and left out."""
    made, seed = 0, SEED
    kinds = ("hangs", "times", "hangs", "kernels", "names")
    while made < n:
        kind, seed = kinds[made % len(kinds)], seed + 1
        directory = os.path.join(where, f"{kind}-{seed}")
        os.makedirs(os.path.join(directory, "in"))
        files, options, check = importlib.import_module(f"made_{kind}").make(seed, os.path.join(directory, "in"))
        out = os.path.join(directory, "out")
        done = run(profwrap, "import", *options, "-o", out, *files)
        if done.returncode:
            continue
        made += 1
        must(profwrap, "merge", "-q", out)
        report = json.loads(must(profwrap, "report", "--format", "json", out))
        found = types.SimpleNamespace(status=0, said=done.stderr, directory=out, report=report)
        yield out, lambda said, check=check, found=found: judge_imported(said, check, found)


def judge_imported(said, check, found):
    """By the made input's own check; beside its sentence, the row must say so: all steps, and the cost."""
    found.headline = said["text"]
    problem = check(found)
    if problem:
        return problem
    row = said["row"]
    if row and (row["rank"] != said["who"] or abs(row["excess_ns"] - 2500000) > 50000 or
                abs(row["gain_ns"] - 2500000 * row["steps_hit"]) > 250000 * row["steps_hit"]):
        return f"2.5 ms in each step: {row}"
    return None


# ---- the sums ----


def judge(profwrap, directory, check, sums, kind):
    server = Server(profwrap, directory)
    said = reader.conclude(server.call)
    server.end()
    problem = check(said)
    mine = sums.setdefault(kind, {"right": 0, "all": 0, "calls": 0, "bytes": 0, "report": 0})
    mine["report"] += len(must(profwrap, "report", "--format", "json", directory).encode())
    for key, value in (("right", not problem), ("all", 1), ("calls", server.calls), ("bytes", server.bytes)):
        mine[key] += value
    if problem:
        print(f"{os.path.relpath(directory)}: {problem}\n    {said['text']}", flush=True)
    return not problem


def print_sums(sums):
    print("| runs | right | calls | tokens (bytes / 4) | report.json (bytes / 4) |\n|---|---|---|---|---|")
    sums["all"] = {key: sum(one[key] for one in sums.values()) for key in next(iter(sums.values()))}
    for kind, one in sums.items():
        n = one["all"]
        print(f"| {kind} | {one['right']} of {n} | {one['calls'] / n:.1f} | {one['bytes'] / 4 / n:.0f} | "
              f"{one['report'] / 4 / n:.0f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("profwrap")
    for kind, n in (("simulated", 50), ("real", 30), ("imported", 20)):
        parser.add_argument(f"--{kind}", type=int, default=n)
    parser.add_argument("--build", default="build")
    parser.add_argument("--keep")
    given = parser.parse_args()
    profwrap, sums = os.path.abspath(given.profwrap), {}
    with tempfile.TemporaryDirectory(prefix="profwrap-labelled-") as place:
        where = os.path.abspath(given.keep or place)
        for kind, runs in (("simulated", simulated(profwrap, planned(given.simulated), where)),
                           ("real", real(profwrap, given.real, where, os.path.abspath(given.build))),
                           ("imported", imported(profwrap, given.imported, where))):
            for directory, check in runs:
                judge(profwrap, directory, check, sums, kind)
    print_sums(sums)
    total = sums["all"]
    n = total["all"]
    good = total["right"] >= 0.95 * n and total["calls"] <= 10 * n and total["bytes"] <= 4 * 8000 * n
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
