# SPDX-License-Identifier: Apache-2.0
"""Tables of profwrap's HDF5 files in memory: enumerations as names, ids as texts, clocks as one."""

import contextlib
import json

from . import _files

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
    "/events/payload": dict.fromkeys(("schema", "field"), _STRINGS),
    "/events/kernel": dict.fromkeys(("launched_by", "name"), _STRINGS),
    "/events/memcpy": {"launched_by": _STRINGS},
    "/events/memset": {"launched_by": _STRINGS},
    "/events/cuda_api": {"name": _STRINGS},
    "/events/nccl": dict.fromkeys(("datatype", "algorithm", "protocol"), _STRINGS),
    "/thread_names": {"name": _STRINGS},
    "/hccl/times": {"name": _STRINGS},
    "/hccl/links": dict.fromkeys(("name", "transport"), _STRINGS),
    "/comms": {"name": _STRINGS},
    "/samples/queue": {"queue": _STRINGS},
    "/metadata": {"key": _STRINGS, "value": _STRINGS},
}


def h5py_module():
    try:
        import h5py
    except ImportError as problem:
        raise ImportError(
            "profwrap.load() needs h5py: `pip install 'profwrap[read]'`, which also installs numpy"
            " and pandas, or install python3-h5py (Debian)"
        ) from problem
    return h5py


_LIBRARIES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow", "numpy": None}


def want_library(pandas, frames):
    """The module whose tables load() gives; None for numpy's arrays."""
    import importlib

    if frames is None:
        frames = "numpy" if pandas is False else "pandas" if pandas else None
    elif pandas is not None:
        raise ValueError("give load() either pandas or frames")
    if frames is not None and frames not in _LIBRARIES:
        raise ValueError(f"frames is one of {', '.join(_LIBRARIES)}, not {frames!r}")
    name = "pandas" if frames is None else _LIBRARIES[frames]
    try:
        return name and importlib.import_module(name)
    except ImportError:
        if frames is not None:
            raise
        return None


@contextlib.contextmanager
def open_file(path, kind):
    """Opens the HDF5 file at `path` and checks its format. Errors of the file, and in the block,
    are raised as FileError.
    """
    h5py = h5py_module()
    _files.check_regular(path)
    _files.most_bytes(path)  # what is wrong with its variable is no fault of the file
    with _files.judging(path), h5py.File(path, "r") as file:
        form, version = _attribute(file, "format"), _attribute(file, "format_version")
        if form != f"profwrap-{kind}":
            raise _files.FileError(f"{path} is no {kind} file of profwrap")
        if not isinstance(version, int) or version > _FORMAT_VERSION:
            shown = "".join(c if c.isprintable() else "?" for c in str(version))[:40]
            raise _files.FileError(
                f"{path} has format {shown}, but this module reads up to {_FORMAT_VERSION}"
            )
        yield file


def _attribute(file, name):
    if name not in file.attrs or not _files.is_attribute_plain(file.attrs.get_id(name)):
        return None
    value = file.attrs[name]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value.item() if hasattr(value, "item") else value


def attributes(file):
    values = {name: _attribute(file, name) for name in file.attrs}
    return {name: value for name, value in values.items() if value is not None}


def is_table(node):
    return getattr(getattr(node, "dtype", None), "names", None) is not None


def _decoded(column):
    """Returns an array of UTF-8 bytes as texts."""
    import numpy

    return numpy.char.decode(column, "utf-8", "replace")


def _shared(texts, places):
    """Returns the text of each row. Equal texts are shared, so a long one takes its memory once."""
    import numpy

    found = numpy.empty(len(texts), dtype=object)
    found[:] = texts
    return found[places]


def _named(column, names):
    """Returns the names of enumeration values; "?" for a value without a name."""
    import numpy

    by_value = {value: name for name, value in names.items()}
    if column.dtype.itemsize <= 2:  # a name for each value that there can be
        bits = 8 * column.dtype.itemsize
        values = numpy.arange(1 << bits).astype(f"u{bits // 8}").view(column.dtype.newbyteorder("="))
        places = column.astype(column.dtype.newbyteorder("=")).view(f"u{bits // 8}")
    else:
        values, places = numpy.unique(column, return_inverse=True)
    return _shared([by_value.get(int(v), "?") for v in values], places)


_REFERENCE_BYTES = 8  # what a row takes for a text that it shares
_UNIQUE_BYTES = 32  # and for a while, where the texts that are used are looked for


def _row_bytes(dtype, enums, path):
    """Returns the most memory that a row takes at one time: as stored, in columns, and in the
    resulting table.
    """
    texts = _TEXTS.get(path, {})
    columns, most = 0, 0
    for name in dtype.names:
        if enums[name] is not None or name in texts:
            columns, most = columns + _REFERENCE_BYTES, _UNIQUE_BYTES
        elif dtype[name].kind == "S":
            columns += 4 * dtype[name].itemsize  # a character takes four bytes
        elif name in _TIMES:
            columns, most = columns + dtype[name].itemsize, _UNIQUE_BYTES
        else:
            columns += dtype[name].itemsize
    return dtype.itemsize + 2 * columns + most


def _enums_of(dtype):
    """Returns the enumerations of a table's fields: {field: {name: value}, or None}."""
    h5py = h5py_module()
    return {name: h5py.check_enum_dtype(dtype[name]) for name in dtype.names}


def count_bytes(file, path, more=0):
    """Returns the memory that read_columns() and resolve() of a table may take, plus `more` for
    each row; 0 when the file has no such table.
    """
    dataset = find_table(file, path)
    if dataset is None:
        return 0
    rows = _files.check_storage(file, dataset)
    return rows * (_row_bytes(dataset.dtype, _enums_of(dataset.dtype), path) + more)


