"""Bytes on disk per event, by table and by column.

    disk_cost.py PROFWRAP MPICALLS TRAIN

Regular programs are loops of one call (`self`) and of windows of 32 messages (`window`); the budget
is theirs. The training's intervals are far longer and random in three bytes of each time, which no
lossless filter can take: its figure is printed beside the others. A column's own bytes are those of
its data shuffled and deflated alone, as the chunk's are.
"""
import glob
import os
import subprocess
import sys
import tempfile
import zlib

import measure
from measure import report

h5py = measure.h5py()
import numpy  # noqa: E402

TABLES = ("events/comm", "events/range")
profwrap, mpicalls, train = sys.argv[1:4]


def deflated(column, chunk):
    """The bytes of a column in chunks of `chunk` rows, shuffled and deflated at level 1."""
    size = 0
    for first in range(0, len(column), chunk):
        piece = numpy.ascontiguousarray(column[first : first + chunk])
        planes = piece.view(numpy.uint8).reshape(len(piece), -1).T
        size += len(zlib.compress(numpy.ascontiguousarray(planes).tobytes(), 1))
    return size


def print_columns(file, name):
    table = file[name]
    rows, data = len(table), table[:]
    costs = {field: deflated(data[field], table.chunks[0]) / rows for field in table.dtype.names}
    columns = ", ".join(f"{field} {cost:.2f}" for field, cost in costs.items() if cost >= 0.05)
    print(f"  /{name}: {rows} rows, {table.id.get_storage_size() / rows:.2f} bytes a row; {columns}")


def measure(title, before, command):
    with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as where:
        subprocess.run(before + [profwrap, "--quiet", "--no-merge", "-o", "out"] + command, cwd=where,
                       stdout=subprocess.DEVNULL, check=True)
        events = size = 0
        paths = sorted(glob.glob(os.path.join(where, "out", "rank-*.h5")))
        for path in paths:
            size += os.path.getsize(path)
            with h5py.File(path) as file:
                events += sum(len(file[name]) for name in TABLES)
        print(f"{title}: {events} events, {size} bytes in {len(paths)} files")
        with h5py.File(paths[0]) as file:
            for name in TABLES:
                if len(file[name]):
                    print_columns(file, name)
        return size / events


ok = True
for what in ("self", "window"):
    each = measure(what, [], [mpicalls, what, "200000", "20"])
    ok &= report(f"bytes on disk per event, {what}", each, 6.0)
each = measure("train, 600 steps", ["mpirun", "-np", "2"], [train, "--steps", "600"])
print(f"bytes on disk per event, train: {each:.2f}")
sys.exit(0 if ok else 1)
