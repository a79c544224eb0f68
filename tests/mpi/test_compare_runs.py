"""Several runs of two programs: made in turns by `compare --runs`, or given as directories."""

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

import harness as h

SLOWER, UNKNOWN = 3, 4


def compared(*words, status):
    """The comparison as JSON."""
    done = h.run(h.profwrap("compare", "--format", "json", *words), status=status)
    return json.loads(done.stdout)


def simulated(name, *options):
    """5 runs with different noise. Returns their directories."""
    runs = [f"{name}{i}" for i in range(5)]
    for i, run in enumerate(runs):
        h.run(h.profwrap("sim", "--ranks", 4, "--steps", 20, "--seed", i + 10 * ord(name), *options, run))
        h.run(h.profwrap("merge", "--quiet", run))
    return runs


def row_of(result, group, what):
    return next(row for row in result[group] if row["what"].startswith(what))


@h.case
def given_runs_in_pairs():
    """A fifth more work of rank 3 in backward, 2 ms of 10 ms a step; the interval is that of the five
    differences, from the smallest to the largest."""
    a, b = simulated("a"), simulated("b", "-f", "slow_rank:rank=3,phase=backward,percent=20")
    result = compared(*a, "--", *b, status=SLOWER)
    h.equal((result["verdict"], result["pairs"], result["slower"]), ("slower", 5, True), result)
    h.check("on rank 3 (node0000) by 2.0 ms a step" in result["headline"], result["headline"])
    single = [compared(x, y, status=None) for x, y in zip(a, b)]
    for group, what in (("run", "the run"), ("steps", "mean"), ("ranks", "rank 3 "), ("phases", "data")):
        row = row_of(result, group, what)
        pairs = [row_of(one, group, what) for one in single]
        off = sorted(one["second_ns"] - one["first_ns"] for one in pairs)
        h.equal((row["difference_ns"], row["low_ns"], row["high_ns"]), (off[2], off[0], off[4]), what)
        h.equal(row["confidence"], 1 - 2 / 2**5, what)
        h.equal(row["first_ns"], sorted(one["first_ns"] for one in pairs)[2], what)
        h.equal(row["significant"], off[0] > 0 or off[4] < 0, what)
    h.check(row_of(result, "steps", "mean")["significant"], result["steps"])
    compared("--threshold", "30", *a, "--", *b, status=0)
    h.equal(compared(*b, "--", *a, status=0)["verdict"], "faster", "the other way round")
    h.equal(compared(*a, "--", *reversed(a), status=0)["verdict"], "same", "the same runs")
    few = compared(*a[:4], "--", *b[:4], status=UNKNOWN)
    h.check("4 pairs" in few["reason"] and not row_of(few, "steps", "mean")["significant"], few["reason"])


@h.case
def formats_for_ci():
    a, b = simulated("a"), simulated("b", "-f", "slow_rank:rank=1,percent=30")
    sentence = compared(*a, "--", *b, status=SLOWER)["headline"]
    junit = h.run(h.profwrap("compare", "--format", "junit", *a, "--", *b), status=SLOWER)
    suite = xml.etree.ElementTree.fromstring(junit.stdout).find("testsuite")
    h.equal([one.get("message") for one in suite.iter("failure")], [sentence], "failures")
    text = h.run(h.profwrap("compare", *a, "--", *b), status=SLOWER).stdout.decode()
    h.equal(suite.find("testcase/system-out").text, text, "the report")
    markdown = h.run(h.profwrap("compare", "--format", "markdown", "-o", "note.md", *a, "--", *b),
                     status=SLOWER)
    h.equal(markdown.stdout, b"", "standard output")
    with open("note.md") as file:
        note = file.read()
    h.check(note.startswith(f"**{sentence}**\n"), note[:400], sentence)
    h.check("| rank 1 (node0000) | " in note, note)


@h.case
def other_numbers_of_ranks_and_steps():
    """A run with twice the steps is longer, but not slower."""
    a, b = simulated("a"), simulated("b", "--steps", 40, "--ranks", 3)
    result = compared(*a, "--", *b, status=0)
    h.check("4 ranks, then 3" in result["unlike"] and "20 steps, then 40" in result["unlike"],
            result["unlike"])
    h.check("the runs took" not in result["headline"], result["headline"])
    h.check(row_of(result, "run", "the run")["significant"], result["run"])
    h.equal(len(result["ranks"]), 3, "ranks that both have")


