"""`profwrap import traces.otf2`: an archive that profwrap wrote gives the same analyses, one of EZTrace the
same waits, and others what their documents say."""

import json
import os
import re
import shutil
import sys

import harness as h
import otf2check as o


def imported(archive, folder="again"):
    done = h.run(h.profwrap("import", "-o", folder, archive))
    h.run(h.profwrap("merge", "-q", folder))
    return done.stderr.decode()


def table(folder, name, *fields):
    with h.h5py().File(f"{folder}/cluster.h5", "r") as file:
        return [tuple(row[f] for f in fields) for row in file[name][:]]


def same_analysis(folder, again):
    """The same collectives, waits, messages and steps, up to the nanoseconds of a clock's rounding."""
    fields = ("seq", "op", "nranks", "bytes", "first_enter", "last_enter", "last_exit", "last_rank", "wait_ns")
    a, b = (sorted(table(f, "collectives", *fields), key=lambda r: (r[4], r[0])) for f in (folder, again))
    h.equal(len(b), len(a), "number of collectives")
    for x, y in zip(a, b):
        h.check(x[:4] == y[:4] and x[7] == y[7] and all(abs(int(p) - int(q)) <= 8 for p, q in zip(x[4:], y[4:])),
                "collective", x, "became", y)
    p2p = ("src", "dst", "messages", "bytes", "late_sender_ns", "late_receiver_ns")
    a, b = table(folder, "p2p", *p2p), table(again, "p2p", *p2p)
    h.equal([row[:4] for row in b], [row[:4] for row in a], "messages")
    for x, y in zip(a, b):
        h.check(all(abs(int(p) - int(q)) <= 8 * int(x[2]) + 1e-3 * int(p) for p, q in zip(x[4:], y[4:])), x, y)


@h.case
def simulated_jobs_come_back():
    for pattern in ("data", "hybrid", "halo"):
        folder = f"sim-{pattern}"
        h.run([*h.profwrap("sim"), "-r", "8", "-s", "10", "--pattern", pattern, "--faults",
               "slow_rank:rank=3,factor=2", folder])
        h.run(h.profwrap("merge", "-q", folder))
        o.write(folder, f"archive-{pattern}")
        said = imported(f"archive-{pattern}/traces.otf2", f"again-{pattern}")
        h.check("left out" not in said, said)
        same_analysis(folder, f"again-{pattern}")
        named = [json.loads(h.run(h.profwrap("report", "--format", "json", f)).stdout)["stragglers"]
                 for f in (folder, f"again-{pattern}")]
        h.equal([s["rank"] for s in named[1]], [s["rank"] for s in named[0]], "stragglers")


@h.case
def real_programs_come_back():
    o.reader()
    h.run(h.mpirun(2, *h.profwrap("--no-report", "-o", "out"), h.program("messages"), "said", 1))
    o.write("out", "archive[1")
    imported("archive[1")
    same_analysis("out", "again")


RESOLUTION = 1000000000


def like_score_p(folder, delay):
    """An archive in the form that Score-P's documents describe: two nodes of two ranks, OpenMP threads, MPI
    functions by name and paradigm, a communicator of half the ranks, parameters and metrics. Rank 2 comes
    `delay` s late to each of ten reductions."""
    otf2 = o.reader()
    from otf2.enums import (CollectiveOp, GroupFlag, GroupType, LocationGroupType, LocationType, ParameterType,
                            Paradigm, RegionRole)
    with otf2.writer.open(folder, timer_resolution=RESOLUTION) as trace:
        d = trace.definitions
        machine = d.system_tree_node("machine", class_name="machine")
        nodes = [d.system_tree_node(f"node{i}", class_name="node", parent=machine) for i in range(2)]
        groups = [d.location_group(f"MPI Rank {r}", location_group_type=LocationGroupType.PROCESS,
                                   system_tree_parent=nodes[r // 2]) for r in range(4)]
        masters = [d.location("Master thread", type=LocationType.CPU_THREAD, group=group) for group in groups]
        d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=masters)
        everyone = d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=masters)
        even = d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=masters[::2])
        world = d.comm("MPI_COMM_WORLD", everyone)
        half = d.comm("", even, world)
        names = {"main": Paradigm.COMPILER, "MPI_Init": Paradigm.MPI, "MPI_Allreduce": Paradigm.MPI,
                 "MPI_Bcast": Paradigm.MPI, "MPI_Isend": Paradigm.MPI, "MPI_Irecv": Paradigm.MPI,
                 "MPI_Waitall": Paradigm.MPI, "MPI_Finalize": Paradigm.MPI, "solve": Paradigm.USER}
        regions = {name: d.region(name, paradigm=paradigm, region_role=RegionRole.FUNCTION)
                   for name, paradigm in names.items()}
        number = d.parameter("iteration", ParameterType.INT64)
        for r, master in enumerate(masters):
            play(trace.event_writer_from_location(master), r, regions, (world, half, number), delay, CollectiveOp)


