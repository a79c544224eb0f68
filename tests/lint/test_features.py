"""Tests that the lint of the tables of features finds its faults, in small trees with one fault each."""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CTEST = "#!/bin/sh\necho '  Test  #1: html.a-page'\necho '  Test #12: python.schedule'\n"
PROFWRAP = """#!/bin/sh
[ "$2" = --help ] && echo "usage: profwrap $1 ... ctl start DIR  -o, --output DIR  --section NAMES" && exit
echo "profwrap: there is no section '?'; sections are gpu, steps" >&2
exit 2
"""
GOOD = "| a step | `report.html#steps`; `profwrap report --section gpu,steps -o FILE DIR` | `html.a-page` |"
HEAD = "# Features\n\n| feature | here | test |\n|---|---|---|\n"


def lint(row):
    """Exit status and output of the lint on a document with this row."""
    files = {"docs/annotate.md": HEAD + row + "\n\n| a | b |\n|---|---|\n| other | table |\n",
             "src/report/html/page/main.js": '    { id: "steps", title: "Steps" },\n',
             "python/profwrap/__init__.py": "from ._schedule import schedule\n",
             "ctest": CTEST, "profwrap": PROFWRAP}
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for path, text in files.items():
            os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
            with open(f"{root}/{path}", "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(f"{root}/{path}", 0o755)
        done = subprocess.run(
            [sys.executable, "-B", f"{HERE}/features.py", root, f"{root}/ctest", root, f"{root}/profwrap"],
            capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Lint(unittest.TestCase):
    def refuses(self, message, row):
        status, output = lint(row)
        self.assertEqual(status, 1, output)
        self.assertIn(f"docs/annotate.md:5: the row {message}", output)

    def test_what_is_right_passes(self):
        for row in (GOOD, "| a | `profwrap.schedule`; `profwrap ctl start DIR` | `python.schedule` |",
                    "| a | none: a counter | |", "| a | `profwrap --output DIR PROGRAM` | `html.a-page` |"):
            self.assertEqual(lint(row), (0, "features: 1 checked, 0 problem(s)\n"))

    def test_tests_of_a_family_that_is_not_built(self):
        self.assertEqual(lint("| a | text | `mpi.run.x` |"), (
            0, "tests that this build has not: mpi.run.x\nfeatures: 1 checked, 0 problem(s)\n"))

    def test_a_test_that_is_not_there(self):
        self.refuses("names the test html.no-page", GOOD.replace("a-page", "no-page"))

    def test_a_page_that_is_not_there(self):
        self.refuses("names the page stepz", GOOD.replace("#steps", "#stepz"))

    def test_an_option_that_is_not_there(self):
        self.refuses("'report' has no option --sect", GOOD.replace("--section", "--sect"))

    def test_a_section_that_is_not_there(self):
        self.refuses("'--section gpu,stepz' is not possible", GOOD.replace("gpu,steps", "gpu,stepz"))

    def test_commands_that_are_not_there(self):
        self.refuses("there is no command 'reports'", GOOD.replace("profwrap report", "profwrap reports"))
        self.refuses("there is no command 'profwrap ctl go DIR'", "| a | `profwrap ctl go DIR` | `html.a-page` |")

    def test_a_name_that_is_not_there(self):
        self.refuses("names profwrap.plan", "| a | `profwrap.plan` | `python.schedule` |")
        self.refuses("names profwrap.torch.schedule", "| a | `profwrap.torch.schedule` | `python.schedule` |")

    def test_rows_without_a_test_or_a_reason(self):
        self.refuses("has no test", "| a | `report.html#steps` | |")
        self.refuses("is 'none' without a reason", "| a | none | |")
        self.refuses("has 2 cells", "| a | `report.html#steps` |")


if __name__ == "__main__":
    unittest.main()
