"""--fp-point and --bp-point, and MindSpore's variables of the same meaning: the bounds of forward and
backward are those of the named operators in each step."""

import os
import re
import subprocess
import unittest

import support

support.require_h5py()

import profwrap

SCRIPT = """
import profwrap

for step in range(4):
    profwrap.step(step)
    with profwrap.phase("forward"), profwrap.op("embed"):
        pass
    for layer in ("conv1", "conv2"):
        with profwrap.op("Default/net/" + layer, "Conv2D"):
            pass
    if step != 2:
        with profwrap.op("Gradients/Default/net/conv2", "Conv2DBackpropInput"):
            pass
        with profwrap.op("Gradients/Default/net/conv1", "Conv2DBackpropFilter"):
            pass
    with profwrap.op("Default/optimizer-Momentum/ApplyMomentum"):
        pass
"""

NAMED = ("--fp-point", "Default/net/conv1", "--bp-point", "Gradients/Default/net/conv1")


class Points(support.TempDirTest):
    def setUp(self):
        super().setUp()
        self.dir = self.path("run")

    def merge(self, *options, **variables):
        """The bounds of all steps and what the merge prints."""
        done = subprocess.run([support.PROFWRAP, "merge", *options, self.dir], capture_output=True,
                              text=True, timeout=100, env={**os.environ, **variables})
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = profwrap.load(self.dir).step_trace
        columns = ("interval_ns", "fp_bp_ns", "tail_ns")
        return [[int(trace[c][s]) for c in columns] for s in range(4)], done.stderr

    def bounds(self, first, last):
        """The same as the rank file's ranges have them; None: not known."""
        rank = profwrap.load(self.dir).rank(0)
        ranges = rank.events("range")
        rows = [(str(r["name"]), int(r["start"]), int(r["end"])) for r in ranges]
        of = []
        for step in rank.steps():
            inside = [r for r in rows if step["start"] <= r[1] < step["end"]]
            begin = min((r[1] for r in inside if r[0] == first), default=None)
            end = max((r[2] for r in inside if r[0] == last), default=None)
            of.append([-1 if begin is None else begin - int(step["start"]),
                       -1 if begin is None or end is None else end - begin,
                       -1 if end is None else int(step["end"]) - end])
        return of

    def test_names(self):
        support.profile(self.dir, SCRIPT)
        by_scope, said = self.merge()
        # forward is marked, and backward ends with the last operator of the scope Gradients
        self.assertEqual(by_scope, self.bounds("forward", "Gradients/Default/net/conv1"))
        self.assertEqual([row[2] < 0 for row in by_scope], [False, False, True, False])
        self.assertNotIn("point", said)

        expected = self.bounds(NAMED[1], NAMED[3])
        self.assertEqual([row[2] < 0 for row in expected], [False, False, True, False])
        named, said = self.merge(*NAMED)
        self.assertEqual(named, expected)
        self.assertEqual([line for line in said.splitlines() if "point" in line],
                         ["profwrap: --bp-point: on rank 0, Gradients/Default/net/conv1 did not run in "
                          "step 2: tail and fp+bp are n/a there"])

        variables = {"PROFILING_FP_START": "Default/net/conv2", "PROFILING_BP_END": NAMED[3]}
        self.assertEqual(self.merge(**variables)[0], self.bounds("Default/net/conv2", NAMED[3]))
        self.assertEqual(self.merge(*NAMED, **variables)[0], expected, "options come before variables")

        wrong, said = self.merge("--fp-point", "Default/net/conv")
        self.assertEqual([row[:2] for row in wrong], [[-1, -1]] * 4)
        self.assertRegex(said, "--fp-point: on rank 0, Default/net/conv did not run in any step: interval")
        rows = profwrap.load(self.dir).completeness
        self.assertEqual([(int(r["rank"]), int(r["count"])) for r in rows if r["what"] == "no_fp_point"],
                         [(0, 4)])

    def test_of_a_run(self):
        support.run(support.PROFWRAP, "--quiet", *NAMED, "-o", self.dir, support.sys.executable, "-c", SCRIPT)
        trace = profwrap.load(self.dir).step_trace
        self.assertEqual([int(v) for v in trace["interval_ns"]],
                         [row[0] for row in self.bounds(NAMED[1], NAMED[3])])
        long = subprocess.run([support.PROFWRAP, "merge", "--fp-point", "x" * 1024, self.dir],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(long.returncode, 2)
        self.assertTrue(re.search("--fp-point is 'x+\\.\\.\\.', but takes a name", long.stderr), long.stderr)


unittest.main()
