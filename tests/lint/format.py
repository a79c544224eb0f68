"""Checks that clang-format 14 would change no C file. format.py ROOT"""

import os
import re
import shutil
import subprocess
import sys

import tree

VERSION = "14"  # another major version formats differently


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


def main(root):
    formatter = find_formatter()
    names = tree.files(root, ".c", ".h")
    problems = []
    for name in names:
        done = subprocess.run(
            [formatter, "--dry-run", "-Werror", "--style=file", os.path.join(root, name)],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            first = (done.stderr.strip() or "clang-format failed").splitlines()[0]
            problems.append(first.replace(root + "/", ""))
    if problems:
        problems.append(f"to repair a file: {os.path.basename(formatter)} -i FILE")
    tree.finish("format", problems, len(names))


main(sys.argv[1])
