"""What the tests of OTF2 archives share: an archive is read by otf2-print and by OTF2's Python
reader, and has what the rank files have, at the same times."""

import bisect
import collections
import re
import shutil

import harness as h


def reader():
    if not shutil.which("otf2-print"):
        raise h.Skipped("there is no otf2-print (Debian: otf2-tools)")
    try:
        import otf2 as module
        import otf2.events
    except ImportError:
        raise h.Skipped("this Python has no otf2 (Debian: python3-otf2)") from None
    return module


def write(folder, archive, *options):
    reader()
    done = h.run(h.profwrap("report", "--format", "otf2", "-o", archive, *options, folder), status=None)
    if b"was built without OTF2" in done.stderr:
        raise h.Skipped("profwrap was built without OTF2")
    h.equal(done.returncode, 0, f"exit status: {done.stderr}")
    return done.stderr.decode()


def printed(archive):
    """otf2-print reads all of it, and warns of nothing."""
    for options in (["-G"], ["-A"], []):
        done = h.run(["otf2-print", *options, f"{archive}/traces.otf2"])
        h.equal(done.stderr, b"", "what otf2-print says on standard error")
        h.check(b"warning" not in done.stdout and b"INVALID" not in done.stdout, "otf2-print warns")


def clocks(folder):
    """A function from rank and local time to cluster time, as the merge computed them."""
    with h.h5py().File(f"{folder}/cluster.h5", "r") as file:
        domains = {int(r["rank"]): int(r["domain"]) for r in file["clocks"][:]}
        knots = collections.defaultdict(list)
        for row in file["clock_knots"][:]:
            knots[int(row["domain"])].append((int(row["local_ns"]), int(row["offset_ns"])))

    def convert(rank, time):
        mine = knots.get(domains.get(rank, -1), [])
        if not mine:
            return time
        at = bisect.bisect_right(mine, (time, 1 << 62))
        if at == 0 or at == len(mine):
            return time + mine[max(at - 1, 0)][1]
        (t0, o0), (t1, o1) = mine[at - 1], mine[at]
        return time + o0 + round((o1 - o0) * (time - t0) / (t1 - t0))
    return convert


def clock_offsets(archive):
    """{location: [(time, offset, standard deviation)]} of the records ClockOffset."""
    found = collections.defaultdict(list)
    text = h.run(["otf2-print", "-C", f"{archive}/traces.otf2"]).stdout.decode()
    for location, time, offset, deviation in re.findall(
            r"^CLOCK_OFFSET +(\d+) +Time: (\d+), Offset: \+?(-?\d+), StdDev: (\S+)", text, re.M):
        found[int(location)].append((int(time), int(offset), float(deviation)))
    return dict(found)


def read(archive):
    """(trace definitions, {rank: [(location name, event)]}) of the archive."""
    otf2 = reader()
    found = collections.defaultdict(list)
    with otf2.reader.open(f"{archive}/traces.otf2") as trace:
        for location, event in trace.events:
            group = location.group
            while group.creating_location_group is not None:
                group = group.creating_location_group
            found[int(group.name.rsplit(" ", 1)[1])].append((location.name, event))
        return trace.definitions, dict(found)


def near(found, wanted, what):
    """The same times, up to the rounding of a clock's interpolation."""
    h.equal(len(found), len(wanted), f"number of {what}")
    worst = max((abs(a - b) for a, b in zip(sorted(found), sorted(wanted))), default=0)
    h.check(worst <= 1, what, "differ by", worst, "ns")


def nest(events):
    """Enter and Leave nest in each location, and times never fall."""
    stacks, last = collections.defaultdict(list), {}
    for location, event in events:
        h.check(last.get(location, 0) <= event.time, "time falls in", location)
        last[location] = event.time
        kind = type(event).__name__
        if kind == "Enter":
            stacks[location].append(event.region.name)
        elif kind == "Leave":
            h.equal(stacks[location].pop(), event.region.name, "region that ends")
    h.check(not any(stacks.values()), "regions are left open:", stacks)


def messages(rows, names, world):
    """(kind, time of its row, peer, tag, bytes) of blocking and nonblocking messages in a rank file."""
    found = collections.Counter()
    for row, op in zip(rows, names):
        if row["flags"] & (1 | 4 | 8 | 16) or row["peer"] < 0 or int(row["comm"]) not in world:
            continue
        if op in ("Send", "Bsend", "Ssend", "Rsend") or (op.startswith("Sendrecv") and not row["flags"] & 2):
            found["MpiSend", int(row["peer"]), int(row["tag"]), int(row["sent_bytes"])] += 1
        elif op in ("Recv", "Mrecv") or (op.startswith("Sendrecv") and row["flags"] & 2):
            found["MpiRecv", int(row["peer"]), int(row["tag"]), int(row["recv_bytes"])] += 1
    return found


