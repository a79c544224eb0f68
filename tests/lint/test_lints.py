"""Tests that the lints of includes and of paths find their faults, in small trees with one fault
each."""

import os
import subprocess
import sys
import tempfile
import unittest

import filecircles
import folders
import includes
import parameters
from test_links import run_lint

HERE = os.path.dirname(os.path.abspath(__file__))


def lint(files):
    """Exit status and output of the lint on a checkout of these files, {path: includes}."""
    return run_lint("includes.py", {
        f"src/{path}": "".join(f'#include "{target}"\n' for target in targets)
        for path, targets in files.items()
    })


class Lint(unittest.TestCase):
    def refuses(self, message, files):
        status, output = lint(files)
        self.assertIn(message, output)
        self.assertEqual(status, 1, output)

    def test_what_is_allowed_passes(self):
        status, output = lint(
            {"core/a.h": [], "rank/ring/b.h": ["core/a.h"], "rank/run/c.c": ["rank/ring/b.h"]}
        )
        self.assertEqual(status, 0, output)

    def test_out_of_reach(self):
        self.refuses("is out of reach", {"core/a.h": ["rank/run/b.h"], "rank/run/b.h": []})

    def test_room_of_the_same_area_out_of_reach(self):
        files = {"rank/ring/a.h": ["rank/run/b.h"], "rank/run/b.h": []}
        self.refuses("rank/ring may include core", files)

    def test_folder_without_a_row(self):
        self.refuses("has no row", {"core/new/a.h": ["core/b.h"], "core/b.h": []})

    def test_header_that_is_not_there(self):
        self.refuses("is not the name of a header", {"core/a.h": ["core/gone.h"]})

    def test_source_file(self):
        self.refuses("is a source file", {"core/a.c": ["core/b.c"], "core/b.c": []})

    def test_circle_of_folders(self):
        files = {
            "rank/run/a.h": ["rank/ring/b.h"],
            "rank/ring/b.h": [],
            "rank/ring/c.h": ["rank/run/d.h"],
            "rank/run/d.h": [],
        }
        self.refuses("these include each other: rank/ring, rank/run", files)

    def test_circle_with_a_folders_own_files(self):
        files = {"report/a.h": ["report/html/b.h"], "report/html/b.h": ["report/a.h"]}
        self.refuses("these include each other: report, report/html", files)


class Headers(unittest.TestCase):
    """The opening comment of a header in src."""

    def check(self, comment, path="src/core/a.h"):
        guard = "#ifndef A_H\n#define A_H\n#endif\n"
        return run_lint("style.py", {path: f"/* {comment} */\n{guard}"})

    def refuses(self, message, comment):
        status, output = self.check(comment)
        self.assertIn(message, output)
        self.assertIn("1 problem(s)", output)
        self.assertEqual(status, 1, output)

    def test_what_says_all_passes(self):
        for comment in (
            "Counts the events of a rank, one row a second. Called by drain.c. Tool code; it\n"
            " * never blocks.",
            "Counts the events of a rank, one row a second, in a table. For tool code, because it\n"
            " * cannot fail.",
        ):
            status, output = self.check(comment)
            self.assertEqual(status, 0, output)

    def test_too_few_words(self):
        self.refuses("of 9 words", "Counts events. Called by drain.c. Tool code, one thread.")
        # The stars that begin lines are no words.
        self.refuses(
            "of 14 words",
            "Counts events. Called by drain.c.\n * Tool code,\n *\n * one thread, no lock, no memory, so.",
        )

    def test_no_user(self):
        self.refuses(
            "names no caller",
            "Counts the events of a rank, one row a second,\n * without a lock, and keeps its rows.",
        )

    def test_no_rule(self):
        self.refuses(
            "what it may not do",
            "Counts the events of a rank, one row a second.\n * Called by drain.c and by intake.c.",
        )

    def test_other_files_may_be_shorter(self):
        for path in ("tests/unit/a.h", "include/a.h"):
            status, output = self.check("Counts events of a rank for tests.", path)
            self.assertEqual(status, 0, output)


