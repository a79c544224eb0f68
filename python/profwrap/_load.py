"""Reads a run's HDF5 files as tables; docs/schema.md says what their fields mean.

A table is a pandas DataFrame when pandas is installed, else a numpy structured array, with the same
columns. Enumerations are names, and rows of /strings and /stacks are the texts. Times are int64 ns:
on the cluster clock in the tables of the whole run, on the rank's local clock in those of one rank
unless `clock="cluster"` is given. -1 in a _ns, bytes or rank field means "not known".
"""

import os
import re

_FORMAT_VERSION = 1  # the newest that this module reads
_TIMES = ("start", "end", "time", "wait_start", "seen_until")  # fields that the clock map applies to
# Fields that hold rows of a dataset of texts: {table: {field: dataset}}.
_TEXTS = {
    "/events/range": dict.fromkeys(("name", "domain", "category", "shapes"), "/strings"),
    "/comms": {"name": "/strings"},
    "/events/comm": {"stack": "/stacks"},
}


def _h5py():
    try:
        import h5py
    except ImportError as problem:
        raise ImportError(
            "profwrap.load() needs h5py: install python3-h5py (Debian) or `pip install h5py`"
        ) from problem
    return h5py


def _want_pandas(wanted):
    if wanted is False:
        return None
    try:
        import pandas
    except ImportError:
        if wanted:
            raise
        return None
    return pandas


def _open(path, kind):
    """The HDF5 file at `path`, after a look at what it says it is."""
    h5py = _h5py()
    file = h5py.File(path, "r")
    form, version = _attribute(file, "format"), _attribute(file, "format_version")
    problem = None
    if form != f"profwrap-{kind}":
        problem = f"{path} is no {kind} file of profwrap"
    elif version is None or version > _FORMAT_VERSION:
        problem = f"{path} has format {version}, but this module reads up to {_FORMAT_VERSION}"
    if problem:
        file.close()
        raise ValueError(problem)
    return file


def _attribute(file, name):
    value = file.attrs.get(name)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.item() if hasattr(value, "item") else value


def _attributes(file):
    return {name: _attribute(file, name) for name in file.attrs}


def _is_table(node):
    return getattr(getattr(node, "dtype", None), "names", None) is not None


def _decoded(column):
    """An array of UTF-8 bytes as text."""
    import numpy

    if column.dtype.kind == "S":
        return numpy.char.decode(column, "utf-8", "replace")
    texts = [t.decode("utf-8", "replace") if isinstance(t, bytes) else str(t) for t in column]
    return numpy.array(texts, dtype=str)


def _named(column, names):
    """Enumeration values as their names; a value without one is "?"."""
    import numpy

    width = max(max(names.values(), default=0), int(column.max()) if len(column) else 0) + 1
    by_value = numpy.full(width, "?", dtype=f"U{max(map(len, names), default=1)}")
    for name, value in names.items():
        by_value[value] = name
    return by_value[column]


def _columns(dataset):
    """The fields of a table as a dict of flat arrays; enumerations and texts are str."""
    h5py = _h5py()
    rows = dataset[()].reshape(-1)
    columns = {}
    for name in dataset.dtype.names:
        names = h5py.check_enum_dtype(dataset.dtype[name])
        column = rows[name]
        if names is not None:
            column = _named(column, names)
        elif column.dtype.kind in "SO":
            column = _decoded(column)
        columns[name] = column
    return columns


def _texts(file, dataset):
    import numpy

    return _decoded(file[dataset][()]) if dataset in file else numpy.array([""])


def _resolve(columns, path, file):
    """Rows of texts by the text; a row past their end is "?"."""
    import numpy

    for name, dataset in _TEXTS.get(path, {}).items():
        if name in columns:
            texts = numpy.append(_texts(file, dataset), "?")
            columns[name] = texts[numpy.minimum(columns[name], len(texts) - 1)]


