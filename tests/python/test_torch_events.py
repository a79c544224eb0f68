"""profwrap.torch.record(): the operator table is the same as PyTorch's, row by row."""

import json
import tempfile
import unittest

import support

support.require_h5py()
torch = support.require_torch()

import profwrap

SCRIPT = support.SMALL_MODEL + """
seen = []

def rows_of(averages):
    return [[a.key, str(a.input_shapes), a.count, a.cpu_time_total, a.self_cpu_time_total,
             a.cpu_memory_usage, a.self_cpu_memory_usage] for a in averages]

def ready(prof):
    profwrap.torch.trace_handler(prof)
    seen.append([rows_of(prof.key_averages()), rows_of(prof.key_averages(True))])

plan = torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=2)
with torch.profiler.profile(schedule=plan, on_trace_ready=ready, record_shapes=True,
                            profile_memory=True) as prof:
    for n in range(10):
        profwrap.step(n)
        with profwrap.range("all of a step"):
            with torch.profiler.record_function("labelled"):
                loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        prof.step()
with torch.profiler.profile() as last:
    model(x)
recorded = profwrap.torch.record(last)
seen.append([rows_of(last.key_averages()), []])
assert profwrap.torch.failures() == 0
with open(sys.argv[1], "w") as file:
    json.dump([seen, recorded, len(last.events())], file)
"""

NO_WORK = ("[memory]", "[OutOfMemory]")


class Sum:
    def __init__(self):
        self.values = [0, 0, 0, 0, 0]

    def add(self, values):
        self.values = [a + b for a, b in zip(self.values, values)]


def summed(rows):
    """{key: [calls, total us, self us, bytes, self bytes]} of (key, values)."""
    sums = {}
    for key, values in rows:
        sums.setdefault(key, Sum()).add(values)
    return {key: one.values for key, one in sums.items()}


class TorchEventsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        out, seen = folder.name + "/out", folder.name + "/seen.json"
        support.run(
            *(support.PROFWRAP, "-q", "-o", out, support.sys.executable, "-c", SCRIPT, seen)
        )
        with open(seen) as file:
            cls.seen, cls.recorded, cls.last_events = json.load(file)
        cls.run_ = profwrap.load(out, pandas=False)

    def theirs(self, which):
        """PyTorch's table of all windows, by name, or by name and shapes."""
        rows = (row for window in self.seen for row in window[which])
        return summed(
            ((row[0], row[1]) if which else row[0], row[2:])
            for row in rows
            if row[0] not in NO_WORK
        )

    def check_same(self, ours, theirs):
        self.assertEqual(set(ours), set(theirs))
        for key, (calls, total, own, allocated, own_allocated) in theirs.items():
            found = ours[key]
            self.assertEqual(found[0], calls, key)
            self.assertEqual(found[3:], [allocated, own_allocated], key)
            # Clocks differ by parts in 10^5; a begin and an end are rounded to ns each. Rounded to
            # microseconds, PyTorch 1.13's operators may overlap, and their self time be negative.
            for what, mine, other in (("total", found[1], total), ("self", found[2], max(own, 0))):
                slack = 1e-3 * total + 0.002 * calls * 10
                self.assertLess(abs(mine - other), slack, f"{what} us of {key}: {mine}, {other}")

    def test_every_operator_has_the_same_calls_times_and_memory(self):
        table = self.run_.operators
        of_lanes = {str(n) for window in self.seen for n in [row[0] for row in window[0]]}
        ours = summed(
            (
                str(row["name"]),
                [
                    int(row["calls"]),
                    row["total_ns"] / 1000,
                    row["self_ns"] / 1000,
                    int(row["alloc_bytes"]),
                    int(row["self_alloc_bytes"]),
                ],
            )
            for row in table
            if str(row["name"]) in of_lanes
        )
        theirs = self.theirs(0)
        self.assertGreater(len(theirs), 50)
        for name in ("aten::linear", "aten::addmm", "AddmmBackward0", "labelled", "ProfilerStep*"):
            self.assertIn(name, theirs)
        self.check_same(ours, theirs)
        others = {str(row["name"]) for row in table} - of_lanes
        self.assertEqual(others, {"all of a step"})

    def test_types(self):
        types = {str(row["name"]): str(row["type"]) for row in self.run_.operators}
        self.assertEqual(types["aten::linear"], "aten")
        self.assertEqual(types["AddmmBackward0"], "autograd")
        self.assertEqual(types["torch::autograd::AccumulateGrad"], "autograd")
        self.assertEqual(types["labelled"], "user")
        self.assertEqual(types["ProfilerStep*"], "step")

    def test_shapes(self):
        table = self.run_.operators
        ours = {}
        for row in self.run_.operator_shapes:
            key = str(table[row["operator_row"]]["name"]), str(row["shapes"])
            ours[key] = int(row["calls"])
        theirs = {k: v[0] for k, v in self.theirs(1).items() if k[1] != "[]"}
        self.assertGreater(len(theirs), 50)
        self.assertEqual(ours, theirs)

    def test_when_they_were(self):
        """Operators are inside the ranges around them, within the error of the clocks."""
        rows = self.run_.rank(0).events("range")
        around = [(r["start"], r["end"]) for r in rows if r["name"] == "all of a step"]
        slack = self.recorded[2]
        print("error of the clocks:", slack, "ns")
        self.assertLess(slack, 10_000_000)
        inner = [r for r in rows if r["name"] in ("labelled", "AddmmBackward0")]
        self.assertEqual(len(inner), 3 * 6)
        for row in inner:
            self.assertTrue(
                any(a - slack <= row["start"] and row["end"] <= b + slack for a, b in around)
            )

    def test_what_it_answers(self):
        operators, left_out, error_ns = self.recorded
        self.assertEqual(operators + left_out, self.last_events)
        self.assertEqual(operators, sum(row[2] for row in self.seen[-1][0]))


