"""A program with PyTorch, for validate.py: `profiled` uses PyTorch's own profiler in the middle;
`ranks` reduces between two ranks on one GPU, the second of which is 50 ms late in each step."""
import os
import sys
import time

import torch


def work(n):
    a = torch.ones(512, 512, device="cuda")
    for _ in range(n):
        a = (a @ a).clamp(max=1.0)
    torch.cuda.synchronize()


def profiled():
    work(50)
    time.sleep(1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        work(50)
    kernels = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    print("theirs", len(kernels))
    time.sleep(4)
    work(50)


def ranks():
    import torch.distributed as distributed
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(0)
    distributed.init_process_group("nccl")
    data = torch.ones(1 << 20, device="cuda")
    for step in range(100):
        torch.cuda.nvtx.range_push(f"ProfilerStep#{step}")
        if rank == 1:
            time.sleep(0.05)
        work(5)
        distributed.all_reduce(data)
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    distributed.destroy_process_group()


if __name__ == "__main__":
    {"profiled": profiled, "ranks": ranks}[sys.argv[1]]()
