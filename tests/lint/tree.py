"""What the lint scripts share: the files of the tree, and how a lint ends."""

import os
import subprocess
import sys

SKIP = 77


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIP)


def finish(name, problems, checked):
    """Prints the problems, or how much was looked at, and ends the program."""
    for problem in problems:
        print(problem)
    if not checked:
        problems = ["nothing to check"]
        print("nothing to check: wrong directory?")
    print(f"{name}: {checked} checked, {len(problems)} problem(s)")
    sys.exit(1 if problems else 0)


def files(root, *endings):
    """Paths (relative to root) of all files that are committed or not ignored, with these endings."""
    # safe.directory: a checkout may belong to another user than the one who tests it.
    git = ["git", "-c", f"safe.directory={root}", "-C", root]
    try:
        probe = subprocess.run(git + ["rev-parse", "--git-dir"], capture_output=True, text=True)
    except FileNotFoundError:
        skip("git is not installed")
    if probe.returncode != 0:
        skip("not a git checkout: " + probe.stderr.strip())
    listing = subprocess.run(
        git + ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
    ).stdout
    names = sorted(set(os.fsdecode(listing).split("\0")) - {""})
    # A file deleted but still in the index is not there to be read.
    present = [name for name in names if os.path.isfile(os.path.join(root, name))]
    return [name for name in present if not endings or name.endswith(endings)]


def text(root, name):
    """The file's contents, or None if it is not text."""
    with open(os.path.join(root, name), "rb") as file:
        data = file.read()
    return None if b"\0" in data else data.decode("utf-8", "replace")
