"""Jobs that hang, and the dumps of PyTorch's Flight Recorder that they would leave.

A job is simulated: each rank enqueues the same program of operations on its groups, and some ranks stop,
take another branch, are lost, or have an empty buffer. An operation ends when all its members have
enqueued it and the one before it in their group has ended. Who is missing follows from that, and not from
the dumps. The dumps are written as torch/csrc/distributed/c10d/FlightRecorder.hpp and
FlightRecorderDetail.hpp describe.
"""
import itertools
import json
import math
import os
import random
import re

COLLECTIVES = {"all_reduce": "all_reduce", "_all_gather_base": "all_gather", "all_gather": "all_gather",
               "_reduce_scatter_base": "reduce_scatter", "broadcast": "broadcast",
               "all_to_all": "all_to_all"}
NAMES = {"tp": ("TENSOR_MODEL_PARALLEL_GROUP", "mesh_tp", "tp"), "dp": ("DATA_PARALLEL_GROUP", "mesh_dp",
                                                                       "fsdp"),
         "pp": ("PIPELINE_MODEL_PARALLEL_GROUP", "mesh_pp", "pp")}
FAULTS = ("stop", "stop", "stop", "stop apart", "empty", "no dump", "branch", "no partner", "network",
          "none", "device", "size", "type", "crossed")
START_NS = 1764380000000000000


class Group:
    def __init__(self, key, name, desc, members):
        self.key, self.name, self.desc, self.members = key, name, desc, members
        self.title = desc if desc == "default_pg" else f"{desc} {name}"


class Operation:
    """One rank's part of an operation; `instance` is what its members share."""

    def __init__(self, group, call, instance, seq, blocks, peer=None, is_send=False):
        self.group, self.call, self.instance, self.seq, self.blocks = group, call, instance, seq, blocks
        self.peer, self.is_send = peer, is_send
        self.ended = False
        self.sizes, self.datatype = [[1024, 16]], "BFloat16"


