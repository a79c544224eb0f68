"""Garbage collections are recorded: long ones each, short ones as sums. Prints what a collection costs."""

import json
import unittest

import support

support.require_h5py()

import profwrap

# Writes how many short collections there were, and when they ended, into the file of its argument.
COUNTS = """
import gc, json, os, profwrap, subprocess, sys, threading, time
gc.disable()
subprocess.run([sys.executable, "-c", "import gc, profwrap; gc.collect()"], check=True)
held = [[] for _ in range(300000)]
gc.collect()  # before the first record: not recorded
gc.freeze()
profwrap.step(0)
calls, seen = gc.callbacks[:], []
gc.callbacks.append(lambda phase, info: seen.append(phase) if phase == "stop" else None)
for number in range(3000):
    gc.collect(0)
gc.unfreeze()
cycle = []
cycle.append(cycle)
del cycle
found = gc.collect()
gc.freeze()
for number in range(10):
    gc.collect(1)
def of_other_thread():
    calls[0]("start", {})
    time.sleep(0.002)
    calls[0]("stop", {"generation": 2, "collected": 1000000})
other = threading.Thread(target=of_other_thread)
other.start()
other.join()
for arguments in (("stop", {}), (5, {}), (None, None), ("begin", 7), ("start", {}), (b"stop", {})):
    calls[0](*arguments)
calls[0]("start")
calls[0]("stop", None)  # the second of the program's own
if not os.fork():
    for number in range(100):
        gc.collect(0)
    os._exit(0)
os.wait()
count, until = len(seen), time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
profwrap.step(profwrap.NO_STEP)
best = {}
for _ in range(5):
    for name, with_calls in (("without", []), ("with", calls)):
        gc.callbacks[:] = with_calls
        began = time.perf_counter_ns()
        for number in range(20000):
            gc.collect(0)
        taken = (time.perf_counter_ns() - began) / 20000
        best[name] = min(best.get(name, taken), taken)
with open("counts", "w") as file:
    json.dump({"count": count, "found": found, "until": until, "pid": os.getpid(),
               "cost_ns": best["with"] - best["without"]}, file)
"""

# By hand, collections of 2 ms. The first obeys an order to pause, with its record.
PAUSES = """
import gc, profwrap, subprocess, time
gc.disable()
def mark():
    profwrap.range_push("range")
    profwrap.range_pop()
def collect(found):
    gc.callbacks[0]("start", {})
    time.sleep(0.002)
    gc.callbacks[0]("stop", {"generation": 2, "collected": found})
def order(verb):
    subprocess.run([PROFWRAP, "ctl", verb, OUT], check=True, stdout=subprocess.DEVNULL)
mark()
order("stop")
collect(5)
collect(6)
order("start")
mark()
collect(7)
"""

# Stand-ins of the modules whose functions are measured: a checkpoint inside another, one that fails,
# a compilation, and the end of one that never began.
MEASURED = """
import sys, threading, time, types, profwrap
from profwrap import _pauses
def module(name, **functions):
    made = sys.modules[name] = types.ModuleType(name)
    vars(made).update(functions)
    return made
def save(data, seconds=0.003):
    "Saves."
    time.sleep(seconds)
    if data is None:
        raise KeyError("data")
    return data
class CompilationCallbackHandler:
    def run_start_callbacks(self, args): self.args = args
    def run_end_callbacks(self, args): return self.args
torch = module("torch", save=save)
serialization = module("torch.serialization", save=save)
_pauses.on_torch(torch)
_pauses.on_torch(torch)
assert torch.save is serialization.save and torch.save.__doc__ == "Saves." and torch.save.__wrapped__ is save
checkpoint = module("torch.distributed.checkpoint", save=lambda data: torch.save(data))
_pauses.on_distributed_checkpoint(checkpoint)
module("torch._dynamo.callback", CompilationCallbackHandler=CompilationCallbackHandler)
_pauses.on_dynamo(None)
_pauses.on_safetensors(module("safetensors.torch"))
profwrap.range_push("range")
profwrap.range_pop()
assert torch.save(5, seconds=0.004) == 5
assert checkpoint.save(6) == 6
try:
    torch.save(None)
    raise SystemExit("no exception")
except KeyError:
    pass
handler = CompilationCallbackHandler()
handler.run_start_callbacks("f")
time.sleep(0.002)
assert handler.run_end_callbacks("f") == "f"
handler.run_end_callbacks("g")
def background():
    profwrap.range_push("range")
    profwrap.range_pop()
    torch.save(8)
thread = threading.Thread(target=background)
thread.start()
thread.join()
"""


