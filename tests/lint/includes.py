"""Who may include whom under src/; docs and the build follow the same arrows.   includes.py ROOT

Includes are written from src/ ("core/log.h"), and none names a .c file. "profwrap.h", the public
header, is open to all. Every folder has a row below, and no folders include each other in a circle:
neither folders as they are, nor the folders that they are in.
"""

import os
import sys

import folders
import tree

# Folder -> folders whose headers it may include, besides its own. "X/*" is all folders in X, "*" all.
MAY_INCLUDE = {
    "core": "",
    "core/h5": "core",
    "rank/ring": "core",
    "rank/probe": "core rank/ring",
    "rank/host": "core",
    "rank/run": "core rank/ring rank/host",
    "rank/clocks": "core rank/ring rank/host rank/run",
    "rank/journal": "core rank/ring rank/run",
    "rank/file": "core core/h5 rank/ring rank/run rank/journal",
    "rank/live": "core rank/ring rank/run rank/file",
    "rank/collect": "core core/h5 rank/ring rank/host rank/run rank/clocks rank/journal rank/file rank/live",
    "collectors": "core rank/collect",
    "collectors/gpu": "core rank/* collectors",
    "collectors/cuda": "core rank/* collectors/gpu",
    "collectors/rocm": "core rank/* collectors/gpu",
    "collectors/mpi": "core rank/* collectors",
    "collectors/nccl": "core rank/* collectors",
    "collectors/annotations": "core rank/* collectors",
    "collectors/null": "core rank/* collectors",
    "collectors/torch": "core rank/* collectors",
    "collectors/mindspore": "core rank/* collectors",
    "collectors/nvtx": "core rank/* collectors",
    "collectors/sys": "core rank/* collectors",
    "import/parsers": "core",
    "import/trace": "core core/h5 rank/file import/parsers",
    "import/kineto": "core import/parsers import/trace",
    "import/collectives": "core import/parsers import/trace",
    "import/ascend": "core import/parsers import/trace",
    "import/mindinsight": "core import/parsers import/trace import/ascend",
    "import/msprof": "core import/parsers import/trace import/ascend",
    "import": "core core/h5 rank/file import/*",
    "timeline": "core core/h5",
    "archive": "core core/h5 timeline import/trace rank/file",
    "analysis": "core",
    "analysis/advice": "core analysis",
    "analysis/figures": "core analysis analysis/advice",
    "aggregate/exchange": "",
    "aggregate/output": "core core/h5 aggregate/exchange",
    "aggregate/input": "core core/h5 analysis aggregate/exchange aggregate/output",
    "aggregate/steps": "core analysis aggregate/input",
    "aggregate/match": "core analysis aggregate/input",
    "aggregate/clocks": "core core/h5 analysis aggregate/input aggregate/match",
    "aggregate/operators": "core core/h5 analysis aggregate/input",
    "aggregate/gpu": "core core/h5 analysis aggregate/input aggregate/operators",
    "aggregate/samples": "core core/h5 analysis aggregate/input aggregate/output",
    "aggregate/secondpass": "core core/h5 analysis aggregate/input aggregate/steps aggregate/match"
    " aggregate/operators aggregate/gpu",
    "aggregate/findings": "core core/h5 analysis aggregate/output aggregate/input"
    " aggregate/match aggregate/operators aggregate/gpu aggregate/samples"
    " aggregate/secondpass",
    "aggregate": "core core/h5 analysis analysis/* aggregate/*",
    "report": "core",
    "report/writing": "core analysis report analysis/figures",
    "report/content": "core analysis analysis/advice report analysis/figures report/writing",
    "report/sections": "core analysis analysis/advice report analysis/figures report/writing"
    " report/content",
    "report/formats": "core analysis analysis/advice report analysis/figures report/writing"
    " report/content report/sections",
    "report/html": "core analysis analysis/advice report analysis/figures report/writing"
    " report/content report/sections",
    "report/compare": "core analysis analysis/advice analysis/figures report/writing",
    "report/answers": "core analysis analysis/advice analysis/figures report report/writing"
    " report/content report/sections report/compare",
    "report/live": "core analysis analysis/advice report report/writing",
    "run": "core core/h5 rank/* collectors/* report/writing report/live",
    "cli": "*",
    "cli/results": "core core/h5 cli cli/conclude timeline run analysis report report/*",
    "cli/conclude": "core core/h5 rank/* aggregate aggregate/exchange aggregate/input run report/* cli",
    "cli/commands": "*",
    "cli/serve": "core core/h5 rank/* timeline analysis analysis/figures report report/* run cli cli/results",
}


def may_include(source, wanted):
    allowed = MAY_INCLUDE[source].split()
    folders_in = wanted.split("/")[0] + "/*"
    return source == wanted or wanted in allowed or folders_in in allowed or "*" in allowed


def exists(root, target):
    path = os.path.join(root, "src", target)
    return os.path.isfile(path) or os.path.isfile(path + ".in")


def judge(root, path, target):
    """The reason why `path` may not include `target`, or None if it may."""
    source, wanted = os.path.dirname(path), os.path.dirname(target)
    if target == "profwrap.h":
        return None
    if target.endswith((".c", ".cc")):
        return "is a source file"
    if not exists(root, target):
        return "is not the name of a header from src/"
    if source not in MAY_INCLUDE:
        return f"src/{source}/ has no row in tests/lint/includes.py"
    if not may_include(source, wanted):
        return f"is out of reach: {source} may include {MAY_INCLUDE[source] or 'nothing'}"
    return None


def main(root):
    problems, rank_users = [], {}
    for path, number, target in folders.includes(root):
        why = judge(root, path, target)
        if why:
            problems.append(f'src/{path}:{number}: "{target}" {why}')
        if path.startswith("collectors/") and target.startswith("rank/"):
            rank_users.setdefault(target, set()).add(path)
    for header, users in sorted(rank_users.items()):
        print(f"collectors use {header} in {', '.join(sorted(users))}")
    edges = folders.graph(root)
    circles = folders.circles_at_every_depth(edges)
    problems += ["these include each other: " + ", ".join(circle) for circle in circles]
    print(f"{len(edges)} folders, {len(circles)} circle(s)")
    tree.finish("includes", problems, len(folders.sources(root)))


if __name__ == "__main__":
    main(sys.argv[1])
