"""The advice that the merge stores in a cluster file is the advice of a report on that file, and that report
does not contradict itself (consistent.py).

    stored.py PROFWRAP CLUSTER_FILE..."""

import json
import os
import subprocess
import sys

import consistent

EDITED = set()


def edited(path):
    """A test changed this file: its advice need not be that of a report any more."""
    EDITED.add(os.path.realpath(path))


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def compare(profwrap, path):
    """Fails unless both have the same rules, savings, ranks and words in the same order."""
    said = subprocess.run([profwrap, "report", "--format", "json", path], stdout=subprocess.PIPE, check=True)
    report = json.loads(said.stdout)
    consistent.check(path, report)
    try:
        import h5py
    except ImportError:
        print("not compared: stored advice; this Python has no h5py")
        return
    with h5py.File(path, "r") as file:
        kept = [(text(row["rule"]), int(row["saves_ns"]), text(row["text"]), text(row["evidence"]))
                for row in file["advice"][:]]
    told = [(row["rule"], -1 if row["saves_ns"] is None else row["saves_ns"], row["text"], row["evidence"] or "")
            for row in report["advice"]]
    assert kept == told, f"{path}: stored\n  {kept}\nbut reported\n  {told}"


def compare_below(profwrap, folder):
    """The same for every cluster.h5 in the folder and below it that is a file. Returns how many there are."""
    paths = [os.path.join(at, "cluster.h5") for at, _, names in os.walk(folder) if "cluster.h5" in names]
    paths = [path for path in paths if os.path.isfile(path) and os.path.realpath(path) not in EDITED]
    for path in paths:
        compare(profwrap, path)
    return len(paths)


if __name__ == "__main__":
    for each in sys.argv[2:]:
        compare(sys.argv[1], each)