@h.case
def runs_of_two_commands():
    """They take turns, and B takes a second longer."""
    log = os.path.abspath("turns")
    a = ["sh", "-c", f"echo a >> {log}"]
    b = ["sh", "-c", f"echo b >> {log}; sleep 1"]
    done = h.run(h.profwrap("compare", "--runs", 5, "--directory", "kept", "--format", "json", "--", *a,
                            "--", *b), status=None)
    result = json.loads(done.stdout)
    with open(log) as file:
        h.equal(file.read().split(), list("abbaabbaab"), "turns")
    row = row_of(result, "run", "the run")
    h.equal(row["pairs"], 5, row)
    h.check(row["difference_ns"] > 0.5e9, row)
    h.equal(done.returncode, SLOWER if row["low_ns"] > 0 else UNKNOWN, result["headline"])
    h.equal(len(h.lines(done.stderr)), 5, done.stderr)
    for side in "ab":
        for pair in range(1, 6):
            h.check(os.path.exists(f"kept/{side}-{pair}/cluster.h5"), side, pair)
            h.equal(os.path.getsize(f"kept/{side}-{pair}.log"), 0, "what it printed")


@h.case
def launchers_of_ranks():
    """mpirun under profwrap, and above it."""
    train = [h.place("TRAIN"), "--pace", 1, "--steps", 10]
    a, b = h.mpirun(2, *train), h.mpirun(2, *h.profwrap(), *train)
    result = json.loads(h.run(h.profwrap("compare", "--runs", 5, "--format", "json", "--", *a, "--", *b),
                              status=None).stdout)
    h.equal(row_of(result, "steps", "mean")["pairs"], 5, result["headline"])
    h.equal(len(result["ranks"]), 2, result["ranks"])


def failed(words, *patterns):
    """Status 1, and a JUnit report with an error; nothing more was started."""
    done = h.run(h.profwrap("compare", "--runs", 5, "--format", "junit", *words), status=1)
    h.one_line(done, *patterns)
    suite = xml.etree.ElementTree.fromstring(done.stdout).find("testsuite")
    h.equal((suite.get("errors"), suite.get("failures")), ("1", "0"), done.stdout)
    for pattern in patterns:
        h.check(pattern in suite.find("testcase/error").get("message"), pattern, done.stdout)


@h.case
def a_run_that_fails():
    failed(["--", "sh", "-c", "echo broken; exit 5", "--", "touch", "started"], "run 1 of A",
           "ended with status 5", "a-1.log")
    h.check(not os.path.exists("started"), "B was started")
    with open("profwrap-compare/a-1.log") as file:
        h.equal(file.read(), "broken\n", "its output")
    failed(["--directory", "second", "--", "true", "--", "sh", "-c", "kill -KILL $$"], "run 1 of B")
    failed(["--directory", "third", "--", "true", "--", "no-such-program"], "run 1 of B",
           "ended with status 127")


@h.case
def a_run_without_a_profile():
    failed(["--", *h.profwrap("-o", "elsewhere", "true"), "--", "true"], "run 1 of A",
           "left no profile in ")


@h.case
def wrong_words():
    for words, pattern in (
            (["--runs", 4, "--", "true", "--", "true"], "5 or more"),
            (["--runs", 5, "--", "true"], "takes two commands"),
            (["--runs", 5, "--", "true", "--"], "takes two commands"),
            (["--runs", 5, "--", "a", "--", "b", "--", "c"], "'--'"),
            (["a", "b", "--", "c"], "as many runs"), (["a", "b", "c"], "two directories")):
        h.one_line(h.run(h.profwrap("compare", *words), status=2), pattern)
    os.mkdir("profwrap-compare")
    failed(["--", "true", "--", "true"], "profwrap-compare", "--directory")


def wait_until(is_so, what):
    for _ in range(h.PATIENCE_S * 20):
        if is_so():
            return
        time.sleep(0.05)
    h.check(False, "waited in vain for", what)


def interrupt(number, command):
    """compare ends by the signal, and so does what the command has started."""
    with subprocess.Popen(list(map(str, h.profwrap("compare", "--runs", 5, "--directory", f"at-{number}",
                                                   "--", *command, "--", "true"))),
                          env=h.environment(), stderr=subprocess.DEVNULL) as compare:
        wait_until(lambda: os.path.exists("pid"), "pid")
        compare.send_signal(number)
        h.equal(compare.wait(timeout=h.PATIENCE_S), -number, "status")
    with open("pid") as file:
        pid = int(file.read())
    wait_until(lambda: not os.path.exists(f"/proc/{pid}") or is_zombie(pid), "the end of the sleep")
    os.remove("pid")


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@h.case
def signals_end_the_runs():
    """A shell that passes nothing on, and a program of its own."""
    shell = ["sh", "-c", "sleep 1000 & echo $! > pid.part; mv pid.part pid; wait"]
    direct = ["sh", "-c", "echo $$ > pid.part; mv pid.part pid; exec sleep 1000"]
    interrupt(signal.SIGTERM, shell)
    interrupt(signal.SIGINT, direct)


sys.exit(h.main(sys.argv[1:]))
