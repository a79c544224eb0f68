"""What profwrap records of torch.distributed, beside PyTorch's own profiler in the same processes: every
operation that the profiler has is in our files, with its size and its time; and unchanged programs of
several ranks without MPI, whose slow rank is named.

--wheel as the first argument runs it by the newest PyTorch of scripts/setup --torch-wheel.
"""

import collections
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import unittest

import support

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "mpi"))
import harness as h

support.use_wheel_if_asked()
h5py = support.require_h5py()
try:
    import torch.distributed
except ImportError:
    support.skip("torch is not installed (scripts/setup --torch)")
if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
    support.skip("PyTorch was built without Gloo")

# PyTorch 2.15 may abort at exit, with or without profwrap: a thread of Gloo that still frees the last
# gradient's reduction asks for Python's lock after Python has ended. So it is given the time before.
PROGRAM = """
import atexit, json, os, sys, time
atexit.register(time.sleep, 0.3)
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
torch.manual_seed(0)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
"""

OPERATIONS = PROGRAM + """
import profwrap
from torch.profiler import ProfilerActivity, profile

old = torch.__version__.startswith("1.")  # its Gloo gathers into lists only

def operations(group):
    ones = torch.ones(5000)
    dist.all_reduce(ones)
    dist.all_reduce(torch.ones(7, dtype=torch.int64))
    dist.broadcast(ones, src=1)
    dist.all_gather([torch.empty(30) for _ in range(size)], torch.ones(30))
    if not old:
        dist.all_gather_into_tensor(torch.empty(size * 40), torch.ones(40))
    dist.reduce(ones, dst=0)
    dist.scatter(torch.empty(9), [torch.ones(9) for _ in range(size)] if rank == 0 else None, src=0)
    dist.gather(torch.ones(11), [torch.empty(11) for _ in range(size)] if rank == 0 else None, dst=0)
    dist.barrier()
    if rank in (0, 1):
        dist.all_reduce(torch.ones(13), group=group)
    if rank == 0:
        dist.send(torch.ones(17), 1, tag=3)
    if rank == 1:
        dist.recv(torch.empty(17), 0, tag=3)
    try:
        dist.all_reduce(torch.ones(3), group=group if rank > 1 else None, op=dist.ReduceOp.BAND)
    except (RuntimeError, ValueError):  # not for floats: thrown by the operation's function
        print("refused")
    handle = dist.all_reduce(torch.ones(300000), async_op=True)
    time.sleep(0.02)
    handle.wait()

group = dist.new_group([0, 1])
model = DistributedDataParallel(torch.nn.Linear(300, 300))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
dist.barrier()
large = torch.ones(1 << 20)
parts = [torch.empty(1 << 18) for _ in range(size)]
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    with profwrap.range("profiled"):
        operations(group)
        for _ in range(20):
            optimizer.zero_grad()
            model(torch.ones(20, 300)).sum().backward()
            optimizer.step()
        for late in range(8):  # each rank waits for the other one in turn
            time.sleep(0.2 * (late % 2 == rank))
            dist.all_reduce(large)
            time.sleep(0.2 * (late % 2 == rank))
            dist.broadcast(large, src=late % 2)
            time.sleep(0.2 * (late % 2 == rank))
            dist.all_gather(parts, large[: 1 << 18])
        # The last operation's end is told to the profiler in a thread of the group, after the wait.
        dist.barrier()
        time.sleep(0.1)
dist.barrier()
events = []
for event in sorted(prof.events(), key=lambda event: event.time_range.start):
    if event.name.startswith("gloo:"):
        events.append([event.name, event.time_range.elapsed_us(), event.input_shapes])
with open(sys.argv[1] + f"/seen-{rank}.json", "w") as file:
    json.dump(events, file)
dist.destroy_process_group()
"""

TRAINING = PROGRAM + """
slept = 0.0

def be_late(phase, seconds):
    \"\"\"A sleep ends late where there are more threads than CPUs, so it is measured.\"\"\"
    global slept
    if sys.argv[2] == phase and rank == 2:
        began = time.perf_counter()
        time.sleep(seconds)
        slept += time.perf_counter() - began

class Late(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        be_late("forward", 0.03)
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        be_late("backward", 0.03)
        return gradient

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(64, 64), torch.nn.Linear(64, 8)

    def forward(self, x):
        return self.last(Late.apply(self.first(x)))

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 40 * 8

    def __getitem__(self, i):
        be_late("data", 0.004)
        return torch.ones(64)

model = DistributedDataParallel(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for batch in torch.utils.data.DataLoader(Data(), batch_size=8):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
    if sys.argv[2] == "killed" and rank == 1 and batch is not None:
        killed = globals().get("killed", 0) + 1
        if killed == 20:
            os.kill(os.getpid(), 9)
print(f"late by {slept / 40 * 1e3} ms a step")
dist.destroy_process_group()
"""

