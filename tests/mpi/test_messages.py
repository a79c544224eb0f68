"""The MPI calls that profwrap makes itself. It makes none while the program runs or makes
communicators, and none at all where the collectors measure the clocks. At clock synchronisations it
makes as many as /overhead says. programs/counter.c, below the probe, counts all calls."""

import os
import sys

import harness as h

# Local calls, by which communicators are described and synchronisations wait.
LOCAL = {"Comm_rank", "Comm_size", "Test"}


def counts(n, prefix, command, folders):
    """The number of calls by function, one dictionary per rank."""
    library = h.program("libcounter.so")
    inner = f'export PROFWRAP_FSROOT=$PWD/{folders}$OMPI_COMM_WORLD_RANK; exec "$@"'
    h.run(h.mpirun(n, "env", f"LD_PRELOAD={library}", f"MPITEST_COUNTS={os.getcwd()}/{prefix}",
                   "sh", "-c", inner, "sh", *command))
    found = []
    for rank in range(n):
        with open(f"{prefix}-{rank}") as file:
            found.append({name: int(count) for name, count in map(str.split, file)})
    return found


def make_roots(n, hosts):
    """Makes recorded file systems of `hosts` machines for the ranks, round robin. Each machine has
    its own boot ID."""
    for rank in range(n):
        place = f"root-{rank}/proc/sys/kernel/random"
        os.makedirs(place)
        with open(f"{place}/boot_id", "w") as file:
            file.write(f"boot-{rank % hosts}\n")


def overhead(rank):
    with h.open_complete("out", rank) as file:
        return {row["name"].decode(): row["value"] for row in file["overhead"][:]}


def compare(program, n, hosts, *options):
    is_over_mpi = hosts > 1 and bool(options)
    path = h.program(program)
    h.h5py()
    make_roots(n, hosts)
    plain = counts(n, "plain", [path, "said", 1], "root-")
    ours = counts(n, "ours", [*h.profwrap("--no-merge", *options, "-o", "out"), path, "said", 1],
                  "root-")
    sent = 0
    for rank in range(n):
        more = {name: ours[rank].get(name, 0) - plain[rank].get(name, 0)
                for name in set(ours[rank]) | set(plain[rank])}
        said = overhead(rank)
        messages, collectives = said["clock_sync_messages"], said["clock_sync_collectives"]
        h.equal(more.pop("Isend", 0), messages, f"messages sent by profwrap on rank {rank}")
        received = more.pop("Irecv", 0)
        h.equal(received > 0, is_over_mpi, f"{received} received from {hosts} hosts")
        asked = sum(more.pop(name, 0) for name in ("Iallgather", "Ibarrier", "Comm_idup",
                                                   "Comm_free"))
        h.equal(asked, collectives, f"collectives of profwrap on rank {rank}")
        h.equal({name: k for name, k in more.items() if k and name not in LOCAL}, {},
                f"other calls of profwrap on rank {rank}")
        h.equal(collectives, 4 if is_over_mpi else 0, "allgather, barrier, dup, free")
        sent += messages
    h.equal(sent > 0, is_over_mpi, f"{sent} messages for {hosts} hosts")


@h.case
def communicators_one_host():
    compare("communicators", 4, 1)


@h.case
def communicators_four_hosts():
    compare("communicators", 4, 4)


@h.case
def communicators_four_hosts_over_mpi():
    compare("communicators", 4, 4, "--clock-interval", 0)


@h.case
def messages_two_hosts():
    compare("messages", 4, 2)


@h.case
def messages_two_hosts_over_mpi():
    compare("messages", 4, 2, "--clock-interval", 0)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