def compare(folder, archive):
    """Compares an archive with the rank files that it was made of."""
    definitions, events = read(archive)
    convert = clocks(folder)
    with h.h5py().File(f"{folder}/cluster.h5", "r") as file:
        ranks = [int(r["rank"]) for r in file["ranks"][:] if r["present"]]
    h.equal([group.name for group in definitions.location_groups][:len(ranks)],
            [f"MPI Rank {rank}" for rank in ranks], "location groups")
    for rank in ranks:
        compare_rank(folder, rank, events[rank], convert)
    return definitions, events


def compare_rank(folder, rank, events, convert):
    nest(events)
    enters = collections.defaultdict(list)
    seen = collections.defaultdict(list)
    for location, event in events:
        kind = type(event).__name__
        if kind == "Enter":
            enters[event.region.name].append(event)
        seen[kind].append(event)
    file = h.open_rank(folder, rank)
    rows, names = file["events/comm"][:], h.enum_names(file["events/comm"], "op")
    prefixes = {"mpi": "MPI_", "nccl": "nccl"}
    sources = h.enum_names(file["events/comm"], "source")
    wanted = collections.defaultdict(list)
    for row, op, source in zip(rows, names, sources):
        if not row["flags"] & 2:
            wanted[prefixes[source] + op].append(convert(rank, int(row["start"])))
    for name, times in wanted.items():
        near([event.time for event in enters[name]], times, f"calls of {name} on rank {rank}")
    compare_ranges(file, rank, enters, convert)
    compare_messages(file, rank, rows, names, seen)
    compare_collectives(file, rank, rows, names, seen)


def compare_ranges(file, rank, enters, convert):
    strings = h.texts(file)
    ranges = collections.defaultdict(list)
    for row in file["events/range"][:]:
        if not row["flags"] & 2:
            ranges[strings[int(row["name"])]].append(convert(rank, int(row["start"])))
    for name, times in ranges.items():
        near([event.time for event in enters[name]], times, f"ranges {name} on rank {rank}")
    steps = [e for e in enters["step"] if any(a.name == "profwrap::recorded" for a in e.attributes)]
    near([event.time for event in steps], [convert(rank, int(r["start"])) for r in file["steps"][:]], "steps")
    h.equal([value for e in steps for a, value in e.attributes.items() if a.name == "profwrap::sequence"],
            [int(r["step"]) for r in file["steps"][:]], "numbers of steps")


def compare_messages(file, rank, rows, names, seen):
    """Messages on communicators of all ranks, whose numbers are those of the ranks."""
    members = [int(m) for m in file["comm_members"]["world_rank"]]
    world = set()
    for i, comm in enumerate(file["comms"][:]):
        first, size = int(comm["first_member"]), int(comm["size"])
        both = members[first:first + size + int(comm["remote_size"])]
        if both in (list(range(len(both))), list(range(size, len(both))) + list(range(size))):
            world.add(i)
    found = collections.Counter()
    for kind, peer in (("MpiSend", "receiver"), ("MpiRecv", "sender")):
        for event in seen[kind]:
            group = getattr(event.communicator, "group", None)
            if group is not None and list(range(len(group.members))) == [rank_of(m) for m in group.members]:
                found[kind, getattr(event, peer), event.msg_tag, event.msg_length] += 1
    h.equal(found, messages(rows, names, world), f"messages of rank {rank}")


def rank_of(location):
    return int(location.group.name.rsplit(" ", 1)[1])


# Those that OTF2 has, which has none for neighbourhoods.
COLLECTIVES = {
    name for blocking in (
        "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall",
        "Alltoallv", "Alltoallw", "Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan")
    for name in (blocking, "I" + blocking.lower())}


def compare_collectives(file, rank, rows, names, seen):
    cls = collections.Counter()
    for event in seen["MpiCollectiveEnd"] + seen["NonBlockingCollectiveComplete"]:
        cls[event.size_sent, event.size_received] += 1
    h.equal(len(seen["MpiCollectiveBegin"]), len(seen["MpiCollectiveEnd"]), "begins of collectives")
    wanted = collections.Counter()
    for row, op in zip(rows, names):
        if op in COLLECTIVES and row["comm"] >= 0 and not row["flags"] & (1 | 8 | 16):
            wanted[max(int(row["sent_bytes"]), 0), max(int(row["recv_bytes"]), 0)] += 1
    h.equal(cls, wanted, f"bytes of the collectives of rank {rank}")
