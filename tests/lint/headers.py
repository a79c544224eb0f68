"""Checks that every header compiles alone, and when it is included twice. headers.py ROOT CC
[FLAG...]"""

import functools
import glob
import os
import re
import shlex
import subprocess
import sys

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.M)
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# Found only where the vendor's toolkit is installed; without it such a header cannot be checked.
VENDOR = re.compile(r"^(mpi\.h|cuda|cupti|nvml|nccl|nvtx3/|nvToolsExt|otf2/|microhttpd\.h)")


@functools.lru_cache(None)
def output(*command):
    try:
        return shlex.split(subprocess.run(command, capture_output=True, text=True).stdout)
    except FileNotFoundError:
        return []


def reached(root, target, seen):
    """Adds to `seen` all headers that `target` includes, directly or through our own headers."""
    if target in seen:
        return
    seen.add(target)
    for folder in ("src", "include"):
        path = os.path.join(folder, target)
        if os.path.isfile(os.path.join(root, path)):
            for own, system in INCLUDE.findall(tree.text(root, path)):
                reached(root, own or system, seen)


def mpi_flags(target):
    """The include path of mpi.h. For a header of MPICH programs, it is that of MPICH."""
    if not target.endswith("_mpich.h"):
        return output("mpicc", "--showme:compile")
    return ["-I" + folder for folder in glob.glob("/usr/include/*/mpich") or ["/no/mpich"]]


def library_flags(seen, target):
    with_mpi = "mpi.h" in seen
    flags = mpi_flags(target) if with_mpi else []
    if any(name.startswith("hdf5") or name.startswith("H5") for name in seen):
        flags = flags + output("pkg-config", "--cflags", "hdf5-serial")
    return ["-isystem" + f[2:] if f.startswith("-I") else f for f in flags]


def compile_alone(root, compiler, flags, target):
    """The compiler's messages about `target`; empty if there are none."""
    seen = set()
    reached(root, target, seen)
    command = [compiler, "-fsyntax-only", "-std=c11", *WARNINGS, "-x", "c", "-", *flags]
    command += [f"-I{root}/src", f"-I{root}/include", *library_flags(seen, target)]
    # The declaration: a header of macros alone would leave an empty, so invalid, translation unit.
    unit = f'#include "{target}"\n#include "{target}"\nextern int pw_lint_not_empty;\n'
    done = subprocess.run(command, input=unit, capture_output=True, text=True)
    if done.returncode == 0:
        return None, seen
    return done.stderr.strip() or "the compiler failed", seen


def is_vendor_missing(message, seen):
    lost = re.search(r"fatal error: '?([^':]+)'?(?: file not found|: No such file)", message)
    return bool(lost and VENDOR.match(lost.group(1)) and lost.group(1) in seen)


def main(root, compiler, *flags):
    names = [n for n in tree.files(root, ".h") if n.startswith(("src/", "include/"))]
    problems = []
    for name in names:
        folder, target = name.split("/", 1)
        # Users compile ours as strict C11; the tree itself is built with the GNU extensions of libc.
        extra = [] if folder == "include" else ["-D_GNU_SOURCE"]
        message, seen = compile_alone(root, compiler, [*extra, *flags], target)
        if message and is_vendor_missing(message, seen):
            print(f"{name}: not checked, a vendor's header is not installed")
        elif message:
            problems.append(f"{name}: {message}")
    tree.finish("headers", problems, len(names))


main(*sys.argv[1:])
