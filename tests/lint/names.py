"""Checks that no file names a directory of the machine that it was written on. names.py ROOT"""

import re
import sys

import tree

# At the start of a path only, or after -I or -L: $HOME/work/ or proc/root/ are not meant.
MACHINE_PATH = re.compile(r"((?<=-[IL])|(?<![\w.~)}\]*-]))/(work|root)/")


def main(root):
    names = tree.files(root)
    problems = []
    for name in names:
        for number, line in enumerate((tree.text(root, name) or "").splitlines(), 1):
            match = MACHINE_PATH.search(line)
            if match:
                problems.append(f"{name}:{number}: {match.group(0)} is a path of one machine")
    tree.finish("names", problems, len(names))


main(sys.argv[1])
