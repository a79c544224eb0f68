"""A job of mpi4py that hangs by the fault that the first argument names: see hangkinds.c."""
import ctypes
import os
import queue
import subprocess
import sys
import threading
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


def bcast_of_objects():
    if rank == 2:
        sleep_long()
    world.bcast([rank], root=2)


def allgather_of_objects():
    if rank == 2:
        sleep_long()
    world.allgather([rank])


def scatter_of_objects():
    if rank == 2:
        sleep_long()
    world.scatter([[]] * size if rank == 2 else None, root=2)


def alltoall_of_objects():
    if rank == 2:
        sleep_long()
    world.alltoall([rank] * size)


def allreduce_of_objects():
    if rank == 2:
        sleep_long()
    world.allreduce({rank}, op=lambda a, b: a | b)


def synchronous_send():
    if rank == 1:
        sleep_long()
    if rank == 0:
        world.ssend("text", dest=1, tag=7)


def large_object():
    if rank == 1:
        sleep_long()
    if rank == 0:
        world.send(numpy.zeros(1 << 22), dest=1, tag=7)


def waitany():
    if rank:
        sleep_long()
    MPI.Request.Waitany([world.Irecv(numpy.zeros(4), source=source, tag=7) for source in (1, 2)])


def split():
    if rank == 1:
        sleep_long()
    world.Split(rank % 2, rank)


def create_group():
    """Two of three ranks create a communicator, and one of them does not come."""
    if rank == 1:
        sleep_long()
    if rank == 0:
        world.Create_group(world.group.Incl([0, 1]))


def fence():
    window = MPI.Win.Allocate(64, comm=world)
    if rank == 1:
        sleep_long()
    window.Fence()


def open_file():
    if rank == 1:
        sleep_long()
    MPI.File.Open(world, "file", MPI.MODE_CREATE | MPI.MODE_RDWR)


def spawned():
    """The parents wait for a child that does not come."""
    if MPI.Comm.Get_parent() != MPI.COMM_NULL:
        sleep_long()
    child = world.Spawn(sys.executable, [__file__, "spawned"], maxprocs=1)
    child.Barrier()


def finalize_at_exit():
    if rank == 1:
        sleep_long()
    sys.exit()


def finalize_in_handler():
    """At exit, a rank waits for a thread that does not end."""
    if rank == 1:
        threading.Thread(target=sleep_long).start()
    sys.exit()


def two_locks():
    """Two threads of a rank take two locks in different order."""
    locks = threading.Lock(), threading.Lock()

    def take(first, second):
        with first:
            time.sleep(0.5)
            with second:
                pass

    if rank == 1:
        threading.Thread(target=take, args=locks, daemon=True).start()
        take(*reversed(locks))


def gil_in_c():
    if rank == 1:
        ctypes.PyDLL(None).sleep(1000)


def child_process():
    if rank == 1:
        subprocess.run(["sleep", "100"])


def empty_queue():
    if rank == 1:
        queue.Queue().get()


def helper_receives():
    """A thread that receives messages as long as the job runs, beside the main thread."""
    threading.Thread(target=lambda: world.recv(source=0, tag=99), daemon=True).start()
    time.sleep(0.5)
    if rank == 1:
        sleep_long()
    if rank == 0:
        world.recv(source=1, tag=7)


def circle_with_gloo():
    """Rank 1 receives by MPI from rank 0, which is in a reduction of gloo."""
    from torch import distributed, ones
    distributed.init_process_group("gloo", init_method=f"file://{os.path.abspath('out/meeting')}", rank=rank,
                                   world_size=size)
    for _ in range(3):
        distributed.all_reduce(ones(1000))
        world.Barrier()
    if rank == 0:
        distributed.all_reduce(ones(1000))
    elif rank == 1:
        world.Recv(numbers, source=0, tag=7)


def two_communicators():
    """Two threads of each rank, of which each has a communicator."""
    other = world.Dup()
    other.Set_name("other")

    def reduce(comm):
        for _ in range(20):
            comm.Allreduce(MPI.IN_PLACE, numpy.zeros(4))

    helper = threading.Thread(target=reduce, args=[other])
    helper.start()
    if rank == 1:
        sleep_long()
    reduce(world)
    helper.join()


{name.replace("_", " "): made for name, made in globals().items() if callable(made)}[sys.argv[1]]()
world.Barrier()
