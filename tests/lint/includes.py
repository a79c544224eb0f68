"""Who may include whom under src/; docs and the build follow the same arrows.   includes.py ROOT

Includes are written from src/ ("core/log.h"), and none names a .c file. "profwrap.h", the public
header, is open to all.
"""

import os
import re
import sys

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')

# Area -> areas whose headers it may include, besides its own. "collectors" has its own rule below.
ALLOWED = {
    "core": set(),
    "rank": {"core"},
    "collectors": {"core", "rank"},
    "aggregate": {"core", "analysis"},
    "analysis": {"core"},
    "report": {"core", "analysis"},
    "import": {"core", "rank"},
    "sim": {"core", "rank"},
    "timeline": {"core"},
    "run": {"core", "rank", "collectors", "report"},
}
UNRESTRICTED = {"cli"}

# Collector -> what it shares with another, and may include, too.
SHARED = {"cuda": {"gpu"}, "rocm": {"gpu"}}


def area(path):
    """The area of a path relative to src/: its first folder."""
    parts = path.split("/")
    return parts[0] if len(parts) > 1 else ""


def collector_of(path):
    """The collector's own folder, or None for what all collectors share in src/collectors/."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else None


def crosses_collectors(path, target):
    own, other = collector_of(path), collector_of(target)
    is_shared = other in SHARED.get(own, set())
    return own is not None and other is not None and own != other and not is_shared


def exists(root, target):
    path = os.path.join(root, "src", target)
    return os.path.isfile(path) or os.path.isfile(path + ".in")


def judge(root, path, target):
    """Why path may not include target; None if it may."""
    source, wanted = area(path), area(target)
    if target == "profwrap.h":
        return None
    if target.endswith(".c"):
        return "is a source file"
    if not exists(root, target):
        return "is not the name of a header from src/"
    if source in UNRESTRICTED:
        return None
    if source not in ALLOWED:
        return f"src/{source}/ has no row in tests/lint/includes.py"
    if wanted == source == "collectors" and crosses_collectors(path, target):
        return "belongs to another collector"
    if wanted != source and wanted not in ALLOWED[source]:
        may = ", ".join(sorted(ALLOWED[source] | {source}))
        return f"is out of reach: {source} may include {may}"
    return None


def scan(root, name):
    path = name[len("src/") :]
    for number, line in enumerate(tree.text(root, name).splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield path, number, match.group(1)


def main(root):
    names = [n for n in tree.files(root, ".c", ".h", ".def") if n.startswith("src/")]
    problems, rank_users = [], {}
    for name in names:
        for path, number, target in scan(root, name):
            why = judge(root, path, target)
            if why:
                problems.append(f'{name}:{number}: "{target}" {why}')
            if area(path) == "collectors" and area(target) == "rank":
                rank_users.setdefault(target, []).append(path)
    for header, users in sorted(rank_users.items()):
        print(f"collectors use {header} in {', '.join(sorted(set(users)))}")
    tree.finish("includes", problems, len(names))


main(sys.argv[1])
