"""Traces of trainings, as torch.profiler writes them, for the made inputs: steps with a kernel that
computes, and an all-reduce of NCCL that all ranks leave at the same time. One rank may be late."""
import gzip
import json
import os

BASE_US = 1764380000000000
STEP_US = 10000


def event(name, category, start_us, length_us, process=100, thread=1, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread,
            "ts": BASE_US + start_us, "dur": length_us, "args": arguments}


def kernel(name, start_us, length_us, correlation, stream=7, **arguments):
    return event(name, "kernel", start_us, length_us, 0, stream, device=0, stream=stream, context=1,
                 correlation=correlation, grid=[8, 1, 1], block=[512, 1, 1], **arguments)


def launch(start_us, correlation, process=100):
    return event("cudaLaunchKernel", "cuda_runtime", start_us, 5, process, correlation=correlation)


def step(number, process=100):
    return event(f"ProfilerStep#{number}", "user_annotation", number * STEP_US, STEP_US, process)


def group(world):
    return {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000,
            "Group size": world, "dtype": "Float", "Process Group Name": "0",
            "Process Group Ranks": str(list(range(world)))}


def training(world, steps, late_us, process=100):
    """3 ms of computing, and late_us more; the all-reduce ends 8 ms after the step's begin."""
    out = []
    for i in range(steps):
        at = i * STEP_US
        out += [step(i, process), launch(at + 50, 2 * i + 1, process),
                kernel("gemm_kernel", at + 100, 3000 + late_us, 2 * i + 1),
                launch(at + 60, 2 * i + 2, process),
                kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                       at + 3200 + late_us, 4800 - late_us, 2 * i + 2, stream=20, **group(world))]
    return out


def write(path, events, **head):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    data = json.dumps({"schemaVersion": 1, **head, "traceEvents": events}).encode()
    with open(path, "wb") as file:
        file.write(gzip.compress(data, 1) if path.endswith(".gz") else data)
    return path
