"""record_operators() beside PyTorch's own profiler, at the same time in the same process.

Both see every operator once; what ours takes longer is its own Python, which PyTorch's has outside.
"""

import collections
import json
import unittest

import support

support.require_h5py()
support.require_torch()

import profwrap

SCRIPT = support.SMALL_MODEL + """
import time

def step():
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

def kineto_ns(event):  # PyTorch 2 counts in ns, 1.13 in us
    if hasattr(event, "start_ns"):
        return event.start_ns(), event.duration_ns()
    return event.start_us() * 1000, event.duration_us() * 1000

def unix_less_local():
    return time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

step()
before = unix_less_local()
with torch.profiler.profile() as prof, profwrap.torch.record_operators():
    for _ in range(10):
        step()
offset = (before + unix_less_local()) // 2
events = []
for event in prof.profiler.kineto_results.events():
    start, duration = kineto_ns(event)
    events.append([event.name(), start - offset, start - offset + duration])
with open(sys.argv[1], "w") as file:
    json.dump(events, file)
"""

SLACK_NS = 5000  # of PyTorch's microseconds, and of comparing two clocks


RESOLUTION_NS = 1000  # of PyTorch's times


def contains(outer, inner, slack=SLACK_NS):
    return outer[0] - slack <= inner[0] and inner[1] <= outer[1] + slack


class Compared:
    """Our operators and PyTorch's of one run, as (start, end) ns by name, and the matches between
    them."""

    def __init__(self, folder):
        events = support.run(
            *(support.PROFWRAP, "--no-merge", "-q", "-o", folder + "/out"),
            *(support.sys.executable, "-c", SCRIPT, folder + "/events.json"),
        )
        with open(folder + "/events.json") as file:
            events = json.load(file)
        rows = profwrap.load(folder + "/out", pandas=False).rank(0).events("range")
        rows = rows[rows["kind"] == "operator"]
        self.ours = [(str(r["name"]), (int(r["start"]), int(r["end"]))) for r in rows]
        self.theirs = [(name, (start, end)) for name, start, end in events]
        by_name = collections.defaultdict(list)
        for name, span in self.theirs:
            by_name[name].append(span)
        #: Per operator of ours: that of PyTorch's of the same name that it stands for, the nearest
        #: inside of it, or None. PyTorch has each twice: we are asked in the middle of the outer one.
        #: As far as the two clocks tell that may be inside of ours, too, and so may the next.
        self.matches = []
        self.taken = set()
        for name, span in sorted(self.ours, key=lambda one: one[1]):
            inside = [other for other in by_name[name]
                      if contains(span, other) and (name, other) not in self.taken]
            inner = [one for one in inside if not any(
                other != one and contains(one, other, RESOLUTION_NS) for other in inside)]
            nearest = min(inner or inside, key=lambda other: abs(other[0] + other[1] - span[0] - span[1]),
                          default=None)
            self.matches.append((name, span, nearest))
            self.taken.add((name, nearest))

    def unmatched(self):
        """PyTorch's operators that match no operator of ours."""
        return [one for one in self.theirs if one not in self.taken]


class TorchProfilerTest(support.TempDirTest):
    def test_same_calls_and_times(self):
        compared = Compared(self.tmp)
        self.assertGreater(len(compared.ours), 300)
        # Somebody else may have the processor just between the two clocks' readings.
        for attempt in range(2, 6):
            wrong = self.uncounted(compared) or self.late(compared)
            if not wrong:
                break
            self.tmp = self.path(f"attempt-{attempt}")
            support.os.mkdir(self.tmp)
            compared = Compared(self.tmp)
        else:
            self.fail(wrong)
        self.check_others(compared)

    def uncounted(self, compared):
        """Operators that only we have, and operators of which PyTorch has one more. In the second
        case, the unmatched operator has the name of the only operator of ours around it, and
        contains no match of that name."""
        wrong = [f"{name}: none in PyTorch's profiler"
                 for name, _, match in compared.matches if match is None]
        for name, span in compared.unmatched():
            around = {ours for ours, outer in compared.ours if contains(outer, span)}
            middle = any(ours == name and contains(span, match, RESOLUTION_NS)
                         for ours, _, match in compared.matches if match)
            if around == {name} and not middle:
                wrong.append(f"{name}: one more in PyTorch's profiler")
        return wrong

    def check_others(self, compared):
        """Every other operator of PyTorch is inside one of ours, contains one of ours, or takes
        almost no time."""
        alone = collections.Counter()
        for name, span in compared.unmatched():
            if not name.startswith("aten::"):
                continue  # a label, or a node of autograd: operators are inside of those
            near = (ours for _, ours in compared.ours)
            if not any(contains(span, ours) or contains(ours, span) for ours in near):
                alone[name] += span[1] - span[0]
        total = sum(span[1] - span[0] for _, span in compared.ours)
        print("seen by PyTorch's profiler only, ns:", dict(alone), "of", total)
        self.assertLess(sum(alone.values()), 0.05 * total)

    def late(self, compared):
        """Operators of at least 0.2 ms whose total differs by more than 5 %, and 50 us a call.

        The fifth of the calls that differ most is left out of both totals: there somebody else had
        the processor between the two clocks' readings.
        """
        calls = collections.defaultdict(list)
        for name, (start, end), match in compared.matches:
            calls[name].append((end - start, match[1] - match[0]))
        late, long = [], 0
        for name, pairs in calls.items():
            pairs.sort(key=lambda pair: pair[0] - pair[1])
            kept = pairs[: len(pairs) - len(pairs) // 5]
            ours, theirs = (sum(pair[side] for pair in kept) for side in (0, 1))
            count = len(kept)
            print(f"{name:36} {len(pairs):4} calls  ours {ours:11} theirs {theirs:11} ns", end="")
            print(f"  {100 * (ours / max(theirs, 1) - 1):7.1f} %  {(ours - theirs) // count} ns a call")
            if theirs > 200_000 * count:
                long += 1
                allowed = 0.05 * theirs + 50_000 * count
                if not -SLACK_NS * count <= ours - theirs <= allowed:
                    late.append((name, count, ours, theirs))
        self.assertGreater(long, 2)
        return late


unittest.main()
