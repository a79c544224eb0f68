"""Real runs side by side: one that begins late, one some of whose steps are longer."""

import json
import sys
import xml.etree.ElementTree

import harness as h

STATUS = {"slower": 3, "same": 0, "faster": 0, "unknown": 4}
SURE = {"steps": 0.001, "before_steps": 0.01, "after_steps": 0.01}


def train(out, *options, before=""):
    """40 steps of 2 ranks, some 10 ms each."""
    program = [h.place("TRAIN"), "--pace", 3, "--steps", 40, *options]
    if before:
        program = ["sh", "-c", before + '; exec "$@"', "sh", *program]
    h.run(h.mpirun(2, *h.profwrap("--quiet", "-o", out), *program))
    return out


def compared(a, b, where):
    """What differs there. How sure that is depends on what else the machine does: but verdict, first
    sentence and status agree with it."""
    done = h.run(h.profwrap("compare", "--format", "json", a, b), status=None)
    result = json.loads(done.stdout)
    headline = result["headline"]
    h.equal(done.returncode, STATUS[result["verdict"]], headline)
    h.equal(result["slower"], done.returncode == STATUS["slower"], headline)
    parts = {row["what"]: row for row in result["run"]}
    run = parts.pop("the run")
    for key in ("first_ns", "second_ns"):
        total = sum(row[key] or 0 for row in parts.values())
        h.check(abs(total - run[key]) < 0.001 * run[key], "parts", parts, "of", run)
    found = {row["where"]: row for row in result["differences"]}[where]
    h.equal(found["sure"], found["p"] < SURE[where], found)
    if found["sure"]:
        h.equal(result["verdict"], "slower", headline)
    return found, headline


def check(is_right, found, headline):
    """A difference between the runs "a" and "b"; one that is not sure may be what other programs did."""
    if not is_right and not found["sure"]:
        h.skip_on_a_busy_machine("a")
        h.skip_on_a_busy_machine("b")
    h.check(is_right, found, headline)


@h.case
def late_start():
    """What is before MPI_Init counts."""
    found, headline = compared(train("a"), train("b", before="sleep 6"), "before_steps")
    check(found["difference_ns"] > 5e9, found, headline)
    h.check(not found["sure"] or "before the first step: " in headline, headline)


def stand(out, *late):
    """4 ranks, 30 steps of 10 ms; late: RANK BEFORE SETUP END, in ms."""
    h.run(h.mpirun(4, *h.profwrap("--quiet", "-o", out), h.program("latecomer"), *map(str, late)))
    return out


def named(a, b, where, part, rank):
    """A rank that is 3 s later there, while all others wait for it."""
    found, headline = compared(a, b, where)
    check((found["part"], found["rank"]) == (part, rank), found, headline)
    check(2.5e9 < found["difference_ns"] < 10e9, found, headline)


@h.case
def one_rank_is_late_before_mpi():
    named(stand("a", 2, 0, 0, 0), stand("b", 2, 3000, 0, 0), "before_steps", "start", 2)


@h.case
def one_rank_is_late_before_its_first_step():
    """The others begin it, and wait for that rank in it."""
    named(stand("a", 2, 0, 0, 0), stand("b", 2, 0, 3000, 0), "before_steps", "setup", 2)


@h.case
def one_rank_is_late_after_its_last_step():
    named(stand("a", 1, 0, 0, 0), stand("b", 1, 0, 0, 3000), "after_steps", "tail", 1)


@h.case
def some_steps_are_longer():
    """16 of 40 by 300 ms on rank 1: 4.8 s, which the medians do not show."""
    found, headline = compared(
        train("a"), train("b", "--inject", "rank=1,phase=backward,ms=300,steps=10-25"), "steps")
    check(found["difference_ns"] > 3e9, found, headline)
    h.check(not found["sure"] or "in its steps" in headline, headline)


@h.case
def formats_for_ci():
    """The JUnit report fails when the status is 3, and is skipped when it is 4; both formats begin with
    the sentence that text has."""
    for name, faults in (("a", ""), ("b", "slow_rank:rank=3,phase=backward,percent=50")):
        h.run(h.profwrap("sim", "--ranks", 4, *(("--faults", faults) if faults else ()), name))
        h.run(h.profwrap("merge", "--quiet", name))
    sentence = json.loads(h.run(h.profwrap("compare", "--format", "json", "a", "b"),
                                status=STATUS["slower"]).stdout)["headline"]
    for threshold, status in ((5, STATUS["slower"]), (90, 0)):
        done = h.run(h.profwrap("compare", "--threshold", threshold, "--format", "junit", "a", "b"),
                     status=status)
        suite = xml.etree.ElementTree.fromstring(done.stdout).find("testsuite")
        failures = [failure.get("message") for failure in suite.iter("failure")]
        h.equal(failures, [sentence] if status else [], "failures")
        h.equal(suite.get("failures"), str(len(failures)), "number of failures")
        report = h.run(h.profwrap("compare", "--threshold", threshold, "a", "b"), status=status)
        h.equal(suite.find("testcase/system-out").text, report.stdout.decode(), "the report")
    done = h.run(h.profwrap("compare", "--format", "markdown", "a", "b"), status=STATUS["slower"])
    h.check(done.stdout.decode().startswith(f"**{sentence}**\n"), done.stdout[:300], sentence)
    h.run(h.profwrap("sim", "--ranks", 4, "--steps", 3, "few"))
    h.run(h.profwrap("merge", "--quiet", "few"))
    done = h.run(h.profwrap("compare", "--format", "junit", "a", "few"), status=STATUS["unknown"])
    h.equal(xml.etree.ElementTree.fromstring(done.stdout).find("testsuite").get("skipped"), "1",
            "skipped")


@h.case
def without_steps():
    for name in "ab":
        h.run(h.mpirun(2, *h.profwrap("--quiet", "-o", name), "true"))
    done = h.run(h.profwrap("compare", "a", "b"), status=STATUS["unknown"])
    h.check(b"Cannot tell whether the second run is slower or faster: " in done.stdout, done.stdout)


sys.exit(h.main(sys.argv[1:]))
