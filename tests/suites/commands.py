"""Any programs that are already built: NAS Parallel Benchmarks, OSU or Intel MPI Benchmarks, ...
LIST has one a line: ranks, then the command. A program has passed when its exit status is 0 and,
where WORDS is given, its output has those words.

    commands.py LIST WORKDIR [WORDS]
"""

import os
import shlex
import sys

import compare


def main(path, tools, words):
    """Prints one line per program, then the table. Returns the number of programs that differ."""
    def judge(run):
        if run.status == "timeout":
            return "timeout"
        return "pass" if run.status == 0 and words in run.output else "fail"

    outcomes = []
    with open(path) as file:
        lines = [shlex.split(line, comments=True) for line in file]
    for np, *program in filter(None, lines):
        name = " ".join([os.path.basename(program[0]), *program[1:]])
        outcomes.append(compare.compare(tools, name, int(np), program, judge))
        compare.print_outcome(outcomes[-1])
        compare.save(outcomes[-1], os.path.join(tools.workdir, "outputs"))
    print()
    print(*compare.table({os.path.basename(path): outcomes}), sep="\n")
    return sum(len(set(o.verdicts)) > 1 for o in outcomes)


if __name__ == "__main__":
    place = compare.Tools(os.environ["SUITES_PROFWRAP"], os.environ.get("MPIEXEC", "mpirun"),
                          sys.argv[2], int(os.environ.get("SUITES_PATIENCE_S", "60")))
    sys.exit(1 if main(sys.argv[1], place, sys.argv[3] if len(sys.argv) > 3 else "") else 0)
