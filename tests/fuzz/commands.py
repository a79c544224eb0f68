"""The commands themselves on hostile files, as they are installed: each ends by itself, with 0 and no
complaint, or with 1 and one line.

    commands.py PROFWRAP        tries all of corpus/

corpus/library/ is for these only: HDF5 itself crashes on them, or comes to no end.
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PATIENCE_S = 300  # 10 s of processor time, on a busy machine


def environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PROFWRAP_", "OMPI_COMM_"))}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return env


def complaint(command):
    """What is wrong with how a command ended; None: nothing."""
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=PATIENCE_S, env=environment())
    except subprocess.TimeoutExpired:
        return f"{command[1]} is still running after {PATIENCE_S} s"
    said = done.stderr.decode(errors="replace").splitlines()
    mine = [line for line in said if line.startswith("profwrap: ")]
    if done.returncode == 0 and not said:
        return None
    if done.returncode == 1 and len(said) == len(mine) == 1:
        return None
    return f"{command[1]} ended with {done.returncode} and said {said}"


def complaints(path, kinds, profwrap=None):
    """All that is wrong with how the commands that read files of these kinds take this one."""
    profwrap = profwrap or os.path.join(ROOT, "build", "bin", "profwrap")
    if not os.path.exists(profwrap):
        return []
    commands = [] if "journal" in kinds else [[profwrap, "dump", path]]
    if "cluster" in kinds:
        commands += [[profwrap, "report", path], [profwrap, "report", "--format", "json", path]]
    with tempfile.TemporaryDirectory(prefix="pwfuzz-") as scratch:
        if "rank" in kinds:
            shutil.copy(path, os.path.join(scratch, "rank-00003.h5"))
            commands.append([profwrap, "merge", "-q", scratch])
        if "journal" in kinds:
            shutil.copy(path, os.path.join(scratch, "rank-00000.journal"))
            commands.append([profwrap, "recover", scratch])
        return [found for found in map(complaint, commands) if found]


def main(profwrap):
    tried, wrong = 0, []
    for kind in ("rank", "cluster", "journal", "library"):
        folder = os.path.join(HERE, "corpus", kind)
        for name in sorted(os.listdir(folder)):
            kinds = ["rank", "cluster"] if kind == "library" else [kind]
            found = complaints(os.path.join(folder, name), kinds, profwrap)
            wrong += [f"{kind}/{name}: {text}" for text in found]
            tried += 1
    print(*wrong, sep="\n")
    print(f"{tried} files tried, {len(wrong)} complaints")
    return 1 if wrong or not tried else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
