"""Part C of validate.sh: two NCCL ranks on one GPU."""
import json
import os

import libraries
from validate_run import (HERE, KERNELS, PROFWRAP, Skipped, await_end, check, end, need_gpu,
                          need_torch, opened, run, start)

# NCCL refuses that unless they seem to be on different hosts or, from 2.30 on, a variable allows it.
TWO_ON_ONE = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NET": "Socket",
              "NCCL_SOCKET_IFNAME": "lo", "NCCL_NVLS_ENABLE": "0", "NCCL_MAX_CTAS": "2",
              "NCCL_MULTI_RANK_GPU_ENABLE": "1"}
DDP_STEPS = 30


def two_ranks(mode, level=1):
    """Runs with_torch.py on two ranks. Their files are then in the folder with the mode's name."""
    need_gpu()
    return both(mode, [need_torch(), os.path.join(HERE, "with_torch.py"), mode], level)


def both(mode, command, level):
    """Runs two ranks, and returns the output of the first."""
    ranks, said = [], []
    try:
        for rank in range(2):
            env = {**TWO_ON_ONE, "NCCL_HOSTID": f"h{rank}", "RANK": str(rank), "WORLD_SIZE": "2",
                   "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                   "MASTER_PORT": "29511", "TORCHELASTIC_RUN_ID": "validate-" + mode,
                   "STANDIN_MEET": os.path.abspath("meet-" + mode), "NCCLSTAND_VERSION": "6"}
            ranks.append(start([PROFWRAP, "--quiet", "--no-merge", "--level", level, "-o", mode,
                                *command], env))
        for number, process in enumerate(ranks):
            out, errors = await_end(process, f"rank {number}")
            said.append(out)
            missing = libraries.missing_library(errors)
            if process.returncode != 0 and missing:
                raise Skipped(f"{command[0]} has no {missing} here")
            check(process.returncode == 0, "rank", number, "ended with", process.returncode,
                  errors[-400:])
    finally:
        for process in ranks:
            end(process)
    return said[0]


def allreduces(file):
    """(communicator, number) of each Allreduce that NCCL reported."""
    comms = file.rows("comms")
    return [(comms[event["comm"]]["uid"], event["seq"]) for event in file.rows("events/comm")
            if event["source"] == "nccl" and "llreduce" in event["op"].lower()]


def compare_ranks(seen, least):
    check(len(seen[0]) >= least, len(seen[0]), "collectives of rank 0")
    check(set(seen[0]) == set(seen[1]), "communicators and numbers of the two ranks differ")


def check_collectives_match():
    two_ranks("ranks")
    seen = []
    for rank in range(2):
        file = opened("ranks", rank)
        seen.append(allreduces(file))
        timed = [row["timed"] for row in file.rows("events/nccl")]
        by_kernels = timed.count("kernel")
        check(by_kernels >= 0.95 * len(timed) > 0, "of rank", rank, by_kernels, "of", len(timed),
              "operations have the times of their kernels")
    compare_ranks(seen, 100)
    return f"{len(seen[0])} collectives with the same communicator and number on both ranks"


def check_every_collective():
    """A test without PyTorch. NCCL makes some collectives of messages. Each of them must be one
    operation, with the same number on both ranks."""
    need_gpu()
    library = libraries.nccl()
    if not library:
        raise Skipped("no libnccl.so.2")
    said = both("collectives", [KERNELS, "nccl", library], 1)
    wanted = ["Allreduce"] * 10 + ["Allgather", "Bcast"]
    wanted += [] if "without" in said else ["Alltoall", "Gather", "Scatter"]
    for rank in range(2):
        events = [event for event in opened("collectives", rank).rows("events/comm")
                  if event["source"] == "nccl"]
        found = {event["seq"]: event["op"] for event in events if event["seq"] >= 0}
        check(found == dict(enumerate(wanted)), "of rank", rank, "there are", found)
        messages = [event["op"] for event in events if event["seq"] < 0]
        check(messages == [["Send"], ["Recv"]][rank], "messages of rank", rank, "are", messages)
    return f"{len(wanted)} collectives of {len(set(wanted))} kinds, and a message; {said.strip()}"


def check_late_rank_is_named():
    need_gpu()
    if not os.path.exists("ranks/rank-00001.h5"):
        two_ranks("ranks")
    run([PROFWRAP, "merge", "ranks"])
    report = json.loads(run([PROFWRAP, "report", "--format", "json", "ranks"]))
    found = report["stragglers"]
    check(found and found[0]["rank"] == 1, "stragglers:", found[:1])
    excess = found[0]["excess_ns"]
    check(30e6 <= excess <= 70e6, "rank 1 is named with", excess, "ns instead of 50 ms")
    return f"rank 1, {excess / 1e6:.1f} ms a step"


def check_ddp_at_level_2():
    """Training by DistributedDataParallel, with each call of CUDA recorded."""
    two_ranks("ddp", level=2)
    seen, calls, kernels = [], [], []
    for rank in range(2):
        file = opened("ddp", rank)
        seen.append(allreduces(file))
        calls.append(len(file.rows("events/cuda_api")))
        kernels.append(len(file.rows("events/kernel")))
        check(file.lost() == 0, "rank", rank, "lost", file.lost(), "records")
    compare_ranks(seen, DDP_STEPS)
    check(min(calls) >= min(kernels) > DDP_STEPS, "calls", calls, "kernels", kernels)
    run([PROFWRAP, "merge", "ddp"])
    report = json.loads(run([PROFWRAP, "report", "--format", "json", "ddp"]))
    steps = report["steps"]["measured"] + report["steps"]["warmup"]
    check(steps == DDP_STEPS, steps, "steps instead of", DDP_STEPS)
    return f"{steps} steps, {len(seen[0])} allreduces, {kernels} kernels and {calls} calls"
