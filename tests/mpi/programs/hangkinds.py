"""A job of mpi4py that hangs by the fault that the first argument names: see hangkinds.c."""
import sys
import time

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
numbers = numpy.zeros(4)


def sleep_long():
    while True:
        time.sleep(100)


def receive_of_an_object():
    if rank == 1:
        sleep_long()
    if rank == 0:
        world.recv(source=1, tag=7)


def skipped():
    """One rank leaves out a reduction, because its data is empty there."""
    for step in range(20):
        world.Barrier()
        if rank != 2 or step != 12:
            world.Allreduce(MPI.IN_PLACE, numbers)
        world.Bcast(numbers)
    if rank == 2:
        sleep_long()


def waitall():
    """With MPI_THREAD_MULTIPLE, which mpi4py asks for."""
    if rank == 2:
        sleep_long()
    if rank == 1:
        world.Send(numbers, dest=0, tag=7)
    if rank == 0:
        MPI.Request.Waitall([world.Irecv(numpy.zeros(4), source=source, tag=7) for source in (1, 2)])


def exception():
    """A rank that waits in the handler of an exception."""
    try:
        if rank == 1:
            raise ValueError
        world.Barrier()
    except ValueError:
        sleep_long()


def iprobe():
    if rank == 1:
        sleep_long()
    while rank == 0 and not world.iprobe(source=1, tag=7):
        pass


def test_of_an_object():
    if rank == 1:
        sleep_long()
    if rank == 0:
        request = world.irecv(source=1, tag=7)
        while not request.test()[0]:
            pass


def gather_of_objects():
    if rank == 3:
        while True:
            pass
    world.gather({"rank": rank}, root=0)


{name.replace("_", " "): made for name, made in globals().items() if callable(made)}[sys.argv[1]]()
world.Barrier()
