"""What the programs of the matrix share: a model, data, and one delay on one rank. Nothing of profwrap.

    PROGRAM PHASE   none, data, forward, backward or other: where rank 2 sleeps for MS milliseconds in each
                    step; other, where the program makes its batches itself: there, which is in no phase
"""

import atexit
import os
import sys
import time

import torch

SLOW_RANK, MS, STEPS, BATCH = 2, 40, 40, 8
PHASE = sys.argv[1] if len(sys.argv) > 1 else "none"
RANK = int(os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))
torch.set_num_threads(1)
torch.manual_seed(0)


# PyTorch 2.15 may abort at exit, with or without profwrap: a thread of Gloo that still frees the last
# gradient's reduction asks for Python's lock after Python has ended. So it is given the time before.
atexit.register(time.sleep, 0.3)


def delay(phase):
    if RANK == SLOW_RANK and phase == PHASE:
        time.sleep(MS / 1000)


class SlowPoint(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        delay("forward")
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        delay("backward")
        return gradient


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(64, 128), torch.nn.Linear(128, 8)

    def forward(self, x):
        return self.last(SlowPoint.apply(torch.relu(self.first(x))))


class Data(torch.utils.data.Dataset):
    """Batches of points; the delay is once a batch."""

    def __init__(self, ranks=4):
        self.length = STEPS * BATCH * ranks

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return torch.ones(64)

    def __getitems__(self, indices):
        delay("data")
        return [self[i] for i in indices]


def train(model):
    """A plain loop over the rank's share of the data, averaged by what the model is wrapped in."""
    from torch.utils.data import DataLoader, DistributedSampler

    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = Data()
    for batch in DataLoader(data, batch_size=BATCH, sampler=DistributedSampler(data)):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


def train_without_loader(model):
    """The same loop with batches that are made by the program."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        delay("other")
        batch = torch.ones(BATCH, 64)
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
