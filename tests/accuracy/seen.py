"""What a tool that watches a job would see of a run: the times of steps, marked sections and
communication calls. These are read from the rank files alone, without the truth and without the
results of an analysis."""
import glob
import os
from dataclasses import dataclass, field

import numpy as np

NOT_OPERATIONS = ("Init", "Init_thread", "Finalize")
NONBLOCKING = 4  # of the flags: the row goes on until the wait for it, which has a row of its own
PERIOD = 0.95  # autocorrelation of the calls from which on a lag is their period


@dataclass
class Calls:
    """The operations of one rank in the order of their starts, on the cluster's clock."""
    op: np.ndarray
    comm: np.ndarray
    start: np.ndarray
    end: np.ndarray
    bytes: np.ndarray
    peer: np.ndarray
    tag: np.ndarray


@dataclass
class Section:
    """The calls of one section on one rank: the step of each, its duration, and the part of it
    outside MPI calls."""
    step: np.ndarray
    wall: np.ndarray
    work: np.ndarray


@dataclass
class Seen:
    """`marked`: the program marked its steps and sections. Otherwise iterations are the periods of
    the calls; there are none if the ranks' periods differ."""
    marked: bool
    hosts: list
    start: np.ndarray  # [rank, step], cluster clock
    end: np.ndarray
    work: np.ndarray  # [rank, step]: time outside calls
    sections: list = field(default_factory=list)  # of each rank: {name: Section}
    calls: list = field(default_factory=list)  # of each rank
    members: list = field(default_factory=list)  # of each rank: {comm: world ranks}

    @property
    def ranks(self):
        return len(self.hosts)

    @property
    def steps(self):
        return self.start.shape[1]

    def total(self, name, what="wall"):
        """[rank, step]: the time of all calls of a section in each step."""
        table = np.zeros((self.ranks, self.steps))
        for rank, sections in enumerate(self.sections):
            if name in sections:
                one = sections[name]
                np.add.at(table[rank], one.step, getattr(one, what))
        return table


class Inside:
    """The time inside calls up to some moment. Overlapping calls count once."""

    def __init__(self, start, end):
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
        reach = np.maximum.accumulate(end) if len(end) else end
        begin = np.maximum(start, np.concatenate(([np.iinfo(np.int64).min], reach[:-1])))[:len(end)]
        self.begin, self.length = begin, np.maximum(end - begin, 0)
        self.before = np.concatenate(([0], np.cumsum(self.length)))

    def until(self, when):
        row = np.searchsorted(self.begin, when, side="right")
        last = np.maximum(row - 1, 0)
        if not len(self.begin):
            return np.zeros_like(when)
        part = np.minimum(when - self.begin[last], self.length[last])
        return np.where(row > 0, self.before[last] + np.maximum(part, 0), 0)

    def outside(self, start, end):
        return (end - start) - (self.until(end) - self.until(start))


def period_of(calls):
    """The first lag at which the autocorrelation of the numbers is 0.95 or more, or None."""
    sequence = np.asarray(calls, dtype=float)
    if len(sequence) < 4:
        return None
    centred = sequence - sequence.mean()
    power = np.dot(centred, centred)
    if power == 0:
        return 1
    for lag in range(1, len(sequence) // 2):
        if np.dot(centred[:-lag], centred[lag:]) / power >= PERIOD:
            return lag
    return None


def iterations_of(calls):
    """The starts and ends of the iterations of one rank's calls, from their period."""
    _, numbers = np.unique(np.array([f"{op} {size}" for op, size in zip(calls.op, calls.bytes)]),
                           return_inverse=True)
    lag = period_of(numbers)
    marks = calls.start[::lag] if lag else np.array([], dtype=np.int64)
    return marks[:-1], marks[1:]


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def names_of(h5py, dataset, name):
    """{number: name} of an enumerated field."""
    return {number: word for word, number in h5py.check_enum_dtype(dataset.dtype[name]).items()}


def to_cluster(clock, times):
    """Converts local times to the cluster's clock. Without knots they stay the same."""
    if not len(clock):
        return times.astype(np.int64)
    shift = np.interp(times, clock["local_ns"], clock["offset_ns"].astype(float))
    return (times + shift).astype(np.int64)


def calls_of(file, h5py, clock):
    """All rows, and which of them are operations (no waits) and which block."""
    rows = file["events/comm"]
    names, table = names_of(h5py, rows, "op"), rows[()]
    table = table[np.argsort(table["start"], kind="stable")]
    op = np.array([names[number] for number in table["op"]], dtype=object)
    known = np.array([not (name in NOT_OPERATIONS or name.startswith(("Wait", "Test")))
                      for name in op], dtype=bool)
    start, end = to_cluster(clock, table["start"]), to_cluster(clock, table["end"])
    blocks = table["flags"] & NONBLOCKING == 0
    kept = table[known]
    size = np.maximum(kept["sent_bytes"], kept["recv_bytes"])
    return (Calls(op[known], kept["comm"], start[known], end[known], size, kept["peer"],
                  kept["tag"]), Inside(start[blocks], end[blocks]))


def sections_of(file, h5py, clock, inside, starts, ends):
    rows = file["events/range"]
    kinds, table = names_of(h5py, rows, "kind"), rows[()]
    table = table[[kinds[number] == "phase" for number in table["kind"]]]
    start, end = to_cluster(clock, table["start"]), to_cluster(clock, table["end"])
    step = np.searchsorted(starts, start, side="right") - 1
    within = (step >= 0) & (start < ends[np.maximum(step, 0)]) if len(starts) else step >= 0
    work = inside.outside(start, end)
    strings = file["strings"][()]
    return {text(strings[number]): Section(step[mine], (end - start)[mine], work[mine])
            for number in np.unique(table["name"])
            for mine in [(table["name"] == number) & within]}


def groups_of(file):
    members = file["comm_members"]["world_rank"]
    return {row: [int(rank) for rank in members[int(one["first_member"]):][:int(one["size"])]]
            for row, one in enumerate(file["comms"][()])}


def read(directory):
    """Reads the run in a directory from its rank files."""
    import h5py
    seen = Seen(True, [], None, None, None)
    bounds, insides = [], []
    for path in sorted(glob.glob(os.path.join(directory, "rank-*.h5"))):
        with h5py.File(path) as file:
            clock = file["clock"][()]
            calls, inside = calls_of(file, h5py, clock)
            steps = file["steps"][()]
            starts, ends = to_cluster(clock, steps["start"]), to_cluster(clock, steps["end"])
            seen.hosts.append(text(file.attrs["hostname"]))
            seen.sections.append(sections_of(file, h5py, clock, inside, starts, ends))
            seen.calls.append(calls)
            seen.members.append(groups_of(file))
            bounds.append((starts, ends))
            insides.append(inside)
    if not any(len(starts) for starts, _ in bounds):
        seen.marked = False
        bounds = [iterations_of(calls) for calls in seen.calls]
    counts = {len(starts) for starts, _ in bounds}
    if len(counts) > 1 and max(counts) - min(counts) > 1 or not counts:
        bounds, counts = [(np.array([], dtype=np.int64),) * 2] * len(bounds), {0}
    least = min(counts)
    seen.start = np.array([starts[:least] for starts, _ in bounds])
    seen.end = np.array([ends[:least] for _, ends in bounds])
    seen.work = np.array([inside.outside(start, end) for inside, start, end in
                          zip(insides, seen.start, seen.end)]).astype(float)
    return seen
