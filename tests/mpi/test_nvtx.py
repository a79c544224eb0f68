"""The rank file has what a program marks through NVTX, however unusual its use."""

import ctypes.util
import json
import os
import struct
import signal
import sys

import harness as h


def run(*arguments, options=(), status=0, program="ranges", **more):
    """Runs the program. It is built only where the headers of NVTX are installed; otherwise the
    case is skipped."""
    return h.run([*h.profwrap("--no-merge", "-o", "out", *options), h.program(program), *arguments],
                 status=status, **more)


def payload(strings, kind, value):
    """The value of the payload, converted according to its type."""
    value = int(value)
    if kind == "uint":
        return value % 2**64
    if kind == "double":
        return struct.unpack("<d", struct.pack("<q", value))[0]
    return strings[value] if kind == "text" else value


def ranges(file, *wanted):
    """The wanted fields of each row, as text and numbers."""
    strings, table = h.texts(file), file["events/range"]
    rows, kinds, types = table[:], h.enum_names(table, "kind"), h.enum_names(table, "payload_type")
    found = []
    for row, kind, type_ in zip(rows, kinds, types):
        fields = {f: int(row[f]) for f in ("thread", "depth", "sequence", "flags")}
        fields.update({f: strings[row[f]] for f in ("name", "domain", "category", "shapes")})
        fields.update(kind=kind, payload=payload(strings, type_, row["payload"]), type=type_,
                      ns=int(row["end"] - row["start"]), end=int(row["end"]))
        found.append(tuple(fields[f] for f in wanted))
    return found


@h.case
def every_function():
    run("all")
    file = h.open_complete("out")
    found = ranges(file, "name", "domain", "category", "kind", "depth", "type", "payload", "flags")
    user = [row for row in found if row[7] == 0]
    h.equal(user, [
        ("wide \u20ac \U0001f600", "", "", "user", 2, "none", 0, 0),
        ("of profwrap.h", "", "", "user", 1, "none", 0, 0),
        ("outer", "", "", "user", 0, "none", 0, 0),
        ("attributes", "", "9", "mark", 1, "double", 2.5, 0),
        ("attributes", "", "saving", "mark", 1, "double", -0.5, 0),
        ("attributes", "", "saving", "mark", 1, "uint", 4000000000, 0),
        ("attributes", "", "loading", "user", 0, "int", -5, 0),
        ("mark", "", "", "mark", 0, "none", 0, 0),
        ("wide mark", "", "", "mark", 0, "none", 0, 0),
        ("", "", "", "user", 0, "none", 0, 0),
        ("", "", "", "user", 0, "none", 0, 0),
        ("registered in a", "domain a", "first of a", "user", 0, "none", 0, 0),
        ("registered in b", "domain b", "1", "user", 1, "none", 0, 0),
        ("registered in b", "domain b", "1", "mark", 0, "none", 0, 0),
        ("queue lock", "", "lock", "user", 0, "none", 0, 0),
    ], "ranges of threads")
    process = sorted((row[0], row[6], row[7]) for row in found if row[7])
    h.equal(process, [("across threads", 2**64 - 1, 2), ("left open", 0, 3), ("started", 0, 2)],
            "ranges of the process")
    h.check(all(ns >= 0 for ns, in ranges(file, "ns")), "a range ends before it begins")
    h.equal(h.overhead(file).get("nvtx_ends_alone"), 2, "ends without a begin")


