"""Timelines as Perfetto's protobuf: what they have is what the JSON of the same run has.

    test_perfetto.py PROFWRAP CASE...        test_perfetto.py --list
"""
import collections
import json
import os
import struct
import zlib

from simulated import case, main, make, profwrap, require_h5py

BEGIN, END, MARK, COUNTER = 1, 2, 3, 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message, by number: lists of numbers, or of bytes."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = (8, at) if tag & 7 == 1 else varint(data, at)
            assert tag & 7 in (1, 2) and at + size <= len(data), (tag, at, size)
            value, at = data[at:at + size], at + size
        found[tag >> 3].append(value)
    return found


def packets(data):
    for packet in fields(data)[1]:
        packet = fields(packet)
        if packet[50]:
            assert len(packet[50][0]) < 512 << 10
            yield from packets(zlib.decompress(packet[50][0]))
        else:
            yield packet


def signed(number):
    return number - (1 << 64) if number >> 63 else number


class Trace:
    """The tracks, slices, marks, counters and clocks of a file."""

    def __init__(self, path):
        self.tracks, self.texts, self.stacks = {}, {}, collections.defaultdict(list)
        self.slices, self.marks, self.counters, self.clocks = [], [], [], []
        with open(path, "rb") as file:
            data = file.read()
        for packet in packets(data):
            for track in packet[60]:
                track = fields(track)
                unit = fields(track[8][0])[6][0].decode() if track[8] else None
                self.tracks[track[1][0]] = (track[2][0].decode(), (track[5] or [None])[0], unit)
            for interned in packet[12]:
                for kind, rows in fields(interned).items():
                    for row in map(fields, rows):
                        self.texts[kind, row[1][0]] = row[2][0].decode()
            for snapshot in packet[6]:
                self.clocks.append({row[1][0]: row[2][0]
                                    for row in map(fields, fields(snapshot)[1])})
            for event in packet[11]:
                self.take(packet[8][0], fields(event))
        assert not any(self.stacks.values()), "slices that do not end"

    def where(self, track):
        name, parent, _ = self.tracks[track]
        rank, host, _ = self.tracks[parent]
        assert self.tracks[host][0].startswith("host ")
        return int(rank.removeprefix("rank ")), name

    def args(self, event):
        for row in map(fields, event[4]):
            value = self.texts[29, row[17][0]] if row[17] else signed(row[4][0])
            yield self.texts[3, row[1][0]], value

    def take(self, time, event):
        kind, track = event[9][0], event[11][0]
        if kind == COUNTER:
            value, = struct.unpack("<d", event[44][0])
            self.counters.append((*self.where(track), time, value, self.tracks[track][2]))
        elif kind == END:
            start, *rest = self.stacks[track].pop()
            self.slices.append((*self.where(track), start, time - start, *rest))
        else:
            flows = [struct.unpack("<Q", one)[0] for one in event[47]]
            row = (time, self.texts[2, event[10][0]],
                   self.texts[1, event[3][0]] if event[3] else None,
                   frozenset(self.args(event)), tuple(flows))
            if kind == BEGIN:
                self.stacks[track].append(row)
            else:
                self.marks.append((*self.where(track), *row))


def ns(us):
    return round(us * 1000)


def of_json(path):
    """The same of a JSON timeline: slices, marks, counters, and the two ends of each arrow."""
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices, marks, counters, arrows, beside = [], [], [], collections.defaultdict(list), {}
    for e in events:
        track = (e["pid"], names.get((e["pid"], e["tid"]), f"thread {e['tid']}"))
        args = frozenset((k, v) for k, v in e.get("args", {}).items() if v != "")
        if e["ph"] == "X":
            slices.append((*track, ns(e["ts"]), ns(e["dur"]), e["name"], e["cat"], args))
        elif e["ph"] == "i":
            marks.append((*track, ns(e["ts"]), e["name"], e["cat"], args))
        elif e["ph"] == "C":
            (unit, value), = e["args"].items()
            counters.append((e["pid"], e["name"], ns(e["ts"]), value, unit))
        elif e["ph"] in "sf":
            arrows[e["cat"], e["id"]].append((*track, ns(e["ts"]), e["name"]))
        elif e["ph"] in "be":
            beside.setdefault(e["id"], []).append((track, ns(e["ts"]), e["name"], e["cat"]))
    for (track, start, name, category), (_, end, _, _) in beside.values():
        slices.append((track[0], f"{track[1]}, nonblocking", start, end - start, name, category,
                       frozenset()))
    return slices, marks, counters, arrows


