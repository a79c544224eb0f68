"""ender.c in Python, for the one way to end that only Python has: an exception that nothing catches.
With MPI it is started as `python -m mpi4py ender.py`, which ends the job then, as mpi4py's
documentation recommends."""
import os
import signal
import sys
import time

BEFORE_END_S = 0.2


def meet(rank, ranks):
    with open(f"begun-{rank}", "w") as file:
        file.write(str(os.getpid()))
    while not all(os.path.exists(f"begun-{other}") for other in range(ranks)):
        time.sleep(0.002)


def go_on(what, mpi):
    """For ever, if the rank does not finish."""
    if what == "collective":
        mpi.COMM_WORLD.Allreduce(bytearray(8), bytearray(8))
    if what == "polling":
        request = mpi.COMM_WORLD.irecv(tag=7)
    while what == "polling":
        request.test()
    while what == "self":
        mpi.COMM_SELF.Allreduce(bytearray(8), bytearray(8))
    while what == "computing":
        sum(range(1000))
    while what == "asleep":
        time.sleep(1000)


def find_rank():
    """Rank, number of ranks, and mpi4py's MPI if the program has one."""
    if "ENDING_RANKS" not in os.environ:
        from mpi4py import MPI
        return MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, MPI
    names = ("RANK", "FLUX_TASK_RANK", "MS_NODE_ID", "SLURM_PROCID")
    rank = next((int(os.environ[name]) for name in names if name in os.environ), 0)
    return rank, int(os.environ["ENDING_RANKS"]), None


def main():
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    rank, size, mpi = find_rank()
    os.write(1, f"rank {rank} begins\n".encode())
    for _ in range(20 if mpi else 0):
        mpi.COMM_WORLD.Allreduce(bytearray(8), bytearray(8))
    meet(rank, size)
    victim = {"first": 0, "middle": size // 2, "last": size - 1}.get(os.environ["ENDING_VICTIM"], rank)
    if rank != victim:
        signal.alarm(int(os.environ["ENDING_LIMIT_S"]))
        go_on(os.environ["ENDING_OTHERS"], mpi)
        os.write(1, f"rank {rank} ends\n".encode())
        sys.exit(0)
    time.sleep(BEFORE_END_S)
    while not os.path.exists(os.environ.get("ENDING_AWAITS", ".")):
        time.sleep(0.002)
    open(f"died-{rank}", "w").close()
    raise RuntimeError("nothing catches it")


main()
