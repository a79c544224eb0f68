"""The measurable part of the style guide.   style.py ROOT

Relies on clang-format: a function's body begins with { and ends with } in column 0. Tables (.def)
may be as long as they need.
"""

import re
import sys

import tree

FUNCTION_LINES = 70
# Functions are what readers take in at a time: they are short. A file is one thing, however long that is,
# so this only finds files that have become two.
FILE_LINES = 1200
COLUMNS = 100
PARAGRAPH_CHARS = 25
HEADER_WORDS = 15

# Spelt so as not to find themselves.
NOTE = re.compile(r"\b(T[O]DO|F[I]XME|X[X]X)\b")
GUARD = re.compile(r"^\s*#\s*ifndef\s+(\w+)\s*\n\s*#\s*define\s+(\w+)\b", re.M)
# An operation's number compared for its order, or calculated with: rows of mpi_functions.def may be
# anywhere.
OP = r"PW_OP_(?!LEVEL_|SHAPE_|SENT_|RECEIVED_|COUNT\b)[A-Z][a-z]\w*"
OP_ORDER = re.compile(rf"(?:{OP}\s*(?:<=?|>=?|[-+])(?![=+-])|(?:<=?|(?<!-)>=?|[-+])\s*{OP})")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# What the opening comment of a header names: who uses it, and what it may not do or guarantees.
USER = re.compile(
    r"\b(?:called|used|read|written|filled|asked|shared) by\b|\bcalls? (?:it|them)\b|\bfor\b"
    r"|\bin-app\b|\btool (?:code|half)\b|\w\.(?:c|h|py|def)\b", re.I)
RULE = re.compile(
    r"\b(?:no|never|not|neither|nothing|none|cannot|only|alone|without|before|after|const|constant|pure"
    r"|must|may|at most|one thread|together)\b", re.I)


def function_lengths(lines):
    """(line where the body begins, number of its lines with the braces)."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start = number
        elif line.startswith("}") and start:
            yield start, number - start + 1
            start = None


def check_c(name, source):
    lines = source.splitlines()
    if len(lines) > FILE_LINES:
        yield f"{name}: {len(lines)} lines, more than {FILE_LINES}"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield f"{name}:{number}: {len(line)} columns, more than {COLUMNS}"
        if OP_ORDER.search(line):
            yield f"{name}:{number}: relies on the order of the rows of mpi_functions.def"
    if name.endswith(".c"):
        for start, count in function_lengths(lines):
            if count > FUNCTION_LINES:
                yield f"{name}:{start}: function of {count} lines, more than {FUNCTION_LINES}"


def check_opening(name, source):
    comment = COMMENT.match(source)
    if not comment or len(comment.group(0)) < PARAGRAPH_CHARS:
        yield f"{name}:1: no opening comment that says what the file owns and who calls it"


def check_header_comment(name, source):
    comment = COMMENT.match(source)
    words = re.sub(r"\n \*", "\n", comment.group(0)[2:-2]).split() if comment else []
    if len(words) < HEADER_WORDS:
        yield f"{name}:1: opening comment of {len(words)} words, fewer than {HEADER_WORDS}"
    if not USER.search(" ".join(words)):
        yield f"{name}:1: opening comment that names no caller or user"
    if not RULE.search(" ".join(words)):
        yield f"{name}:1: opening comment that says neither what it may not do nor what it guarantees"


def check_guard(name, source, guards):
    match = GUARD.match(COMMENT.sub("", source).lstrip())
    if not match or match.group(1) != match.group(2):
        yield f"{name}: no include guard"
    elif guards.setdefault(match.group(1), name) != name:
        yield f"{name}: include guard {match.group(1)} is that of {guards[match.group(1)]}"


def check_notes(name, source):
    for number, line in enumerate(source.splitlines(), 1):
        if NOTE.search(line):
            yield f"{name}:{number}: unfinished work belongs in an issue"


def is_code(name):
    code = (".c", ".h", ".def", ".py", ".sh", ".cmake", "CMakeLists.txt", ".in", ".f90")
    return name.endswith(code) or name.startswith(("scripts/", ".ci/", "cluster-scripts/"))


def check(root, name, guards):
    source = tree.text(root, name)
    if source is None:
        return
    yield from check_notes(name, source)
    if name.endswith((".c", ".h")):
        yield from check_c(name, source)
        if name.startswith(("src/", "include/")):
            yield from check_opening(name, source)
        if name.startswith("src/") and name.endswith(".h"):
            yield from check_header_comment(name, source)
    if name.endswith(".h"):
        yield from check_guard(name, source, guards)


def main(root):
    names = [name for name in tree.files(root) if is_code(name)]
    guards = {}
    problems = [problem for name in names for problem in check(root, name, guards)]
    tree.finish("style", problems, len(names))


main(sys.argv[1])