class CollectionsTest(support.TempDirTest):
    def test_long_ones_and_sums(self):
        script = f"import os; os.chdir({self.tmp!r})\n" + COUNTS
        support.profile(self.path("out"), script)
        with open(self.path("counts")) as file:
            told = json.load(file)
        print(f"a collection costs {told['cost_ns']:.0f} ns more")
        rank = profwrap.load(self.path("out"), pandas=False).rank(0)
        rows = rank.events("runtime")
        rows = rows[rows["start"] < told["until"]]
        # The last group goes on after the step, where the cost is measured, or until the program's end.
        whole = rows[rows["end"] <= told["until"]]
        long_ones = rows[rows["generation"] >= 0]
        full = [row for row in long_ones if row["generation"] == 2]
        self.assertEqual(len(full), 1, rows)
        self.assertEqual((told["found"], full[0]["collected"], full[0]["count"]), (1, 1, 1))
        self.assertGreaterEqual(full[0]["total_ns"], 1000000)
        self.assertTrue((long_ones["total_ns"] == long_ones["end"] - long_ones["start"]).all(), rows)
        groups = whole[whole["generation"] < 0]
        self.assertTrue((groups["total_ns"] <= groups["end"] - groups["start"]).all(), rows)
        # Those before the long one are all there: a group ends with it. 10 are in the group that goes on.
        before = rows[rows["end"] <= full[0]["start"]]
        self.assertEqual(before["count"].sum(), 3000, rows)
        self.assertEqual(told["count"], 3000 + 1 + 10)
        # Nor is there a row of the thread that has no ring: what it collected is in the group that goes on.
        after = rows[rows["start"] >= full[0]["end"]][0]
        self.assertEqual((after["generation"], set(rows["thread"])), (-1, {0}), rows)
        self.assertGreaterEqual(after["count"], 10 + 2)
        self.assertGreaterEqual(after["total_ns"], 2000000)
        self.assertEqual(after["collected"], 1000000)
        self.assertEqual(rank.attributes["pid"], told["pid"])  # not the process that collected first

    def test_order_to_pause(self):
        """The collection that meets the order waits for the next record; those in the pause have none."""
        out = self.path("out")
        support.profile(out, f"PROFWRAP, OUT = {support.PROFWRAP!r}, {out!r}\n" + PAUSES)
        rows = profwrap.load(out, pandas=False).rank(0).events("runtime")
        found = [(row["count"], row["generation"], row["collected"]) for row in rows]
        self.assertEqual(found, [(1, -1, 5), (1, 2, 7)], rows)

    def test_compilations_and_checkpoints(self):
        """Each has a row, the outermost of those inside each other; not that of a thread in the background."""
        support.profile(self.path("out"), "import gc; gc.disable()\n" + MEASURED)
        rows = profwrap.load(self.path("out"), pandas=False).rank(0).events("runtime")
        rows = rows[rows["kind"] != "gc"]
        self.assertEqual([row["kind"] for row in rows], ["checkpoint"] * 3 + ["compile"], rows)
        self.assertTrue((rows["total_ns"] == rows["end"] - rows["start"]).all(), rows)
        for row, least_ms in zip(rows, (4, 3, 3, 2)):
            self.assertGreaterEqual(row["total_ns"], least_ms * 1000000, rows)
        told = {(row["count"], row["generation"], row["collected"]) for row in rows}
        self.assertEqual(told, {(1, -1, -1)}, rows)

    def test_other_interpreters(self):
        """Only the main one has the probe's function: the others collect at the same time."""
        script = (
            "try:\n    import _interpreters as other\n"
            "except ImportError:\n    import _xxsubinterpreters as other\n"
            "import gc, profwrap\n"
            "other.run_string(other.create(), 'import gc, profwrap; print(gc.callbacks)')\n"
            "print([call.__name__ for call in gc.callbacks])"
        )
        self.assertEqual(support.profile(self.path("out"), script), "[]\n['collected']\n")


unittest.main()
