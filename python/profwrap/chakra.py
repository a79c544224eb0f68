# SPDX-License-Identifier: Apache-2.0
"""Writes execution traces of MLCommons Chakra, which simulators of networks and of clusters replay.

    python3 -m profwrap.chakra RUN DIR

DIR, which must not exist or be empty, gets a file for each rank, chakra.RANK.et: a GlobalMetadata and the
Nodes, each with its length before it (schema 0.0.4 of et_def.proto). Nodes are collectives, sends and
receives, and what each thread did between its calls (COMP_NODE). The same file on another rank has the
same value in the attribute `match` of what belongs together. DIR/comm_groups.json has the world ranks of
each communicator, by its pg_name.
"""

import json
import os
import re
import sys

from . import _load

_USAGE = "usage: python3 -m profwrap.chakra RUN DIR"
_VERSION = "0.0.4"
_COMP, _SEND, _RECV, _COLL = 4, 5, 6, 7  # NodeType
_COLLECTIVES = {  # CollectiveCommType
    "Allreduce": 0, "Reduce": 1, "Allgather": 2, "Allgatherv": 2, "Gather": 3, "Gatherv": 3,
    "Scatter": 4, "Scatterv": 4, "Bcast": 5, "Alltoall": 6, "Alltoallv": 6, "Alltoallw": 6,
    "Reduce_scatter": 7, "Reduce_scatter_block": 8, "Barrier": 9,
}
_SENDS = ("Send", "Bsend", "Ssend", "Rsend", "Sendrecv", "Sendrecv_replace")
_RECVS = ("Recv", "Mrecv")
_WAITS = re.compile(r"(Wait|Test)(all|any|some)?$")
_RECV_PART, _NONBLOCKING, _CANCELLED = 2, 4, 8  # flags of /events/comm
_LEAST_NS = 1000  # Chakra's times are microseconds


# ---- protobuf ----


def _varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number(field, value):
    return _varint(field << 3) + _varint(value & (1 << 64) - 1)


def _bytes(field, value):
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _attribute(name, kind, value):
    """An AttributeProto; `kind` is the number of its field."""
    text = kind == _STRING
    stored = _bytes(kind, value.encode()) if text else _number(kind, int(value))
    return _bytes(1, name.encode()) + stored


_INT64, _UINT64, _BOOL, _STRING = 9, 13, 27, 29


