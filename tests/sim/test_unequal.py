"""Work that is unequal by design: what the merge and the report say of it, and that sharing it out
evenly gains what the truth says.

    test_unequal.py PROFWRAP CASE        test_unequal.py --list
"""
import simulated
from simulated import case

SIZE = ("-r", "8", "-s", "60", "--step-us", "10000")


def told(name, *options):
    return simulated.told(name, *SIZE, *options)


def assert_costs(found, truth):
    """The gain of the first imbalance is within 10 % of the truth. If there is a fault, so is the
    gain of the straggler."""
    (design,) = truth["design"]
    pairs = [(found["imbalances"][0]["gain_ns"], design["lost_ns"])]
    if truth["faults"]:
        (straggler,) = found["stragglers"]
        assert straggler["rank"] == truth["faults"][0]["rank"], straggler
        pairs.append((straggler["gain_ns"], truth["faults"][0]["lost_ns"]))
    else:
        assert found["stragglers"] == [], found["stragglers"]
    for gain, lost in pairs:
        assert abs(gain / lost - 1) < 0.1, pairs


@case
def lengths_that_nothing_tells_are_found_in_the_phases():
    for pattern in ("data", "pipeline"):
        found, truth = told(pattern, "-p", pattern, "--lengths", "30", "-n", "2")
        assert found["job"]["verdict"] == "imbalance", found["job"]
        assert found["job"]["headline"].startswith(
            "Uneven work: from step to step another rank has more to do"), found["job"]["headline"]
        (row,) = found["imbalances"]
        assert (row["kind"], row["how"], row["nranks"], row["first_rank"]) == ("amount", "phases", 0, None), row
        assert_costs(found, truth)


@case
def noise_of_ranks_and_hosts_is_no_imbalance():
    for name, noise in (("own", ["-n", "5"]), ("host", ["--host-noise", "8"]), ("gc", ["--gc-ms", "5"])):
        found, _ = told(name, *noise)
        assert found["imbalances"] == [] and found["job"]["verdict"] == "none", found["job"]


@case
def parts_of_the_model_are_shared_out_with_the_stages():
    found, truth = told("chunks", "-p", "pipeline", "--pipeline", "2", "--chunks", "2", "--microbatches",
                        "4", "--stage-skew", "40", "-n", "1")
    assert found["job"]["verdict"] == "imbalance" and found["imbalances"][0]["kind"] == "role"
    assert_costs(found, truth)


@case
def messages_become_equal_with_the_tokens():
    for routing in ("hot", "rotating", "burst"):
        found, truth = told(routing, "-p", "moe", "--routing", routing, "--hot", "200", "-n", "1")
        assert found["job"]["verdict"] == "imbalance" and found["imbalances"][0]["how"] == "collectives"
        assert_costs(found, truth)


@case
def slow_rank_beside_unequal_work_has_its_own_price():
    fault = ["-f", "slow_rank:rank=5,phase=data,percent=30,steps=10-49"]
    for name, program in (("tokens", ["-p", "moe", "--routing", "hot", "--hot", "100"]),
                          ("stages", ["-p", "pipeline", "--stage-skew", "20"]),
                          ("lengths", ["--lengths", "20"])):
        # The seed makes another rank's expert hot.
        assert_costs(*told(name, *program, "-n", "1", "--seed", "2", *fault))


simulated.main()
