"""Ranks whose work is unequal by design. The report shows an imbalance, and still finds slow
ranks."""

import json
import sys

import harness as h

STEPS = 24


def merged(ranks, *arguments, says=""):
    out = f"out{says}"
    h.run(h.mpirun(ranks, *h.profwrap("--no-report", "-o", out), h.program("unequal"),
                   arguments[0], STEPS, *arguments[1:]),
          env={"PROFWRAP_TEST_SAYS": says, "OMPI_MCA_mpi_yield_when_idle": "1"})
    return h.h5py().File(out + "/cluster.h5", "r")


def imbalances(file):
    return [(r["kind"].decode(), r["name"].decode(), r["how"].decode(), r["verdict"].decode(),
             r["ranks"].decode()) for r in file["imbalances"][:]]


def persistent(file):
    """Ranks that are named in most steps. On a busy machine, ranks really are slow in a few
    steps."""
    return {int(r["rank"]) for r in file["stragglers"][:] if 2 * r["steps_hit"] >= STEPS}


def accused(file):
    """Those of them to whom the machine did not do it: a busy one takes the CPUs from one rank of a stage more
    than from another."""
    causes = h.enum_names(file["stragglers"], "cause")
    return {int(r["rank"]) for r, cause in zip(file["stragglers"][:], causes)
            if 2 * r["steps_hit"] >= STEPS and cause not in h.SEEN_BY_THE_KERNEL}


def lacks_cpus(out="out"):
    """On a busy machine, a sleep of a millisecond may take ten, of all ranks: then nobody need be
    named. The report says so itself."""
    report = json.loads(h.run(h.profwrap("report", "--format", "json", out)).stdout)
    if not h.is_short_of_cpus(report):
        return False
    print("ranks had no CPU for a part of the steps; the report says:", report["job"]["headline"])
    return True


def check_named(file, rank, out="out"):
    """The rank is named in most steps, unless other programs left it no CPU."""
    if rank not in persistent(file) and not lacks_cpus(out):
        h.skip_on_a_busy_machine(out)
        h.check(False, "rank", rank, "is not named:", persistent(file))


def near(value, wanted, share, what):
    h.check(abs(value - wanted) <= share * wanted, what, "is", value, "instead of", wanted)


@h.case
def a_heavy_stage():
    file = merged(8, "pipeline", 4, 2, 200)
    h.equal([r["role"].decode() for r in file["roles"][:]],
            [f"stage {r // 2 + 1} of 4" for r in range(8)], "roles")
    h.equal(imbalances(file), [("role", "stage 3 of 4", "messages", "imbalance", "4-5")],
            "imbalances")
    near(file["imbalances"][0]["ratio"], 2, 0.25, "the stage's work over the others'")
    h.check(not accused(file) & {4, 5}, "ranks of the stage are named:", file["stragglers"][:])
    h.check(file["imbalances"][0]["gain_ns"] > 0, "balancing gains nothing")
    text = " ".join(h.run(h.profwrap("report", "--full", "out")).stdout.decode().split())
    h.check('Uneven work: role "stage 3 of 4" (ranks 4-5) has' in text, text)
    kept = json.loads(h.run(h.profwrap("report", "--format", "json", "out")).stdout)
    h.equal([row["ranks"] for row in kept["imbalances"]], ["4-5"], "imbalances of report.json")
    h.equal(len(kept["roles"]), 8, "roles of report.json")


@h.case
def a_slow_rank_of_a_stage():
    file = merged(8, "pipeline", 4, 2, 200, 1)
    h.equal(imbalances(file), [("role", "stage 3 of 4", "messages", "imbalance", "4-5")],
            "imbalances")
    h.check(not accused(file) & {4, 5}, "ranks of the stage are named:", file["stragglers"][:])
    check_named(file, 1)


@h.case
def a_slow_rank_of_the_heavy_stage():
    file = merged(8, "pipeline", 4, 2, 200, 5)
    h.equal(imbalances(file), [("role", "stage 3 of 4", "messages", "imbalance", "4-5")],
            "imbalances")
    h.check(4 not in accused(file), "rank 4 is named:", file["stragglers"][:])
    check_named(file, 5)


@h.case
def a_stage_of_one_rank():
    file = merged(4, "pipeline", 4, 2, 200)
    found = imbalances(file)
    h.equal(found[0], ("role", "stage 3 of 4", "messages", "cannot_tell", "2"), "first imbalance")
    # On a busy machine, the work of another stage really takes longer; of that it cannot be told either.
    h.equal({verdict for _, _, _, verdict, _ in found}, {"cannot_tell"}, "verdicts")
    h.check(b"rank 2 is the only one of its role" in file["imbalances"][0]["reason"],
            file["imbalances"][0]["reason"])
    h.check(2 not in accused(file), "rank 2 is named:", file["stragglers"][:])


@h.case
def roles_that_are_said():
    file = merged(8, "pipeline", 4, 2, 200, says="roles")
    h.equal([r["role"].decode() for r in file["roles"][:]],
            ["light"] * 4 + ["heavy"] * 2 + ["light"] * 2, "roles")
    h.equal(imbalances(file), [("role", "heavy", "given", "imbalance", "4-5")], "imbalances")


@h.case
def more_cells():
    for says, how in ("work", "given"), ("", "messages"):
        file = merged(4, "cells", 2, 200, says=says)
        h.equal(imbalances(file), [("amount", "", how, "imbalance", "2")], "imbalances")
        near(file["imbalances"][0]["amount_ratio"], 2, 0.01, "the amount over the others'")
        near(file["imbalances"][0]["ratio"], 2, 0.25, "the work over the others'")
        h.check(2 not in accused(file), "rank 2 is named:", file["stragglers"][:])
        h.check(file["imbalances"][0]["gain_ns"] > 0, "sharing cells out gains nothing")


@h.case
def more_cells_and_a_slow_rank():
    file = merged(4, "cells", 2, 200, 1, says="work")
    h.equal(imbalances(file), [("amount", "", "given", "imbalance", "2")], "imbalances")
    h.check(2 not in accused(file), "rank 2 is named:", file["stragglers"][:])
    check_named(file, 1, "outwork")


@h.case
def equal_ranks_have_no_imbalance():
    file = merged(8, "pipeline", 4, 2, 100, 6)
    h.equal(imbalances(file), [], "imbalances")
    check_named(file, 6)


@h.case
def waits_for_a_rank_are_no_waits_for_data():
    """The other ranks wait for rank 2 in their data phase."""
    file = merged(4, "phases", 2, 300)
    trace, phases = file["step_trace"][:], file["phase_trace"][:]
    h.check((trace["data_wait_ns"] == phases["data_ns"]).all(), "data wait is not the data phase's own work")
    # In a single step a busy machine may hold rank 0 back, which then waits for nobody.
    h.check(trace["wait_ns"][:, 0].sum() > trace["data_wait_ns"][:, 0].sum(), "rank 0 waits for rank 2")
    text = h.run(h.profwrap("report", "--format", "line", "out")).stdout.decode()
    h.check(text.startswith("Rank 2 on ") or lacks_cpus(), text)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
