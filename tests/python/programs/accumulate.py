"""DistributedDataParallel with two micro batches in each step; gradients are averaged after the second."""

import contextlib

import slow
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(slow.Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = slow.Data()
loader = DataLoader(data, batch_size=slow.BATCH // 2, sampler=DistributedSampler(data))
for number, batch in enumerate(loader):
    last = number % 2 == 1
    with contextlib.nullcontext() if last else model.no_sync():
        (model(batch).square().mean() / 2).backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
