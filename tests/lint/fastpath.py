"""The path of one recorded MPI_Allreduce, from the symbol to the ring, stays short.   fastpath.py ROOT

Follows the fast function in mpi_wrap.c through every inline function of the tree that it calls, for the
class of MPI_Allreduce, and counts their lines without comments, empty ones and lone braces. What is not
inline is not on the path: it is called when a call is not usual. Reading the clock is one instruction
there, and is taken for one.
"""

import re
import sys

import tree

LINES = 148
FILES = 5
START = "src/collectors/mpi/mpi_wrap.c"
MACROS = ("WRAPPER", "FAST_BODY", "NOTE")
# Cases of a constant: they are not on the path, and their lines are not counted.
OTHER_CLASSES = re.compile(r"fast_(rooted|send|recv|sendrecv|isend|irecv)_")
NOT_FOLLOWED = {"pw_mpi_passes", "pw_mpi_count_probe",  # the branch of calls that are not recorded
                "pw_tick_read"}

COMMENT = re.compile(r"/\*.*?\*/", re.S)
INLINE = re.compile(r"^(?:PW_ALWAYS_INLINE|static inline)\b[^;{]*?\b(\w+)\([^;{]*\)\n\{\n.*?^\}",
                    re.M | re.S)


def is_counted(line):
    return line.strip(" \t{}\\") != "" and not OTHER_CLASSES.search(line)


def functions(root, name):
    """{name: (file, lines)} of the inline functions of a file."""
    source = COMMENT.sub("", tree.text(root, name) or "")
    for match in INLINE.finditer(source):
        yield match.group(1), (name, [line for line in match.group(0).splitlines() if is_counted(line)])


def macro(source, name):
    """The lines of a #define."""
    match = re.search(rf"^#define {name}\(.*?[^\\]$", source, re.M | re.S)
    return [line for line in match.group(0).splitlines() if is_counted(line)] if match else []


def called(lines, known):
    words = re.findall(r"\b(\w+)\(", "\n".join(lines[1:]))
    return [word for word in words if word in known and not OTHER_CLASSES.match(word)
            and word not in NOT_FOLLOWED]


def main(root):
    known = {}
    for name in tree.files(root):
        if name.endswith(".h") and name.startswith("src/") or name == START:
            known.update(functions(root, name))
    source = COMMENT.sub("", tree.text(root, START))
    wrapper = macro(source, "WRAPPER")
    until = next((i for i, line in enumerate(wrapper) if "EXPORT int PMPI_" in line), 0)
    start = wrapper[:until] + [line for name in MACROS[1:] for line in macro(source, name)]
    path, todo = {"MPI_Allreduce": (START, start)}, called(start, known)
    while todo:
        name = todo.pop()
        if name not in path:
            path[name] = known[name]
            todo += called(known[name][1], known)
    lines = sum(len(body) for _, body in path.values())
    files = {file for file, _ in path.values()}
    for name, (file, body) in sorted(path.items(), key=lambda item: (item[1][0], item[0])):
        print(f"{len(body):4} {name}  {file}")
    print(f"{lines:4} lines of {len(files)} files: {', '.join(sorted(files))}")
    problems = []
    if not {"fast_coll_begin", "fast_coll_end", "pw_ring_commit_many"} <= path.keys():
        problems.append(f"{START}: the path of MPI_Allreduce to the ring is not found: mend this lint")
    if lines > LINES:
        problems.append(f"{START}: the path of MPI_Allreduce has {lines} lines, more than {LINES}")
    if len(files) > FILES:
        problems.append(f"{START}: the path of MPI_Allreduce is in {len(files)} files, more than {FILES}")
    tree.finish("fastpath", problems, len(path))


main(sys.argv[1])
