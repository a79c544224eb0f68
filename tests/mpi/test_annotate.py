"""What profwrap.h says is in the rank file, row by row, however strange it is."""

import sys

import harness as h


def run(*arguments, options=()):
    done = h.run([*h.profwrap("--no-merge", "-o", "out", *options), h.program("notes"), *arguments])
    h.equal(done.stdout, b"1\n", "profwrap_active()")
    file = h.open_complete("out")
    return file, h.texts(file)


def rows(file, strings, path, *fields):
    """The fields of each row, ids of /strings as texts."""
    named = ("name", "category", "shapes", "queue", "key", "value")
    return [tuple(strings[row[f]] if f in named else int(row[f]) for f in fields)
            for row in file[path][:]]


def ranges(file, strings):
    kinds = h.enum_names(file["events/range"], "kind")
    texts = rows(file, strings, "events/range", "name", "category", "shapes")
    numbers = rows(file, strings, "events/range", "depth", "alloc_bytes")
    return [(*t, kind, *n) for t, kind, n in zip(texts, kinds, numbers)]


@h.case
def operators_and_their_memory():
    file, strings = run()
    h.equal(ranges(file, strings), [
        ("conv", "conv2d", "[[32, 3, 64, 64]]", "operator", 1, 4000),
        ("inner", "", "", "user", 2, 0),
        ("forward (model.py:12)", "", "", "function", 1, 0),
        ("block", "module", "", "operator", 0, 4000),
        ("forward", "", "", "phase", 0, 4000),
    ], "ranges")
    h.equal(rows(file, strings, "samples/memory", "device", "delta_bytes", "total_bytes"),
            [(-1, 1000, 1000), (0, 4096, 4096), (0, -96, 4000), (-1, -1000, 0)], "memory")


@h.case
def queues_and_metadata():
    file, strings = run()
    h.equal(rows(file, strings, "samples/queue", "queue", "size", "capacity"),
            [("batches", i, 4) for i in range(3)], "samples of the queue")
    h.equal(rows(file, strings, "metadata", "key", "value"),
            [("model", "first"), ("model", '{"layers": 2}')], "metadata")


@h.case
def not_there_unless_said():
    h.run([*h.profwrap("--no-merge", "-o", "out"), "true"])
    file = h.open_rank("out")
    for path in ("samples/queue", "samples/memory", "metadata"):
        h.check(path not in file, path, "is there")


@h.case
def where_ranges_begin():
    file, strings = run(options=("--call-stacks", "8"))
    stacks = [text.decode() for text in file["stacks"][:]]
    found = {strings[row["name"]]: stacks[row["stack"]] for row in file["events/range"][:]}
    h.check("operators" in found["conv"], "conv was begun on", found["conv"])
    h.check("main" in found["block"], "block was begun on", found["block"])


@h.case
def many():
    file, strings = run("100000", options=("--on-full", "wait"))
    found = [row for row in ranges(file, strings) if row[0] == "round"]
    h.equal(found, [("round", "", "", "user", 0, 64)] * 100000, "rounds")
    memory = file["samples/memory"][:]
    h.equal(list(memory["total_bytes"][memory["device"] == 1]),
            [64 * (i + 1) for i in range(100000)], "bytes of device 1")


@h.case
def strange_arguments():
    file, strings = run("0", "strange")
    h.equal(ranges(file, strings)[-2:], [("", "", "", "operator", 0, 0),
                                         ("x" * 255, "x" * 255, "x" * 255, "operator", 0, 0)],
            "strange operators")
    h.equal(rows(file, strings, "metadata", "key", "value")[-2:],
            [("long", "x" * 8191), ("", "")], "strange metadata")
    h.equal(rows(file, strings, "samples/queue", "queue", "size", "capacity")[-1],
            ("x" * 255, -5, -2**63), "a strange queue")
    h.equal(rows(file, strings, "samples/memory", "device", "delta_bytes", "total_bytes")[-2:],
            [(1 << 30, -2**63, -1), (-1, -2**63, -2**63)], "strange memory")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
