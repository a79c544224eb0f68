"""`profwrap report --format chrome --lanes scope`: a lane for each level of the operators' scopes."""

import json
import unittest

import support

support.require_h5py()

SCRIPT = """
import profwrap

for step in range(2):
    profwrap.step(step)
    for name in ("Default/net/conv1/Conv2D-op1", "Default/net/conv1/ReLU-op2", "Default/net/fc/MatMul-op3",
                 "Gradients/Default/net/fc/MatMul-op4"):
        with profwrap.op(name):
            pass
    with profwrap.op("MatMul"):
        pass
"""

LEVELS = [["Default", "Gradients"], ["net", "Default"], ["conv1", "fc", "net"],
          ["Conv2D-op1", "ReLU-op2", "MatMul-op3", "fc"], ["MatMul-op4"]]


class Scopes(support.TempDirTest):
    def timeline(self, folder, *options):
        path = self.path("trace.json")
        support.run(support.PROFWRAP, "report", "--format", "chrome", *options, "-o", path, folder)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        lanes = {}
        for event in events:
            if event["ph"] == "X" and names.get(event["tid"], "").startswith("scope"):
                lanes.setdefault(names[event["tid"]], []).append(event)
        return events, lanes

    def test_lanes(self):
        folder = self.path("run")
        support.profile(folder, SCRIPT)
        support.run(support.PROFWRAP, "merge", folder)
        events, lanes = self.timeline(folder)
        self.assertEqual(lanes, {})
        self.assertEqual(sum(e["name"] == "MatMul" for e in events), 2)

        also, lanes = self.timeline(folder, "--lanes", "scope")
        self.assertEqual([e for e in also if e.get("cat") == "operator"],
                         [e for e in events if e.get("cat") == "operator"], "lanes of threads stay")
        self.assertEqual(sorted(lanes), [f"scope, level {n}" for n in range(1, 6)])
        for level, wanted in enumerate(LEVELS):
            slices = sorted(lanes[f"scope, level {level + 1}"], key=lambda e: e["ts"])
            self.assertEqual([e["name"] for e in slices], 2 * wanted, "in each of the steps")
            for one, other in zip(slices, slices[1:]):
                self.assertLessEqual(one["ts"] + one["dur"], other["ts"] + 1e-3)
        # A scope lasts from its first operator's begin to its last one's end.
        of = {e["name"]: e for e in reversed([e for e in also if e.get("cat") == "operator"])}
        conv1 = min((e for e in lanes["scope, level 3"] if e["name"] == "conv1"), key=lambda e: e["ts"])
        first, last = of["Default/net/conv1/Conv2D-op1"], of["Default/net/conv1/ReLU-op2"]
        self.assertAlmostEqual(conv1["ts"], first["ts"], delta=2e-3)
        self.assertAlmostEqual(conv1["ts"] + conv1["dur"], last["ts"] + last["dur"], delta=2e-3)


unittest.main()
