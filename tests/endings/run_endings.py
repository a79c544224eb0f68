"""The endings matrix: however a rank ends, its launcher returns as without profwrap, and a report is made.

    run_endings.py --profwrap PROGRAM --work DIR (--all | --sample N [--seed S] [--part I/K]) [--only REGEX]

A cell is {launcher}/{form}/{way to end}/{victim}/{what the others do} (cells.py). Each cell is one job
without profwrap and one with it. The status and the standard output must be the same; the launcher must
return, and its outputs must be closed, at most LIMIT_S later after the first victim's end than without
profwrap; afterwards there must be a whole report, every rank's file complete, the victim's end right in it,
and no process left.

A time is judged by the difference of a job and the one without profwrap beside it. If that is more than
LIMIT_S, two more pairs are run. Then the median of the three differences is judged, and the range of the three
times without profwrap is allowed in addition: it is small unless the machine has other work. If the median is
still too large, the median of five pairs decides: work beside it may hit two of three jobs with profwrap. A launcher that
takes --patience seconds longer fails at once. A status or an output that a job without profwrap had in any of
these runs is right: some launchers print what they happen to see first. Hydra returns the status of a rank that
failed, or of one that it has killed, from run to run: both are right. `profwrap LAUNCHER` merges and reports
after the launcher has returned. Without a launcher profwrap does so before it returns, and rank 0's profwrap in a
job that ends well before its launcher can return. These times are limited by --patience only.

With --shortage, the job lacks a resource (shortages.py). --sample draws N cells by the seed, which is today's
date unless it is given; --part I/K runs the I-th of K parts of the sample. Prints a line for each fault, and at
last counts. Exit status 0, 1, or 77 when no cell could be run.
"""
import argparse
import os
import re
import shutil
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mpi"))
import cells
import launchers
import shortages
import trial
from trial import PATIENCE_S, Trial
import harness as h
from shortage import ControlGroup

LIMIT_S = 1.0
PAIRS = 3
MOST_PAIRS = 5  # when the median of PAIRS differences is too large


def read_arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profwrap", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", default=None)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", default="")
    parser.add_argument("--shortage", choices=shortages.SHORTAGES)
    parser.add_argument("--patience", type=float, default=PATIENCE_S)
    parser.add_argument("--report", type=float, default=trial.REPORT_S)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args(words)