@h.case
def names_of_threads():
    run("all")
    file = h.open_complete("out")
    strings = h.texts(file)
    rows = {strings[row["name"]]: row for row in file["thread_names"][:]}  # of two rings: in any order
    h.equal({name: int(row["thread"]) for name, row in rows.items()},
            {"main": 0, "somebody else": -1, "worker": 2}, "names of threads")
    h.equal(int(rows["main"]["tid"]), int(h.attribute(file, "pid")), "the main thread's number")
    h.equal(int(h.attribute(file, "main_thread")), 0, "the main thread")
    file.close()
    h.run(h.profwrap("merge", "-q", "out"))
    h.run(h.profwrap("report", "--format", "chrome", "-o", "trace.json", "out"))
    with open("trace.json", encoding="utf-8") as trace:
        events = json.load(trace)["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    h.equal((names[0], names[2]), ("main, main thread (rank 0)", "worker"), "names in the timeline")


@h.case
def structs():
    run("payloads")
    file = h.open_complete("out")
    strings, table = h.texts(file), file["events/payload"]
    types = h.enum_names(table, "type")
    events = {}
    for row, type_ in zip(table[:], types):
        events.setdefault(int(row["id"]), []).append(
            (strings[row["schema"]], strings[row["field"]], type_,
             payload(strings, type_, row["value"])))
    h.equal(list(events.values()), [[
        ("outer", "bytes", "uint", 1 << 20),
        ("inner", "small", "int", -3),
        ("inner", "ratio", "double", 0.25),
        ("outer", "colour", "text", "green"),
        ("outer", "text", "text", "inside"),
        ("outer", "pointer", "text", "pointed to"),
    ], [
        ("outer", "bytes", "uint", 0),
        ("inner", "small", "int", 0),
        ("inner", "ratio", "double", 0.0),
        ("outer", "colour", "int", 9),
        ("outer", "text", "text", ""),
        ("outer", "pointer", "text", ""),
    ]], "fields")
    ids = list(events)
    h.equal(ranges(file, "name", "kind", "type", "payload")[:5], [
        ("with a struct", "user", "fields", ids[0]),
        ("with one number", "user", "fields", ids[1]),
        ("with one number", "mark", "none", 0),
        ("with one number", "mark", "none", 0),
        ("with one number", "mark", "none", 0),
    ], "ranges and what they have attached")


@h.case
def training():
    run("train")
    file = h.open_complete("out")
    h.equal(ranges(file, "name", "kind", "sequence", "shapes", "depth"), [
        row for i in range(3) for row in (
            ("aten::addmm", "operator", i, "[[32, 64], []]", 2),
            ("forward", "phase", -1, "", 1),
            ("AddmmBackward0", "operator", i, "", 2),
            ("backward", "phase", -1, "", 1),
            ("ProfilerStep", "step", i, "", 0))], "ranges")
    steps = file["steps"][:]
    h.equal(list(steps["step"]), [0, 1, 2], "steps")
    h.equal(list(steps["end"][:2]), list(steps["start"][1:]), "each ends when the next begins")


@h.case
def steps_of_profwrap_are_the_steps():
    run("train", "1")
    h.equal(list(h.open_complete("out")["steps"][:]["step"]), [10, 11, 12], "steps")


@h.case
def reported_as_steps_and_phases():
    h.run([*h.profwrap("-o", "out", "--quiet"), h.program("ranges"), "train"])
    report = h.run([*h.profwrap("report", "--full", "out")]).stdout.decode()
    h.check("marked by the program" in report, "steps are not those of NVTX:", report)


@h.case
def strange_names():
    run("strange")
    file = h.open_complete("out")
    h.equal(ranges(file, "name"), [
        ("x" * 253,), ("no ? UTF-8 ?",), ("",), ("",), ("no character: ?",), ("",)], "names")


@h.case
def texts_that_change_in_their_place():
    run("place", options=("--on-full", "wait"))
    wanted = [("a" * at + "b" + "a" * (n - at - 1),) for n in range(40, 0, -1) for at in range(n)
              for _ in range(8)]
    h.equal(ranges(h.open_complete("out"), "name"), wanted, "names")


@h.case
def a_million_names():
    run("names", "1000000", options=("--on-full", "wait"))
    file = h.open_rank("out")
    names = [name for name, in ranges(file, "name")]
    rest = names.count("(more names than are kept)")
    h.equal(len(names), 1000000, "ranges")
    h.equal(names[:20000], [f"name {i}" for i in range(20000)], "the first names")
    h.equal(len(set(names)), 1000000 - rest + 1, "names are kept or said not to be")
    h.check(rest > 960000, "more names than a table has room for:", 1000000 - rest)


@h.case
def too_deep():
    run("deep", "200")
    file = h.open_rank("out")
    h.equal(sorted(depth for depth, in ranges(file, "depth")), list(range(128)), "depths")
    h.equal(int(h.attribute(file, "dropped_events")), 200 - 128, "ranges that were too deep")


@h.case
def many_domains_names_and_ranges():
    run("many", "100000", options=("--on-full", "wait"))
    file = h.open_rank("out")
    h.equal(h.overhead(file).get("nvtx_refused"), 100000 - 32768, "begins without room")


@h.case
def open_at_the_end():
    wanted = {("open when its thread ended", 0, 1), ("outermost open", 0, 1),
              ("open of profwrap.h", 1, 1), ("backward", 0, 1), ("open of the process", 0, 3)}
    for how, status in (("", 0), ("kill", -signal.SIGKILL)):
        h.run(["rm", "-rf", "out"])
        run("open", how, status=status)
        file = h.open_complete("out")
        found = set(ranges(file, "name", "depth", "flags"))
        h.equal({(n, 0 if f & 2 else d, f) for n, d, f in found}, wanted, f"ranges, {how}")


@h.case
def open_at_exec():
    run("open", "exec")
    file = h.open_rank("out")
    h.check({"outermost open", "open of profwrap.h"} <= {n for n, in ranges(file, "name")},
            "ranges of the program before are missing:", ranges(file, "name"))


@h.case
def pauses():
    run("paused")
    h.equal(ranges(h.open_complete("out"), "name", "depth", "flags"),
            [("begun before", 0, 0), ("started before", 1, 2), ("after it", 1, 0)], "ranges")


@h.case
def popped_by_another_thread():
    run("elsewhere")
    h.equal(sorted(ranges(h.open_complete("out"), "thread", "name", "depth", "flags")),
            [(0, "of main", 1, 0), (0, "outer of main", 0, 0), (1, "of the other thread", 0, 0)],
            "ranges")


@h.case
def random_walks_through_pauses():
    """Ranges of two domains and of profwrap.h start and end in random order, while recording stops
    and starts. Each end must be matched with its own start."""
    for seed in range(1, 9):
        done = run(str(seed), "4000", program="rangewalk", options=("-o", f"out{seed}"))
        expected = [line.split() for line in done.stdout.decode().splitlines()]
        h.check(len(expected) > 300, "ranges expected:", len(expected))
        found = sorted((row for row in ranges(h.open_rank(f"out{seed}"), "end", "name", "domain", "depth",
                                              "flags") if row[4] == 0), key=lambda row: row[0])
        h.equal([[name, domain or "-", str(depth)] for _, name, domain, depth, _ in found],
                expected, f"ranges of seed {seed}")


@h.case
def children_record_nothing():
    run("fork")
    h.equal(ranges(h.open_complete("out"), "name"), [("of the parent",)], "ranges")


@h.case
def libraries_come_and_go():
    run("library", h.program("libnvtxlib.so"))
    h.equal(ranges(h.open_complete("out"), "name", "depth"),
            [("of the library", 1), ("of the program", 0)] * 3, "ranges")


@h.case
def not_recorded_unless_wanted():
    done = run("all", options=("--activities", "mpi,sys"), status=1)
    h.check(b"level 0" in done.stderr, "NVTX had a tool:", done.stderr)
    h.equal(len(h.open_complete("out")["events/range"]), 0, "ranges")


@h.case
def another_tool_is_left_alone():
    done = run("train", env=h.environment(NVTX_INJECTION64_PATH="/no/such/tool.so"))
    h.equal(done.stderr.count(b"names another tool, /no/such/tool.so"), 1, "sentences")
    h.equal(len(h.open_complete("out")["events/range"]), 0, "ranges")


@h.case
def nccl():
    """NCCL marks its own NVTX ranges, with payloads, before it looks for a GPU."""
    library = ctypes.util.find_library("nccl") or "/usr/local/cuda/lib64/libnccl.so.2"
    if os.path.isabs(library) and not os.path.exists(library):
        raise h.Skipped("there is no libnccl.so.2")
    done = run(library, program="ncclcalls", status=None)
    print(done.stdout.decode(), end="")
    if done.returncode == 77:
        raise h.Skipped(done.stdout.decode().strip())
    h.equal(done.returncode, 0, "exit status")
    file = h.open_complete("out")
    found = ranges(file, "name", "domain", "kind", "type")
    print("ranges:", sorted(set(found)))
    strings = h.texts(file)
    if "events/payload" in file:
        print("fields:", sorted({(strings[row["schema"]], strings[row["field"]])
                                 for row in file["events/payload"][:]}))
    h.check({domain for _, domain, _, _ in found} == {"NCCL"}, "domains:", found)
    names = {name for name, _, _, _ in found}
    h.check({"ncclGroupStart", "ncclGroupEnd", "ncclCommInitRank"} <= names, "names:", names)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
