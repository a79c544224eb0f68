"""A program with PyTorch, for validate.py: `profiled` uses PyTorch's own profiler in the middle,
`toggled` switches it off within as well; `ranks` reduces between two ranks on one GPU, the second of
which is 50 ms late in each step; `ddp` trains a small model on two."""
import os
import sys
import time

import torch

# A second after another user has left CUPTI profwrap comes back; twice that is enough.
COMES_BACK_S = 2.5


def work(n):
    a = torch.ones(512, 512, device="cuda")
    for _ in range(n):
        a = (a @ a).clamp(max=1.0)
    torch.cuda.synchronize()


def work_in(name):
    torch.cuda.nvtx.range_push(name)
    work(50)
    torch.cuda.nvtx.range_pop()


def profiled():
    work(50)
    time.sleep(1)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        work(50)
    kernels = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    print("theirs", len(kernels))
    time.sleep(COMES_BACK_S)
    work(50)


def toggled():
    activities = [torch.profiler.ProfilerActivity.CUDA]
    if not hasattr(torch.profiler.profile, "toggle_collection_dynamic"):
        print("without toggle_collection_dynamic")
        return
    work_in("before")
    time.sleep(1)
    with torch.profiler.profile(activities=activities) as profiler:
        work_in("theirs")
        profiler.toggle_collection_dynamic(False, activities)
        time.sleep(COMES_BACK_S)
        work_in("between")
    time.sleep(COMES_BACK_S)
    work_in("after")


def begin():
    """The number of this rank, in a group of all."""
    from torch import distributed
    torch.cuda.set_device(0)
    distributed.init_process_group("nccl")
    return int(os.environ["RANK"])


def ranks():
    from torch import distributed
    rank = begin()
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


def ddp():
    from torch import distributed
    begin()
    layers = [torch.nn.Linear(512, 512) for _ in range(3)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.ones(64, 512, device="cuda")
    for step in range(30):
        torch.cuda.nvtx.range_push(f"ProfilerStep#{step}")
        model(data).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    distributed.destroy_process_group()


if __name__ == "__main__":
    {"profiled": profiled, "toggled": toggled, "ranks": ranks, "ddp": ddp}[sys.argv[1]]()
