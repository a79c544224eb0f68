"""Ranks wait for each other's messages along chains and rings. The report must name the rank that
works longer, not a rank that waits for it directly or through others."""

import json
import sys

import harness as h

STEPS, FIRST, LAST, SLOW = 60, 20, 44, 2
LOST_NS = 20e6 * (LAST - FIRST + 1)  # 30 ms instead of 10 in these steps


def merged(kind, messages, size, transport="vader,self"):
    h.h5py()
    h.run(h.mpirun(4, *h.profwrap("--no-report", "-o", "out"), h.program("chains"), kind, STEPS, messages,
                   size, SLOW, 300, FIRST, LAST),
          env={"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": transport,
               "OMPI_MCA_btl_tcp_sndbuf": "131072", "OMPI_MCA_btl_tcp_rcvbuf": "131072",
               # Room for 16 messages that are not received yet.
               "OMPI_MCA_btl_vader_free_list_num": "16", "OMPI_MCA_btl_vader_free_list_max": "16"})
    return h.h5py().File("out/cluster.h5", "r")


def sums(file, field):
    """The sum for each rank over the steps in which the slow rank is slow."""
    trace = file["step_trace"][:]
    return trace[field].reshape(STEPS, -1)[FIRST:LAST + 1].sum(axis=0)


def gain_of(file, rank):
    """The time that the replay saves when this rank has the same work as the others. A rank that is
    never on the critical path has no row and saves nothing."""
    return max((r["gain_ns"] for r in file["whatif"][:]
                if r["scope"] == b"rank" and r["rank"] == rank), default=0)


def check_root(file):
    h.skip_on_a_busy_machine()
    report = json.loads(h.run(h.profwrap("report", "--format", "json", "out")).stdout)
    h.equal([row["rank"] for row in report["stragglers"]][:1], [SLOW], "named first")
    own = sums(file, "own_ns")
    for rank in range(4):
        h.check(rank == SLOW or own[rank] < 0.75 * own[SLOW], "own work", own)
        # The machine's noise has no bounds: half of what was done to the run is far above it.
        h.check((gain_of(file, rank) > LOST_NS / 2) == (rank == SLOW), "rank", rank, "gains",
                gain_of(file, rank), "of", LOST_NS)
    for row in report["advice"]:
        h.check(row["rule"] != "late_senders", "waits are told beside their cause:", row)


def late_receiver(file, src):
    return sum(int(r["late_receiver_ns"]) for r in file["p2p"][:] if r["src"] == src)


@h.case
def eager_chain():
    file = merged("chain", 1, 64)
    check_root(file)
    h.check(late_receiver(file, 1) < LOST_NS / 2, "sends that are buffered wait for nobody")


@h.case
def rendezvous_chain():
    file = merged("chain", 1, 1 << 20)
    check_root(file)
    h.check(late_receiver(file, 1) > LOST_NS / 2, "rank 1 waits for rank 2")


@h.case
def eager_ring():
    check_root(merged("ring", 1, 64))


@h.case
def rendezvous_ring():
    check_root(merged("ring", 1, 1 << 20))


@h.case
def eager_shift():
    check_root(merged("shift", 1, 64))


@h.case
def rendezvous_shift():
    check_root(merged("shift", 1, 1 << 20))


def check_room(file):
    check_root(file)
    h.check(late_receiver(file, 1) > LOST_NS / 2, "rank 1 waits for room at rank 2",
            late_receiver(file, 1))


@h.case
def no_room_for_sends():
    check_room(merged("chain", 30, 2000))


@h.case
def no_room_for_begun_sends():
    check_room(merged("begun", 30, 2000))


@h.case
def full_sockets():
    check_room(merged("chain", 20, 60000, "tcp,self"))


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
