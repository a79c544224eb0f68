"""Rank files and cluster files with wrong contents. profwrap reads nothing from other files and
uses neither all memory nor endless time. It leaves impossible values out and says so. For a file
that it cannot use at all, it prints one line."""

import os
import shutil
import subprocess
import sys
import tempfile
import zlib

import harness as h
import stored

SECRET = 424242


def sim(folder, *options):
    h.run(h.profwrap("sim", "-r", "4", "-s", "6", "--ranks-per-host", "2", *options, folder))


def edit(folder, rank):
    return h.h5py().File(h.rank_path(folder, rank), "r+")


def change(folder, rank, table, **fields):
    """Sets fields in all rows of a table."""
    with edit(folder, rank) as file:
        rows = file[table][()]
        for name, value in fields.items():
            rows[name] = value
        file[table][...] = rows


def merge(folder, processes=1, **more):
    command = h.profwrap("merge", "-q", folder)
    return h.run(h.mpirun(processes, *command) if processes > 1 else command, **more)


def cluster(folder):
    return h.h5py().File(os.path.join(folder, "cluster.h5"), "r")


def notes(folder):
    with cluster(folder) as file:
        return {(int(row["rank"]), row["what"].decode()): row["detail"].decode()
                for row in file["completeness"][()]}


def refused(words, *arguments):
    done = h.run(h.profwrap(*arguments), 1)
    said = h.lines(done.stderr)
    h.equal(len(said), 1, f"lines said: {said}")
    for word in ("profwrap: ", *words):
        h.check(word in said[0], repr(said[0]), "has no", repr(word))
    return done


@h.case
def numbers_that_cannot_be():
    for field in ("start", "end", "wait_start", "inside_ns", "sent_bytes", "recv_bytes"):
        for value in (2**63 - 1, -2**63, 2**62):
            folder = f"{field}{value}"
            sim(folder, "-s", "2")
            with edit(folder, 2) as file:
                rows = file["events/comm"][()]
                rows[field][1] = value
                file["events/comm"][...] = rows
            merge(folder)
            h.check("impossible" in notes(folder)[2, "damaged"], notes(folder))


@h.case
def sums_that_would_overflow():
    sim("out", "-p", "halo")
    for rank in range(4):
        change("out", rank, "events/comm", sent_bytes=2**61, recv_bytes=2**61)
    merge("out")
    with cluster("out") as file:
        h.equal({int(n) for n in file["p2p"]["bytes"]}, {2**63 - 1}, "bytes of the pairs")
    h.run(h.profwrap("report", "--full", "out"))


@h.case
def more_collectives_than_were_recorded():
    for claim in (2**62, 2**63 - 1, -2**63):
        folder = f"out{claim}"
        sim(folder)
        with cluster_of(folder) as file:
            honest = len(file["collectives"])
        change(folder, 1, "comms", collectives=claim)
        merge(folder)
        with cluster(folder) as file:
            h.check(honest <= len(file["collectives"]) < 200000, len(file["collectives"]))
            h.equal(int(file["collectives"]["complete"].sum()), honest, "complete collectives")
            rows = file["collectives"][()]
            h.equal({int(n) for n in rows["step"][rows["last_rank"] < 0]} - {-1}, set(),
                    "steps of collectives that nobody recorded")
        h.equal((1, "damaged") in notes(folder), claim > 0, "a note on rank 1")


def cluster_of(folder):
    merge(folder)
    return cluster(folder)


@h.case
def world_of_millions():
    sim("out")
    for rank in range(4):
        with edit("out", rank) as file:
            file.attrs["world_size"] = 1 << 24
    refused(["16777216", "cannot be right"], "merge", "-q", "out")
    h.check(not os.path.exists("out/cluster.h5"), "a cluster file was left")


@h.case
def files_with_the_names_of_others():
    sim("out", "-r", "8")
    for a, b in ((1, 6), (3, 4)):
        os.rename(h.rank_path("out", a), "aside")
        os.rename(h.rank_path("out", b), h.rank_path("out", a))
        os.rename("aside", h.rank_path("out", b))
    merge("out", 4)
    with cluster("out") as file:
        own = file["step_trace"]["own_ns"]
        unknown = {int(rank) for rank in range(8) if (own[:, rank] < 0).any()}
    h.equal({rank for rank, what in notes("out") if what == "left_out"}, unknown,
            "ranks said to be without steps")
    h.check(0 not in unknown and 7 not in unknown, "steps of ranks with their own names:", unknown)


