"""Runs the Python examples of docs/python.md as printed, one after the other."""

import re
import unittest

import support

support.require_h5py()

import profwrap

try:
    import torch
except ImportError:
    torch = None


def examples():
    """The code of all ```python blocks, in order."""
    with open(support.os.path.join(support.SOURCE, "docs", "python.md"), encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)


class ExamplesTest(support.TempDirTest):
    def setUp(self):
        super().setUp()
        self.plain, self.training, self.reading = examples()

    def run_in(self, code, *before):
        """Runs an example in the test's directory, under a command if one is given."""
        with open(self.path("example.py"), "w", encoding="utf-8") as file:
            file.write(code)
        change = 'cd "$1" && shift && exec "$@"'
        command = (*before, support.sys.executable, "example.py")
        return support.run("bash", "-c", change, "bash", self.tmp, *command)

    def profile(self, code):
        self.run_in(code, support.PROFWRAP, "-q", "-o", "my-profile")
        return profwrap.load(self.path("my-profile"), pandas=False)

    def test_verbs_and_reading(self):
        run = self.profile(self.plain)
        self.assertEqual(list(run.steps["step"]), list(range(20)))
        ranges = run.rank(0).events("range")
        self.assertEqual(sum(ranges["name"] == "square"), 20)
        phases = set(ranges["name"][ranges["kind"] == "phase"])
        self.assertEqual(phases, {"data", "forward", "optimizer"})
        self.assertEqual(run.rank(0).metadata, {"config": {"batches": 20}})
        printed = self.run_in(self.reading)
        self.assertIn("python", printed)
        self.assertIn("square", printed)

    def test_examples_need_no_profwrap(self):
        self.assertEqual(self.run_in(self.plain), "")

    @unittest.skipUnless(torch, "torch is not installed (scripts/setup --torch)")
    def test_training(self):
        run = self.profile(self.training)
        self.assertEqual(list(run.steps["step"]), list(range(10)))
        ranges = run.rank(0).events("range")
        phases = ranges["name"][ranges["kind"] == "phase"]
        for name in ("data", "forward", "backward", "optimizer"):
            self.assertEqual(sum(phases == name), 10, name)
        # The first layer's inputs have no gradient, but its parameters have.
        for name in ("Sequential", "0", "2", "0.backward", "2.backward"):
            self.assertEqual(sum(ranges["name"] == name), 10, name)


unittest.main()
