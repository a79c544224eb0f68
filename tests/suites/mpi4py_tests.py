"""The tests of mpi4py, GROUP of its modules in one process per rank, compared test by test and rank
by rank: a test that hangs costs its group, not the suite.

    mpi4py_tests.py PYTHON RUNTESTS WORKDIR NP...
"""

import os
import re
import sys

import compare
import counter

GROUP = 10
# The standard error of each rank, under any launcher.
OWN_FILE = 'exec 2>"$1/stderr-${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}"; shift; exec "$@"'
HEAD = re.compile(r"^(\w+) \((test_[\w.]+)\)", re.M)
VERDICT = re.compile(r"\b(ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b[^\n]*$", re.M)


def results_of(text):
    """{test: verdict}. A test without a verdict was running when the process ended."""
    text = re.split(r"^(?:={70}|-{70})$", text, maxsplit=1, flags=re.M)[0]
    heads = list(HEAD.finditer(text))
    found = {}
    for head, following in zip(heads, heads[1:] + [None]):
        body = text[head.end():following.start() if following else len(text)]
        verdicts = VERDICT.findall(body)
        name = head[2] if head[2].endswith("." + head[1]) else f"{head[2]}.{head[1]}"
        found[name] = verdicts[-1] if verdicts else "unfinished"
    return found


def run_all(tools, np, folder, prefix, program, env):
    """[{test: verdict}] of all ranks, and the run."""
    os.makedirs(folder)
    run = tools.run(np, ["/bin/sh", "-c", OWN_FILE, "sh", folder, *prefix], program, None, env)
    ranks = []
    for rank in range(np):
        path = os.path.join(folder, f"stderr-{rank}")
        text = open(path, errors="replace").read() if os.path.exists(path) else ""
        ranks.append(results_of(text))
    return ranks, run


def differences(plain, other):
    for rank, (a, b) in enumerate(zip(plain.ranks, other.ranks)):
        for test in sorted(set(a) | set(b)):
            if a.get(test) != b.get(test):
                yield (f"rank {rank} {test}: {a.get(test, 'not run')} without,"
                       f" {b.get(test, 'not run')} {other.name}")


def tally(ranks):
    count = {}
    for results in ranks:
        for verdict in results.values():
            count[verdict] = count.get(verdict, 0) + 1
    return count


class Way:
    """A way to run the tests: without profwrap, with it, or with the counting library too."""

    def __init__(self, name, np):
        self.name, self.statuses, self.seconds, self.recorded = name, set(), 0, 0
        self.ranks = [{} for _ in range(np)]

    def add(self, ranks, run, recorded=0):
        for results, more in zip(self.ranks, ranks):
            results.update(more)
        self.statuses.add(run.status)
        self.seconds += run.seconds
        self.recorded += recorded

    def row(self, np):
        count = tally(self.ranks)
        bad = sum(n for verdict, n in count.items() if verdict not in ("ok", "skipped"))
        cells = (np, self.name, sum(count.values()), count.get("ok", 0), count.get("skipped", 0), bad,
                 " ".join(map(str, self.statuses)), f"{self.seconds:.0f}", self.recorded or "")
        return "| " + " | ".join(map(str, cells)) + " |"


def run_group(tools, program, np, where, ways):
    """Runs a group of tests, with one process per rank, in all three ways. Returns what is missing
    in the rank files."""
    out, counted_out, counts = (os.path.join(where, d) for d in ("out", "counted-out", "counts"))
    os.makedirs(counts)
    notes = []
    options = [tools.profwrap, "--quiet", "--no-merge", "--ring-size", "64M", "-o"]
    ways[0].add(*run_all(tools, np, os.path.join(where, "without"), [], program, {}))
    done = run_all(tools, np, os.path.join(where, "with"), [*options, out, "--"], program, {})
    ways[1].add(*done, compare.check_rank_files(out, np, notes))
    if len(ways) > 2:
        prefix = [*options, counted_out, "--level", "2", "--", "/bin/sh", "-c", compare.PRELOAD, "sh"]
        env = {"PROFWRAP_COUNTER": tools.counter, counter.FOLDER: counts}
        done = run_all(tools, np, os.path.join(where, "counted"), prefix, program, env)
        calls = counter.read(counts, tools.symbols)
        ways[2].add(*done, compare.check_rank_files(counted_out, np, notes, calls))
    return notes


def compare_np(tools, program, groups, np):
    """Prints the differences. Returns (rows of the table, number of differences)."""
    ways = [Way("without", np), Way("with", np)] + [Way("counted", np)] * bool(tools.counter)
    for k, group in enumerate(groups):
        where = os.path.join(tools.workdir, f"np{np}", str(k))
        names = "^(" + "|".join(group) + r")(\.py)?$"  # of the module or, since mpi4py 4, of its file
        for note in run_group(tools, [*program, "-i", names], np, where, ways):
            print(f"np {np}, {group[0]} to {group[-1]}: {note}", flush=True)
    differ = [line for way in ways[1:] for line in differences(ways[0], way)]
    for line in differ:
        print(f"np {np}: {line}", flush=True)
    return [way.row(np) for way in ways], len(differ)


def modules_of(folder, excluded):
    names = sorted(n[:-3] for n in os.listdir(folder) if n.startswith("test_") and n.endswith(".py"))
    return [name for name in names if not any(re.search(e, name) for e in excluded)]


def main(python, runtests, ranks, tools, excluded):
    modules = modules_of(os.path.dirname(runtests), excluded)
    groups = [modules[k:k + GROUP] for k in range(0, len(modules), GROUP)]
    head = ("np", "", "tests", "ok", "skipped", "failed", "exit status", "s", "operations")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head), flush=True)
    total = 0
    for np in ranks:
        rows, differ = compare_np(tools, [python, runtests, "-v"], groups, np)
        total += differ
        print(*rows, sep="\n", flush=True)
    return total


if __name__ == "__main__":
    place = compare.Tools(os.environ["SUITES_PROFWRAP"], os.environ.get("MPIEXEC", "mpirun"),
                          sys.argv[3], int(os.environ.get("SUITES_PATIENCE_S", "600")))
    sys.exit(1 if main(sys.argv[1], os.path.abspath(sys.argv[2]), list(map(int, sys.argv[4:])),
                       place, os.environ.get("SUITES_EXCLUDE", "").split()) else 0)
