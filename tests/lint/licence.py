"""Checks that the licence is stated for every file. REUSE.toml covers the tree. Files that are
installed as text leave the tree, so they state the licence themselves. licence.py ROOT"""

import os
import sys

import tree

LINE = ": ".join(("SPDX-License-Identifier", "Apache-2.0"))  # so that it is not read as this file's
INSTALLED = ("include/", "python/profwrap/", "cluster-scripts/slurm/hooks/", "cluster-scripts/slurm/templates/",
             "cluster-scripts/modulefiles/")
HEAD_LINES = 30


def main(root):
    names = [name for name in tree.files(root) if name.startswith(INSTALLED) and tree.text(root, name)]
    problems = [f"{name}: no '{LINE}' in its first {HEAD_LINES} lines" for name in names
                if LINE not in "\n".join((tree.text(root, name) or "").splitlines()[:HEAD_LINES])]
    if "Apache License" not in (tree.text(root, "LICENSE") if os.path.exists(os.path.join(root, "LICENSE")) else ""):
        problems.append("LICENSE is not the Apache License")
    annotations = tree.text(root, "REUSE.toml") or ""
    if 'path = "**"' not in annotations or 'SPDX-License-Identifier = "Apache-2.0"' not in annotations:
        problems.append("REUSE.toml does not cover the tree")
    tree.finish("licence", problems, len(names))


main(sys.argv[1])
