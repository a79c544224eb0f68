"""profwrap without MPI on the machine: the merge of one process that is not linked with MPI makes the
same file as the one that is, and stands in for it where that is not installed."""

import os
import re
import shutil
import subprocess
import sys

import harness as h

PATTERNS = {"data": ("--operators", "3", "--os-samples", "--faults", "slow_rank:rank=2,factor=1.4"),
            "halo": (), "hybrid": ("--ranks-per-host", "2"), "ring": (), "moe": ("--tell-roles",),
            "gpu": ("--pattern", "data", "--gpu", "--queues"), "unmarked": ("--unmarked",)}


def program_of_merge(name):
    build = h.place("BUILD")
    (path,) = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(build, "libexec"))
               if name in names]
    return path


def same(file, other, where=""):
    """Every table, attribute and link; returns how many tables. Not how HDF5 placed them in the file."""
    h5py, tables = h.h5py(), 0
    h.equal(sorted(file), sorted(other), f"names in {where or '/'}")
    for name in file:
        path, link, twin = f"{where}/{name}", file.get(name, getlink=True), other.get(name, getlink=True)
        h.equal(type(link), type(twin), f"kind of link {path}")
        if isinstance(link, h5py.ExternalLink):
            h.equal((link.filename, link.path), (twin.filename, twin.path), path)
            continue
        h.equal(dict(file[name].attrs), dict(other[name].attrs), f"attributes of {path}")
        if isinstance(file[name], h5py.Group):
            tables += same(file[name], other[name], path)
            continue
        a, b = file[name], other[name]
        h.equal((a.dtype, a.shape, a.chunks, a.compression), (b.dtype, b.shape, b.chunks, b.compression),
                f"type, size and storage of {path}")
        h.check(a[()].tobytes() == b[()].tobytes(), f"the rows of {path} differ")
        tables += 1
    return tables


def make_run(pattern, options, folder):
    words = options if "--pattern" in options or pattern == "unmarked" else ("--pattern", pattern, *options)
    h.run(h.profwrap("sim", "-r", 4, "-s", 40, *words, folder))


@h.case
def same_file_as_with_mpi():
    for pattern, options in PATTERNS.items():
        make_run(pattern, options, pattern)
        h.run([program_of_merge("profwrap-merge"), "-o", "with.h5", pattern])
        h.run([program_of_merge("profwrap-merge-alone"), "-o", "alone.h5", pattern])
        with h.h5py().File("with.h5") as a, h.h5py().File("alone.h5") as b:
            h.equal(dict(a.attrs), dict(b.attrs), f"attributes of the file, {pattern}")
            h.check(same(a, b) > 20, "fewer than 20 tables")


def needed(path):
    tool = shutil.which("readelf")
    if not tool:
        raise h.Skipped("no readelf")
    done = subprocess.run([tool, "-d", path], capture_output=True, text=True, check=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)


@h.case
def is_not_linked_with_mpi():
    h.check(any("mpi" in name for name in needed(program_of_merge("profwrap-merge"))), "no libmpi")
    names = needed(program_of_merge("profwrap-merge-alone")) + needed(h.place("PROFWRAP"))
    h.check("libc.so.6" in names, names)
    h.equal([name for name in names if "mpi" in name], [], "libraries of MPI")


def install_without_parallel_merge(prefix):
    h.run([h.place("CMAKE"), "--install", h.place("BUILD"), "--prefix", prefix])
    for folder, _, names in os.walk(os.path.join(prefix, "libexec")):
        if "profwrap-merge" in names:
            os.remove(os.path.join(folder, "profwrap-merge"))
    return os.path.join(prefix, "bin", "profwrap")


@h.case
def merges_where_the_other_is_not_installed():
    profwrap = install_without_parallel_merge(os.path.abspath("tree"))
    h.run(h.mpirun(2, profwrap, "-o", "out", h.program("actor"), "exit", "0"))
    for name in ("cluster.h5", "report.txt"):
        h.check(os.path.exists(os.path.join("out", name)), "no", name)
    said = h.run([profwrap, "doctor"]).stdout.decode()
    h.check(re.search("^note  merge .*by one process", said, re.M), said)


@h.case
def one_process_merges_under_a_launcher():
    profwrap = install_without_parallel_merge(os.path.abspath("tree"))
    make_run("halo", (), "run")
    done = h.run(h.mpirun(3, profwrap, "merge", "--wait", "0", "run"))
    h.equal(h.lines(done.stderr), [], "messages")
    done = h.run([profwrap, "merge", "-o", "one.h5", "run"])
    with h.h5py().File("run/cluster.h5") as a, h.h5py().File("one.h5") as b:
        h.check(same(a, b) > 20, "fewer than 20 tables")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
