"""A training's loop on gloo in which rank 3 of 4 makes the fault that the first argument names, once
(rank 0 if it is "no store")."""
import ctypes
import glob
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

fault = sys.argv[1]
if "store" in fault:  # started by mpirun: rank 0 has the store
    os.environ["RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]
    os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_SIZE"]
    open(f"out/imported-{os.environ['RANK']}", "w").close()
    while len(glob.glob("out/imported-*")) < 4:
        time.sleep(0.01)
if (fault, os.environ["RANK"]) in (("before init", "3"), ("late at the store", "3"), ("no store", "0")):
    time.sleep(1000)
dist.init_process_group("gloo")
is_faulty = dist.get_rank() == 3
values = torch.ones(1000)


def step():
    dist.all_reduce(values)
    dist.all_reduce(values)
    dist.barrier()


parts = [torch.ones(1000) for _ in range(4)]
all_parts = torch.ones(4000)


def send():
    if dist.get_rank() == 1:
        dist.send(torch.ones(1 << 20), dst=3)


def receive():
    if dist.get_rank() == 1:
        dist.irecv(values, src=3).wait()


def batch():
    if dist.get_rank() == 1:
        operations = [dist.P2POp(dist.irecv, values, 3), dist.P2POp(dist.irecv, parts[0], 3)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()


def second_group():
    dist.all_reduce(values, group=group)


def new_group():
    dist.new_group([0, 1, 2])


def group_of_all():
    dist.new_group([0, 1, 2, 3])


def two_groups():
    """Two groups in different order."""
    first, second = (group, other) if dist.get_rank() < 2 else (other, group)
    dist.all_reduce(values, group=first)
    dist.all_reduce(values, group=second)


# What the other ranks call, and rank 3 does not.
ABSENT = {
    "broadcast": lambda: dist.broadcast(values, 3),
    "reduce": lambda: dist.reduce(values, 0),
    "all_gather": lambda: dist.all_gather(parts, values),
    "gather": lambda: dist.gather(values, parts if dist.get_rank() == 0 else None, 0),
    "scatter": lambda: dist.scatter(values, None, 3),
    "all_to_all": lambda: dist.all_to_all_single(all_parts.clone(), all_parts),
    "objects": lambda: dist.all_gather_object([None] * 4, "text"),
    "object list": lambda: dist.broadcast_object_list([None], 3),
    "async": lambda: dist.all_reduce(values, async_op=True).wait(),
    "monitored": lambda: dist.monitored_barrier(),
    "send": send, "irecv": receive, "batch": batch, "new group": new_group, "group of all": group_of_all,
    "second group": second_group,
}
group = other = None
if fault in ("second group", "two groups"):
    group, other = dist.new_group([0, 1, 2, 3]), dist.new_group([0, 1, 2, 3])
for _ in range(20):
    step()
if fault == "two groups":
    two_groups()
if fault == "data parallel":
    # Rank 3 has no data for the second step.
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 10))
    for i in range(2):
        if is_faulty and i == 1:
            time.sleep(1000)
        model(torch.ones(10)).sum().backward()
if fault == "sharded":
    model = fully_shard(torch.nn.Linear(16, 16), mesh=init_device_mesh("cpu", (4,)))
    for i in range(2):
        if is_faulty and i == 1:
            time.sleep(1000)
        model(torch.ones(1, 16)).sum().backward()
if is_faulty and fault == "asleep":
    time.sleep(1000)
if is_faulty and fault == "gil":
    ctypes.PyDLL(None).sleep(1000)
if is_faulty and fault == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
if is_faulty and fault == "receive":
    dist.recv(values, src=1)
if is_faulty and fault == "operation":
    dist.broadcast(values, 0)
if is_faulty and fault == "skipped":
    dist.all_reduce(values)
    dist.barrier()
if fault in ABSENT and not is_faulty:
    ABSENT[fault]()
if is_faulty and fault in ABSENT:
    time.sleep(1000)
for _ in range(20):
    step()