class Job:
    def __init__(self, seed):
        self.random = random.Random(f"hang {seed}")
        self.fault = self.random.choice(FAULTS)
        self.sizes = {"tp": self.random.choice((1, 2, 2, 4)), "dp": self.random.choice((1, 2, 2, 4)),
                      "pp": self.random.choice((1, 1, 2, 4))}
        if self.fault == "no partner":
            self.sizes["pp"] = self.random.choice((2, 4))
        self.world = self.sizes["tp"] * self.sizes["dp"] * self.sizes["pp"]
        if self.world == 1:
            self.sizes["dp"] = self.world = self.random.choice((2, 3, 5, 8))
        self.make_groups()
        self.make_program()
        self.choose_fault()
        self.run()
        # Gloo's dumps have no messages, and the ranks of no group by its name.
        self.is_gloo = self.sizes["pp"] == 1 and self.fault != "device" and self.random.random() < 0.4
        self.is_cut = False

    def make_groups(self):
        """A mesh of tp x dp x pp, as Megatron makes it; names are numbers, in the order of creation."""
        tp, dp, pp = (self.sizes[axis] for axis in ("tp", "dp", "pp"))
        grid = {rank: (rank % tp, rank // tp % dp, rank // (tp * dp)) for rank in range(self.world)}
        self.groups = [Group("world", "0", "default_pg", list(range(self.world)))]
        number = 1
        for axis, at in (("tp", 0), ("dp", 1), ("pp", 2)):
            desc = self.random.choice(NAMES[axis])
            for rest in itertools.product(*(range(n) for i, n in enumerate((tp, dp, pp)) if i != at)):
                members = [rank for rank, place in grid.items()
                           if tuple(x for i, x in enumerate(place) if i != at) == rest]
                if len(members) > 1:
                    self.groups.append(Group(axis, str(number), desc, members))
                number += 1

    def group_of(self, rank, axis):
        for group in self.groups:
            if group.key == axis and rank in group.members:
                return group
        return None

    def make_program(self):
        """The operations of each rank in its order, the same for all along each axis."""
        axes = [axis for axis in ("tp", "dp") if self.sizes[axis] > 1] + ["world"]
        kinds = axes + ["p2p"] * (self.sizes["pp"] > 1)
        if self.fault == "no partner":
            kinds += ["p2p"] * 4
        length = self.random.randint(6, 40)
        self.program = [(self.random.choice(kinds), self.random.choice(sorted(COLLECTIVES)),
                         self.random.random() < 0.3) for _ in range(length)]
        self.first_seq = self.random.choice((1, 1, 20530))
        self.operations = {rank: [] for rank in range(self.world)}
        self.place = {rank: [] for rank in range(self.world)}  # of each operation in the program
        counted = {}
        for at, (axis, call, blocks) in enumerate(self.program):
            for rank in range(self.world):
                group = self.group_of(rank, "pp" if axis == "p2p" else axis)
                if group:
                    self.add(rank, at, group, axis, call, blocks, counted)

    def add(self, rank, at, group, axis, call, blocks, counted):
        stage = group.members.index(rank)
        parts = []
        if axis != "p2p":
            parts = [(call, None, ("coll", group.name, at))]
        else:  # a message from each stage to the next
            if stage > 0:
                parts.append(("recv", group.members[stage - 1], ("msg", group.name, at, stage - 1)))
            if stage + 1 < len(group.members):
                parts.append(("send", group.members[stage + 1], ("msg", group.name, at, stage)))
        for name, peer, instance in parts:
            number = counted[rank, group.name, axis] = counted.get((rank, group.name, axis), 0) + 1
            self.operations[rank].append(Operation(
                group, name, instance, number + self.first_seq - 1 if peer is None else number, blocks,
                peer, name == "send"))
            self.place[rank].append(at)

    def choose_fault(self):
        one = ("branch", "no partner", "device", "size", "type", "crossed")
        number = 1 if self.fault in one else self.random.choice((1, 1, 2))
        self.faulty = sorted(self.random.sample(range(self.world), min(number, self.world - 1)))
        stop = self.random.randrange(1 if self.fault == "empty" else 0, len(self.program))
        self.stops = {rank: stop for rank in self.faulty}
        if self.fault == "stop apart" and len(self.faulty) > 1:
            self.stops[self.faulty[1]] = self.random.randrange(len(self.program))
        if self.fault == "no partner":
            self.choose_message()
        if self.fault in ("network", "none"):
            self.faulty, self.stops = [], {}
        self.stuck = None
        if self.fault == "device":  # an operation that ends for all but this rank
            rank = self.faulty[0]
            self.stops = {}
            self.stuck = rank, self.operations[rank][self.random.randrange(
                max(1, len(self.operations[rank]) // 2))]
        if self.fault == "crossed":
            self.cross_groups()
        if self.fault == "branch":
            self.take_branch()
        if self.fault in ("size", "type"):
            self.give_otherwise()
        if self.fault == "network":
            self.blocked = self.random.choice(self.operations[self.random.randrange(self.world)]).instance

    def choose_message(self):
        """The rank stops before a message that it is a side of."""
        choices = [(rank, place) for rank in range(self.world)
                   for one, place in zip(self.operations[rank], self.place[rank]) if one.peer is not None]
        if choices:
            self.faulty[:1], stop = [choices[0][0]], choices[0][1]
            rank, stop = self.random.choice(choices)
            self.faulty = [rank]
            self.stops = {rank: stop}

    def take_branch(self):
        """The rank calls another collective than the others of its group, all of which wait."""
        (rank,), self.stops = self.faulty, {}
        own = [one for one in self.operations[rank] if one.peer is None]
        if not own:
            self.fault, self.stops = "stop", {rank: 0}
            return
        one = self.random.choice(own)
        others = [call for call in sorted(COLLECTIVES) if COLLECTIVES[call] != COLLECTIVES[one.call]]
        one.call = self.random.choice(others)
        self.mismatch = one

    def cross_groups(self):
        """The rank calls two collectives in the other order than a rank that is in both groups."""
        (rank,), self.stops = self.faulty, {}
        own = self.operations[rank]
        places = [at for at, (one, next_one) in enumerate(zip(own, own[1:]))
                  if one.peer is None and next_one.peer is None and one.group is not next_one.group and
                  len(set(one.group.members) & set(next_one.group.members)) > 1]
        if not places:
            self.fault, self.stops = "stop", {rank: 0}
            return
        at = self.random.choice(places)
        own[at], own[at + 1] = own[at + 1], own[at]
        crossed = {own[at].instance, own[at + 1].instance}
        for operations in self.operations.values():
            for one in operations:
                one.blocks |= one.instance in crossed

    def give_otherwise(self):
        """The rank gives the same collective another size or type than the others of its group."""
        (rank,), self.stops = self.faulty, {}
        own = [one for one in self.operations[rank] if one.peer is None and one.call != "all_to_all"]
        if not own:
            self.fault, self.stops = "stop", {rank: 0}
            return
        self.unlike = one = self.random.choice(own)
        if self.fault == "size":
            one.sizes = self.random.choice(([[1024, 15]], [[960], [64]], [[0]], [[1]]))
        else:
            one.datatype = self.random.choice(("Float", "Half"))

    # ---- what happens ----

    def run(self):
        self.enqueued = {rank: 0 for rank in range(self.world)}
        members = {}
        for rank, operations in self.operations.items():
            for one in operations:
                members.setdefault(one.instance, []).append((rank, one))
        self.members = members
        changed = True
        while changed:
            changed = any([self.enqueue(rank) for rank in range(self.world)])
            changed |= any([self.end(instance) for instance in members])

    def enqueue(self, rank):
        operations, at = self.operations[rank], self.enqueued[rank]
        if at == len(operations) or any(one.blocks and not one.ended for one in operations[:at]):
            return False
        if rank in self.stops and self.place[rank][at] >= self.stops[rank]:
            return False
        self.enqueued[rank] += 1
        return True

    def is_enqueued(self, rank, one):
        return one in self.operations[rank][:self.enqueued[rank]]

    def end(self, instance):
        parts = self.members[instance]
        if all(one.ended or self.is_stuck(one) for _, one in parts):
            return False
        if not all(self.is_enqueued(rank, one) and self.is_next(rank, one) for rank, one in parts):
            return False
        calls = {(COLLECTIVES.get(one.call), str(one.sizes), one.datatype) for _, one in parts}
        if (parts[0][1].peer is None and len(calls) > 1) or instance == getattr(self, "blocked", None):
            return False
        for _, one in parts:
            one.ended = not self.is_stuck(one)
        return True

    def is_stuck(self, one):
        return self.stuck is not None and one is self.stuck[1]

    def is_next(self, rank, one):
        """Whether all operations before it in its group, or of the same two ranks, have ended."""
        for other in self.operations[rank]:
            if other is one:
                return True
            if other.group is one.group and (other.peer, other.is_send) == (one.peer, one.is_send) \
                    and not other.ended:
                return False
        return True

    # ---- the dumps ----

    def dumps(self, directory):
        lost = set(self.faulty) if self.fault == "no dump" else set()
        empty = set(self.faulty) if self.fault == "empty" else set()
        keep = self.random.choice((10 ** 6, 10 ** 6, 12))  # of a ring buffer, and what had not ended
        version = self.random.choice(("2.2", "2.10"))
        paths = []
        for rank in range(self.world):
            if rank in lost:
                continue
            open_ones = [one.ended for one in self.operations[rank][:self.enqueued[rank]]] + [False]
            kept = max(keep, self.enqueued[rank] - open_ones.index(False))
            entries = [] if rank in empty else self.entries(rank, version)[-kept:]
            text = {"version": version, "nccl_version": "2.21.5", "entries": entries,
                    "pg_config": {group.name: {"name": group.name, "desc": group.desc,
                                               "ranks": str(group.members)}
                                  for group in self.groups if rank in group.members},
                    "pg_status": {}}
            if self.is_gloo:
                mine = [group for group in self.groups if rank in group.members]
                text["pg_config"] = {"": {"name": "", "desc": "", "ranks": str(mine[-1].members)}}
            self.is_cut |= kept < self.enqueued[rank]
            paths.append(os.path.join(directory, f"nccl_trace_rank_{rank}.json"))
            with open(paths[-1], "w") as file:
                json.dump(text, file)
        return paths

    def entries(self, rank, version):
        out = []
        mine = [group for group in self.groups if rank in group.members]
        for number, one in enumerate(self.operations[rank][:self.enqueued[rank]]):
            call = one.call
            if one.peer is not None:
                sides = (rank, one.peer) if one.is_send else (one.peer, rank)
                numbers = [one.group.members.index(side) for side in sides]
                call = f"send {numbers[0]}->{numbers[1]}" if one.is_send else \
                    f"recv {numbers[1]}<-{numbers[0]}"
            state = "completed" if one.ended else self.random.choice(("started", "scheduled"))
            state = "scheduled" if self.is_gloo else state
            out.append({
                "record_id": number, "pg_id": mine.index(one.group),
                "process_group": [one.group.name, one.group.desc],
                "collective_seq_id": one.seq if one.peer is None else 0,
                "p2p_seq_id": one.seq if one.peer is not None else 0, "op_id": number + 1,
                "profiling_name": f"{'gloo' if self.is_gloo else 'nccl'}:{call}",
                "time_created_ns": START_NS + 1000000 * number + 1000 * rank,
                "input_sizes": one.sizes, "input_dtypes": [one.datatype] * len(one.sizes),
                "output_sizes": one.sizes, "output_dtypes": [one.datatype] * len(one.sizes), "state": state,
                "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
                "retired": one.ended, "timeout_ms": 600000, "is_p2p": one.peer is not None,
                "frames": [{"name": "step", "filename": "train.py", "line": 7}]})
            if version == "2.2":
                out[-1].pop("op_id")
        return out

    # ---- the truth ----

    def waiting(self):
        """The operations that had not ended: rank, and its first of each group and kind."""
        out = []
        for rank in range(self.world):
            seen = set()
            for one in self.operations[rank][:self.enqueued[rank]]:
                key = one.group.name, one.peer, one.is_send
                if not one.ended and key not in seen:
                    seen.add(key)
                    out.append((rank, one))
        return out

    def is_idle(self, rank):
        return all(one.ended for one in self.operations[rank][:self.enqueued[rank]])

    def has_dump(self, rank):
        """Whether there is a dump of the rank, with operations."""
        return self.enqueued[rank] > 0 and not (self.fault in ("no dump", "empty") and rank in self.faulty)

    def check(self, result):
        """None when the report's first sentence is true, else what is wrong with it."""
        return "refused" if result.status else self.check_sentence(result.headline)

    def check_sentence(self, headline):
        sentence = re.split(r"(?<=[a-z0-9])\. (?=[A-Z])", headline)[0].rstrip(".")
        waits = [(rank, one) for rank, one in self.waiting() if self.has_dump(rank)]
        if not waits:
            return None if sentence.startswith("No rank waits in an operation that the dumps") else "nobody waits"
        for pattern, check in PATTERNS:
            found = pattern.fullmatch(sentence)
            if found:
                return check(self, found, waits)
        return "an unknown sentence"

    def is_root(self, ranks):
        """Whether these are ranks that the others wait for, and that the fault is of."""
        return bool(ranks) and set(ranks) <= set(self.faulty)

    def members_of(self, waits, call, seq, title):
        """Members of the collective that the sentence names: who waits in it, and all."""
        here = [(rank, one) for rank, one in waits if one.peer is None and one.seq == seq and
                one.group.title == title]
        if not here or call not in {COLLECTIVES[one.call] for _, one in here}:
            return None, None
        return {rank for rank, _ in here}, set(here[0][1].group.members)

    def has_members(self, group):
        """Whether the dumps tell the ranks of the group."""
        if not self.is_gloo or group.key == "world":
            return True
        used = [one for rank in range(self.world) for one in self.operations[rank][:self.enqueued[rank]]
                if one.group is group]
        ranks = {rank for one in used for rank, part in self.members[one.instance] if part is one}
        proof = all(one.ended for one in used) or any(one.ended and one.call != "broadcast" for one in used)
        return proof and len(ranks) > 1 and not self.is_cut and \
            all(self.has_dump(rank) for rank in range(self.world))

    def check_unknown(self, found, waits):
        here = {rank for rank, one in waits if one.group.title == found["title"] and
                COLLECTIVES[one.call] == found["call"]}
        (group,) = [group for group in self.groups if group.title == found["title"]]
        return None if not self.has_members(group) and here == numbers(found["waiting"]) else \
            f"ranks {sorted(here)} wait there, of {group.members}"

    def check_missing(self, found, waits):
        named, held = numbers(found["missing"]), numbers(found["held"])
        unknown = numbers(found["unknown"])
        told, group = self.members_of(waits, found["call"], int(found["seq"]), found["title"])
        if told is None:
            return "no such operation had not ended"
        if told != numbers(found["waiting"]):
            return f"ranks {sorted(told)} wait there"
        absent = {rank for rank in group - told if not self.reached(rank, found)}
        lost = {rank for rank in absent if not self.has_dump(rank)}
        idle = {rank for rank in absent - lost if self.is_idle(rank)}
        if (named, held, unknown) != (idle, absent - lost - idle, lost):
            return f"missing {sorted(idle)}, elsewhere {sorted(absent - lost - idle)}, lost {sorted(lost)}"
        return None if self.is_root(named | unknown) else f"the fault is of {self.faulty}"

    def reached(self, rank, found):
        return any(one.group.title == found["title"] and one.peer is None and one.seq == int(found["seq"])
                   for one in self.operations[rank][:self.enqueued[rank]])

    def check_lost(self, found, waits):
        named = numbers(found["missing"])
        told, group = self.members_of(waits, found["call"], int(found["seq"]), found["title"])
        if told is None or told != numbers(found["waiting"]):
            return f"ranks {told} wait there"
        lost = {rank for rank in group - told if not self.has_dump(rank)}
        if named != lost or not self.is_root(named):
            return f"lost there: {sorted(lost)}; the fault is of {self.faulty}"
        return None if ("no dump" in found["why"]) == (self.fault == "no dump") else "not the reason"

    def check_held(self, found, waits):
        """Only where a device is stuck, since elsewhere some rank waits for nobody."""
        named = numbers(found["missing"])
        if self.fault != "device" or named != set(self.faulty):
            return f"the fault is of {self.faulty}, which do not wait"
        one = self.stuck[1]
        return None if found["own"] == f"{title_of(one)} of {one.group.title}" else \
            f"it is stuck in {title_of(one)} of {one.group.title}"

    def check_message(self, found, waits):
        missing, waiting = int(found["missing"]), int(found["waiting"])
        here = [one for rank, one in waits if rank == waiting and one.peer == missing and
                one.group.title == found["title"] and one.is_send == (found["own"] == "send")]
        if not here:
            return "no such message"
        parts = dict(self.members[here[0].instance])
        if self.is_enqueued(missing, parts[missing]):
            return "that rank has reached it"
        if ("lost" in found.groupdict()) == self.has_dump(missing):
            return "it is known"
        if self.is_root({missing}) or (self.fault == "device" and self.is_cut):
            return None  # a message that has ended on one side, of which the dumps do not tell
        return f"the fault is of {self.faulty}"

    def check_circle(self, found, waits):
        """Each rank waits in the operation for the next one, which has not reached it."""
        parts = re.findall(r"rank (\d+),? (?:which )?waits in (.*?) for (?=rank (\d+))", found[0])
        last = re.search(r", and so on: \d+ ranks, the last of which waits for rank (\d+)$", found[0])
        if not parts or parts[0][0] != (last[1] if last else parts[-1][2]):
            return "no circle"
        for rank, title, other in ((int(a), b, int(c)) for a, b, c in parts):
            own = [one for one in self.operations[rank][:self.enqueued[rank]] if not one.ended and
                   f"{title_of(one)} of {one.group.title}" == title]
            if not own or other not in own[0].group.members:
                return f"rank {rank} does not wait in {title} for {other}"
            if self.is_enqueued(other, dict(self.members[own[0].instance])[other]):
                return f"rank {other} has reached {title}"
        told = {int(rank) for rank, _, _ in parts}
        if self.fault == "crossed" and self.is_root(set(self.faulty) & told):
            return None
        return None if self.fault == "device" and self.is_cut else f"the fault is of {self.faulty}"

    def check_mismatch(self, found, waits):
        one = getattr(self, "mismatch", None)
        if self.fault != "branch" or found["title"] != one.group.title or int(found["seq"]) != one.seq:
            return "the functions are the same"
        if numbers(found["few"]) != set(self.faulty) and len(one.group.members) > 2:
            return f"the fault is of {self.faulty}"
        calls = {found["other"]: numbers(found["few"]), found["call"]: numbers(found["many"])}
        for rank, part in self.members[one.instance]:
            if rank not in calls.get(COLLECTIVES[part.call], ()):
                return f"rank {rank} called {part.call}"
        return None

    def check_unlike(self, found, waits):
        one = getattr(self, "unlike", None)
        if self.fault not in ("size", "type") or found["title"] != one.group.title or \
                int(found["seq"]) != one.seq or found["call"] != COLLECTIVES[one.call]:
            return "the sizes are the same"
        told = {}
        for part in re.split(r", (?=ranks? )", found["kinds"]):
            ranks, size, datatype = re.fullmatch(
                rf"({RANKS}) (?:called .*? )?with (\d+)(?: elements?)?(?: of (\w+))?", part).groups()
            told.update({rank: (int(size), datatype) for rank in numbers(ranks)})
        true = {rank: (sum(math.prod(dims) for dims in part.sizes),
                       part.datatype if self.fault == "type" else None)
                for rank, part in self.members[one.instance]}
        return None if told == true else f"the ranks called it with {true}"

    def check_all(self, found, waits):
        """Nobody is missing: the network, or a device that is stuck in an operation of all."""
        told, group = self.members_of(waits, found["call"], int(found["seq"]), found["title"])
        if told is None or told != numbers(found["waiting"]):
            return f"ranks {told} wait there"
        ended = numbers(found["ended"])
        if self.fault == "device":
            return None if set(self.faulty) == told and ended == group - told else "a device is stuck"
        return None if not ended and self.fault == "network" and told == group else "a rank is missing"

    def check_message_all(self, found, waits):
        """Both sides of a message have reached it."""
        if self.fault not in ("network", "device"):
            return "a rank is missing"
        told = found.groupdict().get("waiting")
        one = self.stuck[1] if self.stuck else self.members[self.blocked][0][1]
        sides = {rank for rank, _ in self.members[one.instance]}
        return None if told is None or numbers(told) <= sides else f"the fault is of {sorted(sides)}"


def title_of(one):
    if one.peer is None:
        return f"{COLLECTIVES[one.call]} {one.seq}"
    return f"{'send to' if one.is_send else 'recv from'} rank {one.peer}"


def numbers(text):
    """The ranks of "ranks 0, 2-4 and 7"."""
    out = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text or ""):
        out |= set(range(int(first), int(last or first) + 1))
    return out


RANKS = r"[Rr]anks? [\d, \-]+(?: and [\d\-]+)?"
OPERATION = r"(?P<call>[a-z_]+) (?P<seq>\d+) of (?P<title>.+?)"
PATTERNS = [(re.compile(pattern), check) for pattern, check in (
    (rf"(?P<missing>{RANKS}) did not reach {OPERATION}, in which (?P<waiting>{RANKS}) waits?"
     rf"(?:; nor did (?P<held>{RANKS}), which waits? elsewhere)?"
     r"(?:; those that did not may wait in messages of Gloo, which are not in dumps)?"
     rf"(?:; whether (?P<unknown>{RANKS}) did is not known, because .*)?", Job.check_missing),
    (rf"(?P<missing>{RANKS}) ha(?:s|ve) (?P<why>no dumps?|no operations in the dumps?), so it is not known "
     rf"whether (?:it|they) reached {OPERATION}, in which (?P<waiting>{RANKS}) waits?", Job.check_lost),
    (r"Ranks wait for each other: rank .*", Job.check_circle),
    (rf"(?P<missing>{RANKS}) did not reach {OPERATION}, in which (?P<waiting>{RANKS}) waits?: it waits in "
     r"(?P<own>.*)", Job.check_held),
    (r"Rank (?P<missing>\d+) did not reach (?:send|recv) (?:to|from) rank (?P<waiting>\d+) in (?P<title>.+), "
     r"for which that rank waits in (?P<own>send|recv)(?:: it waits in .*)?", Job.check_message),
    (r"Rank (?P<missing>\d+) has (?P<lost>no dump|no operations in the dump), so it is not known whether it "
     r"reached (?:send|recv) (?:to|from) rank (?P<waiting>\d+) in (?P<title>.+), for which that rank waits in "
     r"(?P<own>send|recv)", Job.check_message),
    (rf"(?P<few>{RANKS}) called (?P<other>[a-z_]+), (?P<many>{RANKS}) called (?P<call>[a-z_]+) as operation "
     r"(?P<seq>\d+) of (?P<title>.+)", Job.check_mismatch),
    (rf"(?P<kinds>{RANKS} called {OPERATION} with .*)", Job.check_unlike),
    (rf"(?P<waiting>{RANKS}) waits? in {OPERATION}, which (?:all its members have reached|"
     rf"(?P<ended>{RANKS}) ha(?:s|ve) ended)", Job.check_all),
    (rf"(?P<waiting>{RANKS}) waits? in (?P<call>[a-z_]+) of (?P<title>.+), whose members or number the dumps do not have",
     Job.check_unknown),
    (rf"(?P<waiting>{RANKS}) waits? in (?:send to|recv from) rank .*, which that rank has reached, too",
     Job.check_message_all),
    (r"No rank is missing: .*", Job.check_message_all),
)]


def make(seed, directory):
    """The files to import, and what checks the first sentence."""
    job = Job(seed)
    return job.dumps(directory), [], job.check
