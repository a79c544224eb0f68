"""The tests of MPICH (test/mpi of its source) as they were built for the installed MPI library.
Reads their testlists, and judges as their runtests does: nothing printed but one "No Errors".

    mpich.py BUILD SOURCE WORKDIR DIRECTORY...
"""

import concurrent.futures
import os
import re
import sys

import compare

MOST_RANKS = 8
# Of another MPI, the functions that MPI-4.0 added are counted, too: the library of its programs.
PROBES = ["libprofwrap_probe.so"] + ["libprofwrap_mpi4_linked.so"] * ("SUITES_MPICC" in os.environ)
NO_ERRORS = re.compile(r"^\s*No [Ee]rrors\s*$")


def tests_of(build, source, directory):
    """Yields (folder relative to build, program, np, {key: [values]}) for each line of the
    testlists, including those of subfolders."""
    found = next((os.path.join(root, directory, "testlist") for root in (build, source)
                  if os.path.exists(os.path.join(root, directory, "testlist"))), None)
    if not found:
        return
    with open(found) as file:
        lines = [line.split("#")[0].split() for line in file]
    for words in lines:
        if not words or words[0].startswith("!"):
            continue
        if os.path.isdir(os.path.join(source, directory, words[0])):
            yield from tests_of(build, source, os.path.join(directory, words[0]))
            continue
        np = int(words[1]) if len(words) > 1 and words[1].isdigit() else 2
        keys = {}
        for word in words[2:]:
            key, _, value = word.partition("=")
            keys.setdefault(key, []).append(value)
        folder, program = os.path.split(os.path.join(directory, words[0]))
        yield folder, program, min(np, MOST_RANKS), keys


def judge_usual(run):
    if run.status == "timeout":
        return "timeout"
    lines = [line for line in run.output.splitlines() if "FORTRAN STOP" not in line]
    said = sum(bool(NO_ERRORS.match(line)) for line in lines)
    return "pass" if run.status == 0 and said == len(lines) == 1 else "fail"


def judge_status(run):
    """The test must end with an error."""
    if run.status == "timeout":
        return "timeout"
    return "pass" if run.status != 0 else "fail"


def judge_status_and_words(run):
    said = any(NO_ERRORS.match(line) for line in run.output.splitlines())
    return "pass" if said and judge_status(run) == "pass" else judge_usual(run)


JUDGES = {"TestStatus": judge_status, "TestErrFatal": judge_status,
          "TestStatusNoErrors": judge_status_and_words}


def run_test(tools, build, folder, program, np, keys):
    arguments = keys.get("arg", [])
    env = dict(value.split("=", 1) for value in keys.get("env", []))
    name = " ".join([os.path.join(folder, program), *arguments])
    cwd = os.path.join(build, folder)
    if not os.access(os.path.join(cwd, program), os.X_OK):
        return name
    judge = JUDGES.get(keys.get("resultTest", [""])[0], judge_usual)
    return compare.compare(tools, name, np, ["./" + program, *arguments], judge, cwd, env)


def run_directory(tools, build, source, directory):
    outcomes, unbuilt = [], []
    for folder, program, np, keys in tests_of(build, source, directory):
        outcome = run_test(tools, build, folder, program, np, keys)
        if isinstance(outcome, str):
            unbuilt.append(outcome)
            continue
        outcomes.append(outcome)
        compare.print_outcome(outcome)
        compare.save(outcome, os.path.join(tools.workdir, "outputs"))
    return outcomes, unbuilt


def main(build, source, directories, tools, jobs):
    """Prints one line per test, then the table. Returns the number of tests that differ."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = dict(zip(directories, pool.map(
            lambda directory: run_directory(tools, build, source, directory), directories)))
    print()
    print(*compare.table({d: outcomes for d, (outcomes, _) in results.items()}), sep="\n")
    for directory, (_, unbuilt) in results.items():
        if unbuilt:
            print(f"not built in {directory}:", *unbuilt)
    return sum(len(set(o.verdicts)) > 1 for outcomes, _ in results.values() for o in outcomes)


if __name__ == "__main__":
    place = compare.Tools(os.environ["SUITES_PROFWRAP"], os.environ.get("MPIEXEC", "mpirun"),
                          sys.argv[3], int(os.environ.get("SUITES_PATIENCE_S", "60")), PROBES)
    sys.exit(1 if main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[4:],
                       place, int(os.environ.get("SUITES_JOBS", "1"))) else 0)
