#!/usr/bin/env python3
"""A stand-in for launchers that a machine may not have. test_launchers.py makes links to this file
with the launchers' names (srun, flux, msrun, ...). The stand-in gives N processes the environment
variables that the launcher of that name would give them.

    NAME [-n N] [--status S] [--epochs E] [--once VARIABLE=VALUE] [--] COMMAND...

The stand-in passes signals on to the workers; under torchrun's name it passes them on to the workers'
process groups, as torchrun does. Its exit status is S, or that of the first worker that failed. With
--epochs, it starts the workers again up to E - 1 times after a failure."""

import os
import signal
import subprocess
import sys

ADDRESS = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533"}


def torchrun(rank, size, epoch):
    return {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size,
            "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": epoch,
            "TORCHELASTIC_ERROR_FILE": f"/tmp/torchelastic_{os.getpid()}/none_a/attempt_{epoch}/{rank}/e.json",
            **ADDRESS}


FLAVOURS = {
    "srun": lambda rank, size, _: {"SLURM_PROCID": rank, "SLURM_NTASKS": size, "SLURM_LOCALID": rank,
                                   "SLURM_JOB_ID": 77, "SLURM_STEP_ID": 3},
    "flux": lambda rank, size, _: {"FLUX_TASK_RANK": rank, "FLUX_JOB_SIZE": size,
                                   "FLUX_TASK_LOCAL_ID": rank, "FLUX_JOB_ID": "f2bX"},
    "msrun": lambda rank, size, _: {"MS_NODE_ID": rank, "MS_WORKER_NUM": size, "MS_ROLE": "MS_WORKER",
                                    "MS_SCHED_HOST": "127.0.0.1", "MS_SCHED_PORT": "8118"},
    "mpiexec.hydra": lambda rank, size, _: {"PMI_RANK": rank, "PMI_SIZE": size,
                                            "MPI_LOCALRANKID": rank},
    "mpiexec": lambda rank, size, _: {"PALS_RANKID": rank, "PALS_LOCAL_RANKID": rank,
                                      "PMI_RANK": rank, "PMI_SIZE": size, "PALS_APID": "b7"},
    "deepspeed": lambda rank, size, _: {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank,
                                        **ADDRESS},
    "torchrun": torchrun,
    "byhand": lambda rank, size, _: {"RANK": rank, "WORLD_SIZE": size},
    "nothing": lambda rank, size, _: {},
}


def read_arguments(words):
    size, status, epochs = 2, None, 1
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "--":
            break
        value = int(words.pop(0))
        if option == "-n":
            size = value
        elif option == "--status":
            status = value
        elif option == "--epochs":
            epochs = value
    return size, status, epochs, words


def start_what_is_no_rank(given):
    """Starts msrun's scheduler and the processes that show a worker's log. Both have the variables
    of a rank, but are not ranks."""
    scheduler = {**given, "MS_ROLE": "MS_SCHED", "RANK_ID": "0", "RANK_SIZE": given["MS_WORKER_NUM"]}
    del scheduler["MS_NODE_ID"]
    subprocess.run(["true"], env={**os.environ, **scheduler}, check=True)
    for reader in (["tail", "-n", "1", "/dev/null"], ["grep", "-c", "", "/dev/null"]):
        subprocess.run(reader, env={**os.environ, **given}, stdout=subprocess.DEVNULL)


def run_epoch(name, size, epoch, command):
    workers = []
    for rank in range(size):
        given = {k: str(v) for k, v in FLAVOURS[name](rank, size, epoch).items()}
        if name == "msrun":
            start_what_is_no_rank(given)
        workers.append(subprocess.Popen(command, env={**os.environ, **given},
                                        start_new_session=name == "torchrun"))

    def hand_on(number, _):
        for worker in workers:
            if worker.poll() is None:
                (os.killpg if name == "torchrun" else os.kill)(worker.pid, number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, hand_on)
    with open(f"launcher-{os.getpid()}", "w"):
        pass
    failed = []
    while len(failed) == 0 and any(worker.poll() is None for worker in workers):
        pid, result = os.waitpid(-1, 0)
        for worker in workers:
            if worker.pid == pid:
                worker.returncode = os.waitstatus_to_exitcode(result)
                failed += [worker.returncode] if worker.returncode else []
    if failed and name == "torchrun":
        hand_on(signal.SIGTERM, None)
    failed += [result for result in (worker.wait() for worker in workers) if result]
    return failed[0] if failed else 0


def main():
    name = os.path.basename(sys.argv[0])
    size, status, epochs, command = read_arguments(sys.argv[1:])
    for epoch in range(epochs):
        result = run_epoch(name, size, epoch, command)
        if result == 0:
            break
    result = result if status is None else status
    return 128 - result if result < 0 else result


sys.exit(main())
