"""The commands themselves on hostile files, as they are installed: each ends by itself, with 0 and no
complaint, or with 1 and one line (`import` with lines of its own on what it took).

    commands.py PROFWRAP        tries all of corpus/

corpus/library/ is for these only: HDF5 itself crashes on them, or comes to no end.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unicodedata

import seeds

ROOT = os.path.dirname(os.path.dirname(seeds.HERE))
PATIENCE_S = 300  # 15 s of processor time, on a busy machine


def environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PROFWRAP_", "OMPI_COMM_"))}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return env


def complaint(command):
    """The fault in how a command ended, or None."""
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=PATIENCE_S, env=environment())
    except subprocess.TimeoutExpired:
        return f"{command[1]} is still running after {PATIENCE_S} s"
    text = done.stderr.decode(errors="replace")
    if any(unicodedata.category(c) == "Cc" and c != "\n" for c in text):
        return f"{command[1]} prints control characters: {text!r}"
    # report merges rank files that were not, and says so.
    said = [line for line in text.splitlines() if not line.endswith("merging its rank files first")]
    mine = [line for line in said if line.startswith("profwrap: ")]
    tells = command[1] == "import" and len(said) == len(mine)  # what it took and what not
    cannot_tell = command[1] == "compare" and done.returncode == 4
    if (done.returncode == 0 or cannot_tell) and (tells or not said):
        return None
    if done.returncode == 1 and mine and (tells or len(said) == len(mine) == 1):
        return None
    return f"{command[1]} ended with {done.returncode} and said {said}"


def complaints(path, kinds, profwrap=None):
    """All faults in how the commands that read files of these kinds handle this file."""
    profwrap = profwrap or os.path.join(ROOT, "build", "bin", "profwrap")
    if not os.path.exists(profwrap):
        return [f"there is no {profwrap}: nothing was tried"]
    with tempfile.TemporaryDirectory(prefix="pwfuzz-") as scratch:
        return [found for kind in kinds
                for found in map(complaint, READING[kind](profwrap, path, scratch)) if found]


def read_rank(profwrap, path, scratch):
    """Runs the commands, each after the previous ones have ended."""
    shutil.copy(path, os.path.join(scratch, "rank-00003.h5"))
    yield [profwrap, "dump", path]
    yield [profwrap, "merge", "-q", scratch]
    for form in ("chrome", "perfetto"):
        yield [profwrap, "report", "--format", form, "-o", os.path.join(scratch, form), scratch]


def read_cluster(profwrap, path, _):
    yield [profwrap, "dump", path]
    yield [profwrap, "report", path]
    yield [profwrap, "report", "--format", "json", path]
    yield [profwrap, "compare", path, path]
    yield [profwrap, "ask", path, "rank", "rank=1"]


def read_journal(profwrap, path, scratch):
    shutil.copy(path, os.path.join(scratch, "rank-00000.journal"))
    yield [profwrap, "recover", scratch]


def read_import(profwrap, path, scratch):
    yield [profwrap, "import", "-j1", "-o", os.path.join(scratch, "ranks"), path]


READING = {"rank": read_rank, "cluster": read_cluster, "journal": read_journal, "import": read_import}


def main(profwrap):
    tried, wrong = 0, []
    for kind in (*READING, "library"):
        paths = seeds.files_of(kind)
        if not paths:
            wrong.append(f"there is no corpus {kind}")
        for path in paths:
            kinds = ["rank", "cluster"] if kind == "library" else [kind]
            found = complaints(path, kinds, profwrap)
            wrong += [f"{kind}/{os.path.basename(path)}: {text}" for text in found]
            tried += 1
    print(*wrong, sep="\n")
    print(f"{tried} files tried, {len(wrong)} complaints")
    return 1 if wrong or not tried else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