NAMES = {  # of PyTorch's profiler: ours
    "all_reduce": "Allreduce",
    "broadcast": "Bcast",
    "all_gather": "Allgather",
    "reduce": "Reduce",
    "scatter": "Scatter",
    "gather": "Gather",
    "barrier": "Barrier",
    "send": "Send",
    "recv": "Recv",
    "all_to_all": "Alltoall",
    "reduce_scatter": "Reduce_scatter_block",
}


def start(out, size, script, *arguments, options=()):
    """Starts the ranks as a cluster manager does, with PyTorch's own variables only, and without
    MPI."""
    shared = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(support.free_port()),
              "OMP_NUM_THREADS": "1"}
    command = [support.PROFWRAP, "--quiet", *options, "-o", out, sys.executable, "-c", script,
               *arguments]
    return [subprocess.Popen(command, env={**support.environment(), **shared, "RANK": str(r),
                                           "LOCAL_RANK": str(r)},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for r in range(size)]


def end(running):
    """The exit statuses, and the output in the order of ranks."""
    printed = [process.communicate(timeout=300)[0] for process in running]
    return [process.returncode for process in running], printed


def rows(path):
    with h5py.File(path) as file:
        table = file["events/comm"]
        numbers = h5py.check_enum_dtype(table.dtype["op"])
        names = {number: name for name, number in numbers.items()}
        return [{**{f: int(row[f]) for f in table.dtype.names if f != "op"}, "op": names[row["op"]]}
                for row in table[:]]


def profiled_time(path):
    """The begin and the end of the range "profiled"."""
    with h5py.File(path) as file:
        names = [name.decode() for name in file["strings"][:]]
        for row in file["events/range"][:]:
            if names[row["name"]] == "profiled":
                return int(row["start"]), int(row["end"])
    raise AssertionError(f"{path} has no such range")


class Collectives(support.TempDirTest):
    def merged(self, out):
        subprocess.run([support.PROFWRAP, "merge", "--quiet", out], check=True)
        done = subprocess.run([support.PROFWRAP, "report", "--format", "json", out], check=True,
                              capture_output=True, text=True)
        return json.loads(done.stdout)

    @classmethod
    def setUpClass(cls):
        """One run of OPERATIONS, which most tests look at."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.operations = folder.name
        cls.status, cls.printed = end(start(folder.name + "/out", 2, OPERATIONS, folder.name,
                                            options=["--no-merge"]))

    def rank_file(self, rank):
        self.assertEqual(self.status, [0, 0], self.printed)
        return f"{self.operations}/out/rank-{rank:05d}.h5"

    def profiled(self):
        """For each rank and operation: the events of PyTorch's profiler and our rows, each in their
        order."""
        for rank in (0, 1):
            path = self.rank_file(rank)
            with open(f"{self.operations}/seen-{rank}.json", encoding="utf-8") as file:
                seen = json.load(file)
            since, until = profiled_time(path)
            ours = [row for row in rows(path) if since <= row["start"] < until]
            ours = [row for row in ours if row["op"] in NAMES.values()]  # and no waits
            found = {name: ([], []) for name in NAMES.values()}
            for event in seen:
                found[NAMES[event[0].removeprefix("gloo:")]][0].append(event)
            for row in sorted(ours, key=lambda row: row["start"]):
                found[row["op"]][1].append(row)
            yield rank, found

    def test_every_operation_of_the_profiler_is_recorded(self):
        for rank, found in self.profiled():
            self.assertGreater(len(found["Allreduce"][0]), 30)
            for name, (theirs, ours) in found.items():
                self.assertEqual(len(ours), len(theirs), (rank, name, theirs, ours))
            elements = [math.prod(shapes[0]) for _, _, shapes in found["Allreduce"][0]]
            sizes = [row["sent_bytes"] for row in found["Allreduce"][1]]
            for count, size in zip(elements, sizes):  # all are of 4 bytes, but those 7
                self.assertEqual(size, count * (8 if count == 7 else 4), (elements, sizes))

    def test_times_are_those_of_the_profiler(self):
        """Our times begin with the call; those of the profiler begin when the thread runs the
        operation, and end with its last callback. On a busy machine, that is 10 ms later. So long
        operations are compared, one by one and by their sum."""
        sizes = {"Allreduce": 4 << 20, "Bcast": 4 << 20, "Allgather": 1 << 20}
        for rank, found in self.profiled():
            for name, size in sizes.items():
                pairs = [(row["end"] - row["start"], 1e3 * us)
                         for (_, us, _), row in zip(*found[name])
                         if size in (row["sent_bytes"], row["recv_bytes"]) and us >= 50e3]
                self.assertGreaterEqual(len(pairs), 4, (rank, name, pairs))
                sums = sum(ours for ours, _ in pairs) / sum(theirs for _, theirs in pairs) - 1
                differs = statistics.median(abs(ours / theirs - 1) for ours, theirs in pairs)
                print(f"rank {rank}: {len(pairs)} {name} of 50 ms and more: sums differ by"
                      f" {100 * sums:.2f} %, the median {100 * differs:.2f} %")
                self.assertLess(abs(sums), 0.05, (rank, name, pairs))
                self.assertLess(differs, 0.05, (rank, name, pairs))

    def test_sizes(self):
        found = collections.Counter((r["op"], r["sent_bytes"]) for r in rows(self.rank_file(0)))
        for what in (("Allreduce", 20000), ("Allreduce", 56), ("Allreduce", 1200000),
                     ("Allreduce", 52), ("Allgather", 120), ("Allgather", 160), ("Reduce", 20000),
                     ("Scatter", 72), ("Gather", 44), ("Send", 68)):
            if what != ("Allgather", 160) or not torch.__version__.startswith("1."):
                self.assertEqual(found[what], 1, (what, found))
        # DistributedDataParallel's buckets: 300 x 300 weights and 300 biases.
        self.assertEqual(found["Allreduce", 4 * (300 * 300 + 300)], 20, found)
        root = collections.Counter((r["op"], r["recv_bytes"], r["peer"])
                                   for r in rows(self.rank_file(0)))
        self.assertEqual(root["Bcast", 20000, 1], 1, root)

    def test_an_operation_that_goes_on_beside_the_program(self):
        for rank in (0, 1):
            large = [r for r in rows(self.rank_file(rank)) if r["sent_bytes"] == 1200000]
            self.assertEqual(len(large), 1)
            # The program slept for 20 ms: it was done before, or waited for from then on.
            waits = large[0]["wait_start"]
            self.assertTrue(waits == 0 or waits - large[0]["start"] >= 20e6, large)

    def test_the_slow_rank_and_phase_are_named(self):
        for phase in ("backward", "forward", "data"):
            with self.subTest(phase):
                out = self.path(phase)
                status, printed = end(start(out, 4, TRAINING, self.tmp, phase,
                                            options=["--no-merge"]))
                self.assertEqual(status, [0] * 4, printed)
                report = self.merged(out)
                first = report["stragglers"][0]
                self.assertEqual((first["rank"], first["phase"]), (2, phase), report["job"])
                self.assertTrue(report["job"]["headline"].startswith("Rank 2 "), report["job"])
                self.assertGreaterEqual(first["steps_hit"], 35)
                excess_ms = first["excess_ns"] / 1e6
                wanted_ms = float(re.search(r"late by (\S+) ms", printed[2])[1])
                self.assertGreaterEqual(wanted_ms, 30)
                self.assertGreater(excess_ms, wanted_ms - 12)
                # A rank that had no CPU really was later.
                self.assertLess(excess_ms, wanted_ms + (40 if h.is_short_of_cpus(report, 10) else 12), report["job"])

    def test_a_killed_worker_is_in_the_report(self):
        out = self.path("out")
        running = start(out, 2, TRAINING, self.tmp, "killed", options=["--no-merge"])
        status, printed = end(running)
        self.assertEqual(status[1], -signal.SIGKILL, printed)
        ours = rows(f"{out}/rank-00001.h5")
        self.assertGreaterEqual(sum(r["op"] == "Allreduce" for r in ours), 20)
        report = self.merged(out)
        self.assertEqual(report["job"]["ranks"], 2, report["job"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
