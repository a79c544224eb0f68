"""The reader of answers, on a few of the runs of labelled.py.

    test_reader.py PROFWRAP CASE        test_reader.py --list
"""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
CASES = {}
CALLS_MOST, TOKENS_MOST = 10, 8000


def case(function):
    CASES[function.__name__] = function
    return function


def check(runs):
    """Everything is said right, in few calls and few bytes, and in less than report.json has."""
    sums, count = {}, 0
    for directory, is_right in runs:
        count += labelled.judge(profwrap, directory, is_right, sums, "all")
    found = sums["all"]
    assert count == found["right"] == found["all"] > 0, found
    assert found["calls"] <= CALLS_MOST * count and found["bytes"] <= 4 * TOKENS_MOST * count, found
    assert found["bytes"] < found["report"], found


@case
def answers_suffice_for_each_kind_of_fault():
    """A rank, a host, a link, all ranks, unequal work, a late start, and no fault."""
    names = ("slow_rank", "freeze", "slow_link", "slow_all", "stages", "late_start", "none")
    with tempfile.TemporaryDirectory() as where:
        check(labelled.simulated(profwrap, [labelled.cases.plan(name, 700) for name in names], where))


@case
def answers_suffice_for_imports():
    with tempfile.TemporaryDirectory() as where:
        check(labelled.imported(profwrap, 3, where))


if sys.argv[1:] == ["--list"]:
    print("\n".join(CASES))
    sys.exit(0)
import labelled  # noqa: E402

profwrap = os.path.abspath(sys.argv[1])
CASES[sys.argv[2]]()
