"""A small PyTorch training with DistributedDataParallel on CPUs. It knows nothing of profwrap.

    profwrap torchrun --nproc-per-node 4 examples/torch/train.py --slow rank=2,phase=backward,ms=60

--slow delays one rank in one phase (data, forward, backward or optimizer) of some steps, for real, so
that a profile has a known answer. Rank 0 prints the loss of each tenth step.
"""

import argparse
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Delay:
    """Of `--slow rank=2,phase=backward,ms=60,steps=20-40`; `step` is the number of the current step."""

    def __init__(self, text):
        fields = dict(field.split("=") for field in text.split(",")) if text else {}
        first, _, last = fields.get("steps", "0-1000000000").partition("-")
        self.rank, self.phase = int(fields.get("rank", -1)), fields.get("phase", "backward")
        self.seconds = float(fields.get("ms", 0)) / 1000
        self.steps = range(int(first), int(last or first) + 1)
        self.step = 0

    def at(self, phase):
        if dist.get_rank() == self.rank and phase == self.phase and self.step in self.steps:
            time.sleep(self.seconds)


class SlowPoint(torch.autograd.Function):
    """Passes a tensor on, with the delay of both directions."""

    @staticmethod
    def forward(context, tensor, delay):
        context.delay = delay
        delay.at("forward")
        return tensor.clone()

    @staticmethod
    def backward(context, gradient):
        context.delay.at("backward")
        return gradient, None


class Points(Dataset):
    """Random points, and whether each is in the unit ball."""

    def __init__(self, count, delay):
        generator = torch.Generator().manual_seed(1)
        self.points = torch.randn(count, 32, generator=generator) / 4
        self.labels = (self.points.norm(dim=1) < 1.4).long()
        self.delay = delay

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        return self.points[i], self.labels[i]

    def __getitems__(self, indices):
        self.delay.at("data")
        return [self[i] for i in indices]


class Net(torch.nn.Module):
    def __init__(self, delay):
        super().__init__()
        self.first, self.middle = torch.nn.Linear(32, 256), torch.nn.Linear(256, 256)
        self.last = torch.nn.Linear(256, 2)
        self.delay = delay

    def forward(self, points):
        hidden = torch.relu(self.middle(torch.relu(self.first(points))))
        return self.last(SlowPoint.apply(hidden, self.delay))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--slow", default="", metavar="rank=N,phase=NAME,ms=N[,steps=A-B]")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    delay = Delay(options.slow)
    data = Points(64 * options.steps * dist.get_world_size(), delay)
    loader = DataLoader(data, batch_size=64, sampler=DistributedSampler(data))
    model = DistributedDataParallel(Net(delay))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for points, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        delay.at("optimizer")
        optimizer.step()
        if dist.get_rank() == 0 and delay.step % 10 == 0:
            print(f"step {delay.step:3}  loss {loss.item():.4f}", flush=True)
        delay.step += 1
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
