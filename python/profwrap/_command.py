# SPDX-License-Identifier: Apache-2.0
"""The command profwrap of a wheel: becomes the program, which the wheel has inside of this module."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_tree", "bin", "profwrap")
    try:
        os.execv(program, ["profwrap", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"profwrap: cannot run {program}: {error.strerror}; this module is not from a wheel")
