"""Hugging Face's accelerate, which prepares model, optimizer and loader."""

import slow
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True)
model = slow.Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
model, optimizer, loader = accelerator.prepare(
    model, optimizer, DataLoader(slow.Data(), batch_size=slow.BATCH)
)
for batch in loader:
    optimizer.zero_grad()
    accelerator.backward(model(batch).square().mean())
    optimizer.step()
accelerator.end_training()