def _node(number, name, kind, needed, times, attributes):
    """A Node; `needed` are the nodes that must have ended before."""
    start, end = times
    return b"".join((
        _number(1, number), _bytes(2, name.encode()), _number(3, kind),
        _bytes(5, b"".join(map(_varint, needed))) if needed else b"",
        _number(6, max(0, start // 1000)), _number(7, max(0, (end - start) // 1000)),
        *(_bytes(10, _attribute(*each)) for each in attributes),
    ))


# ---- the ranks ----


class _Communicators:
    """Members of communicators: {uid: {rank in it: world rank}}, from the files of all ranks."""

    def __init__(self, run):
        self.members, self.of_rank = {}, {}
        for number in run.rank_numbers:
            table = _load._tables.make_table(run.rank(number)._columns("/comms", "local"), None)
            self.of_rank[number] = [(int(row["uid"]), str(row["source"])) for row in table]
            for row in table:
                self.members.setdefault(int(row["uid"]), {})[int(row["my_rank"])] = number

    def groups(self):
        return {f"{uid:016x}": [world for _, world in sorted(of.items())] for uid, of in self.members.items()}

    def world(self, uid, source, peer):
        """World rank of a partner; -1: not known. Of NCCL's operations, `peer` is a rank in the
        communicator."""
        return peer if source != "nccl" else self.members.get(uid, {}).get(peer, -1)


class _Thread:
    """The nodes that the next node of a thread needs."""

    def __init__(self):
        self.last, self.done, self.until = None, [], None

    def needs(self):
        return ([] if self.last is None else [self.last]) + self.done

    def follow(self, number):
        self.last, self.done = number, []


class _Rank:
    def __init__(self, number, comms):
        self.number, self.comms = number, comms
        self.nodes, self.threads, self.ends, self.sent = [], {}, {}, {}

    def _add(self, name, kind, needed, times, attributes):
        self.nodes.append(_node(len(self.nodes), name, kind, needed, times, attributes))
        return len(self.nodes) - 1

    def _work(self, thread, start):
        """What the thread did since its call before."""
        if thread.until is not None and start - thread.until >= _LEAST_NS:
            cpu = [("is_cpu_op", _BOOL, True)]
            thread.follow(self._add("work", _COMP, thread.needs(), (thread.until, start), cpu))

    def _message(self, event, base, uid, source):
        """The type and attributes of a send or receive; None when its partner is not known."""
        receives = base in _RECVS or event["flags"] & _RECV_PART
        peer = self.comms.world(uid, source, int(event["peer"]))
        if peer < 0 or event["flags"] & _CANCELLED:
            return None
        src, dst = (peer, self.number) if receives else (self.number, peer)
        tag = int(event["tag"])
        # Messages of a sender with one tag arrive in order (MPI-4.0, section 3.5).
        key = (receives, uid, src, dst, tag)
        self.sent[key] = self.sent.get(key, -1) + 1
        size = int(event["recv_bytes"] if receives else event["sent_bytes"])
        return (_RECV if receives else _SEND), [
            ("comm_size", _UINT64, max(0, size)), ("comm_src", _INT64, src), ("comm_dst", _INT64, dst),
            ("comm_tag", _INT64, tag),
            ("match", _STRING, f"{uid:016x}:{src}>{dst}:{tag}:{self.sent[key]}"),
        ]

    def _kind(self, event, base):
        """The type and attributes of a call's node; a call without a partner is work."""
        comm, made = int(event["comm"]), None
        uid, source = self.comms.of_rank[self.number][comm] if comm >= 0 else (0, "mpi")
        if base in _SENDS or base in _RECVS:
            made = self._message(event, base, uid, source)
        elif base in _COLLECTIVES and comm >= 0:
            size = max(0, int(event["sent_bytes"]), int(event["recv_bytes"]))
            made = _COLL, [
                ("comm_type", _INT64, _COLLECTIVES[base]), ("comm_size", _UINT64, size),
                ("match", _STRING, f"{uid:016x}:{int(event['seq'])}"),
            ]
        if made is None:
            return _COMP, [("is_cpu_op", _BOOL, True)]
        return made[0], [("is_cpu_op", _BOOL, False), ("pg_name", _STRING, f"{uid:016x}"), *made[1]]

    def add(self, event):
        start, end, op = int(event["start"]), int(event["end"]), str(event["op"])
        thread = self.threads.setdefault(int(event["thread"]), _Thread())
        self._work(thread, start)
        key = (int(event["thread"]), end)
        if _WAITS.match(op):
            thread.done += self.ends.pop(key, [])
            thread.until = end
            return
        is_nonblocking = bool(event["flags"] & _NONBLOCKING)
        # MPI_Isend -> Send, MPI_Iallreduce -> Allreduce
        base = op[1:].capitalize() if is_nonblocking and op[0] == "I" and op[1:2].islower() else op
        kind, attributes = self._kind(event, base)
        number = self._add(op, kind, thread.needs(), (start, end), attributes)
        if is_nonblocking:
            self.ends.setdefault(key, []).append(number)
            thread.until = start
        else:
            thread.follow(number)
            thread.until = end


def _nodes(rank, comms, clock):
    made = _Rank(rank.number, comms)
    events = _load._tables.make_table(rank._columns("/events/comm", clock), None)
    for row in events["start"].argsort(kind="stable"):
        made.add(events[row])
    return made.nodes


def _clock(run):
    """cluster, or local when a rank's clock was not synchronised."""
    try:
        for number in run.rank_numbers:
            run.rank(number)._columns("/steps", "cluster")
    except ValueError:
        return "local"
    return "cluster"


def write(run, directory):
    """Writes the traces of a run that load() has opened. Returns the number of nodes of all ranks."""
    directory = os.fspath(directory)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    if os.listdir(directory):
        raise FileExistsError(f"{directory} is not empty")
    comms, clock, written = _Communicators(run), _clock(run), 0
    with open(os.path.join(directory, "comm_groups.json"), "w", encoding="utf-8") as file:
        json.dump(comms.groups(), file)
    for number in run.rank_numbers:
        facts = (("rank", _INT64, number), ("clock", _STRING, clock), ("made_by", _STRING, "profwrap"))
        metadata = _bytes(1, _VERSION.encode()) + b"".join(_bytes(2, _attribute(*fact)) for fact in facts)
        nodes = _nodes(run.rank(number), comms, clock)
        with open(os.path.join(directory, f"chakra.{number}.et"), "wb") as file:
            for message in (metadata, *nodes):
                file.write(_varint(len(message)) + message)
        written += len(nodes)
    return written


def main(words):
    if len(words) != 2 or words[0].startswith("-"):
        print(_USAGE, file=sys.stderr)
        return 2
    try:
        write(_load.load(words[0], frames="numpy"), words[1])
    except (ImportError, KeyError, OSError, ValueError) as problem:
        what = problem.args[0] if isinstance(problem, KeyError) else problem
        print(f"profwrap.chakra: {what}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
