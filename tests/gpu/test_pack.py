"""The result of `pack` runs on a machine that has only a C library and Python, and its size is
within the limit."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "mpi")]
import harness as h  # noqa: E402  pylint: disable=wrong-import-position


def pack(*arguments):
    command = [sys.executable, "-B", os.path.join(HERE, "pack"), "--build", h.place("BUILD"),
               *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=280,
                          env=h.environment())


@h.case
def validates_in_a_chroot():
    """Runs all parts with stand-ins, by the two commands for a machine with a GPU."""
    with open("libcupti.so.12", "wb"):
        pass
    done = pack("--check", "--with", "libcupti.so.12", "packed")
    print(done.stdout, done.stderr)
    if done.returncode == h.SKIP:
        raise h.Skipped(done.stdout.strip().splitlines()[-1])
    h.equal(done.returncode, 0, "status")
    h.equal(os.listdir("packed/with"), ["libcupti.so.12"], "what else was to be carried")
    passed = [line[9:10] for line in done.stdout.splitlines() if line.startswith("passed")]
    h.equal("".join(sorted(set(passed))), "ABCD", "parts")
    for part, least in (("A", 11), ("B", 3), ("C", 4), ("D", 2)):
        h.check(passed.count(part) >= least, passed.count(part), "checks of part", part)


@h.case
def what_is_not_carried_is_found():
    """pack must find a missing library, although this machine has the library and the other machine
    may not."""
    done = pack("--limit", "1", "packed")
    h.equal(done.returncode, 1, "status of what is too large")
    h.check("are more than 1" in done.stderr, done.stderr)
    loader = importlib.machinery.SourceFileLoader("pack", os.path.join(HERE, "pack"))
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader("pack", loader))
    loader.exec_module(script)
    inside = os.path.realpath("packed") + os.sep
    name, path = next((name, path) for name, path in sorted(script.needed("packed/bin/profwrap").items())
                      if path and os.path.realpath(path).startswith(inside))
    os.remove(path)
    try:
        script.check_closed("packed")
    except script.Unfit as error:
        h.check(f"packed/bin/profwrap would load {name} from /" in str(error), error)
    else:
        h.check(False, "it was not found")


@h.case
def what_was_not_built_is_said():
    os.mkdir("build")
    done = pack("--build", "build", "packed")
    h.equal(done.returncode, 1, "status")
    h.check("bin/profwrap was not built in" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
