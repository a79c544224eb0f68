"""Checks the tables of features in docs/annotate.md: that each row has a test or says why there is none,
and that the tests, commands, options, sections, pages and Python names of a row are there.

    features.py ROOT CTEST BUILD PROFWRAP
"""

import re
import subprocess
import sys

import tree

DOCUMENT = "docs/annotate.md"
CODE = re.compile(r"`([^`]+)`")
PAGE = re.compile(r"report\.html#(\w+)")
PLACEHOLDER = re.compile(r"[A-Z][A-Z-]*")
COMMANDS = ("run", "merge", "report", "compare", "dump", "recover", "sweep", "doctor", "ctl", "import", "sim")
# Options of report whose values are checked, by what a refusal of '?' says is possible.
CHOICES = ("--format", "--group-by", "--section", "--sort")


def tables(text):
    """The rows of all tables whose last column is "test": (line number, its three cells)."""
    is_ours = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            is_ours = False
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[-1] == "test":
            is_ours = True
        elif is_ours and not set(line) <= set("|- "):
            yield number, cells


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def page_names(root):
    return set(re.findall(r'\{ id: "(\w+)"', tree.text(root, "src/report/html/page/main.js")))


class Known:
    def __init__(self, root, ctest, build, profwrap):
        self.root, self.profwrap, self.helps, self.values = root, profwrap, {}, {}
        self.tests = set(re.findall(r"^ *Test +#\d+: (\S+)", output_of(ctest, "--test-dir", build, "-N"), re.M))
        self.families = {name.partition(".")[0] for name in self.tests}
        self.pages, self.unbuilt = page_names(root), set()

    def help_of(self, command):
        if command not in self.helps:
            self.helps[command] = output_of(self.profwrap, command, "--help")
        return self.helps[command]

    def bad_test(self, name):
        """A build without MPI, say, has no tests of that family: these are not checked."""
        if "." in name and name.partition(".")[0] not in self.families:
            self.unbuilt.add(name)
            return False
        return name not in self.tests

    def values_of(self, option):
        if option not in self.values:
            said = subprocess.run([self.profwrap, "report", option, "?", "."], capture_output=True,
                                  text=True).stderr
            self.values[option] = set(re.findall(r"\w+", re.split(r"takes |sections are ", said)[-1]))
        return self.values[option]

    def bad_value(self, command, option, value):
        if command != "report" or option not in CHOICES or PLACEHOLDER.fullmatch(value):
            return False
        return not set(value.split(",")) <= self.values_of(option)

    def bad_command(self, text):
        """What is wrong with a command, or None."""
        words = text.split()[1:]
        command = words.pop(0) if words and words[0] in COMMANDS else "run"
        if command == "ctl" and (not words or f"ctl {words[0]}" not in self.help_of(command)):
            return f"there is no command '{text}'"
        if command == "run" and words and not words[0].startswith("-") and not PLACEHOLDER.fullmatch(words[0]):
            return f"there is no command '{words[0]}'"
        for i, word in enumerate(words):
            if not word.startswith("-"):
                continue
            if not re.search(rf"(^|[\s\[,]){re.escape(word)}\b", self.help_of(command)):
                return f"'{command}' has no option {word}"
            if i + 1 < len(words) and self.bad_value(command, word, words[i + 1]):
                return f"'{word} {words[i + 1]}' is not possible"
        return None

    def bad_name(self, name):
        """Whether the Python package has no such name."""
        parts = name.split(".")[1:]
        module = parts[0] if len(parts) > 1 else "__init__"
        path = f"python/profwrap/{module}.py"
        if path not in tree.files(self.root, ".py"):
            return True
        return not re.search(rf"\b{re.escape(parts[-1])}\b", tree.text(self.root, path))

    def problems(self, cells):
        if len(cells) != 3:
            yield f"has {len(cells)} cells, not 3"
            return
        _, here, test = cells
        tests = CODE.findall(test)
        if here.startswith("none"):
            if not re.match(r"none: \w", here) or tests:
                yield "is 'none' without a reason, or with a test"
        elif not tests:
            yield "has no test"
        for name in tests:
            if self.bad_test(name):
                yield f"names the test {name}, which is not there"
        for code in CODE.findall(here):
            page = PAGE.fullmatch(code)
            if page and page[1] not in self.pages:
                yield f"names the page {page[1]}, which the report has not"
            elif code.startswith("profwrap "):
                bad = self.bad_command(code)
                if bad:
                    yield bad
            elif code.startswith("profwrap.") and self.bad_name(code):
                yield f"names {code}, which is not there"


def main(root, ctest, build, profwrap):
    known = Known(root, ctest, build, profwrap)
    rows = list(tables(tree.text(root, DOCUMENT)))
    problems = [f"{DOCUMENT}:{number}: the row {problem}" for number, cells in rows
                for problem in known.problems(cells)]
    if known.unbuilt:
        print("tests that this build has not:", " ".join(sorted(known.unbuilt)))
    tree.finish("features", problems, len(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
