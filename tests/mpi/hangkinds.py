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


def polls(waiter, test, culprit):
    return rf"Rank {waiter} polls with MPI_{test} .*{WORLD}.* for rank {culprit}, which {SLEEPS}"


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
    "waitany of two": (3, r"Rank 0 waits in MPI_Waitany \(for MPI_Irecv from rank 2 \(tag 7\) "
                          rf"{WORLD}, and 1 more\) for any of ranks 1-2, of which rank 1 {SLEEPS}", None),
    "waitsome": (3, message(0, "MPI_Waitsome", "MPI_Irecv from", 2), None),
    "waitall of two": (3, message(2, "MPI_Waitall", "MPI_Irecv from", 1, COMPUTES), None),
    "waitall of two, threads": (3, message(2, "MPI_Waitall", "MPI_Irecv from", 1, COMPUTES), None),
    "testall": (3, polls(1, "Testall", 2), None),
    "iprobe": (3, polls(1, "Iprobe", 2), None),
    "slow polling": (3, polls(1, "Test", 2), None),
    "both poll": (2, r"Likely deadlock: rank 0 \(polling with MPI_Test .*waits for rank 1 \(polling with MPI_Test", None),
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
    "open file": (3, held("0,2", 1, call=rf"MPI_File_open {WORLD}"), None),
    "close file": (3, held("0,2", 1, call=r"MPI_File_close on \S.*"), None),
    "before MPI_Init": (3, "Ranks 0,2 wait in MPI_Init_thread for rank 1, which has made no communication call yet", None),
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
    "iprobe": (3, polls(0, "Iprobe", 1), None),
    "test of an object": (3, polls(0, "Test", 1), None),
    "gather of objects": (4, held(".*", 3, COMPUTES, rf"MPI_Gather #\d with root 0 {WORLD}"), None),
}


# ---- scripts: programs/hangscript.c ----

SLEEPER = rf"for rank 2, which {SLEEPS}"


def absent(call, on=WORLD, waiters=r"[\d,-]+", culprit=2, state=SLEEPS):
    """Ranks wait in the call for the culprit alone."""
    return rf"Ranks? {waiters} waits? in MPI_{call} {on} for rank {culprit}, which {state}"


def numbered(call, on=WORLD, **more):
    return absent(rf"{call} #0( with root \d)?", on, **more)


ROOTED = {"Bcast": 2, "Scatter": 2, "Scatterv": 2, "Gather": 0, "Gatherv": 0, "Reduce": 1}
NAMES = ("Bcast", "Scatter", "Scatterv", "Gather", "Gatherv", "Reduce", "Barrier", "Allreduce", "Allgather", "Allgatherv",
         "Alltoallv", "Alltoallw", "Reduce_scatter", "Reduce_scatter_block", "Exscan")
