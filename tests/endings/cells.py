"""The endings matrix: {ways to end} x {victim} x {what the other ranks do} x {launchers and forms}."""

import datetime
import random

VICTIMS = ("first", "middle", "last")
WITH_MPI = ("collective", "polling", "self")
OTHERS = (*WITH_MPI, "computing", "asleep", "finished")
# `mpirun profwrap PROGRAM` and `profwrap mpirun PROGRAM`. The shell has the first form only.
FORMS = ("inside", "outside")
STATUS = 3



class Way:
    """How a victim ends: its exit code and signal. `is_good`: the job ends well, or at least the other
    ranks do. `calls_mpi`: there is no such end without MPI."""

    def __init__(self, name, code=-1, signal=0, language="c", is_good=False, calls_mpi=False):
        self.name, self.code, self.signal, self.language = name, code, signal, language
        self.is_good, self.calls_mpi = is_good, calls_mpi


WAYS = (
    Way("return", 0, is_good=True),
    Way("exit-finalized", STATUS, is_good=True),
    Way("return-status", STATUS),
    Way("_exit", STATUS),
    Way("_exit-0", 0),
    Way("abort", signal=6),
    Way("segv", signal=11),
    Way("kill", signal=9),
    Way("term", signal=15),
    Way("memory-limit", signal=6),
    Way("memory-cgroup", signal=9),
    Way("mpi-abort", STATUS, calls_mpi=True),
    Way("throw", signal=6, language="c++"),
    Way("exception", 1, language="python"),
    Way("stop", STATUS, language="fortran"),
    Way("error-stop", STATUS, language="fortran"),
    Way("continued", 0, is_good=True),
    Way("stopped-killed", signal=9),
)


class Cell:
    def __init__(self, launcher, form, way, victim, others):
        self.launcher, self.form, self.way, self.victim, self.others = launcher, form, way, victim, others

    def name(self):
        return f"{self.launcher.name}/{self.form}/{self.way.name}/{self.victim}/{self.others}"

    def baseline(self):
        """Cells with the same job without profwrap have the same value."""
        return self.launcher.name, self.way.name, self.victim, self.others

    def victims(self):
        last = self.launcher.ranks - 1
        if self.victim == "all":
            return list(range(last + 1))
        return [{"first": 0, "middle": self.launcher.ranks // 2, "last": last}[self.victim]]


def of_launcher(launcher):
    forms = FORMS if launcher.words else FORMS[:1]
    pairs = [("all", "none")]
    if launcher.ranks > 1:
        pairs += [(victim, others) for victim in VICTIMS for others in OTHERS
                  if launcher.has_mpi or others not in WITH_MPI]
    for way in WAYS:
        if way.calls_mpi and not launcher.has_mpi:
            continue
        for victim, others in pairs:
            if way.is_good and others == "finished":
                continue  # the same as that they go on
            for form in forms:
                yield Cell(launcher, form, way, victim, others)


def seed_of_today():
    return datetime.date.today().isoformat()


def draw(cells, count, seed):
    """Equally many cells of each launcher and form, as far as there are so many, and a third as many of slow
    launchers."""
    chance = random.Random(seed)
    groups, found, turn = {}, [], 0
    for cell in cells:
        groups.setdefault((cell.launcher.name, cell.form), []).append(cell)
    for group in groups.values():
        chance.shuffle(group)
    order = sorted(groups)
    chance.shuffle(order)
    while len(found) < count and any(groups.values()):
        for key in order:
            group = groups[key]
            if group and len(found) < count and (turn % 3 == 0 or not group[0].launcher.is_slow):
                found.append(group.pop())
        turn += 1
    return found
