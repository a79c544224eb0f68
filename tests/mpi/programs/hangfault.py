"""A training's loop on gloo in which rank 3 of 4 makes the fault that the first argument names, once."""
import ctypes
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

fault = sys.argv[1]
dist.init_process_group("gloo")
is_faulty = dist.get_rank() == 3
values = torch.ones(1000)


def step():
    dist.all_reduce(values)
    dist.all_reduce(values)
    dist.barrier()


for _ in range(20):
    step()
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
for _ in range(20):
    step()
