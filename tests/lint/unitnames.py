"""Checks that each unit test is named after what it tests: tests/unit/test_NAME.c, where NAME is a file of
src or cluster-scripts, or a folder of src, or one of them and an aspect (NAME_ASPECT). unitnames.py ROOT"""

import os
import re
import sys

import tree


def tested_names(names):
    """Files without their endings, alone and behind their folder's name, and folders."""
    found = set()
    for name in names:
        if name.startswith(("src/", "cluster-scripts/")):
            folder, file = os.path.split(name)
            stem = file.split(".")[0]
            found |= {stem, f"{os.path.basename(folder)}_{stem}"}
            if name.startswith("src/"):
                found.add(os.path.basename(folder))
    return found


def is_named(test, tested):
    words = test.split("_")
    return any("_".join(words[:n]) in tested for n in range(1, len(words) + 1))


def main(root):
    names = tree.files(root, ".c", ".h", ".cc", ".cpp")
    tested = tested_names(names)
    # Those with a main() are tests; the others are what tests share.
    tests = [name for name in names if re.fullmatch(r"tests/unit/test_\w+\.c", name)
             and "\nint main(" in tree.text(root, name)]
    problems = [f"{name}: names no file or folder of src" for name in tests
                if not is_named(os.path.basename(name)[5:-2], tested)]
    tree.finish("unitnames", problems, len(tests))


main(sys.argv[1])
