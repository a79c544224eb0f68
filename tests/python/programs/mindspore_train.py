"""Data parallel trainings in MindSpore on CPUs, and one delay on one rank. Nothing of profwrap.

    mindspore_train.py MODE LOOP PHASE

MODE is pynative or graph; LOOP model (Model.train), fit (Model.fit), cell (TrainOneStepCell), function
(value_and_grad) or overmpi (the same, gradients are averaged by mpi4py and nothing else of MindSpore's
is distributed); PHASE none, data or forward: where rank 2 sleeps for MS milliseconds in each step.
MindData reads ahead: a delay in it is felt only as far as it is longer than the step.
Started by msrun, or by mpirun with MindSpore's variables, where MPI's rank is the worker's.
"""

import os
import sys
import time

import mindspore as ms
import mindspore.dataset
import numpy
from mindspore import nn, ops
from mindspore.communication import get_rank, init

MODE, LOOP, PHASE = sys.argv[1:4]
SLOW_RANK, MS, STEPS, EPOCHS, BATCH = 2, 1500, 8, 2, 8

ms.set_context(mode=ms.GRAPH_MODE if MODE == "graph" else ms.PYNATIVE_MODE)
ms.set_device("CPU")
ms.set_context(runtime_num_threads=1)
if LOOP == "overmpi":
    from mpi4py import MPI

    RANK = MPI.COMM_WORLD.rank
else:
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        os.environ["MS_NODE_ID"] = os.environ["OMPI_COMM_WORLD_RANK"]
    init()
    RANK = get_rank()
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
ms.set_seed(1)


def delay(phase):
    if RANK == SLOW_RANK and phase == PHASE:
        time.sleep(MS / 1000)


class Data:
    """Points; the delay is once a batch."""

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, i):
        if i % BATCH == 0:
            delay("data")
        return numpy.ones(64, numpy.float32), numpy.ones(8, numpy.float32)


def slow_point(x):
    delay("forward")
    return x


def same(x):
    return x


def gradient(x, out, dout):
    return (dout,)


def loss_of(x, y):
    return loss(net(x), y)


def average(gradients):
    found = []
    for gradient in gradients:
        values = gradient.asnumpy().copy()
        MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, values)
        found.append(ms.Tensor(values / MPI.COMM_WORLD.size))
    return tuple(found)


class Net(nn.Cell):
    """In graph mode the delay is an operator of the graph that calls Python."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Dense(64, 128), nn.Dense(128, 8)
        self.is_graph = MODE == "graph"
        self.point = ops.Custom(slow_point, same, same, "pyfunc", bprop=gradient)

    def construct(self, x):
        x = ops.relu(self.first(x))
        if self.is_graph:
            x = self.point(x)
        else:
            delay("forward")
        return self.last(x)


def data():
    points = ms.dataset.GeneratorDataset(Data(), ["x", "y"], shuffle=False, num_parallel_workers=1)
    return points.batch(BATCH)


net, loss = Net(), nn.MSELoss()
optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
if LOOP == "model":
    ms.Model(net, loss, optimizer).train(EPOCHS, data(), dataset_sink_mode=False)
elif LOOP == "fit":
    ms.Model(net, loss, optimizer, metrics={"mae"}).fit(EPOCHS, data(), data(), dataset_sink_mode=False)
elif LOOP == "cell":
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer)
    step.set_train()
    batches = data()
    for _ in range(EPOCHS):
        for x, y in batches.create_tuple_iterator():
            step(x, y)
else:
    gradients = ms.value_and_grad(loss_of, None, optimizer.parameters)
    reduce = average if LOOP == "overmpi" else nn.DistributedGradReducer(optimizer.parameters)
    net.set_train()
    batches = data()
    for _ in range(EPOCHS):
        for x, y in batches.create_tuple_iterator():
            value, found = gradients(x, y)
            optimizer(reduce(found))
    print("loss", float(value.asnumpy()))
