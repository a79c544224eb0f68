# SPDX-License-Identifier: Apache-2.0
"""The command profwrap of a wheel: becomes the program, which the wheel has inside of this module."""

import os
import shutil
import sys


def _inside():
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_tree", "bin", "profwrap")


def program():
    """The program that belongs to this module: inside of the wheel, else in PATH."""
    found = _inside() if os.access(_inside(), os.X_OK) else shutil.which("profwrap")
    if found is None:
        raise FileNotFoundError("profwrap is not in PATH: add the directory of the program to it")
    return found


def main():
    program = _inside()
    try:
        os.execv(program, ["profwrap", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"profwrap: cannot run {program}: {error.strerror}; this module is not from a wheel")