def play(out, r, regions, comms, delay, ops):
    world, half, number = comms
    at = 1000000 * (1 + r)

    def call(name, start, end, *inside):
        out.enter(start, regions[name])
        for function, when, *rest in inside:
            function(when, *rest)
        out.leave(end, regions[name])

    out.enter(at, regions["main"])
    call("MPI_Init", at + 1000, at + 2000)
    step = 2 * 10**9
    for i in range(10):
        begin, last = (i + 1) * step, (i + 1) * step + int(delay * 1e9)
        out.enter(begin, regions["solve"])
        out.parameter_int(begin, number, i)
        arrived = last if r == 2 else begin + 1000 * (r + 1)
        call("MPI_Allreduce", arrived, last + 5000, (out.mpi_collective_begin, arrived),
             (out.mpi_collective_end, last + 5000, ops.ALLREDUCE, world, 2**32 - 1, 8, 8))
        if r % 2 == 0:
            call("MPI_Bcast", last + 6000, last + 8000, (out.mpi_collective_begin, last + 6000),
                 (out.mpi_collective_end, last + 8000, ops.BCAST, half, 1, 16 * (r == 2), 16 * (r != 2)))
        to, of = (r + 1) % 4, (r + 3) % 4
        call("MPI_Irecv", last + 9000, last + 9100, (out.mpi_irecv_request, last + 9050, 2 * i))
        call("MPI_Isend", last + 9200, last + 9300, (out.mpi_isend, last + 9250, to, world, 7, 64, 2 * i + 1))
        call("MPI_Waitall", last + 9400, last + 20000, (out.mpi_irecv, last + 19000, of, world, 7, 64, 2 * i),
             (out.mpi_isend_complete, last + 19500, 2 * i + 1))
        out.leave(last + 30000, regions["solve"])
    call("MPI_Finalize", 12 * step, 12 * step + 1000)
    out.leave(12 * step + 2000, regions["main"])


@h.case
def what_score_p_writes():
    delay = 0.3
    like_score_p("scorep", delay)
    said = imported("scorep/traces.otf2")
    h.check("left out: 40 events of other kinds" in said, said)
    rows = table("again", "collectives", "nranks", "wait_ns", "last_rank", "bytes", "complete")
    of_all = [row for row in rows if row[0] == 4]
    h.equal((len(of_all), len(rows)), (10, 20), "collectives of all ranks, and all")
    for _, wait, last, size, complete in of_all:
        h.equal((last, size, complete), (2, 8, 1), "last rank, bytes, complete")
        h.check(abs(wait - 3 * delay * 1e9) < 0.05 * 3 * delay * 1e9, "wait", wait)
    messages = {(int(src), int(dst)): (int(n), int(size)) for src, dst, n, size in
                table("again", "p2p", "src", "dst", "messages", "bytes")}
    h.equal(messages, {(r, (r + 1) % 4): (10, 640) for r in range(4)}, "messages")
    with h.open_rank("again", 3) as file:
        h.equal(file.attrs["hostname"].decode() if isinstance(file.attrs["hostname"], bytes)
                else str(file.attrs["hostname"]), "node1", "host")


