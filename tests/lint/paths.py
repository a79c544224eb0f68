"""Files of src/ that documents and comments name are there.   paths.py ROOT

Named by their path, with or without src/, or in a comment as "see NAME.h".
"""

import os
import re
import sys

import tree

CODE = (".c", ".cc", ".h", ".def", ".js")
# What was measured with an older tree may name its files.
LEFT_OUT = ("docs/validation/",)
SEEN = re.compile(r"\b[Ss]ee (\w+\.[ch])\b")


def main(root):
    names = tree.files(root)
    known = set(names) | {name[: -len(".in")] for name in names if name.endswith(".in")}
    bases = {os.path.basename(name) for name in known}
    areas = sorted({name.split("/")[1] for name in names if name.startswith("src/") and "/" in name[4:]})
    path = re.compile(rf"(?<![\w./-])(?:src/)?((?:{'|'.join(areas)})/[\w/-]+\.(?:c|h|def|js))\b")
    texts = [n for n in names if n.endswith(".md") or (n.startswith("src/") and n.endswith(CODE))]
    problems = []
    for name in texts:
        if name.startswith(LEFT_OUT):
            continue
        for number, line in enumerate((tree.text(root, name) or "").splitlines(), 1):
            for wanted in path.findall(line):
                if "src/" + wanted not in known:
                    problems.append(f"{name}:{number}: src/{wanted} is not there")
            for wanted in SEEN.findall(line):
                if wanted not in bases:
                    problems.append(f"{name}:{number}: {wanted} is not there")
    tree.finish("paths", problems, len(texts))


if __name__ == "__main__":
    main(sys.argv[1])
