"""Which faults in src the tests find: random small changes, each built and tested.

    mutations.py [--count N] [--seed S] [--sets quick|all] [--only REGEX] [--list]

A mutation turns a comparison, changes a constant, or removes a statement, in a random line of a random file of
FOLDERS. One that does not compile, or that leaves all compiled code as it was, is drawn anew. The others are
tested until a test fails that also fails when it is run again: first the unit tests, then the quick ones, then, with
--sets all, the rest. Prints a line for each: where, what, and which test found it, or SURVIVED with the line before
and after; at last the share that was found.

It changes this tree and its build (release), and puts the tree back after each mutation; the tree must be clean.
Every test must pass on the tree as it is: run scripts/test before.
"""

import argparse
import glob
import hashlib
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build")
# Verdicts, merge, capture and reports.
FOLDERS = ("src/analysis", "src/aggregate", "src/collectors/mpi", "src/rank", "src/report")
TURNED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
COMPARISON = re.compile(r" (<=|>=|==|!=|<|>|&&|\|\|) ")
CONSTANT = re.compile(r"(?<![\w.\[\"%])(\d+)(?=[;,) ])(?![^\"]*\"[;,)])")
STATEMENT = re.compile(r"^\s+(?!return\b|break\b|continue\b|goto\b|case\b|static\b|const\b|struct\b|enum\b)"
                       r"(?:[\w.>\-\[\]*]+ [+\-|&]?= |[\w.>\-\[\]]+(?:\+\+|--);|\w+\().*;$")
STAGES = {"unit": ["-R", "^unit"], "quick": ["-L", "^quick$", "-LE", "bench|nightly"],
          "all": ["-LE", "bench|nightly|quick"]}
LEFT_OUT = {"quick": ["^unit", "^lint"]}


def code_lines(path):
    """(number, line) of the lines of functions: indented, no comment, no preprocessor, no wrapped string."""
    with open(path) as file:
        inside = False
        for number, line in enumerate(file):
            inside = inside or "/*" in line
            if not inside and re.match(r"    \s*[^\s/*\"#]", line) and not line.rstrip().endswith("\\"):
                yield number, line.rstrip("\n")
            inside = inside and "*/" not in line


def changes(line):
    """The mutations of a line, as (kind, new line)."""
    for match in COMPARISON.finditer(line):
        yield "comparison", line[:match.start(1)] + TURNED[match[1]] + line[match.end(1):]
    for match in CONSTANT.finditer(line):
        yield "constant", line[:match.start(1)] + str(int(match[1]) + 1) + line[match.end(1):]
    if STATEMENT.match(line) and line.count("(") == line.count(")"):
        yield "removed", re.match(r"\s*", line)[0] + ";"


def drawn(generator, files):
    """Each mutation once, as (path, number, old line, kind, new line), in turn of the three kinds."""
    kinds = {}
    for path in files:
        for number, line in code_lines(path):
            for kind, new in changes(line):
                kinds.setdefault(kind, []).append((path, number, line, kind, new))
    for rows in kinds.values():
        generator.shuffle(rows)
    return [row for turn in itertools.zip_longest(*kinds.values()) for row in turn if row]


def run(words, **options):
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, **options)


def code_of_build():
    """A digest of the machine code of all object files that belong to src."""
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(glob.glob(BUILD + "/src/**/*.o", recursive=True)):
            out = os.path.join(folder, "code")  # objcopy replaces its output, also where that is /dev/stdout
            run(["objcopy", "-O", "binary", "-j", ".text*", "-j", ".rodata*", "-j", ".data*", path, out])
            with open(out, "rb") as file:
                digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


def builds():
    return run(["ninja", "-C", BUILD]).returncode == 0


def print_flake(name, printed):
    """Prints the end of what ctest shows of a test."""
    shown = re.search(rf" {re.escape(name)} .*?\*\*\*.*?\n(.*?)(?=^ *(?:Start|\d+/\d+ Test|\d+% tests) |\Z)", printed, re.M | re.S)
    last = shown[1].strip().split("\n")[-15:] if shown else []
    print(f"    {name} failed once, and passed when it was run again", *last, sep="\n    | ", flush=True)


def failing(stage, jobs):
    """The name of a test that fails twice, or None. A test that fails once only is left out from then on."""
    options = ["--test-dir", BUILD, "--no-tests=error", "--timeout", "600"]
    left_out = list(LEFT_OUT.get(stage, []))
    while True:
        without = ["-E", "|".join(left_out)] if left_out else []
        done = run(["ctest", *options, "-j", str(jobs), "--stop-on-failure", "--output-on-failure", *STAGES[stage],
                    *without])
        names = re.findall(r"^\s*\d+ - (\S+) \((?!Skipped|Not Run)", done.stdout, re.M)
        if done.returncode and "tests failed out of" not in done.stdout:
            sys.exit(f"mutations.py: ctest ran no test: {done.stdout[-400:]}{done.stderr[-400:]}")
        for name in names:
            if run(["ctest", *options, "-R", f"^{re.escape(name)}$"]).returncode:
                return name
            print_flake(name, done.stdout)
        if not names:
            return None
        left_out += [f"^{re.escape(name)}$" for name in names]


def found_by(stages, jobs):
    return next((name for stage in stages if (name := failing(stage, jobs))), None)


def try_mutation(row, original, stages, jobs):
    """"" when it is drawn anew, else the test that found it, or None."""
    path, number, _, _, new = row
    with open(path) as file:
        lines = file.read().split("\n")
    before, lines[number] = lines[number], new
    try:
        with open(path, "w") as file:
            file.write("\n".join(lines))
        if not builds() or code_of_build() == original:
            return ""
        return found_by(stages, jobs)
    finally:
        lines[number] = before
        with open(path, "w") as file:
            file.write("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sets", choices=("quick", "all"), default="quick")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true", help="print the mutations, and test none")
    options = parser.parse_args()
    generator = random.Random(options.seed)
    files = sorted(path for folder in FOLDERS for path in glob.glob(f"{ROOT}/{folder}/**/*.c", recursive=True)
                   if re.search(options.only, os.path.relpath(path, ROOT)))
    stages = ["unit", "quick"] + (["all"] if options.sets == "all" else [])
    jobs = (os.cpu_count() or 1) + 3
    if not options.list:
        if run(["git", "diff", "--quiet"]).returncode:
            sys.exit("mutations.py: the tree has changes that are not committed; commit them first")
        if not builds():
            sys.exit("mutations.py: the tree does not build; see ninja -C build")
        original = code_of_build()
    tried = caught = 0
    for row in drawn(generator, files):
        if tried == options.count:
            break
        path, number, old, kind, new = row
        where = f"{os.path.relpath(path, ROOT)}:{number + 1} {kind}"
        result = None if options.list else try_mutation(row, original, stages, jobs)
        if result == "":
            continue
        tried += 1
        caught += result is not None
        word = "" if options.list else "SURVIVED"
        print(f"{where}: " + (result or f"{word}\n    - {old.strip()}\n    + {new.strip()}"), flush=True)
    if not options.list:
        builds()
        print(f"{caught} of {tried} found ({100 * caught / max(1, tried):.0f} %), seed {options.seed}, "
              f"sets: {', '.join(stages)}")


if __name__ == "__main__":
    main()
