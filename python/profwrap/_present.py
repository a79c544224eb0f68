# SPDX-License-Identifier: Apache-2.0
"""The summary of a run, as a table and as HTML in a notebook."""

import html

_TABLES = (  # attribute of Run, title, columns to show where they are, rows
    ("stragglers", "Ranks that hold the job back", ("rank", "hostname", "kind", "phase"), 5),
    ("operators", "Operators by self time", ("name", "type", "calls"), 10),
)


def _milliseconds(ns):
    return None if ns is None or ns < 0 else f"{ns / 1e6:.3g} ms"


def _share(part):
    return None if part is None else f"{100 * part:.1f} %"


def summary(report):
    """Returns (what, value) pairs of a report.json, with values as texts; values that are not known
    are omitted.
    """
    job, steps = report.get("job") or {}, report.get("steps") or {}
    complete = report.get("completeness") or {}
    efficiency = report.get("efficiency") or {}
    pairs = (
        ("headline", job.get("headline")),
        ("incomplete", job.get("incomplete")),
        ("command", job.get("command")),
        ("ranks", job.get("ranks")),
        ("hosts", job.get("hosts")),
        ("steps", steps.get("measured")),
        ("mean step", _milliseconds(steps.get("mean_ns"))),
        ("longest step", _milliseconds(steps.get("max_ns"))),
        ("parallel efficiency", _share(efficiency.get("parallel_efficiency"))),
        ("events", complete.get("events")),
        ("dropped events", complete.get("dropped_events")),
        ("profiling cost", _share(complete.get("overhead_share"))),
    )
    return [(what, str(value)) for what, value in pairs if value is not None]


def _cell(name, value):
    if name.endswith("_ns"):
        value = _milliseconds(int(value)) or ""
    elif hasattr(value, "dtype") and value.dtype.kind == "f":
        value = f"{float(value):.4g}"
    return html.escape(str(value))


def _html_table(title, names, rows):
    head = "".join(f"<th>{html.escape(name.removesuffix('_ns'))}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(n, v)}</td>" for n, v in zip(names, row)) + "</tr>"
        for row in rows
    )
    return f"<h4>{html.escape(title)}</h4><table><tr>{head}</tr>{body}</table>"


def _table_of(run, attribute, title, first, most):
    """Returns an HTML table of a table of cluster.h5, with those of the given columns that it has;
    "" without rows.
    """
    try:
        table = run.table(attribute, pandas=False)
    except (FileNotFoundError, KeyError):
        return ""
    names = [name for name in first if name in table.dtype.names]
    names += [name for name in table.dtype.names if name.endswith("_ns")][:6]
    rows = [[row[name] for name in names] for row in table[:most]]
    return _html_table(title, names, rows) if rows else ""


def run_html(run):
    """Returns HTML with the headline, the summary and the most important tables."""
    try:
        pairs = summary(run.report)
    except FileNotFoundError as problem:
        pairs = [("ranks", len(run.rank_numbers)), ("no report", problem)]
    parts = [f"<p><b>{html.escape(str(v))}</b></p>" for what, v in pairs if what == "headline"]
    rest = [pair for pair in pairs if pair[0] != "headline"]
    parts.append(_html_table(run.path, ("what", "value"), rest))
    parts += [_table_of(run, *row) for row in _TABLES]
    return "".join(parts)


def rank_html(rank):
    """Returns HTML with the rank's identity and how it ended."""
    names = ("hostname", "pid", "exit_code", "exit_signal", "complete", "dropped_events", "command")
    rows = [(name, rank.attributes[name]) for name in names if name in rank.attributes]
    return _html_table(f"Rank {rank.number}", ("what", "value"), rows)


TIMELINE = ("/steps", "/events/range", "/events/comm", "/events/gap")
TIMELINE_ROW_BYTES = 128  # of timeline(), while the rows are ordered


def timeline(steps, ranges, comm, gaps):
    """Steps, ranges, communication and losses of a rank, TIMELINE, as columns, in the order of their
    begin.
    """
    import numpy

    def texts(values, rows):
        column = numpy.empty(rows, dtype=object)
        column[:] = values
        return column

    parts = (
        (steps, "step", [f"step {number}" for number in steps["step"].tolist()]),
        (ranges, ranges["kind"], ranges["name"]),
        (comm, "comm", comm["op"]),
        (gaps, "gap", gaps["reason"]),
    )

    def column(name, default):
        return [t[name] if name in t.dtype.names else numpy.full(len(t), default) for t, *_ in parts]

    columns = {
        "start": numpy.concatenate([table["start"] for table, *_ in parts]),
        "end": numpy.concatenate([table["end"] for table, *_ in parts]),
        "kind": numpy.concatenate([texts(kind, len(table)) for table, kind, _ in parts]),
        "name": numpy.concatenate([texts(names, len(table)) for table, _, names in parts]),
        "thread": numpy.concatenate(column("thread", -1)).astype("int32"),
        "depth": numpy.concatenate(column("depth", -1)).astype("int32"),
    }
    # Of two rows that begin together, the longer one encloses the other.
    order = numpy.lexsort((-columns["end"], columns["start"]))
    return {name: values[order] for name, values in columns.items()}
