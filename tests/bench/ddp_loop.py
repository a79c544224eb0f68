"""One rank of ddp_cost.py's training: DistributedDataParallel on Gloo, a step of 20 ms, of which it computes
some and sleeps for the rest, so that all ranks have a processor. Makes as many steps as it is asked to.

    ddp_loop.py NAME SOCKET

As a program of people who know nothing of profwrap; the other tools get the lines that they need."""
import atexit
import contextlib
import json
import os
import socket
import statistics
import sys
import time

atexit.register(time.sleep, 0.3)  # as tests/python/programs/slow.py has it
import torch
import torch.distributed as dist

name, path = sys.argv[1:3]
COMPUTE_MS, STEP_MS = float(os.environ["LOOP_COMPUTE_MS"]), 20
torch.set_num_threads(1)
torch.manual_seed(0)
dist.init_process_group("gloo")
around_step, around_block = contextlib.nullcontext, contextlib.nullcontext
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(int(3 * COMPUTE_MS))))
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
data = torch.utils.data.TensorDataset(torch.randn(4096, 256), torch.randn(4096, 256))
failed = ""
try:
    if name == "torch.profiler":
        def around_block():
            return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    elif name == "traceml-ai":
        import traceml_ai

        traceml_ai.init(mode="auto")
        from traceml_ai.runtime.arming import is_tracing_armed

        def around_step():
            return traceml_ai.trace_step(model)
    elif name == "nvidia-resiliency-ext":
        from nvidia_resiliency_ext.straggler import Detector

        Detector.initialize()

        def around_step():
            return Detector.detection_section("step", profile_cuda=False)
except Exception as problem:
    failed = f"{type(problem).__name__}: {problem}"


def batches():
    while True:
        yield from torch.utils.data.DataLoader(data, batch_size=32)


loader = batches()


def step():
    begin = time.perf_counter_ns()
    with around_step():
        x, y = next(loader)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return begin


def measure(count):
    """Wall time and processor time of a step without its sleep, in ns: the medians, and those of
    the fastest step."""
    walls, spent = [], []
    for number in range(count + 2):
        cpu = time.process_time_ns()
        begin = step()
        wall = time.perf_counter_ns() - begin
        cpu = time.process_time_ns() - cpu
        if number >= 2:
            walls.append(wall)
            spent.append(cpu)
        time.sleep(max(0, STEP_MS / 1e3 - wall / 1e9))
    return [*map(statistics.median, (walls, spent)), min(walls), min(spent)]


measure(20)
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(path)
    lines = connection.makefile("rw")
    if name == "traceml-ai" and not failed and not is_tracing_armed():
        failed = "it records nothing (see its own messages)"
    print(json.dumps([name, dist.get_rank(), failed]), file=lines, flush=True)
    for asked in lines:
        with around_block():
            found = measure(int(asked))
        print(json.dumps(found), file=lines, flush=True)
dist.destroy_process_group()
