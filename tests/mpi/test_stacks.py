"""--call-stacks: the stack of every MPI call has the functions that made it, in every thread.
Without the option there are no stacks."""

import re
import sys

import harness as h


def run(*options, env=None):
    """Runs the program on 2 ranks. Returns the file of rank 0, its stacks, and (operation, row of
    /stacks) of each call."""
    h.run(h.mpirun(2, *h.profwrap("--no-merge", "-o", "out", *options), h.program("stacks")), env=env)
    file = h.open_complete("out")
    stacks = [text.decode() for text in file["stacks"][:]] if "stacks" in file else []
    h.check(not stacks or stacks[0] == "", "row 0 of /stacks is", stacks[:1])
    return file, stacks, list(zip(h.operations(file), map(int, file["events/comm"]["stack"])))


def functions(text):
    return [re.split(r"[ +]", frame)[0] for frame in text.split(";")]


@h.case
def functions_and_lines(env=None):
    _, stacks, calls = run("--call-stacks", "16", env=env)
    found = {}
    for op, row in calls:
        h.check(row > 0, op, "has no stack")
        found.setdefault(op, set()).add(stacks[row])
    reductions = sorted(functions(text)[-3:] for text in found["Allreduce"])
    h.equal(reductions, [["main", "middle", "inner"], ["run", "other_way", "inner"]],
            "stacks of 101 calls of Allreduce")
    h.check(any(re.search(r"main \(stacks\.c:\d+\);middle \(stacks\.c:\d+\);"
                          r"inner \(stacks\.c:\d+\)$", text) for text in found["Allreduce"]),
            "no source lines in", found["Allreduce"])
    for op in ("Send_init", "Recv_init"):
        for text in found.get(op, ()):  # recorded when started: by begin_late
            h.equal(functions(text)[-2:], ["main", "begin_late"], f"stack of the started {op}")
    h.check("Send_init" in found, "no started operation among", sorted(found))


@h.case
def where_the_c_library_finds_no_objects():
    functions_and_lines({"PROFWRAP_TEST_OLD_GLIBC": "1"})  # before 2.35


@h.case
def depth():
    _, stacks, calls = run("--call-stacks", "2")
    rows = {row for op, row in calls if op == "Allreduce"}
    h.equal(sorted(functions(stacks[row]) for row in rows),
            [["middle", "inner"], ["other_way", "inner"]], "two frames of Allreduce")


@h.case
def none():
    file, _, calls = run()
    h.check("stacks" not in file, "/stacks is there unasked")
    h.equal({row for _, row in calls}, {0}, "stacks")


@h.case
def too_deep():
    done = h.run(h.profwrap("--call-stacks", "65", "true"), status=2)
    h.check(b"--call-stacks is '65', but takes 0 to 64" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
