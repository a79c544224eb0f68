"""Runs the capture programs. Each writes the records to expect (capture/expect.h), which are compared
with the rank files, record by record."""

import sys
from collections import defaultdict

import harness as h

AGAIN = 3  # ranks of capture/again.c
FIELDS = ("op", "comm", "sent_bytes", "recv_bytes", "peer", "tag", "flags", "seq")

# (program, numbers of ranks, levels, threads); each is a case. Other levels than 1 run with 2 ranks.
ALL = (1, 2, 4, 8)
PROGRAMS = (
    ("collectives", ALL, (1,)),
    ("messages", ALL, (1, 0, 2)),
    ("completions", ALL, (1, 0, 2)),
    ("persistent", ALL, (1, 0, 2)),
    ("probes", ALL, (1, 0, 2)),
    ("communicators", ALL, (1, 2)),
    ("neighbours", ALL, (1, 0)),
    ("across", (2, 4, 8), (1, 0)),
    ("onesided", ALL, (1, 0, 2)),
    ("files", ALL, (1, 0)),
    ("spawn", ALL, (1,)),
    ("turns_single", (2,), (1,)),
    ("turns_funneled", ALL, (1,)),
    ("turns_serialized", ALL, (1, 0)),
    ("threads", ALL, (1,)),
    ("mpifh", ALL, (1,)),
    ("usempi", ALL, (1,)),
    ("usempif08", ALL, (1,)),
    ("descriptors", (1, 4), (1,)),
)


class Expected:
    """The records that one rank of the program says to expect."""

    def __init__(self, path, level):
        self.threads = defaultdict(list)  # label: rows in FIELDS order, None for "any"
        self.comms = {}  # label: (size, rank, name, members)
        with open(path) as file:
            for line in file:
                kind, *words = line.split()
                if kind == "comm":
                    label, size, rank, name, members = words
                    members = [m.split(",") for m in members.split(";")]
                    self.comms[label] = (int(size), int(rank), name, members)
                elif int(words[9]) <= level:
                    self.threads[words[0]].append(self.row(words[1:9]))

    @staticmethod
    def row(words):
        op, comm, *numbers = words
        return (op, comm) + tuple(None if n == "any" else int(n) for n in numbers)


class Recorded:
    """The records of one rank file. Communicators are numbers of rows of /comms."""

    def __init__(self, file):
        events = file["events/comm"]
        self.events = events[:]
        self.ops = h.operations(file)
        self.sources = set(h.enum_names(events, "source"))
        self.comms = file["comms"][:]
        self.members = [str(r) for r in file["comm_members"]["world_rank"]]
        self.names = h.texts(file)
        self.threads = defaultdict(list)  # thread: indices, in file order
        for i, event in enumerate(self.events):
            self.threads[int(event["thread"])].append(i)

    def is_early(self, i):
        """Whether the operation is nonblocking, was not completed by a Wait or Test, was not freed,
        and had no error."""
        event = self.events[i]
        return bool(event["flags"] & 4) and event["wait_start"] == 0 and not event["flags"] & 17

    def row(self, i):
        event = self.events[i]
        return (self.ops[i], int(event["comm"])) + tuple(int(event[f]) for f in FIELDS[2:])


class Labels(dict):
    """Maps the program's label of a communicator to its row in /comms. The first row of the same
    size and rank that occurs with a label is bound to it."""

    def __init__(self, expected, recorded):
        super().__init__()
        self.expected, self.recorded = expected, recorded

    def is_row(self, label, row):
        if label not in self:
            size, rank = self.expected.comms[label][:2]
            comm = self.recorded.comms[row]
            if row < 0 or (int(comm["size"]), int(comm["my_rank"])) != (size, rank):
                return False
            self[label] = row
        return self[label] == row


def row_matches(wanted, found, comm_rows):
    if any(w is not None and w != f for w, f in zip(wanted[2:], found[2:])):
        return False
    if wanted[0] != found[0]:
        return False
    if wanted[1] == "-":
        return found[1] == -1
    return comm_rows.is_row(wanted[1], found[1])


def group_sizes(recorded, indices):
    """Sizes of groups of operations that one call completed. These end at the same time, so their
    order means nothing."""
    sizes = []
    for k, i in enumerate(indices):
        if k and recorded.events[i]["end"] == recorded.events[indices[k - 1]]["end"]:
            sizes[-1] += 1
        else:
            sizes.append(1)
    return sizes


