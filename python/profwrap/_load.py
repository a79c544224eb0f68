# SPDX-License-Identifier: Apache-2.0
"""Reads a run's HDF5 files as tables; docs/schema.md says what their fields mean.

A table is a pandas DataFrame when pandas is installed, else a numpy structured array, with the same
columns. Enumerations are names, and rows of /strings and /stacks are the texts. Times are int64 ns:
on the cluster clock in the tables of the whole run, on the rank's local clock in those of one rank
unless `clock="cluster"` is given. -1 in a _ns, bytes or rank field means "not known".
"""

import contextlib
import json
import os
import re
import subprocess

from . import _command, _files, _present, _tables

# What the first dimension of a table of two counts, where it is not the steps.
_ROWS_OF_GRIDS = {"/bin_trace": "bin", "/part_trace": "part"}
_PARTS = ("start", "init", "setup", "steps", "tail", "finalize", "end")

class Rank:
    """One rank's file. Times are ns on the rank's local clock unless clock="cluster" is given."""

    def __init__(self, run, number, path):
        self._run, self.number, self.path = run, number, path
        with _tables.open_file(path, "rank") as file:
            #: Root attributes: hostname, exit_code, dropped_events, ... (docs/schema.md).
            self.attributes = _tables.attributes(file)

    def __repr__(self):
        return f"<profwrap.Rank {self.number} of {self._run.path}>"

    def _repr_html_(self):
        return _present.rank_html(self)

    def table(self, path, clock="local"):
        """Any table by its path in the file, such as "/samples/process"."""
        columns = self._columns(path, clock)
        return _tables.make_table(columns, self._run._library, *self._described(path))

    def describe(self, path):
        """The columns of a table, with the unit of each that has one, and what it means."""
        return _tables.describe(self._columns(path, "local"), self._run._library, *self._described(path))

    def _described(self, path):
        """The units and the meanings of the columns of a table that the file has."""
        path = "/" + path.strip("/")
        known = self._run._rank_units
        if path not in known:
            with _tables.open_file(self.path, "rank") as file:
                known[path] = _tables.read_units(file, path)
        return known[path], self._run._rank_meanings().get(path, {})

    def _columns(self, path, clock):
        path = "/" + path.strip("/")
        if clock not in ("local", "cluster"):
            raise ValueError(f"clock is 'local' or 'cluster', not {clock!r}")
        columns, knots = None, None
        with _tables.open_file(self.path, "rank") as file:
            table = _tables.find_table(file, path)
            if table is not None:
                columns = _tables.read_columns(file, table)
                _tables.resolve(columns, path, file)
                own = _tables.find_table(file, "/clock") if clock == "cluster" else None
                knots = None if own is None else _tables.read_rows(file, own)
        if columns is None:
            raise KeyError(f"{self.path} has no table {path}")
        if clock == "cluster":
            knots = self._choose_knots(knots)
            with _files.judging(self.path):
                _tables.apply_clock(columns, knots)
        return columns

    def _choose_knots(self, own):
        """The rank's clock map, merged or its own; ValueError when there is none."""
        knots = self._run._merged_knots(self.number)
        if knots is None:
            knots = own
        if knots is None or (len(knots) == 0 and not self._run._shares_reference_clock(self)):
            raise ValueError(
                f"the clock of rank {self.number} was not synchronised with the other hosts':"
                " its times are known on its local clock only"
            )
        return knots

    def events(self, kind, clock="local"):
        """Events of a kind: "comm" (communication), "range" (ranges, operators and phases), "gap"
        (losses)."""
        return self.table(f"/events/{kind}", clock)

    def steps(self, clock="local"):
        """The steps that the rank marked: step, start, end (ns), recorded."""
        return self.table("/steps", clock)

    def windows(self, clock="local"):
        """The windows: intervals that were recorded, where a schedule or a stop excluded others."""
        return self.table("/windows", clock)

    def samples(self, kind="process", clock="local"):
        """Samples: "process" of /proc (cumulative CPU time in ns, faults, I/O and memory in bytes),
        "host", and what the program recorded: "queue", "memory", "work". KeyError when there are none."""
        return self.table(f"/samples/{kind}", clock)

    def timeline(self, clock="local"):
        """Steps, ranges, communication and losses in one table, in the order of their begin."""
        with _tables.open_file(self.path, "rank") as file:
            more = _present.TIMELINE_ROW_BYTES
            sizes = [_tables.count_bytes(file, path, more) for path in _present.TIMELINE]
            _files.check_memory(self.path, "of steps and events", sum(sizes))
        columns = [self._columns(path, clock) for path in _present.TIMELINE]
        tables = [_tables.make_table(each, None) for each in columns]
        with _files.judging(self.path):  # a table may lack fields
            ordered = _present.timeline(*tables)
        return _tables.make_table(ordered, self._run._library)

    @property
    def metadata(self):
        """What the program stored by metadata(): a dict. JSON objects and lists are read."""
        try:
            columns = self._columns("/metadata", "local")
        except KeyError:
            return {}
        pairs = zip(columns["key"], columns["value"])
        return {str(key): _read_value(str(text)) for key, text in pairs}

    @property
    def clock(self):
        """Knots of the clock map: cluster = local_ns + offset_ns, to within error_ns."""
        return self.table("/clock")

    @property
    def comms(self):
        """Communicators; the column comm of events("comm") is a row of it."""
        return self.table("/comms")

    @property
    def overhead(self):
        """Measured costs of the profiler itself: name, value, unit."""
        return self.table("/overhead")

    @property
    def strings(self):
        """Names, by id."""
        with _tables.open_file(self.path, "rank") as file:
            return _tables.read_texts(file, "/strings")