DROP_IN = support.SMALL_MODEL + """
from profwrap.torch import ProfilerActivity, profile, record_function, schedule

tables, ends = [], []

def ready(prof):
    ends.append(prof.step_num)
    tables.append([[a.key, a.count] for a in prof.key_averages()])

with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
             on_trace_ready=ready, record_shapes=True, profile_memory=True, with_stack=True,
             with_flops=True, with_modules=True) as prof:
    for n in range(9):
        with record_function("labelled"):
            loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        prof.step()
with profile() as last:
    model(x)
averages = last.key_averages(group_by_input_shape=True)
table = averages.table(sort_by="self_cpu_time_total", row_limit=5, max_name_column_width=40)
assert isinstance(last, torch.profiler.profile)
last.export_chrome_trace(sys.argv[1] + ".trace")
tables.append([[a.key, a.count] for a in last.key_averages()])
with open(sys.argv[1], "w") as file:
    json.dump([tables, ends, table, profwrap.torch.failures()], file)
"""


class DropInTest(unittest.TestCase):
    def test_programs_with_one_changed_import(self):
        with tempfile.TemporaryDirectory() as folder:
            out, seen = folder + "/out", folder + "/seen.json"
            support.run(support.PROFWRAP, "-q", "-o", out, support.sys.executable, "-c", DROP_IN, seen)
            with open(seen) as file:
                tables, ends, table, failures = json.load(file)
            run = profwrap.load(out, pandas=False)
            ours = {str(row["name"]): int(row["calls"]) for row in run.operators}
        self.assertEqual((len(tables), len(ends), failures), (3, 2, 0))
        theirs = {}
        for name, count in sum(tables, []):
            if name not in NO_WORK:
                theirs[name] = theirs.get(name, 0) + count
        self.assertEqual(theirs["labelled"], 4)
        self.assertEqual({name: ours.get(name) for name in theirs}, theirs)
        for column in ("Self CPU %", "CPU total", "CPU time avg", "# of Calls"):
            self.assertIn(column, table)


class ArgumentsTest(unittest.TestCase):
    def test_what_is_no_profile(self):
        import profwrap.torch

        with self.assertRaisesRegex(TypeError, "torch.profiler.profile"):
            profwrap.torch.record(3)
        with torch.profiler.profile() as prof:
            with self.assertRaisesRegex(ValueError, "has ended"):
                profwrap.torch.record(prof)
        recorded = profwrap.torch.record(prof)  # no probe: nothing to give them to
        self.assertEqual(recorded.operators, 0)


unittest.main()
