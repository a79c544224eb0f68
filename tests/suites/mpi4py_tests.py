"""The tests of mpi4py, all in one process per rank, compared test by test and rank by rank.

    mpi4py_tests.py PYTHON RUNTESTS WORKDIR NP...
"""

import os
import re
import sys

import compare
import counter

HEAD = re.compile(r"^(\w+) \((test_[\w.]+)\)", re.M)
VERDICT = re.compile(r"\b(ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b[^\n]*$", re.M)


def results_of(text):
    """{test: verdict}; a test whose verdict is missing was running when the process ended."""
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
    run = tools.run(np, ["--output-filename", folder, *prefix], program, None, env)
    ranks = []
    for rank in range(np):
        path = os.path.join(folder, "1", f"rank.{rank}", "stderr")
        text = open(path, errors="replace").read() if os.path.exists(path) else ""
        ranks.append(results_of(text))
    return ranks, run


def differences(plain, other):
    for rank, (a, b) in enumerate(zip(plain, other)):
        for test in sorted(set(a) | set(b)):
            if a.get(test) != b.get(test):
                yield f"rank {rank} {test}: {a.get(test, 'not run')} without, {b.get(test, 'not run')} with"


def tally(ranks):
    count = {}
    for results in ranks:
        for verdict in results.values():
            count[verdict] = count.get(verdict, 0) + 1
    return count


def compare_np(tools, program, np):
    """Prints what differs; returns (rows of the table, number of differences)."""
    where = os.path.join(tools.workdir, f"np{np}")
    out, counted_out, counts = (os.path.join(where, d) for d in ("out", "counted-out", "counts"))
    os.makedirs(counts)
    options = [tools.profwrap, "--quiet", "--no-merge", "--ring-size", "64M", "-o"]
    plain, run = run_all(tools, np, os.path.join(where, "without"), [], program, {})
    rows = [("without", tally(plain), run, "")]
    wrapped, run = run_all(tools, np, os.path.join(where, "with"), [*options, out, "--"], program, {})
    notes = []
    recorded = compare.check_rank_files(out, np, notes)
    rows.append(("with", tally(wrapped), run, recorded))
    differ = list(differences(plain, wrapped))
    if tools.counter:
        prefix = [*options, counted_out, "--level", "2", "--", "/bin/sh", "-c", compare.PRELOAD, "sh"]
        env = {"PROFWRAP_COUNTER": tools.counter, counter.FOLDER: counts}
        counted, run = run_all(tools, np, os.path.join(where, "counted"), prefix, program, env)
        calls = counter.read(counts, tools.symbols)
        recorded = compare.check_rank_files(counted_out, np, notes, calls)
        rows.append(("counted", tally(counted), run, recorded))
        differ += [line + " (counted)" for line in differences(plain, counted)]
    for line in differ + notes:
        print(f"np {np}: {line}", flush=True)
    return rows, len(differ)


def main(python, runtests, ranks, tools, options):
    print("| np | | tests | ok | skipped | failed | exit status | s | operations |")
    print("|" + "---|" * 9)
    total = 0
    for np in ranks:
        rows, differ = compare_np(tools, [python, runtests, "-v", *options], np)
        total += differ
        for which, count, run, recorded in rows:
            bad = sum(n for verdict, n in count.items() if verdict not in ("ok", "skipped"))
            print(f"| {np} | {which} | {sum(count.values())} | {count.get('ok', 0)} |"
                  f" {count.get('skipped', 0)} | {bad} | {run.status} | {run.seconds:.0f} |"
                  f" {recorded} |", flush=True)
    return total


if __name__ == "__main__":
    place = compare.Tools(os.environ["SUITES_PROFWRAP"], os.environ.get("MPIEXEC", "mpirun"),
                          sys.argv[3], int(os.environ.get("SUITES_PATIENCE_S", "1500")))
    sys.exit(1 if main(sys.argv[1], os.path.abspath(sys.argv[2]), list(map(int, sys.argv[4:])),
                       place, os.environ.get("SUITES_OPTIONS", "").split()) else 0)