class UnitNames(unittest.TestCase):
    def check(self, test):
        main = "int a;\nint main(void)\n{\n}\n"
        return run_lint("unitnames.py", {"src/core/clock.c": "", f"tests/unit/{test}": main})

    def test_files_and_folders_and_aspects_pass(self):
        for test in ("test_clock.c", "test_clock_errors.c", "test_core.c", "test_core_clock.c"):
            status, output = self.check(test)
            self.assertEqual(status, 0, output)

    def test_other_names_are_found(self):
        for test in ("test_clocks.c", "test_times.c"):
            status, output = self.check(test)
            self.assertIn("names no file", output)
            self.assertEqual(status, 1, output)


class Paths(unittest.TestCase):
    def check(self, document):
        with tempfile.TemporaryDirectory() as root:
            subprocess.run(["git", "init", "-q", root], check=True)
            os.makedirs(f"{root}/src/core")
            os.makedirs(f"{root}/docs")
            for path, text in {"src/core/a.h": "", "docs/a.md": document}.items():
                with open(f"{root}/{path}", "w", encoding="utf-8") as file:
                    file.write(text + "\n")
            done = subprocess.run(
                [sys.executable, "-B", f"{HERE}/paths.py", root], capture_output=True, text=True
            )
        return done.returncode, done.stdout

    def test_what_is_there_passes(self):
        status, output = self.check("`src/core/a.h`, `core/a.h`; see a.h")
        self.assertEqual(status, 0, output)

    def test_what_is_gone_is_found(self):
        for document in ("`src/core/b.h`", "(core/b.h)", "see b.h"):
            status, output = self.check(document)
            self.assertIn("b.h is not there", output)
            self.assertEqual(status, 1, output)


class Rows(unittest.TestCase):
    def test_they_have_no_circle(self):
        every = {folder: set() for folder in includes.MAY_INCLUDE}
        for source in every:
            every[source] = {f for f in every if f != source and includes.may_include(source, f)}
        every["cli"] = set()  # may include all, and nothing includes it
        self.assertEqual(folders.circles(every), [])


class Circles(unittest.TestCase):
    def test_none(self):
        self.assertEqual(folders.circles_at_every_depth({"a": {"b"}, "b": {"c"}, "c": set()}), [])

    def test_longer_than_two(self):
        edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
        self.assertEqual(folders.circles(edges), [["a", "b", "c"]])

    def test_only_of_the_folders_above(self):
        edges = {"a/x": {"b/y"}, "b/y": set(), "b/z": {"a/w"}, "a/w": set()}
        self.assertEqual(folders.circles(edges), [])
        self.assertEqual(folders.circles_at_every_depth(edges), [["a", "b"]])

    def test_levels(self):
        edges = {"a": set(), "b": {"a"}, "c": {"a", "b"}}
        self.assertEqual(folders.levels(edges), {"a": 0, "b": 1, "c": 2})


class FileCircles(unittest.TestCase):
    HEADER = "int pw_a(void);\nint pw_b(void);\n"

    def check(self, files):
        return run_lint("filecircles.py", {f"src/core/{path}": text for path, text in files.items()})

    def refuses(self, edges, files):
        status, output = self.check(files)
        self.assertIn(f"src/core/ has a circle of {len(edges)} units:", output)
        for edge in edges:
            self.assertIn(f"    {edge}\n", output)
        self.assertEqual(status, 1, output)

    def test_one_direction_passes(self):
        # A header declares for two sources; comments, texts, tags and private functions are no uses.
        status, output = self.check({
            "both.h": self.HEADER,
            "a.c": '#include "core/both.h"\nint pw_a(void)\n{\n    return pw_b();\n}\n',
            "b.c": '#include "core/both.h"\n/* pw_a */\nint pw_b(void)\n{\n    say("pw_a");\n'
                   "    struct pw_a *x;\n}\n"
                   "static int help(void)\n{\n}\n",
            "c.c": "static int pw_a(void)\n{\n}\nint pw_c(void)\n{\n    return pw_a() + help();\n}\n",
        })
        self.assertEqual(status, 0, output)
        self.assertIn("4 checked, 0 problem(s)", output)

    def test_includes(self):
        self.refuses(["a -> b: includes b.h", "b -> a: includes a.h"], {
            "a.h": '#include "core/b.h"\n', "b.h": "", "b.c": '#include "core/a.h"\n',
        })

    def test_calls_behind_a_shared_header(self):
        self.refuses(["a -> b: uses pw_b", "b -> a: uses pw_a"], {
            "both.h": self.HEADER,
            "a.c": '#include "core/both.h"\nint pw_a(void)\n{\n    return pw_b();\n}\n',
            "b.cc": '#include "core/both.h"\nint pw_b(void)\n{\n    return pw_a();\n}\n',
        })

    def test_variables_and_macros(self):
        self.refuses(["a -> b: uses pw_rows", "b -> a: uses pw_a"], {
            "a.h": "#define ROWS \\\n    pw_rows\n", "a.c": "int pw_a(void)\n{\n}\n",
            "b.c": "const struct pw_row pw_rows[] = {\n    {pw_a},\n};\n",
        })

    def test_rows_of_folders_with_circles_may_only_fall(self):
        edges = {"a/x": {"a/y": ["uses f"]}, "a/y": {"a/x": ["uses g"]}, "b/z": {}}
        self.assertEqual(list(filecircles.judge(edges, {"a": 2})), [])
        self.assertEqual(
            list(filecircles.judge(edges, {"a": 3})),
            ["src/a/ has 2 units in circles: lower its 3 in STILL"],
        )
        self.assertEqual(
            list(filecircles.judge(edges, {})),
            ["src/a/ has a circle of 2 units:", "    x -> y: uses f", "    y -> x: uses g"],
        )


