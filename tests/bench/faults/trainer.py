"""A data-parallel training with mpi4py and numpy: what many users' scripts look like.

Each step reads its batch from a file of its own, computes gradients of a small network, averages them
with one Allreduce a layer, and updates. It marks nothing.
"""
import os
import tempfile

import numpy as np
from mpi4py import MPI

STEPS, BATCH, LAYERS = 150, 64, (128, 256, 256, 16)
comm = MPI.COMM_WORLD
draw = np.random.default_rng(comm.rank)
weights = [np.random.default_rng(1).normal(size=shape).astype("f4") / 16
           for shape in zip(LAYERS[:-1], LAYERS[1:])]
with tempfile.TemporaryFile() as data:
    size = BATCH * LAYERS[0] * 4
    data.write(draw.normal(size=(8, BATCH, LAYERS[0])).astype("f4").tobytes())
    for step in range(STEPS):
        parts = [os.pread(data.fileno(), size // 16, step % 8 * size + i * size // 16)
                 for i in range(16)]
        values = [np.frombuffer(b"".join(parts), "f4").reshape(BATCH, -1)]
        for weight in weights:
            values.append(np.maximum(values[-1] @ weight, 0))
        error = values[-1] - 1
        for layer in reversed(range(len(weights))):
            gradient = values[layer].T @ error / BATCH
            error = (error @ weights[layer].T) * (values[layer] > 0)
            comm.Allreduce(MPI.IN_PLACE, gradient)
            weights[layer] -= 1e-4 / comm.size * gradient
