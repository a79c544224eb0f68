"""Tables of profwrap's HDF5 files in memory: enumerations as names, ids as texts, clocks as one."""

_FORMAT_VERSION = 1  # the newest that this module reads
_TIMES = ("start", "end", "time", "wait_start", "seen_until")  # fields that the clock map applies to
# Fields that hold rows of a dataset of texts: {table: {field: dataset}}.
_STRINGS, _STACKS = "/strings", "/stacks"
_TEXTS = {
    "/events/range": {
        **dict.fromkeys(("name", "domain", "category", "shapes"), _STRINGS),
        "stack": _STACKS,
    },
    "/events/comm": {"stack": _STACKS},
    "/comms": {"name": _STRINGS},
    "/samples/queue": {"queue": _STRINGS},
    "/metadata": {"key": _STRINGS, "value": _STRINGS},
}


def h5py_module():
    try:
        import h5py
    except ImportError as problem:
        raise ImportError(
            "profwrap.load() needs h5py: install python3-h5py (Debian) or `pip install h5py`"
        ) from problem
    return h5py


def want_pandas(wanted):
    if wanted is False:
        return None
    try:
        import pandas
    except ImportError:
        if wanted:
            raise
        return None
    return pandas


def open_file(path, kind):
    """The HDF5 file at `path`, after a look at what it says it is."""
    h5py = h5py_module()
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


def attributes(file):
    return {name: _attribute(file, name) for name in file.attrs}


def is_table(node):
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


def read_columns(dataset):
    """The fields of a table as a dict of flat arrays; enumerations and texts are str."""
    h5py = h5py_module()
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


def read_texts(file, dataset):
    import numpy

    return _decoded(file[dataset][()]) if dataset in file else numpy.array([""])


def resolve(columns, path, file):
    """Rows of texts by the text; a row past their end is "?"."""
    import numpy

    for name, dataset in _TEXTS.get(path, {}).items():
        if name in columns:
            texts = numpy.append(read_texts(file, dataset), "?")
            columns[name] = texts[numpy.minimum(columns[name], len(texts) - 1)]


def make_table(columns, pandas):
    if pandas is not None:
        return pandas.DataFrame(columns)
    import numpy

    rows = len(next(iter(columns.values()))) if columns else 0
    table = numpy.empty(rows, dtype=[(name, c.dtype) for name, c in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table


def to_cluster(local, knots):
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


def read_clock_maps(file):
    """World rank to its knots in /clock_knots; only ranks whose domain has some."""
    if "/clocks" not in file or "/clock_knots" not in file:
        return {}
    knots, maps = file["/clock_knots"][()], {}
    for row in file["/clocks"][()]:
        own = knots[knots["domain"] == row["domain"]]
        if row["domain"] >= 0 and len(own):
            maps[int(row["rank"])] = own
    return maps


def apply_clock(columns, knots):
    """Moves the times of a table from the rank's clock to the cluster's, by the rank's knots."""
    import numpy

    for name in _TIMES:
        if name not in columns:
            continue
        moved = to_cluster(columns[name], knots)
        # wait_start 0 says that the operation blocked.
        if name == "wait_start":
            moved = numpy.where(columns[name] == 0, 0, moved)
        columns[name] = moved
