"""A training that averages its gradients by mpi4py, with PyTorch for the model only."""

import numpy
import slow
import torch
from mpi4py import MPI
from torch.utils.data import DataLoader

comm = MPI.COMM_WORLD
model = slow.Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for batch in DataLoader(slow.Data(1), batch_size=slow.BATCH):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    for parameter in model.parameters():
        mean = numpy.empty_like(parameter.grad.numpy())
        comm.Allreduce(parameter.grad.numpy(), mean)
        parameter.grad.copy_(torch.from_numpy(mean / comm.size))
    optimizer.step()