def check(run, *options):
    profwrap("report", "--format", "chrome", "--max-size", "0", *options, "-o", "run.json", run)
    profwrap("report", "--format", "perfetto", "--max-size", "0", *options, "-o", "run.pftrace", run)
    slices, marks, counters, arrows = of_json("run.json")
    trace = Trace("run.pftrace")
    count = collections.Counter
    assert count(s[:-1] for s in trace.slices) == count(slices), "slices"
    assert len(slices) > 100
    arrow_names = ("message", "last to come")
    own = [m[:-1] for m in trace.marks if m[3] not in (*arrow_names, "launch")]
    assert count(own) == count(marks), "marks"
    errors = [c for c in trace.counters if c[1] == "clock error, at most"]
    shown = [(*c[:3], float(f"{c[3]:.6g}"), c[4]) for c in trace.counters if c not in errors]
    assert count(shown) == count((*c[:3], float(c[3]), c[4]) for c in counters), "counters"
    ends = collections.defaultdict(list)
    for rank, track, time, name, _, _, flows in trace.marks:
        for flow in flows:
            ends[flow].append((rank, track, time, name))
    for rank, track, start, _, _, category, _, flows in trace.slices:
        for flow in flows:
            assert category in ("kernel", "memcpy", "memset")
            ends[flow].append((rank, track, start, "launch"))
    assert count(tuple(sorted(e)) for e in ends.values()) == count(
        tuple(sorted(e)) for e in arrows.values()), "arrows"
    return trace, os.path.getsize("run.json") / os.path.getsize("run.pftrace")


@case
def perfetto_has_what_the_json_has():
    run = make("run", "-r", "6", "-s", "30", "--ranks-per-host", "3", "--operators", "3", "--overlap",
               "50", "-f", "slow_rank:rank=2,percent=30")
    profwrap("merge", "-q", run)
    trace, ratio = check(run, "--lanes", "scope")
    assert ratio > 10, ratio
    hosts = [name for name, parent, _ in trace.tracks.values() if parent is None]
    assert hosts == ["host node0000", "host node0001"], hosts


@case
def perfetto_has_clocks_with_their_bounds():
    run = make("run", "-r", "8", "-s", "20", "--ranks-per-host", "4")
    profwrap("merge", "-q", run)
    trace, _ = check(run)
    times = [clock[6] for clock in trace.clocks]
    assert times == sorted(times), "a reader takes no clock that runs backwards"
    assert {max(clock) for clock in trace.clocks} <= {128, 128 + 4}, "clocks of the hosts' first ranks"
    other = [clock[6] for clock in trace.clocks if 128 + 4 in clock]
    bounds = [c for c in trace.counters if c[:2] == (4, "clock error, at most")]
    assert len(other) >= 2 and [c[2] for c in bounds] == other, (other, bounds)
    assert all(c[3] > 0 and c[4] == "ns" for c in bounds), bounds


def names_of(trace, rank):
    """The names of the tracks of a rank that have slices."""
    return {track for number, track, *_ in trace.slices if number == rank}


@case
def perfetto_names_threads_and_hosts():
    run = make("run", "-r", "4", "-s", "5", "--ranks-per-host", "2")
    for rank in range(4):
        with h5py.File(f"{run}/rank-{rank:05d}.h5", "r+") as file:
            # The launcher has placed ranks in turns.
            file.attrs.modify("hostname", numpy.bytes_(f"node000{rank % 2}"))
            if rank == 1:
                del file.attrs["main_thread"]
            if rank < 2:
                continue
            word = [text for text in file["strings"].asstr()].index("backward")
            rows = [(0, 7, 0, word - 1), (0, 7, 0, word), (0, 8, 5, word - 1)]
            file["thread_names"] = numpy.array(rows[:2 * rank - 3], dtype=[
                ("time", "i8"), ("tid", "i4"), ("thread", "i4"), ("name", "u4")])
            last = file["strings"].asstr()[word - 1]
    profwrap("merge", "-q", run)
    trace, _ = check(run)
    assert names_of(trace, 0) == {"steps", "main thread (rank 0)"}, names_of(trace, 0)
    assert names_of(trace, 1) == {"steps", "thread 0"}, names_of(trace, 1)
    assert names_of(trace, 2) == {"steps", f"{last}, main thread (rank 2)"}, names_of(trace, 2)
    assert names_of(trace, 3) == {"steps", "backward, main thread (rank 3)"}, names_of(trace, 3)
    hosts = [name for name, parent, _ in trace.tracks.values() if parent is None]
    assert hosts == ["host node0000", "host node0001"], hosts


@case
def perfetto_has_streams_launches_and_messages():
    run = make("gpu", "--gpu", "-r", "3", "-s", "10")
    profwrap("merge", "-q", run)
    trace, _ = check(run)
    assert any(track.startswith("GPU 0 stream") for _, track, *_ in trace.slices)
    run = make("ring", "-p", "ring", "-r", "4", "-s", "10", "--os-samples", "--queues")
    profwrap("merge", "-q", run)
    check(run)


h5py, numpy = require_h5py()
main()