def take_early(label, wanted, recorded, indices, comm_rows):
    """Takes out of both lists the operations that were complete when their calls returned. They are
    recorded at that point, before the later records of the program; among themselves they keep
    their order."""
    wanted, late = list(wanted), []
    for i in indices:
        event, row = recorded.events[i], recorded.row(i)
        if not recorded.is_early(i):
            late.append(i)
            continue
        h.check(event["end"] - event["start"] <= event["inside_ns"] + 1000, "record", i, row,
                "was not complete when its call returned")
        # Freed or not: there was nothing left to give up.
        match = next((w for w in wanted if w[6] & 4 and
                      row_matches(w[:6] + (w[6] & ~16,) + w[7:], row, comm_rows)), None)
        h.check(match is not None, f"thread {label} recorded what it did not do:", row, FIELDS)
        wanted.remove(match)
    return wanted, late


def compare_thread(label, wanted, recorded, indices, comm_rows):
    wanted, indices = take_early(label, wanted, recorded, indices, comm_rows)
    found = [recorded.row(i) for i in indices]
    at = 0
    for size in group_sizes(recorded, indices):
        left = list(wanted[at : at + size])
        for row in found[at : at + size]:
            match = next((w for w in left if row_matches(w, row, comm_rows)), None)
            if match is None:
                near = "\n  ".join(map(str, found[max(0, at - 3) : at + size + 2]))
                h.check(False, f"thread {label}, records {at}..{at + size - 1}: found", row, FIELDS,
                        "\nwanted one of", left or "nothing", "\ncommunicators", comm_rows,
                        "\nrecords there\n ", near)
            left.remove(match)
        at += size
    h.equal(len(found), len(wanted), f"number of records of thread {label}")


def sent_tags(rows):
    found = {("tag", r[5]) for r in rows if r[0] in ("Isend", "Sendrecv")}
    return found or {("seq", r[7]) for r in rows if r[0] == "Allreduce"}


def pair_threads(expected, recorded):
    """Returns (label, thread) pairs. The main thread is the one with MPI_Init. Other threads are
    told apart by the tags that they sent, because the order in which threads first record is
    random. Threads with collectives only are told apart by the sequence numbers."""
    left = dict(recorded.threads)
    pairs = []
    for label in sorted(expected.threads):
        wanted = expected.threads[label]
        tags = sent_tags(wanted)
        for thread, indices in left.items():
            rows = [recorded.row(i) for i in indices]
            starts = {r[0] for r in rows} & {"Init", "Init_thread"}
            if bool(starts) == (label == "main") and (
                label == "main" or sent_tags(rows) == tags
            ):
                pairs.append((label, thread))
                del left[thread]
                break
        else:
            h.check(False, "no thread recorded what", label, "did")
    h.check(not left, "threads that nobody expected:", sorted(left))
    return pairs


def check_times(recorded):
    """Checks conditions that hold for every record, whatever the program."""
    h.equal(recorded.sources, {"mpi"}, "sources")
    last = {}
    for i, event in enumerate(recorded.events):
        start, end, flags = int(event["start"]), int(event["end"]), int(event["flags"])
        h.check(0 < start <= end, "start", start, "end", end, "of record", i)
        h.check(last.get(int(event["thread"]), 0) <= end, "record", i, "ends before the one before")
        last[int(event["thread"])] = end
        h.check(0 <= event["inside_ns"] <= end - start + 1000, "time inside calls of record", i)
        if flags & 4:  # nonblocking
            h.check(event["request"] > 0, "no request number in record", i)
            wait = int(event["wait_start"])  # 0: freed, or complete when its call returned
            h.check(start <= wait <= end or wait == 0, "wait_start of record", i,
                    recorded.row(i), event)
        else:
            h.check(event["wait_start"] == 0, "wait_start of blocking record", i)
    requests = [int(r) for r in recorded.events["request"] if r]
    h.equal(len(set(requests)), len(requests), "number of distinct requests")


def check_comms(rank, expected, recorded, comm_rows, uids):
    used = {}
    for label, row in comm_rows.items():
        h.check(row not in used, label, "and", used.get(row), "are one row of /comms")
        used[row] = label
        comm = recorded.comms[row]
        size, my_rank, name, members = expected.comms[label]
        found = (int(comm["size"]), int(comm["my_rank"]))
        h.equal(found, (size, my_rank), f"size and rank of {label}")
        remote = len(members[1]) if len(members) > 1 else 0
        h.equal(int(comm["remote_size"]), remote, f"remote size of {label}")
        first = int(comm["first_member"])
        h.equal(recorded.members[first : first + size + remote], sum(members, []),
                f"members of {label}")
        h.equal(recorded.names[int(comm["name"])].replace(" ", "_"), "" if name == "-" else name,
                f"name of {label}")
        uids[label].add(int(comm["uid"]))
    rows = {i for i in recorded.events["comm"] if i >= 0}
    h.check(rows <= set(used), "events of rank", rank, "on rows that nobody expected", rows)


