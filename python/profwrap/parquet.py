# SPDX-License-Identifier: Apache-2.0
"""Writes every table of a run as Parquet, for programs that read Arrow: DuckDB, Spark, polars, ...

    python3 -m profwrap.parquet [--clock local] RUN DIR

DIR, which must not exist or be empty, gets a file for each table of cluster.h5 (DIR/steps.parquet), and
for each table of the rank files a dataset that is partitioned by rank
(DIR/rank/events_comm/rank=3/part-0.parquet). Enumerations and rows of /strings are texts. Each field has
its unit and meaning as metadata. Needs pyarrow and h5py.
"""

import os
import sys

from . import _files, _load, _tables

_USAGE = "usage: python3 -m profwrap.parquet [--clock local|cluster] RUN DIR"
_MOST_DEPTH = 3  # groups in groups


def _pyarrow():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as problem:
        raise ImportError("profwrap.parquet needs pyarrow: `pip install pyarrow`") from problem
    return pyarrow


def _write(columns, described, path, metadata):
    """Writes a table, with the units and meanings of its columns, into the new file `path`."""
    pyarrow = _pyarrow()
    table = _tables.arrow_table(pyarrow, columns, *described, metadata)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    pyarrow.parquet.write_table(table, path)


def _paths(file):
    """The tables of a file."""
    h5py, found = _tables.h5py_module(), []

    def look(group, above):
        for name in _files.names_of(group):
            node = group[name]
            # A damaged file may have a group inside of itself.
            if isinstance(node, h5py.Group) and above.count("/") < _MOST_DEPTH:
                look(node, f"{above}{name}/")
            elif _tables.is_table(node):
                found.append(above + name)

    look(file, "/")
    return found


def _write_run(run, directory):
    with run._open_cluster() as file:
        paths = _paths(file)
    for path in paths:
        metadata = {"profwrap.table": path, "profwrap.clock": "cluster"}
        place = os.path.join(directory, _name(path)) + ".parquet"
        _write(run._columns(path), run._described(path), place, metadata)
    return len(paths)


def _write_rank(rank, directory, clock):
    with _tables.open_file(rank.path, "rank") as file:
        paths = _paths(file)
    for path in paths:
        # What /clock says is of the local clock, whatever the times of the others are.
        of_table = "local" if path == "/clock" else clock
        columns = rank._columns(path, of_table)
        metadata = {"profwrap.table": path, "profwrap.clock": of_table}
        place = os.path.join(directory, "rank", _name(path), f"rank={rank.number}")
        _write(columns, rank._described(path), os.path.join(place, "part-0.parquet"), metadata)
    return len(paths)


def _name(path):
    return path.strip("/").replace("/", "_")


def write(run, directory, clock="cluster"):
    """Writes all tables of a run, which load() has opened, into the new directory. The times of rank
    tables are on the cluster clock, or with clock="local" on that of the rank; ValueError when a rank's
    clock was not synchronised. Returns the number of tables, those of each rank counted."""
    _pyarrow()
    directory = os.fspath(directory)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    if os.listdir(directory):
        raise FileExistsError(f"{directory} is not empty")
    written = 0
    if os.path.exists(run._cluster_path()):
        written += _write_run(run, directory)
    for number in run.rank_numbers:
        written += _write_rank(run.rank(number), directory, clock)
    return written


def main(words):
    clock = "cluster"
    if words[:1] == ["--clock"] and len(words) > 1:
        clock, words = words[1], words[2:]
    if len(words) != 2 or words[0].startswith("-") or clock not in ("local", "cluster"):
        print(_USAGE, file=sys.stderr)
        return 2
    try:
        tables = write(_load.load(words[0], frames="numpy"), words[1], clock)
    except (ImportError, OSError, ValueError) as problem:
        print(f"profwrap.parquet: {problem}", file=sys.stderr)
        return 1
    print(f"{tables} tables in {words[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
