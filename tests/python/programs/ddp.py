"""DistributedDataParallel on Gloo."""

import slow
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(slow.Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = slow.Data()
for batch in DataLoader(data, batch_size=slow.BATCH, sampler=DistributedSampler(data)):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