def check_uids(uids):
    """A communicator has the same uid on all ranks, and two communicators have different ones."""
    owner = {}
    for label, found in uids.items():
        h.equal(len(found), 1, f"number of uids of {label}")
        uid = found.pop()
        h.check(uid not in owner, label, "and", owner.get(uid), "have one uid")
        owner[uid] = label


def compare(program, n, level):
    path = h.program(program)
    h.h5py()
    options = ("--no-merge", "--level", level, "-o", "out")
    h.run(h.mpirun(n, *h.profwrap(*options), path, "said", level))
    uids = defaultdict(set)
    for rank in range(n):
        expected = Expected(f"said-{rank}", level)
        recorded = Recorded(h.open_complete("out", rank))
        comm_rows = Labels(expected, recorded)
        check_times(recorded)
        for label, thread in pair_threads(expected, recorded):
            compare_thread(label, expected.threads[label], recorded, recorded.threads[thread],
                           comm_rows)
        check_comms(rank, expected, recorded, comm_rows, uids)
    check_uids(uids)


def said_of_again(prefix, *before):
    """What the calls of the ranks returned."""
    h.run(h.mpirun(AGAIN, *before, h.program("again"), prefix))
    said = []
    for rank in range(AGAIN):
        with open(f"{prefix}-{rank}") as file:
            said.append(file.read())
    return said


def recorded_of_again(out, *options):
    """The records of each rank, without their times."""
    said_of_again(out + "-said", *h.profwrap("--no-merge", "--ring-size", "64K", "--on-full", "wait",
                                             *options, "-o", out))
    records = []
    for rank in range(AGAIN):
        recorded = Recorded(h.open_complete(out, rank))
        records.append([recorded.row(i) for i in range(len(recorded.ops))])
    return records


@h.case
def again_as_by_the_slow_functions():
    """Fast functions record the same as the slow functions, which record all calls when there are
    call stacks; and the calls return the same as without profwrap."""
    h.equal(said_of_again("with", *h.profwrap("--no-merge", "-o", "out")), said_of_again("without"),
            "returned")
    fast, slow = recorded_of_again("fast"), recorded_of_again("slow", "--call-stacks", "1")
    for rank in range(AGAIN):
        h.check(len(fast[rank]) > 7000, "records of rank", rank, len(fast[rank]))
        for i, (found, wanted) in enumerate(zip(fast[rank], slow[rank])):
            h.equal(found, wanted, f"record {i} of rank {rank}, {FIELDS}")
        h.equal(len(fast[rank]), len(slow[rank]), f"records of rank {rank}")


@h.case
def merged_across():
    """The merge treats both sides of an intercommunicator as one communicator."""
    n = 4
    path = h.program("across")
    h5py = h.h5py()
    h.run(h.mpirun(n, *h.profwrap("--no-report", "-o", "out"), path, "said", 1))
    with h5py.File("out/cluster.h5", "r") as cluster:
        rows = cluster["collectives"][:]
    with h5py.File(h.rank_path("out", 0), "r") as file:
        comms = file["comms"][:]
    inter = {int(c["uid"]): int(c["size"] + c["remote_size"]) for c in comms if c["remote_size"]}
    h.check(len(inter) >= 4, "intercommunicators of rank 0:", inter)
    for row in rows:
        h.check(row["complete"] == 1, "not all ranks of a collective met:", row)
        if int(row["comm_uid"]) in inter:
            h.equal(int(row["nranks"]), inter[int(row["comm_uid"])], "ranks of a collective")
    h.check(set(inter) <= {int(u) for u in rows["comm_uid"]}, "intercommunicators without rows")


def add_case(program, n, level):
    name = f"{program}-np{n}" + (f"-level{level}" if level != 1 else "")
    h.CASES[name] = lambda: compare(program, n, level)


for program, sizes, levels in PROGRAMS:
    for level in levels:
        for n in sizes if level == 1 else (2,):
            add_case(program, n, level)

if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
