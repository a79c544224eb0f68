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
        ("epoch", "", "", "mark", 0, 0),
    ], "ranges")
    mark = file["events/range"][-1]
    h.equal((mark["start"], strings[mark["domain"]]), (mark["end"], "loop"), "a mark")
    h.equal(rows(file, strings, "samples/memory", "device", "delta_bytes", "total_bytes"),
            [(-1, 1000, 1000), (0, 4096, 4096), (0, -96, 4000), (-1, -1000, 0)], "memory")


@h.case
def queues_and_metadata():
    file, strings = run()
    h.equal(rows(file, strings, "samples/queue", "queue", "size", "capacity"),
            [("batches", i, 4) for i in range(3)], "samples of the queue")
    h.equal(rows(file, strings, "metadata", "key", "value"),
            [("model", "first"), ("model", '{"layers": 2}'), ("role", "stage 2")], "metadata")
    h.equal(rows(file, strings, "samples/work", "amount"), [(4096,), (0,), (2**63 - 1,)],
            "amounts of work")
    h.equal([float(row["flops"]) for row in file["samples/flops"][:]], [2.5e15, 1.0], "FLOPs")


@h.case
def options_reach_the_merge():
    """What the options of a run say of the model and of GPUs is in its report; wrong ones end it."""
    h.run([*h.profwrap("-o", "out", "--step-flops", "3e9", "--peak-flops", "5e11", "--flops-type",
                       "fp32"), h.program("windows"), "cross", "6"])
    first = h.h5py().File("out/cluster.h5", "r")["flops"][0]
    h.equal((int(first["rank"]), float(first["peak_flops"]), first["type"].decode()),
            (-1, 5e11, "fp32"), "FLOPs of all ranks")
    h.check(int(first["steps"]) > 0, "no step was measured")
    h.equal(float(first["flops"]), 3e9 * int(first["steps"]), "FLOPs")
    h.check(" MFU " in open("out/report.txt").read(), "the report has no MFU")
    done = h.run([*h.profwrap("--peak-flops", "many"), "true"], status=2)
    h.check(b"--peak-flops is 'many', but takes a number" in done.stderr, done.stderr)


@h.case
def tables_are_absent_without_annotations():
    h.run([*h.profwrap("--no-merge", "-o", "out"), "true"])
    file = h.open_rank("out")
    for path in ("samples/queue", "samples/memory", "samples/work", "samples/flops", "metadata"):
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


PAST = 4  # flag of /events/range


def past_run(environment=None):
    done = h.run([*h.profwrap("--no-merge", "-o", "out"), h.program("notes"), "0", "past"],
                 env=environment)
    at = int(done.stdout.split()[1])
    file = h.open_rank("out")
    strings = h.texts(file)
    rows = [r for r in file["events/range"][:] if r["flags"] & PAST]
    return at, file, strings, rows


@h.case
def operators_of_another_profiler():
    at, file, strings, found = past_run()
    lanes = {int(r["thread"]) for r in found}
    threads = [(strings[r["name"]], strings[r["category"]], strings[r["shapes"]],
                int(r["start"]) - at, int(r["end"]) - at, int(r["alloc_bytes"]), int(r["depth"]))
               for r in found[:4]]
    h.equal(threads, [("mm", "aten", "[[2, 3]]", 200, 500, 96, 0),
                      ("linear", "aten", "", 100, 600, 128, 0),
                      ("other", "", "", 300, 800, 0, 0),
                      ("linear", "aten", "", 700, 700, -128, 0)], "operators of the past")
    h.equal([found[0]["thread"] == r["thread"] for r in found[:4]], [True, True, False, True],
            "threads that are the first one's")
    h.equal({strings[r["name"]] for r in found[4:]}, {"lane"}, "those of many lanes")
    h.equal(len(lanes), 256, "lanes")
    h.equal(len(found), 4 + 255, "operators that are kept")
    around = [r for r in file["events/range"][:] if strings[r["name"]] == "around the calls"]
    h.check(int(around[0]["thread"]) not in lanes, "a lane is the calling thread")
    # Three that are no time, and those of lanes that are too many.
    lost = sum(int(g["lost"]) for g in file["events/gap"][:] if g["lost"] > 0)
    h.equal(lost, 3 + 300 - 255, "operators and a queue's size that are lost")
    sizes = [(strings[r["queue"]], int(r["size"]), int(r["capacity"]), int(r["time"]) - at)
             for r in file["samples/queue"][:]]
    h.equal([s[:3] for s in sizes[:3]], [("batches", i, 4) for i in range(3)], "sizes of a queue")
    h.equal(sizes[3:], [("batches", 5, 8, 400)], "an earlier size of a queue")


@h.case
def operators_of_another_profiler_and_a_wrong_clock():
    at, file, strings, found = past_run(
        {"PROFWRAP_TEST_CLOCK": "5000000000:0:0"})
    h.equal(int(found[0]["start"]) - at, 200 + 5_000_000_000, "begin on the clock that is shown")


@h.case
def strange_arguments():
    file, strings = run("0", "strange")
    h.equal(ranges(file, strings)[-4:], [("", "", "", "operator", 0, 0),
                                         ("x" * 255, "x" * 255, "x" * 255, "operator", 0, 0),
                                         ("", "", "", "mark", 0, 0),
                                         ("x" * 255, "", "", "mark", 0, 0)],
            "strange operators and marks")
    h.equal(rows(file, strings, "metadata", "key", "value")[-2:],
            [("long", "x" * 8191), ("", "")], "strange metadata")
    h.equal(rows(file, strings, "samples/queue", "queue", "size", "capacity")[-1],
            ("x" * 255, -5, -2**63), "a strange queue")
    h.equal(rows(file, strings, "samples/memory", "device", "delta_bytes", "total_bytes")[-2:],
            [(1 << 30, -2**63, -1), (-1, -2**63, -2**63)], "strange memory")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
