"""The folders of src/ and their includes, for the lint and for the picture in docs/."""

import os
import re

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
ENDINGS = (".c", ".cc", ".h", ".def", ".in")


def includes(root):
    """(path, line number, included file) of every include of our own files, relative to src/."""
    for name in tree.files(root, *ENDINGS):
        if not name.startswith("src/"):
            continue
        for number, line in enumerate(tree.text(root, name).splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                yield name[len("src/") :], number, match.group(1)


def sources(root):
    """The paths, relative to src/, of all files that belong to a folder."""
    return [n[len("src/") :] for n in tree.files(root, *ENDINGS) if n.startswith("src/")]


def graph(root):
    """{folder: folders that its files include}, without itself. src/ itself ("") is left out."""
    known = {folder for folder in map(os.path.dirname, sources(root)) if folder}
    found = {folder: set() for folder in known}
    for path, _, target in includes(root):
        source, wanted = os.path.dirname(path), os.path.dirname(target)
        if source in known and wanted in known and source != wanted:
            found[source].add(wanted)
    return found


def cut(edges, depth):
    """The same graph, in which folders below `depth` are joined to the folder that contains
    them."""
    found = {}
    for source, targets in edges.items():
        short = "/".join(source.split("/")[:depth])
        found.setdefault(short, set()).update("/".join(t.split("/")[:depth]) for t in targets)
        found[short].discard(short)
    return found


def reachable(edges, start):
    """All folders that can be reached from `start`; `start` itself only through a cycle."""
    seen, todo = set(), [start]
    while todo:
        for target in edges.get(todo.pop(), ()):
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


def circles(edges):
    """Sorted lists of folders that include each other, directly or through others."""
    reach = {folder: reachable(edges, folder) for folder in edges}
    found = {
        tuple(sorted(f for f in reach[folder] if folder in reach.get(f, ())))
        for folder in edges
        if folder in reach[folder]
    }
    return sorted(list(circle) for circle in found)


def circles_at_every_depth(edges):
    """The cycles of the folders themselves, and of the folders that contain them."""
    depths = range(1, 1 + max((f.count("/") + 1 for f in edges), default=0))
    found = {tuple(circle) for depth in depths for circle in circles(cut(edges, depth))}
    return sorted(list(circle) for circle in found)


def levels(edges):
    """{folder: level}. The level is 0 for a folder that includes no other, else one more than the
    highest level that it includes."""
    floors = {}

    def floor(folder):
        if folder not in floors:
            floors[folder] = 1 + max((floor(t) for t in edges.get(folder, ())), default=-1)
        return floors[folder]

    for folder in sorted(edges):
        floor(folder)
    return floors
