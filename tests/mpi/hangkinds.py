"""What the page of a hang must say first, by fault of programs/hangkinds.c and programs/hangkinds.py: (number of
ranks, right, not known). `right` is the truth, a regular expression; what matches only the third column leaves it
open who is to blame, and names no wrong rank or call. Nothing else may be said."""

WORLD = r"on MPI_COMM_WORLD"
SLEEPS = r"has been in no communication call for [^,]*, and is asleep"
COMPUTES = r"has been computing \(in no MPI call\) for"


def held(ranks, culprit, state=SLEEPS, call=rf"MPI_Barrier #\d+ {WORLD}", missing=None):
    """The ranks wait in the collective for the culprit, and for others that are missing, too."""
    whom = rf"ranks {missing}, of which rank {culprit}" if missing else rf"rank {culprit}, which"
    return rf"Ranks? {ranks} waits? in {call} for {whom} {state}"


def message(waiter, call, operation, culprit, state=SLEEPS):
    """The waiter is in a call that waits for the operation."""
    return rf"Rank ({waiter}) waits in {call} \(for {operation} rank {culprit}( \(tag 7\))? {WORLD}[^)]*\) for rank " \
           rf"{culprit}, which {state}"


# In the faults "unreceived", the messages that a rank waits to receive may have another tag, so its own call tells
# nothing; that the other ranks are in a barrier does.
MESSAGES = {
    "halo late": (4, message("0|2", "MPI_Waitall", "MPI_Irecv from", 3), None),
    "halo unreceived": (4, held(1, 3, missing="0,2-3"), None),
    "circle of waitalls": (4, r"Deadlock: rank 0 \(in MPI_Waitall \(for MPI_Irecv from rank 3 \(tag 7\).*waits for rank 3 .*"
                              r"waits for rank 2 .*waits for rank 1 .*waits for rank 0", None),
    "other tag": (2, rf"Rank 1 waits in MPI_Recv from rank 0 \(tag 7\) {WORLD} for rank 0, which {SLEEPS}", None),
    "other tag in waitall": (2, message(1, "MPI_Waitall", "MPI_Irecv from", 0), None),
    "both send": (2, rf"Deadlock: rank 0 \(in MPI_Send to rank 1 \(tag 7\) {WORLD}\) waits for rank 1 \(in MPI_Send to rank 0",
                  None),
    "unreceived send": (3, r"Deadlock: rank 1 \(in MPI_Send to rank 2 \(tag 7\).*waits for rank 2 \(in MPI_Barrier", None),
    "synchronous send": (2, rf"Rank 0 waits in MPI_Ssend to rank 1 \(tag 7\) {WORLD} for rank 1, which {SLEEPS}", None),
    "other target": (3, r"Deadlock: rank 1 \(in MPI_Barrier.*waits for rank 2 \(in MPI_Recv from rank 1 \(tag 7\)", None),
    "shift without one": (4, message(0, "MPI_Sendrecv", "MPI_Recv from", 3), None),
    "shift unreceived": (3, held(1, 2, missing="0,2"), None),
    "waitany of one": (3, message(0, "MPI_Waitany", "MPI_Irecv from", 2), None),
    "waitany of two": (3, message(0, "MPI_Waitany", "MPI_Irecv from", "[12]"),
                       r"1 of 3 ranks wait in MPI calls, rank 0 longest: in MPI_Waitany \(for MPI_Irecv from rank 2 "
                       rf"\(tag 7\) {WORLD}, and 1 more\)"),
    "waitsome": (3, message(0, "MPI_Waitsome", "MPI_Irecv from", 2), None),
    "waitall of two": (3, message(2, "MPI_Waitall", "MPI_Irecv from", 1, COMPUTES), None),
    "waitall of two, threads": (3, message(2, "MPI_Waitall", "MPI_Irecv from", 1, COMPUTES), None),
    "testall": (3, held(0, 2, missing="1-2"), None),
    "iprobe": (3, held(0, 2, missing="1-2"), None),
    "slow polling": (3, held(0, 2, missing="1-2"), None),
    "both poll": (2, "Deadlock: rank 0 .*waits for rank 1",
                  r"2 of 2 ranks wait in MPI calls, rank \d longest: polling with MPI_Test \(for MPI_Irecv from rank \d "
                  rf"\(tag 7\) {WORLD}\)"),
    "probe": (3, rf"Rank 1 waits in MPI_Probe from rank 2 \(tag 7\) {WORLD} for rank 2, which {SLEEPS}", None),
    "persistent": (2, message(1, "MPI_Wait", "MPI_Recv_init from", 0), None),
}
COLLECTIVES = {
    "sub-communicator": (6, held("1,3", 5, call="MPI_Barrier #0 on odd"), None),
    "gather root": (4, rf"Rank 2 called MPI_Gather #1 {WORLD} with root 1, ranks (0-)?1,3 with root 0", None),
    "order of two": (6, rf"Ranks 1,4 called MPI_Allgather #1 {WORLD}, where ranks 0,2-3,5 called MPI_Alltoall", None),
    "alltoall": (8, held("0-4,6-7", 5, COMPUTES, rf"MPI_Alltoall #0 {WORLD}"), None),
    "scan": (5, held("1-4", 0, call=rf"MPI_Scan #0 {WORLD}"), None),
    "duplicate": (4, held("0,2-3", 1, call=rf"MPI_Comm_dup {WORLD}"), None),
    "two groups": (4, held("0-2", 3, call="MPI_Barrier #0 on both"), None),
    "neighbours": (4, held("1,3", 2, call=r"MPI_Neighbor_alltoall #0 on \S.*"), None),
    "nonblocking collective": (4, held("0-2", 3, call=rf"MPI_Iallreduce #0 {WORLD}"), None),
    "polled collective": (4, held("0-2", 3, call=rf"MPI_Ibarrier #0 {WORLD}"), None),
}
OTHERS = {
    "fence": (4, held("0-1,3", 2, call=r"MPI_Win_fence #\d on \S.*"), None),
    "lock": (3, held(1, 0, missing="0,2"), None),
    "create window": (3, held("1-2", 0, call=rf"MPI_Win_create {WORLD}"), None),
    "open file": (3, held("0,2", 1, call=rf"MPI_File_open {WORLD}"),
                  r"2 of 3 ranks wait in MPI calls, rank \d longest: in MPI_File_open"),
    "close file": (3, held("0,2", 1, call=r"MPI_File_close on \S.*"),
                   r"2 of 3 ranks wait in MPI calls, rank \d longest: in MPI_File_close"),
    "before MPI_Init": (3, r"Ranks 0,2 wait in MPI_Init_thread for rank 1, which has not called MPI yet", None),
    "in handler": (3, held("0,2", 1), None),
    "in exit": (3, held("0,2", 1), None),
    "in loop": (3, held("0,2", 1, COMPUTES), None),
    "in pipe": (3, held("0,2", 1), None),
    "in fifo": (3, held("0,2", 1), None),
    "in mutex": (3, held("0,2", 1), None),
    "in waitpid": (3, held("0,2", 1), None),
    "in join": (3, held("0,2", 1), None),
    "stopped inside": (3, held("0,2", 1, rf"has been in MPI_Barrier #\d+ {WORLD} for .* and is stopped by a signal") + "|"
                       r"\d of 3 ranks wait in MPI calls, .*; rank 1 is stopped by a signal in MPI_Barrier", None),
}
PYTHON = {
    "receive of an object": (3, rf"Rank 0 waits in MPI_Mprobe from rank 1 \(tag 7\) {WORLD} for rank 1, which {SLEEPS}", None),
    "skipped": (4, rf"Rank 2 called MPI_Bcast #37 {WORLD}( at \S+ \(skipped\))?, where ranks 0-1,3 called MPI_Allreduce", None),
    "waitall": (3, message(0, "MPI_Waitall", "MPI_Irecv from", 2), None),
    "exception": (3, held("0,2", 1), None),
    "iprobe": (3, held(2, 1, missing="0-1"), None),
    "test of an object": (3, held(2, 1, missing="0-1"), None),
    "gather of objects": (4, held(".*", 3, COMPUTES, rf"MPI_Gather #\d with root 0 {WORLD}"), None),
}
