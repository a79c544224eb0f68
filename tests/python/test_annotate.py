"""Under profwrap, the calls of the verbs are in the rank file, with names, kinds and nesting."""

import unittest

import support

h5py = support.require_h5py()

SCRIPT = """
import os
import threading
import profwrap

@profwrap.range("decorated")
def work():
    with profwrap.range("inner"):
        pass

assert profwrap.active()
for n in (3, 4):
    profwrap.step(n)
    with profwrap.phase("data"):
        pass
    profwrap.phase(profwrap.FORWARD)
    with profwrap.range("gr\\u00f6\\u00dfe"):
        work()
    profwrap.phase("backward")  # ended by the next step
profwrap.step(profwrap.NO_STEP)
profwrap.range_pop()            # nothing is open

with profwrap.op("matmul", "math", [(2, 3), (3, 4)]):
    profwrap.memory(4096)
    with profwrap.op("add"):
        profwrap.memory(-96)
        profwrap.memory(7, 1)
with profwrap.frames(include="<string>"):
    work()
windows = []
with profwrap.profile(on_trace_ready=windows.append, mark_steps=False):
    os.chdir("/")
assert os.path.samefile(windows[0].directory, os.environ["WANTED"]), windows[0].directory
profwrap.queue("batches", 3, 8)
profwrap.mark("here", "library")
profwrap.stop()
profwrap.mark("paused")
profwrap.start()
profwrap.role("stage 2")
profwrap.work(512)
profwrap.work(0)
profwrap.flops(2.5e15)
profwrap.flops(0)
profwrap.metadata("model", "resnet50")
profwrap.metadata("config", {"lr": 0.1})
for name, text in [("module", "1 ns"), ("module", "4500000 ns"), ("text", "many"), ("unit", "5")]:
    profwrap.metadata("profwrap.overhead." + name, text)

def other():
    profwrap.range_push("x" * 300)
    profwrap.range_pop()
thread = threading.Thread(target=other)
thread.start()
thread.join()
"""


class AnnotateTest(support.TempDirTest):
    def setUp(self):
        super().setUp()
        support.os.environ["WANTED"] = self.path("out")
        support.profile(self.path("out"), SCRIPT)
        with h5py.File(self.path("out/rank-00000.h5")) as file:
            self.steps = file["/steps"][()]
            ranges = file["/events/range"]
            kinds = h5py.check_enum_dtype(ranges.dtype["kind"])
            self.kind = {value: name for name, value in kinds.items()}
            self.strings = [text.decode() for text in file["/strings"][()]]
            self.ranges = ranges[()]
            self.queues, self.memory = file["/samples/queue"][()], file["/samples/memory"][()]
            self.work = file["/samples/work"][()]
            self.flops = file["/samples/flops"][()]
            self.metadata = file["/metadata"][()]
            self.overhead = {row["name"].decode(): row for row in file["/overhead"][()]}

    def named(self, name):
        return [row for row in self.ranges if self.strings[row["name"]] == name]

    def test_steps(self):
        self.assertEqual([int(n) for n in self.steps["step"]], [3, 4])
        self.assertEqual(self.steps["end"][0], self.steps["start"][1])
        self.assertLess(self.steps["start"][1], self.steps["end"][1])

    def test_phases(self):
        phases = [self.strings[r["name"]] for r in self.ranges if self.kind[r["kind"]] == "phase"]
        self.assertEqual(phases, ["data", "forward", "backward"] * 2)
        self.assertEqual(self.named("backward")[0]["end"], self.steps["end"][0])

    def test_ranges_nest(self):
        nested = list(zip(self.named("größe"), self.named("decorated"), self.named("inner")))
        self.assertEqual(len(nested), 2)
        for rows in nested:
            self.assertEqual([int(r["depth"]) for r in rows], [0, 1, 2])
            self.assertEqual({self.kind[r["kind"]] for r in rows}, {"user"})
            for outer, inner in zip(rows, rows[1:]):
                self.assertLessEqual(outer["start"], inner["start"])
                self.assertLessEqual(inner["end"], outer["end"])

    def test_other_thread_and_long_name(self):
        (row,) = self.named("x" * 255)
        self.assertNotEqual(row["thread"], self.named("inner")[0]["thread"])
        self.assertEqual(row["depth"], 0)

    def test_operators(self):
        (outer,), (inner,) = self.named("matmul"), self.named("add")
        self.assertEqual({self.kind[row["kind"]] for row in (outer, inner)}, {"operator"})
        self.assertEqual(self.strings[outer["category"]], "math")
        self.assertEqual(self.strings[outer["shapes"]], "[[2, 3], [3, 4]]")
        self.assertEqual((inner["category"], inner["shapes"]), (0, 0))
        self.assertEqual([int(row["alloc_bytes"]) for row in (outer, inner)], [4007, -89])
        self.assertEqual((inner["depth"], inner["thread"]), (1, outer["thread"]))

    def test_mark(self):
        (mark,) = self.named("here")
        self.assertEqual(self.kind[mark["kind"]], "mark")
        self.assertEqual(self.strings[mark["domain"]], "library")
        self.assertEqual(mark["start"], mark["end"])
        self.assertEqual(self.named("paused"), [])

    def test_frames(self):
        shown = [row for row in self.ranges if self.kind[row["kind"]] == "function"]
        self.assertEqual([self.strings[row["name"]] for row in shown], ["<string>(6): work"])
        self.assertEqual(self.named("decorated")[2]["depth"], shown[0]["depth"] - 1)

    def test_queues_memory_and_metadata(self):
        self.assertEqual(
            [(self.strings[r["queue"]], r["size"], r["capacity"]) for r in self.queues],
            [("batches", 3, 8)],
        )
        self.assertEqual(
            [(int(r["device"]), int(r["delta_bytes"]), int(r["total_bytes"])) for r in self.memory],
            [(-1, 4096, 4096), (-1, -96, 4000), (1, 7, 7)],
        )
        self.assertEqual(
            [(self.strings[r["key"]], self.strings[r["value"]]) for r in self.metadata],
            [("role", "stage 2"), ("model", "resnet50"), ("config", '{"lr": 0.1}')],
        )
        self.assertEqual([int(r["amount"]) for r in self.work], [512, 0])
        cost = self.overhead["module"]  # which is no metadata
        self.assertEqual((cost["value"], cost["unit"]), (4.5e6, b"ns"))
        self.assertFalse({"", "text", "unit"} & set(self.overhead))
        self.assertEqual([float(r["flops"]) for r in self.flops], [2.5e15])


unittest.main()