class Run:
    """The output directory of one run: tables of the whole run, and its ranks.

    The tables are those of cluster.h5; times are ns on the cluster clock. Without cluster.h5 (a run
    with --no-merge) they raise FileNotFoundError, and rank() works.
    """

    def __init__(self, path, pandas=None, frames=None):
        if os.path.isfile(path):
            path = os.path.dirname(path) or "."
        if not os.path.isdir(path):
            raise FileNotFoundError(f"there is no directory {path}")
        _tables.h5py_module()
        self.path, self._library = path, _tables.want_library(pandas, frames)
        self._files = _find_rank_files(path)
        if not self._files and not os.path.exists(self._cluster_path()):
            raise FileNotFoundError(f"{path} holds no results of profwrap")
        self._reference_domain = None
        self._clock_maps = None
        self._rank_units, self._meanings = {}, None  # of rank files: the same in all

    def __repr__(self):
        return f"<profwrap.Run {self.path}: {len(self._files)} rank files>"

    def _repr_html_(self):
        return _present.run_html(self)

    def __getattr__(self, name):
        """Any table of cluster.h5 is an attribute; tables without a property below are found by name."""
        if not name.startswith("_") and name in self._table_names():
            return self.table(name)
        merged = os.path.exists(self._cluster_path())
        hint = "" if merged else ", and no cluster.h5, which has the tables of the run"
        raise AttributeError(f"{self!r} has no {name}{hint}")

    def __dir__(self):
        return sorted({*super().__dir__(), *self._table_names()})

    def _table_names(self):
        if not os.path.exists(self._cluster_path()):
            return []
        with self._open_cluster() as file:
            return [name for name in _files.names_of(file) if _tables.is_table(file[name])]

    def _cluster_path(self):
        return os.path.join(self.path, "cluster.h5")

    def _open_cluster(self):
        path = self._cluster_path()
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"{self.path} has no cluster.h5: run 'profwrap merge {self.path}' first"
            )
        return _tables.open_file(path, "cluster")

    def _shares_reference_clock(self, rank):
        """True when the rank's local clock is the cluster clock: that of the lowest rank."""
        if self._reference_domain is None:
            lowest = self.rank(min(self._files))
            self._reference_domain = lowest.attributes.get("clock_domain")
        return rank.attributes.get("clock_domain") == self._reference_domain

    def _merged_knots(self, number):
        """The rank's clock map as the merge used it, or None: no cluster.h5, or an older one."""
        if self._clock_maps is None:
            self._clock_maps = {}
            if os.path.exists(self._cluster_path()):
                with self._open_cluster() as file:
                    self._clock_maps = _tables.read_clock_maps(file)
        return self._clock_maps.get(number)

    def _rank_meanings(self):
        """{table: {column: meaning}} of rank files; empty without a cluster.h5 that has them."""
        if self._meanings is None:
            self._meanings = {}
            with contextlib.suppress(OSError), self._open_cluster() as file:
                self._meanings = _tables.read_rank_meanings(file)
        return self._meanings

    @property
    def rank_numbers(self):
        """World ranks that left a file, sorted."""
        return sorted(self._files)

    def rank(self, number):
        """The file of one world rank."""
        if number not in self._files:
            raise KeyError(f"{self.path} has no file of rank {number}")
        return Rank(self, number, self._files[number])

    @property
    def attributes(self):
        """Root attributes of cluster.h5: nranks, nsteps, clock_error_max_ns, ..."""
        with self._open_cluster() as file:
            return _tables.attributes(file)

    @property
    def report(self):
        """report.json: a dict, whose fields docs/schema.md describes."""
        path = os.path.join(self.path, "report.json")
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"{self.path} has no report.json: run"
                f" 'profwrap report --format json -o {path} {self.path}' first"
            )
        _files.check_regular(path)
        # Its values take up to 64 bytes for 3 of the text.
        _files.check_memory(path, "of all", 24 * os.path.getsize(path))
        with _files.judging(path), open(path, encoding="utf-8") as file:
            report = json.load(file)
            if not isinstance(report, dict):
                raise _files.FileError(f"{path} is no report of profwrap")
        return report

    def summary(self):
        """The report in a few rows: what, value (texts). The headline is the first."""
        import numpy

        report = self.report
        with _files.judging(os.path.join(self.path, "report.json")):
            pairs = _present.summary(report)
        columns = {
            "what": numpy.array([what for what, _ in pairs], dtype=str),
            "value": numpy.array([value for _, value in pairs], dtype=str),
        }
        return _tables.make_table(columns, self._library)

    def ask(self, question="verdict", **arguments):
        """The answer to one question about the run, as a dict: `profwrap ask` without arguments lists the
        questions, and docs/agents.md describes them and their answers.

            run.ask("verdict")
            run.ask("rank", rank=3)
            run.ask("evidence", id="stragglers/0.gain_ns")
            run.ask("compare", other="another-profile")
            run.ask("operators", from_=20)            # the next page: `from` is a keyword of Python

        Times end in _ns; what is not known is missing. Runs the program profwrap: that of the wheel, else
        that in PATH. ValueError when the question is wrong or the run cannot be read, with what profwrap
        says of it.
        """
        words = [f"{key.rstrip('_')}={value}" for key, value in arguments.items()]
        done = subprocess.run([_command.program(), "ask", "--format", "json", self.path, question, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise ValueError(said[-1].removeprefix("profwrap: ") if said else "profwrap ask failed")
        return json.loads(done.stdout)

    def timeline(self, rank, clock="cluster"):
        """Steps, ranges, communication and losses of a rank, in the order of their begin."""
        return self.rank(rank).timeline(clock)

    def table(self, path, pandas=None):
        """Any table of cluster.h5 by its path; grids [step, rank] are rows of (step, rank).

        `pandas=False` gives a numpy array where load() was asked for data frames.
        """
        library = None if pandas is False else self._library
        return _tables.make_table(self._columns(path), library, *self._described(path))

    def describe(self, path):
        """The columns of a table of cluster.h5, with the unit of each that has one, and what it means."""
        return _tables.describe(self._columns(path), self._library, *self._described(path))

    def _described(self, path):
        with self._open_cluster() as file:
            return _tables.read_units(file, path), _tables.read_meanings(file, path)

    def _columns(self, path):
        path = "/" + path.strip("/")
        columns = None
        with self._open_cluster() as file:
            table = _tables.find_table(file, path)
            if table is not None:
                columns = _tables.read_columns(file, table)
            if table is not None and len(table.shape) == 2:
                columns = {**self._places(file, table), **columns}
        if columns is None:
            raise KeyError(f"{self._cluster_path()} has no table {path}")
        return columns

    def _places(self, file, grid):
        """Step (bin, or part of the run) and rank of each row of a grid."""
        import numpy

        table = _tables.find_table(file, "/ranks")
        if table is None:
            raise _files.FileError(f"{file.filename} is damaged: it has a grid without ranks")
        ranks = _tables.read_rows(file, table)["rank"]
        name = _ROWS_OF_GRIDS.get(grid.name, "step")
        rows = numpy.arange(grid.shape[0])
        if name == "part":
            rows = numpy.array(_PARTS)
        elif name == "step":
            table = _tables.find_table(file, "/steps")
            if table is None:
                raise _files.FileError(f"{file.filename} is damaged: it has a grid without steps")
            # A grid of what was not recorded has none.
            rows = _tables.read_rows(file, table)["step"][: grid.shape[0]]
        if len(rows) * len(ranks) != grid.size:
            raise _files.FileError(f"{file.filename} is damaged: {grid.name} has not a row for each rank")
        return {name: numpy.repeat(rows, len(ranks)), "rank": numpy.tile(ranks, len(rows))}

    @property
    def ranks(self):
        """One row per rank: hostname, present, complete, events, clock_error_ns, exit_code, ..."""
        return self.table("/ranks")

    @property
    def steps(self):
        """One row per step: step, start, end, duration_ns, slowest_rank, recorded."""
        return self.table("/steps")

    @property
    def step_trace(self):
        """One row per step and rank: total_ns, wait_ns, own_ns, comm_ns, ... (docs/metrics.md)."""
        return self.table("/step_trace")

    @property
    def phase_trace(self):
        """One row per step and rank: own work per phase, ns."""
        return self.table("/phase_trace")

    @property
    def bin_trace(self):
        """One row per bin (an equal part of the run) and rank: wait_ns, inside_ns, cpu_ns, ... They
        begin at the attribute bins_start_ns; each is bin_ns long (docs/metrics.md)."""
        return self.table("/bin_trace")

    @property
    def part_trace(self):
        """One row per part of the run (start, init, setup, steps, tail, finalize, end) and rank, with
        total_ns and the columns of bin_trace."""
        return self.table("/part_trace")

    @property
    def collectives(self):
        """One row per matched collective: enter and exit times, wait_ns, transfer_ns, busbw
        (bytes/s)."""
        return self.table("/collectives")

    @property
    def collective_stats(self):
        """Collectives by communicator, operation and size: waits, transfers (ns), bandwidths
        (bytes/s)."""
        return self.table("/collective_stats")

    @property
    def communicators(self):
        """Communicators with several ranks: their ranks, bytes, waits and transfers (ns), and the
        rank that the others waited for longest."""
        return self.table("/communicators")

    @property
    def p2p(self):
        """Messages and bytes per pair of ranks."""
        return self.table("/p2p")

    @property
    def stragglers(self):
        """Ranks that hold the job back, worst first: phase, excess_ns, blame_ns, gain_ns, ..."""
        return self.table("/stragglers")

    @property
    def efficiency(self):
        """POP efficiencies of the measured steps, 0..1; no row when there are no steps."""
        return self.table("/efficiency")

    @property
    def whatif(self):
        """The run replayed with something changed: scope, without_ns, gain_ns, slowdown, ..."""
        return self.table("/whatif")

    @property
    def critical_path(self):
        """Time on the critical path by rank and phase: path_ns, share."""
        return self.table("/critical_path")

    @property
    def hosts(self):
        """Hosts whose ranks are slow together."""
        return self.table("/hosts")

    @property
    def links(self):
        """Pairs of ranks whose messages take longer than those of similar pairs."""
        return self.table("/links")

    @property
    def trends(self):
        """Steps in which all ranks were slower together: kind, first_step, excess_ns, cost_ns, ..."""
        return self.table("/trends")

    @property
    def network(self):
        """Links, hosts and stretches of the run whose transfers took longer: scope, gain_ns, ..."""
        return self.table("/network")

    @property
    def completeness(self):
        """What is missing or contradictory: rank, what, count, detail. No row when the run is complete."""
        return self.table("/completeness")

    @property
    def open_calls(self):
        """The calls that ranks had entered and not left when they ended."""
        return self.table("/open_calls")

    @property
    def epochs(self):
        """Each time that the launcher started the ranks: what ended it, steps kept; empty without restarts."""
        return self.table("/epochs")

    @property
    def clocks(self):
        """How each rank's clock relates to the cluster's, with the error bound."""
        return self.table("/clocks")

    @property
    def clock_knots(self):
        """The clock maps that the merge used, by clock domain."""
        return self.table("/clock_knots")

    @property
    def operators(self):
        """Calls, total and self time of each operator, over all ranks; most self time first."""
        return self.table("/operators")

    @property
    def operator_types(self):
        """As operators, by type."""
        return self.table("/operator_types")

    @property
    def operator_shapes(self):
        """As operators, by operator and shapes; operator_row is a row of operators."""
        return self.table("/operator_shapes")

    @property
    def operator_stacks(self):
        """As operators, by call path; parent is an earlier row, -1 for none."""
        return self.table("/operator_stacks")

    @property
    def operator_ranks(self):
        """The operators with most self time, on each rank."""
        return self.table("/operator_ranks")

    @property
    def gpu_ranks(self):
        """GPU time of each rank that has any: busy, computing, NCCL, copies, and why it was idle."""
        return self.table("/gpu_ranks")

    @property
    def gpu_devices(self):
        """Each GPU that a rank used."""
        return self.table("/gpu_devices")

    @property
    def flops(self):
        """FLOP/s and MFU, of all ranks (-1) and of each; empty where the FLOPs of the model are not known."""
        return self.table("/flops")

    @property
    def step_flops(self):
        """FLOP/s and MFU of each measured step."""
        return self.table("/step_flops")

    @property
    def kernels(self):
        """Kernels over all ranks, most time first, with the operator that launches them."""
        return self.table("/kernels")

    @property
    def kernel_ranks(self):
        """The kernels with most time, on each rank; kernel_row is a row of kernels."""
        return self.table("/kernel_ranks")


def _read_value(text):
    """A value of metadata: JSON objects and lists are decoded."""
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _find_rank_files(path):
    """Paths by rank; a file that was not closed in order (.part) only where there is no other."""
    files = {}
    for name in sorted(os.listdir(path), reverse=True):
        match = re.fullmatch(r"rank-(\d+)\.h5(\.part)?", name)
        if match:
            files[int(match.group(1))] = os.path.join(path, name)
    return files


def _epoch_directory(path, epoch):
    """The directory of an epoch of the job in `path`; the last one when `epoch` is None."""
    epochs = {}
    for name in os.listdir(path):
        match = re.fullmatch(r"epoch-([1-9]\d*)", name)
        if match and os.path.isdir(os.path.join(path, name)):
            epochs[int(match.group(1))] = os.path.join(path, name)
    last = max(epochs, default=0)
    epochs[0] = path
    if epoch is not None and epoch not in epochs:
        raise FileNotFoundError(f"there is no epoch {epoch} of the run in {path}: its last is {last}")
    return epochs[last if epoch is None else epoch]


def load(path, pandas=None, epoch=None, frames=None):
    """Opens the output directory of a run for reading.

    When the job's ranks were restarted, `epoch` says which start of them is read: 0 for the first, None
    for the last. The directory of an epoch, and its cluster.h5, can be given as `path`, too.

    `pandas` says what tables are: None for DataFrames when pandas is installed and numpy structured
    arrays otherwise, True or False to have the one or the other. `frames` says it by name: "pandas",
    "polars", "arrow" (tables of pyarrow) or "numpy".

    A file that is damaged raises FileError, wherever it is read; docs/python.md says how much memory a
    table may take.
    """
    path = os.fspath(path)
    return Run(_epoch_directory(path, epoch) if os.path.isdir(path) else path, pandas, frames)
