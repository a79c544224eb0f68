"""profwrap on aarch64: what needs no library of other packages is built by a cross compiler, and its unit
tests are run by qemu-user: their logic, not their times.   test_aarch64.py CASE..., or --list

rank: core/, the rings, the probe's own part and the clocks, with their unit tests; the library that a
launcher's processes load is linked. analysis: the analysis with its unit tests. wrappers: the wrappers of
the standard ABI of MPI are compiled."""

import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
SOURCE = os.environ.get("PW_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
COMPILER = "aarch64-linux-gnu-gcc"
SYSROOT = "/usr/aarch64-linux-gnu"
FLAGS = ("-std=c11 -O1 -fPIC -D_GNU_SOURCE -DPW_ASSERT_LEVEL=2 -Wall -Wextra -Wpedantic -Wshadow -Werror "
         "-Wno-maybe-uninitialized -Isrc -Iinclude -Itests/cross -Itests/unit").split()
LIBRARIES = {
    "pw_core": ["src/core/*.c"],
    "pw_analysis": ["src/analysis/*.c"],
    "pw_ring": ["src/rank/ring/*.c", "src/rank/clocks/envelope.c"],
    "pw_probe": ["src/rank/probe/*.c"],
    "tickmap": ["src/rank/clocks/tickmap.c"],
}
NEEDS = {"pw_core": [], "pw_analysis": [], "pw_ring": ["pw_core"], "pw_probe": ["pw_ring", "pw_core"],
         "tickmap": ["pw_ring", "pw_core"]}
# The first two start themselves again, which qemu-user cannot do alone; the others need headers of other packages.
LEFT_OUT = {"check", "probe", "nccl_abi", "mpi_request", "rocm"}
# Of another library of the folder, which needs libdeflate.
NOT_CORE = {"src/core/deflater.c"}
BARE = ["-fno-builtin", "-fno-stack-protector", "-fno-tree-loop-distribute-patterns"]
WRAPPERS = ("mpi4_functions mpi_call mpi_classes mpi_comm mpi_library mpi_request mpi_special mpi_wrap "
            "mpi_abi_library mpi_abi_table")


class Skipped(Exception):
    pass


class Build:
    def __init__(self, folder):
        self.folder, self.objects = folder, {}

    def run(self, *command):
        done = subprocess.run([*shlex.split(os.environ.get("PW_LAUNCHER", "")), *command], cwd=SOURCE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise AssertionError(f"{shlex.join(command)}:\n{done.stdout[-4000:]}")

    def add(self, path, *options):
        """Returns the object that compile() will make of the file."""
        key = (path, options)
        name = f"{path.replace('/', '_')[:-2]}-{len(self.objects)}.o"
        return self.objects.setdefault(key, os.path.join(self.folder, name))

    def compile(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            made = [pool.submit(self.run, COMPILER, *FLAGS, *options, "-c", path, "-o", to)
                    for (path, options), to in self.objects.items()]
            for one in made:
                one.result()

    def link(self, name, *what):
        self.run(COMPILER, *what, "-o", os.path.join(self.folder, name))

    def library(self, name):
        """The objects of the library, and of those that it needs."""
        paths = [path for pattern in LIBRARIES[name] for path in sorted(glob.glob(pattern, root_dir=SOURCE))
                 if path not in NOT_CORE]
        if not paths:
            raise AssertionError(f"no files of {name}")
        return [self.add(path) for path in paths] + [o for other in NEEDS[name] for o in self.library(other)]


def unit_tests(wanted):
    """Yields (name, sources, libraries) of the unit tests that need these libraries only."""
    with open(os.path.join(SOURCE, "tests", "unit", "CMakeLists.txt"), encoding="utf-8") as file:
        text = file.read()
    for name, sources, libraries in re.findall(r"^pw_unit_test\((\w+)\s+SOURCES\s+(.*?)\s+LIBS\s+(.*?)"
                                               r"(?:\s+LABELS[^)]*)?\)", text, re.M | re.S):
        used = [library for library in libraries.split() if library not in ("m", "${CMAKE_DL_LIBS}")]
        if name in LEFT_OUT or not set(used) <= set(wanted):
            continue
        yield name, [f.replace("${PROJECT_SOURCE_DIR}/", "") if "$" in f else "tests/unit/" + f
                     for f in sources.split()], used


def scope_libraries(build):
    """Three libraries that the tests of the loader open. Returns the options of these tests."""
    objects = {f"libscopelib{i}.so": build.add("tests/unit/scopelib.c", f"-DVALUE={i + 1}") for i in range(3)}
    paths = ",".join(f'"{build.folder}/{name}"' for name in objects)
    return objects, [f"-DSCOPE_LIBRARIES={paths}"]


def run_tests(build, tests):
    """tests: {name: (objects)}. Links and runs them, each in a process of qemu's."""
    def one(name, objects):
        build.link(name, *objects, "-lm", "-ldl", "-lpthread")
        done = subprocess.run(["qemu-aarch64", "-L", SYSROOT, "./" + name], cwd=build.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              env={**os.environ, "TMPDIR": build.folder})
        counts = re.search(r"(\d+) passed, (\d+) failed, (\d+) skipped$", done.stdout.strip())
        if done.returncode or not counts:
            raise AssertionError(f"{name} ended with {done.returncode}:\n{done.stdout[-3000:]}")
        return int(counts[1])

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = [pool.submit(one, name, objects) for name, objects in tests.items()]
        print(f"{len(passed)} programs run, {sum(each.result() for each in passed)} tests passed")


def build_and_run(build, wanted, more=()):
    scope, options = scope_libraries(build)
    support, tests = build.add("tests/unit/unit.c"), {}
    for name, sources, libraries in [*unit_tests(wanted), *more]:
        objects = [build.add(path, *(options if name in ("scope", "findobject") else [])) for path in sources]
        for library in libraries + ["pw_core"]:
            objects += build.library(library)
        tests["unit_" + name] = list(dict.fromkeys([*objects, support]))
    if len(tests) < 10:
        raise AssertionError(f"few tests: {list(tests)}")
    build.compile()
    for name, made in scope.items():
        build.link(name, "-shared", made)
    run_tests(build, tests)


def rank(build):
    bare = [build.add(f"src/rank/run/{name}.c", *BARE) for name in ("capture", "rankenv")]
    build_and_run(build, ["pw_core", "pw_ring", "pw_probe"], [("tickmap", ["tests/unit/test_tickmap.c"], ["tickmap"])])
    build.link("libprofwrap_launch.so", "-shared", "-nostdlib", *bare)


def analysis(build):
    build_and_run(build, ["pw_analysis"])


def wrappers(build):
    for name in WRAPPERS.split():
        build.add(f"src/collectors/mpi/{name}.c", "-DPW_MPI_FOR_STANDARD", "-DPW_MPI_ABI_TABLE=pw_mpi_standard",
                  "-fvisibility=hidden")
    build.compile()
    print(f"{len(build.objects)} files compiled")


CASES = {"rank": rank, "analysis": analysis, "wrappers": wrappers}


def main(names):
    if names == ["--list"]:
        print("\n".join(CASES))
        return 0
    try:
        for program, package in ((COMPILER, "gcc-aarch64-linux-gnu"), ("qemu-aarch64", "qemu-user")):
            if not shutil.which(program):
                raise Skipped(f"no {program} (Debian: {package})")
        if not os.path.exists(SYSROOT + "/include/stdio.h"):
            raise Skipped(f"no C library in {SYSROOT} (Debian: libc6-dev-arm64-cross)")
    except Skipped as why:
        print("skipped:", why)
        return SKIP
    for name in names:
        with tempfile.TemporaryDirectory(prefix="pwcross-") as folder:
            try:
                CASES[name](Build(folder))
            except AssertionError as what:
                print(what)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