def _table(columns, pandas):
    if pandas is not None:
        return pandas.DataFrame(columns)
    import numpy

    rows = len(next(iter(columns.values()))) if columns else 0
    table = numpy.empty(rows, dtype=[(name, c.dtype) for name, c in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table


def _to_cluster(local, knots):
    """Local ns to cluster ns by the rows of /clock: linear between them, held outside."""
    import numpy

    if len(knots) == 0:
        return local
    at, offset = knots["local_ns"], knots["offset_ns"]
    before = numpy.clip(numpy.searchsorted(at, local, side="right") - 1, 0, None)
    after = numpy.minimum(before + 1, len(knots) - 1)
    length = numpy.maximum(at[after] - at[before], 1)
    share = numpy.clip((local - at[before]) / length, 0, None)  # before the first knot: held
    moved = (share * (offset[after] - offset[before])).astype("int64")
    return local + offset[before] + moved


def _read_clock_maps(file):
    """World rank to its knots in /clock_knots; only ranks whose domain has some."""
    if "/clocks" not in file or "/clock_knots" not in file:
        return {}
    knots, maps = file["/clock_knots"][()], {}
    for row in file["/clocks"][()]:
        own = knots[knots["domain"] == row["domain"]]
        if row["domain"] >= 0 and len(own):
            maps[int(row["rank"])] = own
    return maps


class Rank:
    """One rank's file. Times are ns on the rank's local clock unless clock="cluster" is given."""

    def __init__(self, run, number, path):
        self._run, self.number, self.path = run, number, path
        with _open(path, "rank") as file:
            #: Root attributes: hostname, exit_code, dropped_events, ... (docs/schema.md).
            self.attributes = _attributes(file)

    def __repr__(self):
        return f"<profwrap.Rank {self.number} of {self._run.path}>"

    def table(self, path, clock="local"):
        """Any table by its path in the file, such as "/samples/process"."""
        path = "/" + path.strip("/")
        if clock not in ("local", "cluster"):
            raise ValueError(f"clock is 'local' or 'cluster', not {clock!r}")
        with _open(self.path, "rank") as file:
            if path not in file or not _is_table(file[path]):
                raise KeyError(f"{self.path} has no table {path}")
            columns = _columns(file[path])
            _resolve(columns, path, file)
            if clock == "cluster":
                knots = self._run._merged_knots(self.number)
                self._apply_clock(columns, file["/clock"][()] if knots is None else knots)
        return _table(columns, self._run._pandas)

    def _apply_clock(self, columns, knots):
        import numpy

        if len(knots) == 0 and not self._run._shares_reference_clock(self):
            raise ValueError(
                f"the clock of rank {self.number} was not synchronised with the other hosts':"
                " its times are known on its local clock only"
            )
        for name in _TIMES:
            if name not in columns:
                continue
            moved = _to_cluster(columns[name], knots)
            # wait_start 0 says that the operation blocked.
            columns[name] = (
                numpy.where(columns[name] == 0, 0, moved) if name == "wait_start" else moved
            )

    def events(self, kind, clock="local"):
        """Events of a kind: "comm" (communication), "range" (ranges and phases), "gap" (losses)."""
        return self.table(f"/events/{kind}", clock)

    def steps(self, clock="local"):
        """The steps that the rank marked: step, start, end (ns), recorded."""
        return self.table("/steps", clock)

    def samples(self, kind="process", clock="local"):
        """Samples of /proc: cumulative CPU time (ns), faults, I/O (bytes), and rss_bytes."""
        return self.table(f"/samples/{kind}", clock)

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
        """What was measured of the profiler's own cost: name, value, unit."""
        return self.table("/overhead")

    @property
    def strings(self):
        """Names, by id."""
        with _open(self.path, "rank") as file:
            return [str(text) for text in _texts(file, "/strings")]


class Run:
    """The output directory of one run: tables of the whole run, and its ranks.

    The tables are those of cluster.h5; times are ns on the cluster clock. Without cluster.h5 (a run
    with --no-merge) they raise FileNotFoundError, and rank() works.
    """

    def __init__(self, path, pandas=None):
        if os.path.isfile(path):
            path = os.path.dirname(path) or "."
        if not os.path.isdir(path):
            raise FileNotFoundError(f"there is no directory {path}")
        _h5py()
        self.path, self._pandas = path, _want_pandas(pandas)
        self._files = _find_rank_files(path)
        if not self._files and not os.path.exists(self._cluster_path()):
            raise FileNotFoundError(f"{path} holds no results of profwrap")
        self._reference_domain = None
        self._clock_maps = None

    def __repr__(self):
        return f"<profwrap.Run {self.path}: {len(self._files)} rank files>"

    def _cluster_path(self):
        return os.path.join(self.path, "cluster.h5")

    def _open_cluster(self):
        path = self._cluster_path()
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"{self.path} has no cluster.h5: run 'profwrap merge {self.path}' first"
            )
        return _open(path, "cluster")

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
                    self._clock_maps = _read_clock_maps(file)
        return self._clock_maps.get(number)

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
            return _attributes(file)

    def table(self, path):
        """Any table of cluster.h5 by its path; grids [step, rank] are rows of (step, rank)."""
        import numpy

        path = "/" + path.strip("/")
        with self._open_cluster() as file:
            if path not in file or not _is_table(file[path]):
                raise KeyError(f"{self._cluster_path()} has no table {path}")
            columns = _columns(file[path])
            if len(file[path].shape) == 2:
                steps, ranks = file["/steps"]["step"], file["/ranks"]["rank"]
                places = {
                    "step": numpy.repeat(steps, len(ranks)),
                    "rank": numpy.tile(ranks, len(steps)),
                }
                columns = {**places, **columns}
        return _table(columns, self._pandas)

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
        """Pairs of ranks whose messages take longer than those of like pairs."""
        return self.table("/links")

    @property
    def completeness(self):
        """What is missing or strange: rank, what, count, detail. No row when all is there."""
        return self.table("/completeness")

    @property
    def open_calls(self):
        """The calls that ranks were in when they ended, of those that did not come back."""
        return self.table("/open_calls")

    @property
    def clocks(self):
        """How each rank's clock relates to the cluster's, and how sure that is."""
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
        """The same by type."""
        return self.table("/operator_types")

    @property
    def operator_shapes(self):
        """The same by operator and shapes; operator_row is a row of operators."""
        return self.table("/operator_shapes")

    @property
    def operator_stacks(self):
        """The same by call path; parent is an earlier row, -1 for none."""
        return self.table("/operator_stacks")

    @property
    def operator_ranks(self):
        """The operators with most self time, on each rank."""
        return self.table("/operator_ranks")


def _find_rank_files(path):
    """Paths by rank; a file that was not closed in order (.part) only where there is no other."""
    files = {}
    for name in sorted(os.listdir(path), reverse=True):
        match = re.fullmatch(r"rank-(\d+)\.h5(\.part)?", name)
        if match:
            files[int(match.group(1))] = os.path.join(path, name)
    return files


def load(path, pandas=None):
    """Opens the output directory of a run for reading.

    `pandas` says what tables are: None for DataFrames when pandas is installed and numpy structured
    arrays otherwise, True or False to have the one or the other.
    """
    return Run(os.fspath(path), pandas)