class Matrix:
    def __init__(self, options, rows=launchers.rows):
        self.options, self.rows, self.baselines, self.jobs = options, rows, {}, 0
        self.work = os.path.join(os.path.realpath(options.work), f"run-{os.getpid()}")
        self.programs = os.path.join(os.path.realpath(options.work), "programs")
        os.makedirs(self.programs, exist_ok=True)
        os.makedirs(self.work)
        self.shortage = shortages.SHORTAGES[options.shortage]() if options.shortage else shortages.Shortage()

    # --- which cells

    def cells(self):
        """All cells that can be run here. Prints which cannot."""
        found, skipped = [], {}
        group = ControlGroup("memory", ("memory.limit_in_bytes", "memory.max"), 0)
        no_group = group.lacking()
        for launcher in self.rows(self.programs):
            for cell in cells.of_launcher(launcher):
                lacking = launcher.lacking or self.lacks(cell, no_group)
                if lacking:
                    key = f"{launcher.name}: {lacking}"
                    skipped[key] = skipped.get(key, 0) + 1
                else:
                    found.append(cell)
        for reason, count in skipped.items():
            print(f"skipped: {count} cells of {reason}")
        return [cell for cell in found
                if re.search(self.options.only, cell.name()) and cell.form in self.shortage.forms
                and cell.launcher.name not in self.shortage.without]

    def lacks(self, cell, no_group):
        if cell.way.language == "python" and not cell.launcher.python:
            return "no mpi4py for this MPI"
        if cell.way.name == "memory-cgroup" and no_group:
            return no_group
        return launchers.lacks_compiler(cell.way.language)

    def chosen(self):
        found, options = self.cells(), self.options
        if not options.sample:
            return found
        seed = options.seed or cells.seed_of_today()
        drawn = cells.draw(found, options.sample, seed)
        part, parts = map(int, options.part.split("/"))
        print(f"{len(drawn)} of {len(found)} cells, drawn by the seed {seed}; part {part} of {parts}")
        return drawn[part - 1::parts]

    # --- jobs

    def job(self, cell, profwrap=None, limit_s=None):
        self.jobs += 1
        program = launchers.build(cell.launcher, cell.way.language, self.programs)
        folder = os.path.join(self.work, str(self.jobs))
        return Trial(cell, program, folder, profwrap, self.shortage).run(limit_s or 2 * cell.launcher.limit_s)

    def baseline(self, cell):
        if cell.baseline() not in self.baselines:
            self.baselines[cell.baseline()] = [self.bare(cell)]
        return self.baselines[cell.baseline()]

    def bare(self, cell):
        done = self.job(cell)
        shutil.rmtree(done.folder, ignore_errors=True)
        return done

    def profiled(self, cell, bare):
        return self.job(cell, self.options.profwrap, bare.closed_s + self.options.patience)

    # --- judgement

    def faults(self, cell):
        """Words for what is not as it should be; None when the job hangs without profwrap, too."""
        bare = self.baseline(cell)
        if bare[0].closed_s is None:
            return None
        if not bare[0].has_begun:
            return ["not all ranks begin without profwrap:", *bare[0].errors.splitlines()[-3:]]
        done = self.profiled(cell, bare[0])
        if done.status is None or done.closed_s is None:
            self.shortage.end()
            what = "the launcher did not return" if done.status is None else "its outputs were not closed"
            return [f"{what} within {bare[0].closed_s + self.options.patience:.1f} s of the end, without profwrap "
                    f"{bare[0].closed_s:.1f} s and status {bare[0].status}"]
        self.shortage.end()
        faults = trial.report_faults(done, self.options.report)
        faults += self.differences(cell, bare, done) + self.delays(cell, bare, done)
        if not faults:
            shutil.rmtree(done.folder, ignore_errors=True)
        elif self.options.verbose:
            faults += [line for line in done.errors.splitlines() if line.startswith("profwrap")]
        return faults

    def differences(self, cell, bare, done):
        def alike():
            return any((one.status, one.output) == (done.status, done.output) for one in bare) or \
                (done.status in trial.statuses_of_hydra(cell) and done.output in [one.output for one in bare])

        while not alike() and len(bare) < PAIRS:
            bare.append(self.bare(cell))
        if alike():
            return []
        faults = []
        if done.status not in [one.status for one in bare]:
            faults.append(f"status {done.status}, without profwrap {[one.status for one in bare]}")
        if done.output not in [one.output for one in bare]:
            faults.append(f"output {done.output}, without profwrap {bare[0].output}")
        return faults or [f"status {done.status} and output {done.output} never come together"]

    def delays(self, cell, bare, done):
        faults = []
        judged = ["launcher_s", "closed_s"] if bare[0].status and cell.launcher.words else []
        if cell.form == "outside":
            judged = ["launcher_s"]
        pairs = [(bare[0], done)]
        self.note(cell, *pairs[0])
        if all(excess(pairs, what) <= LIMIT_S for what in judged):
            return []

        def late():
            return [what for what in judged
                    if excess(pairs, what) > LIMIT_S + spread(getattr(one, what) for one, _ in pairs)]

        while len(pairs) < PAIRS or (late() and len(pairs) < MOST_PAIRS):
            pairs.append((self.bare(cell), None))
            pairs[-1] = (pairs[-1][0], self.profiled(cell, pairs[-1][0]))
            if pairs[-1][1].closed_s is None:
                return [f"when it was run again, it did not return within {self.options.patience:.0f} s"]
            self.shortage.end()
            trial.report_faults(pairs[-1][1], self.options.report)
            shutil.rmtree(pairs[-1][1].folder, ignore_errors=True)
        for what in late():
            times = ", ".join(f"{getattr(one, what):.2f} and {getattr(other, what):.2f}" for one, other in pairs)
            faults.append(f"{what}: {excess(pairs, what):.2f} s more than without profwrap ({times})")
        return faults

    def note(self, cell, bare, done):
        if self.options.verbose:
            print(f"{cell.name()}: status {done.status}; after the end {bare.launcher_s:.2f} and {done.launcher_s:.2f} "
                  f"s, closed {bare.closed_s:.2f} and {done.closed_s:.2f} s; in all {bare.total_s:.2f} and "
                  f"{done.total_s:.2f} s", flush=True)


def spread(values):
    values = list(values)
    return max(values) - min(values)


def excess(pairs, what):
    return statistics.median(getattr(done, what) - getattr(bare, what) for bare, done in pairs)


def run(options, rows=launchers.rows):
    """Returns the exit status."""
    options.profwrap = os.path.realpath(options.profwrap)
    try:
        matrix = Matrix(options, rows)
    except h.Skipped as reason:
        print(f"skipped: {reason}")
        return h.SKIP
    chosen = matrix.chosen()
    if options.list:
        print(*(cell.name() for cell in chosen), sep="\n")
        return 0
    failed, hanging, start = 0, 0, time.monotonic()
    for cell in chosen:
        faults = matrix.faults(cell)
        hanging += faults is None
        failed += bool(faults)
        for fault in faults or ():
            print(f"FAILED {cell.name()}: {fault}", flush=True)
        if faults is None:
            print(f"not judged {cell.name()}: it does not end without profwrap", flush=True)
    if not failed:
        shutil.rmtree(matrix.work, ignore_errors=True)
    print(f"{len(chosen)} cells, {failed} failed, {hanging} not judged, {matrix.jobs} jobs, "
          f"{time.monotonic() - start:.0f} s", flush=True)
    return 1 if failed else 0 if len(chosen) > hanging else h.SKIP


if __name__ == "__main__":
    sys.exit(run(read_arguments()))
