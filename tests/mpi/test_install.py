"""The installed tree works in its place and after a move. MPITEST_CMAKE installs MPITEST_BUILD."""

import glob
import os
import shutil
import subprocess
import sys

import harness as h

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def install(prefix):
    h.run([h.place("CMAKE"), "--install", h.place("BUILD"), "--prefix", prefix])


def whole_run(root, out):
    profwrap = os.path.join(root, "bin", "profwrap")
    command = [profwrap, "-o", out, h.program("actor"), "exit", "0"]
    done = h.run(h.mpirun(3, *command))
    h.check(b"Efficiency" in done.stderr or b"ranks" in done.stderr, "no report was printed")
    for rank in range(3):
        h.equal(h.operations(h.open_complete(out, rank)).count("Allreduce"), 5, "Allreduce")
    h.check(os.path.exists(os.path.join(out, "cluster.h5")), "no cluster.h5")
    h.run([profwrap, "merge", out])
    done = h.run([profwrap, "dump", h.rank_path(out, 1)])
    h.check(b"op=Allreduce" in done.stdout, "dump shows no Allreduce")
    page = os.path.join(root, "share", "profwrap", "html")
    if os.path.exists(os.path.join(page, "d3.min.js")):
        h.check(os.path.exists(os.path.join(out, "report.html")), "no page")
    done = h.run([profwrap, "-o", out + "-python", "--no-merge", "/usr/bin/python3", "-c",
                  "import profwrap; print(profwrap.active(), profwrap.__version__, profwrap.__file__)"])
    active, version, place = done.stdout.decode().split()
    h.equal((active, os.path.commonpath([place, root])), ("True", root), "the Python module")
    h.equal(h.run([profwrap, "--version"]).stdout.decode(), f"profwrap {version}\n", "its version")
    h.check(os.path.exists(os.path.join(os.path.dirname(place), "py.typed")), "no py.typed")


@h.case
def works_where_it_is_installed_and_moved():
    prefix = os.path.abspath("first")
    install(prefix)
    whole_run(prefix, "out1")
    os.makedirs("elsewhere/deep")
    moved = os.path.abspath("elsewhere/deep/profwrap")
    shutil.move(prefix, moved)
    whole_run(moved, "out2")


@h.case
def a_path_with_a_space_is_said():
    """LD_PRELOAD cannot have a path with a space, so the program runs unprofiled."""
    install(os.path.abspath("a b"))
    command = [os.path.abspath("a b/bin/profwrap"), "-o", "out", "--no-merge", h.program("plain")]
    done = h.run([*command, "exit", "3"], 3)
    h.equal(len(h.lines(done.stderr)), 1, f"lines said: {h.lines(done.stderr)}")
    h.check(b"unprofiled" in done.stderr, done.stderr)


@h.case
def a_build_in_a_path_with_a_space_is_refused():
    """Before anything is looked for: what would be missing is not the cause."""
    done = h.run([h.place("CMAKE"), "-S", ROOT, "-B", "a b"], 1)
    h.check(b"LD_PRELOAD cannot hold a path with a space" in b" ".join(done.stderr.split()), done.stderr)
    h.check(b"HDF5" not in done.stderr, done.stderr)


@h.case
def a_path_too_long_for_nccl():
    """NCCL cuts the path of a plugin off after 254 bytes. For a longer path, NCCL must find the
    probe in the program's own image."""
    (probe,) = glob.glob(os.path.join(h.place("BUILD"), "lib*", "profwrap", "libprofwrap_probe.so"))
    private = os.path.relpath(probe, h.place("BUILD"))
    for length in (254, 255, 300):
        root = os.path.abspath(str(length))
        spare = length - len(os.path.join(root, "", private))
        root = os.path.join(root, "a" * (spare // 2), "b" * (spare - spare // 2 - 2))
        install(root)
        h.equal(len(os.path.join(root, private)), length, "length of the probe's path")
        command = [os.path.join(root, "bin", "profwrap"), "-o", f"out{length}", "--no-merge"]
        done = h.run([*command, h.program("ncclplay"), "all"], env={"RANK": "0", "WORLD_SIZE": "2"})
        h.check(b"version 7" in done.stdout, done.stdout)
        h.equal(h.lines(done.stderr), [], "messages")
        h.check("events/nccl" in h.open_rank(f"out{length}"), "NCCL was not recorded")


@h.case
def found_through_the_search_path():
    install(os.path.abspath("tree"))
    path = os.path.abspath("tree/bin") + ":" + os.environ["PATH"]
    h.run(["profwrap", "-o", "out", h.program("plain"), "annotate"], env={"PATH": path})
    h.check(os.path.exists("out/report.txt"), "no report")


USER = """#include <profwrap.h>
int main(void) { profwrap_step(1); profwrap_step(PROFWRAP_NO_STEP); return 0; }
"""


def flags(folder):
    tool = shutil.which("pkg-config")
    if not tool:
        raise h.Skipped("no pkg-config")
    env = h.environment(PKG_CONFIG_PATH=os.path.join(folder, "lib/pkgconfig"))
    for name in os.listdir(os.path.join(folder, "lib")):
        nested = os.path.join(folder, "lib", name, "pkgconfig")
        if os.path.isdir(nested):
            env["PKG_CONFIG_PATH"] += ":" + nested
    done = subprocess.run([tool, "--cflags", "--libs", "profwrap"], capture_output=True, env=env)
    h.equal(done.returncode, 0, f"pkg-config: {done.stderr}")
    return done.stdout.decode().split()


@h.case
def header_through_pkg_config():
    install(os.path.abspath("tree"))
    os.mkdir("elsewhere")
    shutil.move("tree", "elsewhere/tree")
    root = os.path.abspath("elsewhere/tree")
    with open("user.c", "w") as file:
        file.write(USER)
    h.run([h.place("CC"), "-std=c11", "-Wall", "-Werror", "user.c", "-o", "user", *flags(root)])
    h.run(["./user"])
    h.run([os.path.join(root, "bin/profwrap"), "-o", "out", "--no-merge", "./user"])
    h.equal([int(s) for s in h.open_complete("out")["steps"]["step"]], [1], "steps")


CONSUMER = """cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES %s)
find_package(profwrap 0.1 REQUIRED)
add_executable(user user.%s)
target_link_libraries(user PRIVATE profwrap::profwrap)
file(WRITE ${CMAKE_BINARY_DIR}/program ${PROFWRAP_EXECUTABLE})
"""


@h.case
def header_through_cmake():
    install(os.path.abspath("tree"))
    os.mkdir("elsewhere")
    shutil.move("tree", "elsewhere/tree")
    root = os.path.abspath("elsewhere/tree")
    for language, ending in (("C", "c"), ("CXX", "cc")):
        os.mkdir(language)
        with open(f"{language}/CMakeLists.txt", "w") as file:
            file.write(CONSUMER % (language, ending))
        with open(f"{language}/user.{ending}", "w") as file:
            file.write(USER)
        h.run([h.place("CMAKE"), "-S", language, "-B", f"{language}/build", f"-DCMAKE_PREFIX_PATH={root}"])
        h.run([h.place("CMAKE"), "--build", f"{language}/build"])
        with open(f"{language}/build/program") as file:
            h.equal(file.read(), os.path.join(root, "bin/profwrap"), "PROFWRAP_EXECUTABLE")
        h.run([os.path.join(root, "bin/profwrap"), "-o", language + "-out", "--no-merge", f"{language}/build/user"])
        h.equal([int(s) for s in h.open_complete(language + "-out")["steps"]["step"]], [1], "steps")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
