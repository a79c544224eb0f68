"""Checks that clang-format 14 would change no C file. format.py ROOT"""

import os
import re
import shutil
import subprocess
import sys

import tree

VERSION = "14"  # another major version formats differently
AT_ONCE = 64  # files of one process, whose start takes longer than a file


def find_formatter():
    seen = []
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if not path:
            continue
        version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        if re.search(rf"version {VERSION}\.", version):
            return path
        seen.append(version.strip())
    tree.skip(f"needs clang-format {VERSION}, found: {', '.join(seen) or 'none'}")


def find_problems(formatter, root, names):
    """The first problem of each file that has some."""
    done = subprocess.run(
        [formatter, "--dry-run", "-Werror", "--style=file", *names],
        cwd=root,
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return []
    first = {}
    for line in done.stderr.splitlines():
        name, _, place = line.partition(":")
        if name in names and place[:1].isdigit():
            first.setdefault(name, line)
    return list(first.values()) or [done.stderr.strip() or "clang-format failed"]


def main(root):
    formatter = find_formatter()
    names = tree.files(root, ".c", ".h")
    problems = []
    for begin in range(0, len(names), AT_ONCE):
        problems += find_problems(formatter, root, names[begin : begin + AT_ONCE])
    if problems:
        problems.append(f"to repair a file: {os.path.basename(formatter)} -i FILE")
    tree.finish("format", problems, len(names))


main(sys.argv[1])
