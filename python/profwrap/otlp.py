# SPDX-License-Identifier: Apache-2.0
"""Writes the steps of a run as spans of OpenTelemetry, in the JSON form of OTLP.

    python3 -m profwrap.otlp [--ranks all|0,3,...] RUN FILE.json

The file is one TracesData message, such as the collector's otlpjsonfile receiver and POST /v1/traces
take. The trace has a span of the run, and in it a span of each step of the job; with --ranks also, in
each of these, the step on these ranks. Stragglers are events of the run's span. Times are of the cluster
clock, moved to the time of day at the run's start.
"""

import hashlib
import json
import os
import sys

from . import _load

_USAGE = "usage: python3 -m profwrap.otlp [--ranks all|0,3,...] RUN FILE.json"
_INTERNAL = 1  # SpanKind
_OF_RANK = ("own_ns", "wait_ns", "comm_exposed_ns", "data_wait_ns")  # columns of /step_trace


def _value(value):
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"intValue": str(int(value))}  # int64 is a text in the JSON of protobuf


def _attributes(**values):
    return [{"key": key.replace("__", "."), "value": _value(value)} for key, value in values.items()]


class _Trace:
    """The identifiers and times of a run's trace."""

    def __init__(self, run):
        self.run, given = run, run.attributes
        self.job, self.command = str(given.get("job_id", "")), str(given.get("command", ""))
        steps = run.table("/steps", pandas=False)
        self.start, self.end = int(given.get("start_unix_ns", 0)), int(given.get("end_unix_ns", 0))
        begin = int(given.get("bins_start_ns", -1))
        if begin < 0:
            begin = int(steps["start"][0]) if len(steps) else 0
        self.steps, self._offset = steps, self.start - begin
        self.id = self._hash("trace", 16)
        self.root = self._hash("run", 8)

    def _hash(self, what, size):
        text = f"{self.job} {self.start} {what}"
        return hashlib.sha256(text.encode()).hexdigest()[: 2 * size]

    def span(self, name, what, parent, times, attributes):
        start, end = (str(int(time) + self._offset) for time in times)
        return {
            "traceId": self.id,
            "spanId": self._hash(what, 8),
            "parentSpanId": parent,
            "name": name,
            "kind": _INTERNAL,
            "startTimeUnixNano": start,
            "endTimeUnixNano": end,
            "attributes": attributes,
        }

    def step_id(self, step):
        return self._hash(f"step {step}", 8)

    def run_span(self):
        """The span of the run: from its start, or the first step's if that is earlier."""
        times = [self.start - self._offset, self.end - self._offset]
        if len(self.steps):
            times[0] = min(times[0], int(self.steps["start"].min()))
            times[1] = max(times[1], int(self.steps["end"].max()))
        span = self.span("run", "run", "", times, _attributes(profwrap__job=self.job))
        span["events"] = [self._event(row) for row in self.run.table("/stragglers", pandas=False)]
        return span

    def _event(self, row):
        return {
            "timeUnixNano": str(int(row["start"]) + self._offset),
            "name": "straggler",
            "attributes": _attributes(
                profwrap__rank=row["rank"],
                profwrap__kind=str(row["kind"]),
                profwrap__phase=str(row["phase"]),
                profwrap__cause=str(row["cause"]),
                profwrap__first_step=row["first_step"],
                profwrap__last_step=row["last_step"],
                profwrap__lost_ns=row["lost_ns"],
                profwrap__confidence=float(row["confidence"]),
            ),
        }

    def step_spans(self):
        for row in self.steps:
            number = int(row["step"])
            yield self.span(
                f"step {number}", f"step {number}", self.root, (row["start"], row["end"]),
                _attributes(
                    profwrap__step=number,
                    profwrap__recorded=str(row["recorded"]),
                    profwrap__duration_ns=row["duration_ns"],
                    profwrap__slowest_rank=row["slowest_rank"],
                ),
            )

    def rank_spans(self, rank):
        trace = self.run.table("/step_trace", pandas=False)
        mine = {int(row["step"]): row for row in trace[trace["rank"] == rank]}
        for row in _load._tables.make_table(self.run.rank(rank)._columns("/steps", "cluster"), None):
            number = int(row["step"])
            known = {name: int(mine[number][name]) for name in _OF_RANK if number in mine}
            yield self.span(
                f"step {number}", f"step {number} of rank {rank}", self.step_id(number),
                (row["start"], row["end"]),
                _attributes(
                    profwrap__step=number,
                    profwrap__rank=rank,
                    **{f"profwrap__{name}": value for name, value in known.items() if value >= 0},
                ),
            )


def _resource(trace, spans, **more):
    program = os.path.basename((trace.command.split() or ["profwrap"])[0])
    attributes = _attributes(service__name=program, process__command_line=trace.command, **more)
    return {
        "resource": {"attributes": attributes},
        "scopeSpans": [{"scope": {"name": "profwrap"}, "spans": list(spans)}],
    }


def traces(run, ranks=()):
    """The TracesData of a run that load() has opened, as a dict; with the steps of these ranks."""
    trace = _Trace(run)
    job = [trace.run_span(), *trace.step_spans()]
    resources = [_resource(trace, job, profwrap__ranks=int(run.attributes.get("nranks", 0)))]
    for rank in ranks:
        host = str(run.rank(rank).attributes.get("hostname", ""))
        spans = trace.rank_spans(rank)
        resources.append(_resource(trace, spans, host__name=host, profwrap__rank=rank))
    return {"resourceSpans": resources}


def write(run, path, ranks=()):
    """Writes that as JSON. Returns the number of spans."""
    data = traces(run, ranks)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file)
        file.write("\n")
    return sum(len(one["scopeSpans"][0]["spans"]) for one in data["resourceSpans"])


def main(words):
    wanted = ""
    if words[:1] == ["--ranks"] and len(words) > 1:
        wanted, words = words[1], words[2:]
    numbers = [] if wanted in ("", "all") else wanted.split(",")
    if len(words) != 2 or words[0].startswith("-") or not all(one.isdecimal() for one in numbers):
        print(_USAGE, file=sys.stderr)
        return 2
    try:
        run = _load.load(words[0], frames="numpy")
        write(run, words[1], run.rank_numbers if wanted == "all" else [int(one) for one in numbers])
    except (ImportError, KeyError, OSError, ValueError) as problem:
        what = problem.args[0] if isinstance(problem, KeyError) else problem
        print(f"profwrap.otlp: {what}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
