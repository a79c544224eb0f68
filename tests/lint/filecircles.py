"""Checks that the files of a folder under src/ stand in an order.   filecircles.py ROOT

A unit is X.c (or .cc) with its X.h. It needs another unit of its folder when it includes that unit's
header, and when its code names a function or variable that the other unit's source defines: a header
that several sources implement hides nothing. No units may need each other in a circle. That no
circle goes through several folders is seen to by includes.py.
"""

import os
import re
import sys

import folders
import tree
from parameters import COMMENT, DEFINITION, DIRECTIVE

# Folders that still have circles, with how many units are in them. The numbers may only fall.
STILL = {
    "collectors/mpi": 8,
}

SOURCES = (".c", ".cc")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
TAG = re.compile(r"\b(?:struct|enum|union)\s+\w+")
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
INCLUDES = re.compile(r'^[ \t]*#[ \t]*include "([^"]+)"', re.M)
# In column 0, as clang-format puts it: `const struct x name[] = {`, `int name;`
VARIABLE = re.compile(
    r"^(?!extern\b|typedef\b|return\b)[A-Za-z_][\w \t*]*?\b(\w+)(?:\[[^\]\n]*\])*(?: = |;)", re.M)
BODY = re.compile(r"^\{.*?^\}", re.M | re.S)
MACRO = re.compile(r"^[ \t]*#[ \t]*define(?:[^\n\\]|\\.)*$", re.M | re.S)
LOCAL = re.compile(r"\bstatic\b")


def defined(source):
    """(names that other files can use, names that only this one can) of a source's functions and
    variables."""
    ours, private = set(), set()
    code = DIRECTIVE.sub("", COMMENT.sub("", source))
    for match in list(DEFINITION.finditer(code)) + list(VARIABLE.finditer(code)):
        (private if LOCAL.search(match.group(0)) else ours).add(match.group(1))
    return ours, private


def used(name, source):
    """The names in a file's code. Of a header only its bodies and macros: declaring is no use."""
    code = TAG.sub("", STRING.sub('""', COMMENT.sub("", source)))
    if not name.endswith(SOURCES):
        code = "\n".join(MACRO.findall(code) + BODY.findall(code))
    return set(WORD.findall(code))


def units(root):
    """{unit: {path: text}} of the files under src/, a unit as a path from src/ without ending."""
    found = {}
    for path in folders.sources(root):
        if path.endswith(SOURCES + (".h", ".h.in")):
            unit = path.split(".")[0]
            found.setdefault(unit, {})[path] = tree.text(root, "src/" + path) or ""
    return found


def needs(known):
    """{unit: {other unit of its folder: why it needs it}}."""
    facts = {u: [defined(t) for n, t in f.items() if n.endswith(SOURCES)] for u, f in known.items()}
    owners = {}
    for unit, parts in facts.items():
        for ours, _ in parts:
            for name in ours:
                owners.setdefault((os.path.dirname(unit), name), set()).add(unit)
    edges = {unit: {} for unit in known}
    for unit, files in known.items():
        folder = os.path.dirname(unit)
        for text in files.values():
            for target in INCLUDES.findall(COMMENT.sub("", text)):
                other = target.split(".")[0]
                if other in known and os.path.dirname(other) == folder and other != unit:
                    edges[unit].setdefault(other, []).append("includes " + os.path.basename(target))
        own = set().union(*(ours | private for ours, private in facts[unit]), set())
        for name in sorted(set().union(*(used(n, t) for n, t in files.items())) - own):
            for other in owners.get((folder, name), ()):
                edges[unit].setdefault(other, []).append("uses " + name)
    return edges


def judge(edges, still):
    """What is wrong: circles, with what closes them, in folders that have more units in circles than
    `still` says, and rows of `still` that say too many."""
    found = {folder: [] for folder in map(os.path.dirname, edges)}
    for circle in folders.circles(edges):
        found[os.path.dirname(circle[0])].append(circle)
    for folder, circles in sorted(found.items()):
        count, most = sum(map(len, circles)), still.get(folder, 0)
        if count < most:
            yield f"src/{folder}/ has {count} units in circles: lower its {most} in STILL"
        for circle in circles if count > most else ():
            yield f"src/{folder}/ has a circle of {len(circle)} units:"
            for unit in circle:
                for other, why in sorted(edges[unit].items()):
                    if other in circle:
                        names = os.path.basename(unit), os.path.basename(other)
                        yield f"    {names[0]} -> {names[1]}: {', '.join(why)}"


def main(root):
    edges = needs(units(root))
    tree.finish("file circles", list(judge(edges, STILL)), len(edges))


if __name__ == "__main__":
    main(sys.argv[1])
