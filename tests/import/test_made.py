"""Made inputs with a known truth: what the import and the first sentence of the report say of them.

    test_made.py PROFWRAP KIND FIRST COUNT

Makes COUNT inputs of the kind (hangs, names, times, kernels, foreign; sums: those of the JSON) from the seeds FIRST, FIRST + 1, ...,
and prints each input of which the first sentence, or a number, is wrong. Status 1: there are some.
"""
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import trace_sums  # noqa: E402


# What a report advises for a next run with profwrap, which does not help who has only traces.
OF_RUNS = re.compile(r"--(level|activities|clock-|ring-size|sample-hz|hang-timeout|audit)|"
                     r"profwrap_\w+\(|profwrap\.(step|phase|op|queue|work)\(|ctl status|mpirun -np")


def run(profwrap, *arguments):
    return subprocess.run([profwrap, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Result:
    """What was said of an input: by the import and, if it has not refused it, by the report."""

    def __init__(self, profwrap, files, options, directory):
        self.directory = os.path.join(directory, "job")
        done = run(profwrap, "import", *options, "-o", self.directory, *files)
        self.status, self.said = done.returncode, done.stderr
        self.report = self.headline = None
        if self.status == 0:
            run(profwrap, "merge", self.directory)
            self.report = json.loads(run(profwrap, "report", "--format", "json", self.directory).stdout)
            self.headline = self.report["job"]["headline"]
            self.text = " ".join(run(profwrap, "report", "--full", self.directory).stdout.split())
            self.page = run(profwrap, "report", "--format", "html", self.directory).stdout

    def says(self, sentence):
        """Whether the text begins with it, and the page has it."""
        return self.text.startswith(sentence) and sentence in self.page


def wrong_sums(profwrap, seed):
    """Whether the sums are those of the JSON, of a trace that another kind makes."""
    with tempfile.TemporaryDirectory() as directory:
        made = importlib.import_module(("made_kernels", "made_times")[seed % 2]).make(seed, directory)
        text, found = trace_sums.compare(profwrap, made[0][0])
        return None if found == [] else f"{text}: {found}"


def wrong(profwrap, kind, seed):
    """What is wrong about the input of this seed, or None."""
    if kind == "sums":
        return wrong_sums(profwrap, seed)
    with tempfile.TemporaryDirectory() as directory:
        files, options, check = importlib.import_module(f"made_{kind}").make(seed, directory)
        result = Result(profwrap, files, options, directory)
        problem = check(result)
        if not problem and result.headline and not result.says(result.headline):
            problem = "text, JSON and HTML say different things"
        if not problem and result.headline and OF_RUNS.search(result.text):
            problem = f"the advice is for a run with profwrap: {OF_RUNS.search(result.text)[0]}"
        return problem and f"{problem}\n    {result.headline or result.said}"


def main():
    profwrap, kind, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    bad = 0
    for seed in range(first, first + count):
        problem = wrong(profwrap, kind, seed)
        bad += problem is not None
        if problem:
            print(f"{kind} {seed}: {problem}")
    print(f"{kind}: {count} inputs from seed {first}, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
