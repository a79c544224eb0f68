# SPDX-License-Identifier: Apache-2.0
"""Writes the call tree of a run's operators and ranges for Hatchet and Thicket.

    python3 -m profwrap.calltree RUN FILE.json

The file has what Hatchet's GraphFrame.from_literal() takes, whose frames Thicket collects:

    frame = hatchet.GraphFrame.from_literal(json.load(open("FILE.json")))

A node is a call path (/operator_stacks), over all ranks. Its metrics are "time (inc)" and "time", in
seconds without and with the paths below taken off, "wait", seconds of it in which ranks waited for
others inside MPI calls, and "calls".
"""

import json
import sys

from . import _files, _load

_USAGE = "usage: python3 -m profwrap.calltree RUN FILE.json"


def _node(path, operators):
    row = int(path["operator_row"])
    if not 0 <= row < len(operators):
        raise _files.FileError("the run is damaged: a call path has no operator")
    operator = operators[row]
    return {
        "frame": {"name": str(operator["name"]), "type": str(operator["type"]) or str(operator["kind"])},
        "metrics": {
            "time (inc)": int(path["total_ns"]) / 1e9,
            "time": int(path["exclusive_ns"]) / 1e9,
            "wait": int(path["self_wait_ns"]) / 1e9,
            "calls": int(path["calls"]),
        },
        "children": [],
    }


def tree(run):
    """The trees of a run that load() has opened: a list of their roots, as dicts. KeyError for a run
    without operators and ranges."""
    operators = run.table("/operators", pandas=False)
    paths = run.table("/operator_stacks", pandas=False)
    nodes, roots = [], []
    for number, path in enumerate(paths):
        node, parent = _node(path, operators), int(path["parent"])
        if parent >= number:
            raise _files.FileError("the run is damaged: a call path comes before the one that it is in")
        (nodes[parent]["children"] if parent >= 0 else roots).append(node)
        nodes.append(node)
    if not roots:
        raise KeyError("the run has no operators and no ranges")
    return roots


def write(run, path):
    """Writes the trees as JSON. Returns the number of roots."""
    roots = tree(run)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(roots, file)
    return len(roots)


def main(words):
    if len(words) != 2 or words[0].startswith("-"):
        print(_USAGE, file=sys.stderr)
        return 2
    try:
        write(_load.load(words[0], frames="numpy"), words[1])
    except (ImportError, KeyError, OSError, ValueError) as problem:
        what = problem.args[0] if isinstance(problem, KeyError) else problem
        print(f"profwrap.calltree: {what}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
