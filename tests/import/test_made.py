"""Made inputs with a known truth: what the import and the first sentence of the report say of them.

    test_made.py PROFWRAP KIND FIRST COUNT [-v]

Makes COUNT inputs of the kind (hangs, names, times, kernels, foreign) from the seeds FIRST, FIRST + 1, ...,
and prints each input of which the first sentence, or a number, is wrong. Status 1: there are some.
"""
import importlib
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


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


def wrong(profwrap, kind, seed):
    """What is wrong about the input of this seed, or None."""
    with tempfile.TemporaryDirectory() as directory:
        made = importlib.import_module(f"made_{kind}").make(seed, directory)
        files, options, check = made
        result = Result(profwrap, files, options, directory)
        if hasattr(check, "takes_result") or kind != "hangs":
            problem = check(result)
        elif result.status:
            problem = "refused: " + result.said
        else:
            problem = check(result.headline)
        if not problem and result.headline and not result.text.startswith(result.headline[:200]):
            problem = "the text says something else: " + result.text[:200]
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