def find_table(file, path):
    """The table at `path`, or None when the file has none."""
    node = _files.find(file, path)
    return node if is_table(node) else None


def read_columns(file, dataset):
    """The fields of a table as a dict of flat arrays. Enumerations and texts are str."""
    rows, dtype = _files.check_storage(file, dataset), dataset.dtype
    enums = _enums_of(dtype)
    if any(dtype[name].kind not in "iufS" for name in dtype.names):
        raise _files.FileError(f"{file.filename} is damaged: {dataset.name} has unknown fields")
    size = rows * _row_bytes(dtype, enums, dataset.name)
    _files.check_memory(file.filename, dataset.name, size)
    read = dataset[()].reshape(-1)
    columns = {}
    for name in dtype.names:
        column = read[name]
        if enums[name] is not None:
            column = _named(column, enums[name])
        elif column.dtype.kind == "S":
            column = _decoded(column)
        columns[name] = column
    return columns


def read_texts(file, path):
    """The texts of a dataset, as a list."""
    h5py = h5py_module()
    dataset = _files.find(file, path)
    if dataset is None:
        return [""]
    if not hasattr(dataset, "dtype") or h5py.check_string_dtype(dataset.dtype) is None:
        raise _files.FileError(f"{file.filename} is damaged: {path} holds no texts")
    rows = _files.check_storage(file, dataset)
    if len(dataset.shape) != 1:
        raise _files.FileError(f"{file.filename} is damaged: {path} is no list")
    _files.check_memory(file.filename, path, 128 * rows)
    return _files.read_some_texts(dataset, rows, file.filename)


def resolve(columns, path, file):
    """Replaces row numbers by the texts; "?" for a row that does not exist."""
    import numpy

    wanted = {name: texts for name, texts in _TEXTS.get(path, {}).items() if name in columns}
    read = {dataset: read_texts(file, dataset) for dataset in dict.fromkeys(wanted.values())}
    for name, dataset in wanted.items():
        texts = read[dataset]
        used, places = numpy.unique(columns[name], return_inverse=True)
        found = [texts[row] if 0 <= row < len(texts) else "?" for row in used.tolist()]
        columns[name] = _shared(found, places)


def is_text(column):
    return column.dtype.kind in "OU"


def _attribute_object(file, path, name):
    """The JSON object in an attribute; empty where there is none."""
    node = _files.find(file, path)
    text = None if node is None else _attribute(node, name)
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        found = {}
    return found if isinstance(found, dict) else {}


def _texts_of(found):
    """What is text in a JSON object."""
    return {name: text for name, text in found.items() if isinstance(text, str)}


def read_units(file, path):
    """{column: unit} of a table's columns that have one."""
    return _texts_of(_attribute_object(file, path, "units"))


def read_meanings(file, path):
    """{column: meaning} of a table of cluster.h5."""
    return _texts_of(_attribute_object(file, path, "meanings"))


def read_rank_meanings(file):
    """{table: {column: meaning}} of the tables of rank files, which cluster.h5 has."""
    found = _attribute_object(file, "/rank", "meanings")
    return {path: _texts_of(one) for path, one in found.items() if isinstance(one, dict)}


def arrow_array(pyarrow, column):
    """An array of Arrow; texts as a dictionary, because most tables have few different ones."""
    if not is_text(column):
        return pyarrow.array(column)
    return pyarrow.array(column.tolist(), pyarrow.string()).dictionary_encode()


def arrow_table(pyarrow, columns, units, meanings, metadata=None):
    """A table of Arrow, whose fields have their unit and meaning as metadata."""
    arrays, fields = [arrow_array(pyarrow, column) for column in columns.values()], []
    for name, array in zip(columns, arrays):
        about = {"unit": units.get(name), "meaning": meanings.get(name)}
        about = {key: text for key, text in about.items() if text}
        fields.append(pyarrow.field(name, array.type, metadata=about or None))
    return pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields, metadata=metadata))


def make_table(columns, library, units=None, meanings=None):
    """A table of the library's; `units` and `meanings` are kept where tables of the library can have them."""
    units, meanings = units or {}, meanings or {}
    if library is not None and library.__name__ == "pyarrow":
        return arrow_table(library, columns, units, meanings)
    if library is not None and library.__name__ == "polars":
        return library.DataFrame(
            {name: each.tolist() if is_text(each) else each for name, each in columns.items()}
        )
    if library is not None:
        frame = library.DataFrame(columns)
        if units or meanings:
            frame.attrs.update(units=dict(units), meanings=dict(meanings))
        return frame
    import numpy

    rows = len(next(iter(columns.values()))) if columns else 0
    table = numpy.empty(rows, dtype=[(name, c.dtype) for name, c in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table


def describe(columns, library, units, meanings):
    """A table with a row for each column: its name, unit and meaning."""
    import numpy

    about = {
        "column": list(columns),
        "unit": [units.get(name, "") for name in columns],
        "meaning": [meanings.get(name, "") for name in columns],
    }
    return make_table({name: numpy.array(texts, dtype=str) for name, texts in about.items()}, library)


def to_cluster(local, knots):
    """Converts local ns to cluster ns by the rows of /clock: linear between them, with a constant
    offset outside.
    """
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


def read_rows(file, dataset):
    """A small table as it is stored."""
    rows = _files.check_storage(file, dataset)
    _files.check_memory(file.filename, dataset.name, 2 * rows * dataset.dtype.itemsize)
    return dataset[()].reshape(-1)


def read_clock_maps(file):
    """World rank to its knots in /clock_knots; only ranks whose domain has some."""
    clocks, domains = find_table(file, "/clocks"), find_table(file, "/clock_knots")
    if clocks is None or domains is None:
        return {}
    knots, maps = read_rows(file, domains), {}
    for row in read_rows(file, clocks):
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
