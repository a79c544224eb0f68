"""DistributedDataParallel on Gloo, a compiled model, and accumulation with no_sync()."""

import atexit
import contextlib
import time

import torch
import torch.distributed
from torch import nn

# PyTorch 2.15 may abort at exit, with or without profwrap: a thread of Gloo that still frees the last
# gradient's reduction asks for Python's lock after Python has ended. So it is given the time before.
atexit.register(time.sleep, 0.3)

torch.distributed.init_process_group("gloo")
torch.manual_seed(1)
data = torch.utils.data.TensorDataset(torch.randn(48, 6), torch.randn(48, 2))
sampler = torch.utils.data.DistributedSampler(data)
loader = torch.utils.data.DataLoader(data, batch_size=4, sampler=sampler)
inner = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
model = nn.parallel.DistributedDataParallel(torch.compile(inner, backend="eager"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for n, (x, y) in enumerate(loader):
    is_last = n % 2 == 1
    with contextlib.nullcontext() if is_last else model.no_sync():
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
    if is_last:
        optimizer.step()
        optimizer.zero_grad()
    if torch.distributed.get_rank() == 0:
        print(loss.item())
torch.distributed.destroy_process_group()