def in_calls(trace):
    """How long each rank was in its first MPI_Allreduce, ns, as otf2-print says (OTF2's reader for Python
    refuses EZTrace's archives): this needs no clock that ranks share."""
    entered, found = {}, {}
    for line in h.run(["otf2-print", trace]).stdout.decode().splitlines():
        event = re.match(r'(ENTER|LEAVE) +(\d+) +(\d+) +Region: "MPI_Allreduce"', line)
        if event and event[1] == "ENTER":
            entered.setdefault(event[2], int(event[3]))
        elif event:
            found.setdefault(event[2], int(event[3]) - entered[event[2]])
    return list(found.values())


@h.case
def what_eztrace_writes():
    """EZTrace's clocks count from the start of each process; waits are those that profwrap itself has of the
    same run all the same, and the injected delay is in them."""
    if not shutil.which("eztrace"):
        raise h.Skipped("there is no eztrace")
    o.reader()
    ranks, late_ms = 3, 3000
    program = [h.program("latecomer"), "1", "0", str(late_ms), "0"]
    h.run(h.mpirun(ranks, *h.profwrap("--no-report", "-o", "own"),
                   "eztrace", "-o", "trace", "-t", "openmpi", *program))
    imported("trace/latecomer_trace")
    durations = {"again": in_calls("trace/latecomer_trace/eztrace_log.otf2"), "own": []}
    for rank in range(ranks):
        with h.open_rank("own", rank) as file:
            first = h.enum_names(file["events/comm"], "op").index("Allreduce")
            row = file["events/comm"][first]
            durations["own"].append(int(row["end"] - row["start"]))
    waits = {}
    for folder, times in durations.items():
        h.equal(len(times), ranks, "ranks")
        wait, last, n = max(table(folder, "collectives", "wait_ns", "last_rank", "nranks"))
        waits[folder] = int(wait)
        print(folder, "waited", int(wait), "ns, calls", times, "injected", 2 * late_ms * 10**6)
        h.equal((int(last), int(n)), (1, ranks), "who came last, of how many")
        h.check(sum(times) > 0.5 * 2 * late_ms * 1e6, "the delay is not in the calls:", times)
    h.check(abs(waits["again"] - waits["own"]) < 0.01 * waits["own"], "wait", waits)


@h.case
def no_archives():
    o.reader()
    with open("traces.otf2", "w", encoding="ascii") as file:
        file.write("no archive")
    done = h.run(h.profwrap("import", "-o", "again", "traces.otf2"), status=None)
    if b"built without OTF2" in done.stderr:
        raise h.Skipped("profwrap was built without OTF2")
    h.equal(done.returncode, 1, "exit status")
    h.one_line(done, "traces.otf2", "is no OTF2 archive that can be read")
    done = h.run(h.profwrap("import", "-o", "again", "missing.otf2"), status=1)
    h.one_line(done, "missing.otf2")


@h.case
def damaged_archives():
    h.run([*h.profwrap("sim"), "-r", "4", "-s", "5", "sim"])
    h.run(h.profwrap("merge", "-q", "sim"))
    o.write("sim", "archive")
    for name, size in (("traces/1.evt", 300), ("traces.def", 600), ("traces.otf2", 20)):
        shutil.copytree("archive", "cut")
        os.truncate(f"cut/{name}", size)
        done = h.run(h.profwrap("import", "-o", "again", "cut"), status=None)
        if name == "traces/1.evt":
            h.check(b"1 locations are damaged" in done.stderr and b"imported 4 ranks" in done.stderr, done.stderr)
            h.equal([int(h.open_rank("again", rank).attrs["complete"]) for rank in range(4)], [1, 0, 1, 1], "complete")
        else:
            h.equal(done.returncode, 1, "exit status")
            h.one_line(done, "cut/traces.otf2", "is no OTF2 archive that can be read")
        shutil.rmtree("cut")
        shutil.rmtree("again", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
