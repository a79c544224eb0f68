"""Tests that the lint of links finds its faults, in small trees with one fault each."""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD = {"src/core/log.h": "",
        "docs/a.md": "# A title\n[b](b.md#what-it-is) [code](../src/core/log.h)\n",
        "docs/b.md": "## What `it` is\n[up](#what-it-is) [out](https://example.org/x.md)\n"}


def run_lint(script, files):
    """Exit status and output of a lint on a checkout of these files, {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for path, text in files.items():
            os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
            with open(f"{root}/{path}", "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run(
            [sys.executable, "-B", f"{HERE}/{script}", root], capture_output=True, text=True
        )
    return done.returncode, done.stdout


def lint(files):
    return run_lint("links.py", files)


class Lint(unittest.TestCase):
    def refuses(self, message, path, text):
        status, output = lint({**GOOD, path: text})
        self.assertEqual(status, 1, output)
        self.assertIn(f"{path}: {message}", output)

    def test_what_is_right_passes(self):
        self.assertEqual(lint(GOOD), (0, "links: 2 checked, 0 problem(s)\n"))

    def test_a_link_to_a_file_that_is_not_there(self):
        self.refuses("links to c.md, which is not there", "docs/b.md", "## What it is\n[c](c.md)")

    def test_a_link_to_a_heading_that_is_not_there(self):
        self.refuses("links to b.md#how, and docs/b.md has no such", "docs/a.md", "[b](b.md#how)")


if __name__ == "__main__":
    unittest.main()
