"""`profwrap report --format otf2`: OTF2's own tools read the archive without a warning, and it has every
record once, at its time."""

import sys

import harness as h
import otf2check as o


def simulate(*options):
    h.run([*h.profwrap("sim"), *options, "sim"])
    h.run(h.profwrap("merge", "-q", "sim"))


def archived(folder, *options):
    said = o.write(folder, "archive", *options)
    o.printed("archive")
    return said


@h.case
def simulated_jobs():
    """Hosts with clocks of their own, and ranks without a file or with half of one."""
    simulate("-r", "8", "-s", "6", "--ranks-per-host", "2", "--pattern", "hybrid")
    said = archived("sim")
    h.check("left out" not in said and "cannot be read" not in said, said)
    definitions, _ = o.compare("sim", "archive")
    h.equal(len({node.name for node in definitions.system_tree_nodes}), 5, "machine and hosts")
    h.equal([location.name for location in definitions.locations][:2],
            ["main thread (rank 0)", "main thread (rank 1)"], "locations")
    check_clocks(o.clock_offsets("archive"))


def check_clocks(offsets):
    """Each knot of a rank's clock, with the bound of its error, and nothing to correct."""
    with h.h5py().File("sim/cluster.h5", "r") as file:
        domains = {int(row["rank"]): int(row["domain"]) for row in file["clocks"][:]}
        knots = file["clock_knots"][:]
    h.equal(len(set(domains.values())), 4, "clocks")
    for rank, domain in domains.items():
        wanted = [(int(row["local_ns"] + row["offset_ns"]), int(row["error_ns"]))
                  for row in knots if row["domain"] == domain]
        found = offsets[rank]
        h.equal([time for time, _, _ in found], [time for time, _ in wanted], f"clock of rank {rank}")
        h.check(len(found) >= 2 and not any(offset for _, offset, _ in found), "offsets", found)
        h.check(all(abs(deviation - error) <= 1e-4 * error for (_, _, deviation), (_, error) in zip(found, wanted)),
                "errors", found, wanted)


@h.case
def simulated_gpus():
    simulate("-r", "4", "-s", "4", "--gpu")
    archived("sim")
    definitions, events = o.compare("sim", "archive")
    with h.h5py().File("sim/rank-00001.h5", "r") as file:
        kernels = len(file["events/kernel"]) + len(file["events/memcpy"])
        powers = [int(p) for p in file["samples/gpu"]["power_mw"]]
    of_streams = [e for name, e in events[1] if name.startswith("GPU ") and type(e).__name__ == "Enter"]
    h.equal(len(of_streams), kernels, "activities of the GPU")
    values = [e.values[0] for name, e in events[1]
              if name == "samples" and e.metric.metric_class.members[0].name == "GPU 0 power"]
    h.equal(values, powers, "power of the GPU")
    h.check(any(group.creating_location_group for group in definitions.location_groups), "no GPU belongs to a rank")


@h.case
def parts():
    simulate("-r", "4", "-s", "8")
    o.write("sim", "whole")
    said = archived("sim", "--ranks", "1-2", "--steps", "2-3")
    h.check("2 ranks" in said, said)
    definitions, events = o.read("archive")
    h.equal(set(events), {1, 2}, "ranks with events")
    h.equal(len(definitions.location_groups), 4, "ranks")
    steps = {value for _, e in events[1] for a, value in (e.attributes or {}).items()
             if a.name == "profwrap::sequence"}
    h.check({2, 3} <= steps <= {1, 2, 3, 4}, "steps", steps)
    again = h.run(h.profwrap("report", "--format", "otf2", "-o", "archive", "sim"), status=1)
    h.one_line(again, "already exists")
    h.one_line(h.run(h.profwrap("report", "--format", "otf2", "sim"), status=2), "-o")
    h.one_line(h.run(h.profwrap("report", "--format", "otf2", "-o", "no", "--ranks", "9", "sim"), status=1),
               "ranks 0 to 3")


@h.case
def incomplete_jobs():
    """A rank without a file and one with half of it; the members of NCCL's communicators are then not
    known."""
    simulate("-r", "4", "-s", "4", "--gpu", "--faults", "missing:rank=2;truncated:rank=3")
    archived("sim")
    definitions, events = o.read("archive")
    h.check({0, 1} <= set(events) and 2 not in events, "ranks with events", set(events))
    h.equal([len(comm.group.members) for comm in definitions.comms], [0], "known members")


def of_program(name, n):
    o.reader()
    h.run(h.mpirun(n, *h.profwrap("--no-report", "-o", "out"), h.program(name), "said", 1))
    said = archived("out")
    h.check("left out" not in said, said)
    o.compare("out", "archive")


@h.case
def windows_of_memory():
    of_program("onesided", 2)
    _, events = o.read("archive")
    kinds = {type(event).__name__ for _, event in events[0]}
    h.check({"RmaPut", "RmaGet", "RmaAtomic", "RmaCollectiveEnd", "RmaAcquireLock"} <= kinds, kinds)


@h.case
def communicators_of_two_groups():
    of_program("across", 4)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