NEIGHBOURS = ("allgather", "allgatherv", "alltoallv")
# Creations and files: what comes before, and on what the call is.
ON_WORLD = ("Comm_dup_with_info", "Comm_split", "Comm_split_type", "Comm_create", "Cart_create", "Graph_create",
            "Dist_graph_create_adjacent", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic", "File_open")
ON_OTHERS = {
    "Cart_sub": ("ring", "on ring"), "Comm_disconnect": ("other", "on other"), "Win_free": ("Win_create", "on window.*"),
    "Win_fence": ("Win_create", "on window.*"), "Intercomm_merge": ("half both", "on both"),
    "File_close": ("File_open", "on file"), "File_sync": ("File_open", "on file"), "File_set_size": ("File_open", "on file"),
    "File_set_view": ("File_open", "on file"), "File_write_all": ("File_open", "on file"),
    "File_read_all": ("File_open File_write_all", "on file"), "File_write_at_all": ("File_open", "on file"),
}
LOCAL_IN_MPICH = ("Comm_disconnect", "File_sync", "File_set_view", "File_write_all", "File_write_at_all", "File_read_all")
# Of two ranks, the first waits in a message for the second: the call, or the request.
BLOCKING = {"Recv": "from", "Ssend": "to", "large Send": "to", "Probe": "from", "Mprobe": "from"}
BOTH = ("large Sendrecv", "large Sendrecv_replace")
REQUESTS = {
    "Irecv/1 Wait": "Irecv from", "Issend/1 Wait": "Issend to", "large Isend/1 Wait": "Isend to",
    "Irecv/1 Irecv/1/8 Waitall": "Irecv from", "Irecv/1 Irecv/1/8 Waitsome": "Irecv from", "Irecv/1 Waitany": "Irecv from",
    "Recv_init/1 Start Wait": "Recv_init from", "Ssend_init/1 Start Wait": "Ssend_init to",
    "large Send_init/1 Start Wait": "Send_init to", "Recv_init/1 Recv_init/1/8 Startall Waitall": "Recv_init from",
}
TESTS = {
    "Irecv/1 Test": "Irecv from", "Issend/1 Test": "Issend to", "Irecv/1 Irecv/1/8 Testall": "Irecv from",
    "Irecv/1 Irecv/1/8 Testany": "Irecv from", "Irecv/1 Testsome": "Irecv from", "Recv_init/1 Start Test": "Recv_init from",
}
# Pairs that all but rank 2 and rank 2 call, of which no rank leaves before it gets what it needs.
PAIRS = (("Allgather", "Alltoall"), ("Barrier", "Allreduce"), ("Allreduce", "Reduce_scatter_block"), ("Gather/2", "Reduce/2"),
         ("Alltoall", "Alltoallv"), ("Allgatherv", "Allgather"), ("Scan", "Exscan"), ("Bcast/0", "Scatter/0"))
# What Open MPI 4 does not have.
PARTITIONED = {
    "0 Psend_init/1 Start sleep; 1 Precv_init/0 Start Wait": (2, message(1, "MPI_Wait", "MPI_Precv_init from", 0), None),
    "0 Psend_init/1 Start Wait; 1 Precv_init/0 Start Wait":
        (2, message(1, "MPI_Wait", "MPI_Precv_init from", 0, r"has been in MPI_Wait \(for MPI_Psend_init to rank 1"), None),
    "0 Psend_init/1 Start Pready/0; 1 Precv_init/0 Start Wait":
        (2, r"Deadlock: rank 0 \(in MPI_Barrier.*\) waits for rank 1 \(in MPI_Wait \(for MPI_Precv_init from rank 0", None),
    "0 Psend_init/1 Start sleep; 1 Irecv/2 Precv_init/0 Start Waitall; 2 Send/1":
        (3, message(1, "MPI_Waitall", "MPI_Precv_init from", 0), None),
}
ERRORS_OF_MPICH = ("013 Bcast/0; 2 Bcast_double/0 sleep",) # it compares the sizes, and aborts
# What rank 2 calls in the place of the others, and what is said of both.
ARGUMENTS = {
    "Reduce/0": ("Reduce_max/0", "Reduce", "with MPI_MAX", "with MPI_SUM"),
    "Allreduce": ("Allreduce_max", "Allreduce", "with MPI_MAX", "with MPI_SUM"),
    "Scan": ("Scan_max", "Scan", "with MPI_MAX", "with MPI_SUM"),
    "Bcast/0": ("Bcast_double/0", "Bcast", "with 8 bytes", "with 4 bytes"),
    "Reduce/1": ("Reduce/0", "Reduce", "with root 0", "with root 1"),
    "Scatter/1": ("Scatter/2", "Scatter", "with root 2", "with root 1"),
}
# A helper entered its call after the main thread had left its last one.
HELPER = r"has been in MPI_Recv from rank 0 \(tag 8\) .*; another thread of it has been in no MPI call for"
DEADLOCK = r"Deadlock: rank {} \(in {}.*\) waits for rank {} \(in {}"

SCRIPTS = {}
def rooted(name, call):
    """The root waits; where it has not for long, the others do in the next call."""
    said = numbered(call)
    return said if ROOTED.get(name) in (None, 2) else \
        said + rf"|Ranks? [\d,-]+ waits? in MPI_Barrier #1 {WORLD} for (ranks [\d,]+, of which rank 2|rank 2, which) {SLEEPS}"


for name in NAMES:
    word = f"{name}/{ROOTED[name]}" if name in ROOTED else name
    SCRIPTS[f"013 {word}; 2 sleep"] = (4, rooted(name, name), None)
    SCRIPTS[f"013 I{word.lower()} Wait; 2 sleep"] = (4, rooted(name, "I" + name.lower()), None)
for name in NEIGHBOURS:
    SCRIPTS[f"* ring; 013 Neighbor_{name}; 2 sleep"] = (4, numbered("Neighbor_" + name, "on ring", waiters="1,3"), None)
    SCRIPTS[f"* ring; 013 Ineighbor_{name} Waitall; 2 sleep"] = \
        (4, numbered("Ineighbor_" + name, "on ring", waiters="1,3"), None)
for name in ON_WORLD:
    SCRIPTS[f"013 {name}; 2 sleep"] = (4, absent(name), None)
for name, (before, on) in ON_OTHERS.items():
    SCRIPTS[f"* {before}; 013 {name}; 2 sleep"] = (4, f"{absent(name + r'( #0)?', on)}|{absent('Barrier #0')}"
                                                   if name in LOCAL_IN_MPICH else absent(name + r"( #0)?", on), None)
for name, to in BLOCKING.items():
    SCRIPTS[f"0 {name}/1; 1 sleep"] = (2, absent(rf"{name.split()[-1]} {to} rank 1 \(tag 7\)", culprit=1), None)
for name in BOTH:
    SCRIPTS[f"0 {name}/1; 1 sleep"] = (2, message(0, f"MPI_{name.split()[-1]}", "MPI_Recv from", 1), None)
for words, operation in REQUESTS.items():
    SCRIPTS[f"0 {words}; 1 sleep"] = (2, message(0, "MPI_" + words.split()[-1], "MPI_" + operation, 1), None)
for words, operation in TESTS.items():
    SCRIPTS[f"0 {words}; 1 sleep"] = \
        (2, message(0, "MPI_" + words.split()[-1], "MPI_" + operation, 1).replace("waits in", "polls with"), None)
for name in ("Iprobe", "Improbe"):
    SCRIPTS[f"0 {name}/1; 1 sleep"] = (2, rf"Rank 0 polls with MPI_{name} from rank 1 \(tag 7\) {WORLD} for rank 1, which {SLEEPS}",
                                       None)
for words in ("Irecv/1 Iprobe_Test/1/8", "Irecv/1 Testany_Iprobe/1/8", "Irecv/1 Irecv/1/8 Test_each", "Iprobe_any"):
    # Different tests in turn: for what the rank polls need not be known.
    SCRIPTS[f"0 {words}; 1 sleep"] = (3, f"{held(2, 1, missing='0-1')}|{polls(0, 'Test', 1)}", None)
    SCRIPTS[f"0 {words}"] = (3, rf"Ranks 1-2 wait in MPI_Barrier #0 {WORLD} for rank 0, which has been polling with MPI_(Test|Iprobe)",
                             None)
for first, second in PAIRS:
    a, b = first.split("/")[0], second.split("/")[0]
    SCRIPTS[f"013 {first}; 2 {second} sleep"] = \
        (4, rf"Rank 2 called MPI_{b} #0( with root \d)? {WORLD}, where ranks 0-1(,3)? called MPI_{a}|Ranks disagree about a "
            rf"collective: rank 0 is in MPI_{a} #0.*, but rank 2 in MPI_{b} #0", None)
for first, (second, name, said, others) in ARGUMENTS.items():
    SCRIPTS[f"013 {first}; 2 {second} sleep"] = \
        (4, rf"Rank 2 called MPI_{name} #0 {WORLD} {said}, ranks [\d,-]+ {others}", None)
for state, said in (("compute", COMPUTES), ("stop", "has been in no communication call for .* and is stopped by a signal")):
    SCRIPTS[f"013 Bcast/2; 2 {state}"] = (4, numbered("Bcast", state=said), None)
    SCRIPTS[f"013 Comm_split; 2 {state}"] = (4, absent("Comm_split", state=said), None)
    SCRIPTS[f"0 Recv/1; 1 {state}"] = (2, absent(r"Recv from rank 1 \(tag 7\)", culprit=1, state=said), None)
    SCRIPTS[f"0 Irecv/1 Test; 1 {state}"] = (2, rf"Rank 0 polls with MPI_Test .*for rank 1, which {said}", None)
    SCRIPTS[f"* Win_create; 013 Win_fence; 2 {state}"] = (4, numbered("Win_fence", "on window.*", state=said), None)
SCRIPTS |= {
    # chains and cycles
    "0 Recv/1; 1 Recv/2; 2 sleep": (3, absent(r"Recv from rank 2 \(tag 7\)", waiters="1"), None),
    "0 Ssend/1; 1 Irecv/2 Waitall; 2 compute": (3, message(1, "MPI_Waitall", "MPI_Irecv from", 2, COMPUTES), None),
    "* half; 13 @world Recv/0/9": (4, DEADLOCK.format(0, "MPI_Barrier", "[13]", "MPI_Recv from rank 0"),
                                   "Rank [13] waits in MPI_Recv from rank 0 .* for rank 0, which has been in MPI_Barrier"),
    "0 Recv/1; 1 Recv/2; 2 Recv/0": (3, DEADLOCK.format(0, "MPI_Recv", 1, "MPI_Recv from rank 2.*waits for rank 2"), None),
    "0 Ssend/1; 1 Ssend/2; 2 Ssend/3; 3 Ssend/0": (4, DEADLOCK.format(0, "MPI_Ssend", 1, "MPI_Ssend to rank 2"), None),
    "0 large Send/1; 1 large Send/2; 2 large Send/3; 3 large Send/4; 4 large Send/5; 5 large Send/0":
        (6, DEADLOCK.format(0, "MPI_Send", 1, "MPI_Send to rank 2.*and so on through 6 ranks"), None),
    "0 Recv/1": (2, DEADLOCK.format(0, "MPI_Recv", 1, "MPI_Barrier #0"), None),
    "0 Comm_dup; 1 Recv/0": (2, DEADLOCK.format(0, "MPI_Comm_dup", 1, "MPI_Recv from rank 0"), None),
    "* other; 0 @world Barrier; 1 @other Barrier": (2, DEADLOCK.format(0, "MPI_Barrier #0 on MPI_COMM_WORLD", 1,
                                                                      "MPI_Barrier #0 on other"), None),
    "* other; 0 @world Allreduce; 1 @other Bcast/0": (2, DEADLOCK.format(0, "MPI_Allreduce #0 on MPI_COMM_WORLD", 1,
                                                                        "MPI_Bcast #0 with root 0 on other"), None),
    "0 Comm_dup; 1 Comm_split": (2, DEADLOCK.format(0, f"MPI_Comm_dup {WORLD}", 1, f"MPI_Comm_split {WORLD}"), None),
    "0 File_open; 1 Recv/0": (2, DEADLOCK.format(0, f"MPI_File_open {WORLD}", 1, "MPI_Recv from rank 0"), None),
    "02 Allreduce; 1 finalize": (3, DEADLOCK.format(0, "MPI_Allreduce #0", 1, "MPI_Finalize"), None),
    "02 finalize; 1 compute": (3, absent("Finalize", "", culprit=1, state=COMPUTES).replace("  ", " "), None),
    "0 Irecv/1 Test; 1 Irecv/0 Test": (2, r"Likely deadlock: rank 0 \(polling with MPI_Test \(for MPI_Irecv from rank 1.*waits for "
                                          "rank 1", None),
    "0 Iprobe/1; 1 Iprobe/0": (2, r"Likely deadlock: rank 0 \(polling with MPI_Iprobe from rank 1", None),
    "0 Iprobe/1; 1 Irecv/2 Test; 2 Issend/0 Testall": (3, "Likely deadlock: rank 0 .*rank 1 .*rank 2", None),
    "0 Iprobe/1; 1 Irecv/0 Iprobe_Test/0": (2, r"Likely deadlock", r"2 of 2 ranks wait in MPI calls, rank \d longest: polling"),
    # any of several
    "0 Irecv/1 Irecv/2 Waitany; 12 sleep": (3, r"Rank 0 waits in MPI_Waitany \(for MPI_Irecv from rank [12] \(tag 7\) "
                                               rf"{WORLD}, and 1 more\) for any of ranks 1-2, of which rank 1 {SLEEPS}", None),
    "0 Irecv/1 Irecv/2 Waitsome; 1 sleep; 2 Recv/0": (3, r"Rank 0 waits in MPI_Waitsome .*for any of ranks 1-2, of which rank 1 "
                                                       rf"{SLEEPS}", None),
    "0 Irecv/1 Irecv/2 Waitany; 12 Recv/0": (3, r"Deadlock: rank 0 \(in MPI_Waitany .*waits for rank [12] \(in MPI_Recv from "
                                                "rank 0", None),
    "0 Irecv/1 Irecv/2 Testany; 12 sleep": (3, rf"Rank 0 polls with MPI_Testany .*for any of ranks 1-2, of which rank 1 {SLEEPS}",
                                            None),
    "0 Irecv_any Wait; 1 sleep": (2, "Rank 0 .* for rank 1", r"1 of 2 ranks wait in MPI calls, rank 0 longest: in MPI_Wait"),
    "0 Recv_any": (3, rf"Ranks 1-2 wait in MPI_Barrier #0 {WORLD} for rank 0, which has been in MPI_Recv from any rank", None),
    # messages that do not match
    "0 Recv/1/8; 1 Send/0/7 sleep": (2, absent(r"Recv from rank 1 \(tag 8\)", culprit=1), None),
    "* other; 0 @world Recv/1; 1 Send/0 sleep": (2, absent(r"Recv from rank 1 \(tag 7\)", culprit=1), None),
    "0 Recv/1; 2 Send/0": (3, DEADLOCK.format(0, "MPI_Recv from rank 1", 1, "MPI_Barrier"), None),
    "0 Ssend/1; 1 Recv/0 Recv/0": (2, DEADLOCK.format(0, "MPI_Barrier #0", 1, "MPI_Recv from rank 0"), None),
    "0 Recv/1; 1 Send/0 Recv/0": (2, DEADLOCK.format(0, "MPI_Barrier #0", 1, "MPI_Recv from rank 0"), None),
    # parts of the job
    "* half; 13 Barrier; 02 @other Barrier @world Recv/1": (4, DEADLOCK.format("[01]", "MPI_(Barrier|Recv)", r"\d", "MPI_"), None),
    "* half; 1 Bcast/1; 3 sleep": (4, rf"Rank 1 waits in MPI_Bcast #0 with root 3 on odd for rank 3, which {SLEEPS}", None),
    "* other other; 013 Allreduce; 2 sleep": (4, numbered("Allreduce", "on other 0x[0-9a-f]{4}"), None),
    "* Comm_dup Comm_dup; 013 Comm_dup; 2 sleep": (4, absent("Comm_dup"), None),
    "* Comm_dup File_open Comm_split; 2 sleep": (4, held("0-1,3", 2), None),
    "* Comm_create_group; 01 Comm_create_group; 2 sleep": (4, held(3, 2, missing="0-2"), None),
    # windows
    "* Win_create; 0 Win_start/1 Put/1 Win_complete; 1 sleep": (2, "Rank 0 waits in MPI_Win_(start|complete) .*for rank 1",
                                                                r"1 of 2 ranks wait in MPI calls, rank 0 longest: in MPI_Win_"),
    "* Win_create; 1 Win_post/0 Win_wait; 0 sleep": (2, "Rank 1 waits in MPI_Win_wait .*for rank 0",
                                                     r"1 of 2 ranks wait in MPI calls, rank 1 longest: in MPI_Win_wait"),
    "* Win_create; 0 Win_lock/1 Put/1 Win_flush/1 stop; 2 second Win_lock/1 Put/1 Win_unlock/1":
        (3, held(1, 0, state="has been in no communication call for .* and is stopped by a signal", missing="0,2"), None),
    "* Win_create Win_fence; 02 Win_fence; 1 compute": (3, numbered("Win_fence", "on window.*", culprit=1, state=COMPUTES)
                                                        .replace("#0", "#1"), None),
    # threads
    "0 thread Recv/1; 1 thread sleep": (2, absent(r"Recv from rank 1 \(tag 7\)", culprit=1, state=HELPER), None),
    "* thread Barrier; 0 Recv/1; 1 Recv/2; 2 sleep": (3, absent(r"Recv from rank 2 \(tag 7\)", waiters="1"), None),
    "* thread; 013 Allreduce; 2 sleep": (4, numbered("Allreduce", state=HELPER), None),
    "* thread Barrier; 013 Allreduce; 2 sleep": (4, absent("Allreduce #1"), None),
    "* thread; 0 Irecv/1 Wait; 1 compute": (2, message(0, "MPI_Wait", "MPI_Irecv from", 1, HELPER), None),
}

# ---- programs/hangkinds.f90: rank 2 sleeps ----

FORTRAN = {
    "allreduce": (4, numbered("Allreduce"), None),
    "in place": (4, numbered("Allreduce"), None),
    "bcast": (4, numbered("Bcast"), None),
    "gather": (4, numbered("Gather", waiters="0"), None),
    "alltoall": (4, numbered("Alltoall"), None),
    "ibarrier": (4, numbered("Ibarrier"), None),
    "split": (4, absent("Comm_split"), None),
    "open": (4, absent("File_open"), None),
    "fence": (4, numbered("Win_fence", "on window.*"), None),
    "recv": (3, absent(r"Recv from rank 2 \(tag 7\)"), None),
    "ssend": (3, absent(r"Ssend to rank 2 \(tag 7\)"), None),
    "probe": (3, absent(r"Probe from rank 2 \(tag 7\)"), None),
    "waitall": (3, message("0|1", "MPI_Waitall", "MPI_Irecv from", 2), None),
    "waitany": (3, message("0|1", "MPI_Waitany", "MPI_Irecv from", 2), None),
    "test": (3, r"Rank [01] polls with MPI_Test \(for MPI_Irecv from rank 2 \(tag 7\).* for rank 2, which", None),
    "iprobe": (3, r"Rank [01] polls with MPI_Iprobe from rank 2 \(tag 7\).* for rank 2, which", None),
}

PYTHON |= {
    "bcast of objects": (3, numbered("Bcast", waiters="0-1").replace("#0", r"#\d+"), None),
    "allgather of objects": (3, rf"Ranks 0-1 wait in MPI_(Allgather|Gather) #\d+.* for rank 2, which {SLEEPS}", None),
    "scatter of objects": (3, rf"Ranks 0-1 wait in MPI_Scatter #\d+.* for rank 2, which {SLEEPS}", None),
    "alltoall of objects": (3, rf"Ranks 0-1 wait in MPI_Alltoall #\d+.* for rank 2, which {SLEEPS}", None),
    "allreduce of objects": (3, rf"Ranks? .*waits? in MPI_.* for rank 2, which {SLEEPS}", None),
    "synchronous send": (2, absent(r"Ssend to rank 1 \(tag 7\)", culprit=1), None),
    "large object": (2, absent(r"Send to rank 1 \(tag 7\)", culprit=1), None),
    "waitany": (3, rf"Rank 0 waits in MPI_Waitany .* for any of ranks 1-2, of which rank 1 {SLEEPS}", None),
    "split": (3, absent("Comm_split", culprit=1), None),
    "create group": (3, held(2, 1, missing="0-1"), None),
    "fence": (3, absent(r"Win_fence #0", "on .*", culprit=1), None),
    "open file": (3, absent("File_open", culprit=1), None),
    "spawned": (1, "Rank 0 waits in MPI_Barrier #0 on .*", r"1 of \d ranks? wait"),
    "finalize at exit": (3, "Ranks 0,2 wait in MPI_Finalize for rank 1, which", None),
    "finalize in handler": (3, "Ranks 0,2 wait in MPI_Finalize for rank 1, which", None),
    "two locks": (3, held("0,2", 1), None),
    "gil in c": (3, held("0,2", 1), None),
    "child process": (3, held("0,2", 1), None),
    "empty queue": (3, held("0,2", 1), None),
    "helper receives": (3, absent(r"Mprobe from rank 1 \(tag 7\)", culprit=1, state=HELPER.replace("Recv", "Mprobe")
                                  .replace("8", "99")), None),
    "circle with gloo": (3, DEADLOCK.format(0, r"gloo wait \(for gloo allreduce #3 on default_pg 0", 1, "MPI_Recv from rank 0"),
                         None),
    "two communicators": (3, absent(r"Allreduce #0", culprit=1, waiters="0,2"), None),
}