class Schema(unittest.TestCase):
    """A page whose tables a script of its name writes from the code; the script refuses another page."""

    name = "schema"

    def check(self, change):
        root = os.path.join(HERE, "..", "..")
        with open(os.path.join(root, "docs", self.name + ".md"), encoding="utf-8") as file:
            text = file.read()
        with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as other:
            other.write(change(text))
            other.flush()
            done = subprocess.run(
                [sys.executable, "-B", os.path.join(root, "scripts", self.name), "--check", other.name],
                capture_output=True, text=True
            )
        return done.returncode, done.stdout + done.stderr

    def test_the_page_itself_passes(self):
        self.assertEqual(self.check(lambda text: text)[0], 0)

    others = (
        ("run scripts/schema", "| `offset_ns` | i64 | ns |", "| `offset_ns` | i64 | us |"),
        ("run scripts/schema", "| `local_ns` |", "| `local` |"),
        ("no section for /clock:", "### `/clock`", "### The clock"),
        ("run scripts/schema", "`gloo` 2", "`gloo` 3"),
    )

    def test_another_page_is_refused(self):
        for message, old, new in self.others:
            status, output = self.check(lambda text: text.replace(old, new, 1))
            self.assertIn(message, output)
            self.assertEqual(status, 1, output)


class Thresholds(Schema):
    name = "thresholds"
    others = (
        ("run scripts/thresholds", "| `PW_COMPANY` | 0.34 |", "| `PW_COMPANY` | 0.35 |"),
        ("run scripts/thresholds", "**analysis/thresholds.h**", "**analysis/gone.c**"),
        ("no file defines PW_GONE", "| `PW_COMPANY` |", "| `PW_GONE` |"),
        ("not in docs/thresholds.md: PW_COMPANY_ELSEWHERE of",
         "| `PW_COMPANY_ELSEWHERE` | 0.5 | the same, in other successive steps | real |\n", ""),
    )


class Picture(unittest.TestCase):
    def test_another_picture_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".svg") as other:
            other.write("<svg xmlns='http://www.w3.org/2000/svg'></svg>\n")
            other.flush()
            script = os.path.join(HERE, "..", "..", "scripts", "floors")
            done = subprocess.run(
                [sys.executable, "-B", script, "--check", other.name], capture_output=True, text=True
            )
        self.assertIn("out of date", done.stdout, done.stderr)
        self.assertEqual(done.returncode, 1)

    def test_parameters_of_definitions(self):
        source = """
            #define TWO(a, b, c, d, e, f) \\
                two(a, b) {
            /* int none(int a, int b) { */
            int declared(int a, int b, int c);
            static const struct x *pair(int (*call)(int, int),
                                        const char *text)
            {
                if (a(1, 2, 3)) {
                }
            }
            void alone(void)
            {
            }
            """
        found = list(parameters.definitions(source.replace("\n            ", "\n")))
        self.assertEqual(found, [("pair", 2), ("alone", 1)])


if __name__ == "__main__":
    unittest.main()
