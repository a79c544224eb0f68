"""One part of validate.sh: runs programs on the GPU under profwrap, and checks what was recorded.

    validate.py PART

The part's checks are the functions check_* of part_PART.py; each prints a line and adds it to the
record (validate_run.py).
"""
import importlib
import sys

from validate_run import run_checks


def main():
    part = sys.argv[1]
    module = importlib.import_module("part_" + part.lower())
    functions = [f for name, f in vars(module).items() if name.startswith("check_")]
    # A check that needs no GPU does not count: a run with only such checks is no validation.
    return run_checks(part, functions, lambda f: f.__name__ != "check_ptx_is_valid")


if __name__ == "__main__":
    sys.exit(main())
