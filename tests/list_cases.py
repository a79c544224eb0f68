"""Prints "SCRIPT CASE" for each case of test scripts. CMake calls it once per folder: to start one
Python per script takes most of the time to configure.
    python3 tests/list_cases.py SCRIPT..."""

import os
import runpy
import sys
# Each script is read in a copy of this process, which then need not import these again.
import glob  # noqa: F401
import json  # noqa: F401
import re  # noqa: F401
import shutil  # noqa: F401
import subprocess  # noqa: F401
import tempfile  # noqa: F401


def print_list(path):
    """Runs `path --list` in this process, which ends."""
    status = 1
    try:
        sys.argv = [path, "--list"]
        sys.path[0] = os.path.dirname(path)
        runpy.run_path(path, run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code or 0
    except Exception as error:
        print(f"{path} --list: {error!r}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        os._exit(status if isinstance(status, int) else 1)


def cases_of(path):
    """The names that the script prints; none when it fails, as a script that has no cases does."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(into, 1)
        os.close(out)
        print_list(path)
    os.close(into)
    with os.fdopen(out, encoding="utf-8") as file:
        names = file.read().split("\n")
    return [] if os.waitpid(pid, 0)[1] else [name for name in names if name]


def main(paths):
    for path in paths:
        for name in cases_of(path):
            print(os.path.basename(path), name)


if __name__ == "__main__":
    main(sys.argv[1:])