@h.case
def links_to_elsewhere():
    h5py = h.h5py()
    sim("out")
    sim("other")
    change("other", 0, "steps", step=SECRET)
    with edit("out", 1) as file:
        del file["steps"], file["events"], file["strings"]
        file["steps"] = h5py.ExternalLink("../other/rank-00000.h5", "/steps")
        file["events"] = h5py.ExternalLink(os.path.abspath("other/rank-00000.h5"), "/events")
        file["strings"] = h5py.SoftLink("/strings")
    done = h.run(h.profwrap("dump", h.rank_path("out", 1)))
    h.check(str(SECRET).encode() not in done.stdout, "dump read another file")
    h.check(b"/events" not in done.stdout, "dump read another file's events")
    merge("out")
    with cluster("out") as file:
        h.check(SECRET not in file["steps"]["step"][()], "merge read another file")
        h.equal(int(file["ranks"]["events"][1]), 0, "events of rank 1")
    stored.edited("out/cluster.h5")
    with h5py.File("out/cluster.h5", "r+") as file:
        del file["steps"], file["rank"]
        file["steps"] = h5py.ExternalLink("../other/rank-00000.h5", "/steps")
        file["rank"] = h5py.ExternalLink("/etc/passwd", "/")
    refused(["cluster.h5", "damaged"], "report", "out")


@h.case
def directory_or_pipe_in_place_of_a_file():
    sim("out")
    os.remove(h.rank_path("out", 2))
    os.mkfifo(h.rank_path("out", 2))
    merge("out")
    h.check("rank-00002.h5" in notes("out")[-1, "unreadable"], notes("out"))
    refused(["rank-00002.h5"], "dump", h.rank_path("out", 2))


@h.case
def damage_in_one_line():
    h5py = h.h5py()
    sim("out")
    with edit("out", 0) as file:
        del file["steps"], file["clock"], file.attrs["hostname"]
        file["steps"] = 3
        file.create_dataset("clock", (2**60,), "i8", chunks=(64,))
        file.attrs["hostname"] = 3.5
        file.create_dataset("stacks", (3,), h5py.string_dtype("utf-8", 12))
    done = refused(["rank-00000.h5", "hostname", "3 other parts"], "dump", h.rank_path("out", 0))
    h.check(b"/events/comm start=" in done.stdout, "what is not damaged was not printed")


def peak(words, *arguments):
    """Runs a command that must refuse, in one line with these words. Returns the most memory that
    it used, in bytes."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(h.profwrap(*arguments), stdout=subprocess.DEVNULL, stderr=said,
                                   env=h.environment())
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = h.lines(said.read())
    h.equal((process.returncode, len(text)), (1, 1), f"status and lines: {text}")
    for word in words:
        h.check(word in text[0], repr(text[0]), "has no", repr(word))
    return used.ru_maxrss << 10


def inflate(path, bytes_each, names):
    """Fills each table with `bytes_each` bytes of zeros, which compress to about a thousandth."""
    stored.edited(path)
    with h.h5py().File(path, "r+") as file:
        for name in names:
            kind, rows = file[name].dtype, 4096
            chunk = zlib.compress(bytes(rows * kind.itemsize), 9)
            chunks = bytes_each // (rows * kind.itemsize)
            del file[name]
            table = file.create_dataset(name, (rows * chunks,), kind, chunks=(rows,), shuffle=True,
                                        compression=9)
            for i in range(chunks):
                table.id.write_direct_chunk((i * rows,), chunk)


@h.case
def memory_follows_from_the_size():
    sim("out")
    merge("out")
    shutil.copy("out/cluster.h5", "out/good.h5")
    inflate("out/cluster.h5", 500 << 20, ["collectives"])
    size, more = os.path.getsize("out/cluster.h5"), 512 << 20
    for arguments in (("report", "-o", "report", "out"),
                      ("compare", "out/good.h5", "out/cluster.h5")):
        most = peak(["cluster.h5", "PROFWRAP_READ_MEMORY", "MiB"], *arguments)
        h.check(most < 2 * size + more, arguments, "took", most >> 20, "MiB")
    inflate(h.rank_path("out", 1), 500 << 20, ["steps"])
    os.makedirs("one")
    shutil.copy(h.rank_path("out", 1), "one")
    most = peak(["rank-00001.h5"], "merge", "-q", "one")
    h.check(most < os.path.getsize(h.rank_path("one", 1)) + more, "merge took", most >> 20, "MiB")


@h.case
def escapes_for_terminals():
    h5py = h.h5py()
    sim("out")
    with edit("out", 0) as file:
        del file.attrs["hostname"]
        name = b"\x1b[2Jhost\xc2\x9b1m"
        file.attrs.create("hostname", name, dtype=h5py.string_dtype("utf-8", len(name)))
        texts = list(file["strings"][()])
        del file["strings"]
        file.create_dataset("strings", data=texts[:-1] + ["\x1b]0;title\x07\u202e"],
                            dtype=h5py.string_dtype())
    merge("out")
    for arguments in (("dump", h.rank_path("out", 0)), ("dump", "out/cluster.h5"),
                      ("report", "out")):
        text = h.run(h.profwrap(*arguments)).stdout
        for bad in (b"\x1b", b"\xc2\x9b", b"\x07", "\u202e".encode()):
            h.check(bad not in text, arguments, "prints", bad)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
