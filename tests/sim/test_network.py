"""Slow transfers between hosts: what the merge and the report say of links, hosts and congestion.

    test_network.py PROFWRAP CASE        test_network.py --list
"""
import simulated
from simulated import case, told

RENDEZVOUS = ["-p", "ring", "--message", "1M", "--eager", "64K"]


def assert_cost(found, truth, within):
    lost, gain = truth["faults"][0]["lost_ns"], found["network"][0]["gain_ns"]
    assert abs(gain / lost - 1) < within, (gain, lost)


@case
def slow_link_between_two_hosts_of_two_ranks_leads():
    for window, first, last in (("", 0, 99), (",steps=40-59", 40, 59)):
        found, truth = told(f"link{first}", *RENDEZVOUS, "-r", "4", "--ranks-per-host", "2", "-s",
                            "100", "-f", f"slow_link:from=1,to=2,percent=3000{window}")
        assert found["job"]["verdict"] == "network", found["job"]
        begin = f"The link between ranks 1 and 2 (node0000, node0001) was slow in steps {first}-{last}: "
        assert found["job"]["headline"].startswith(begin), found["job"]["headline"]
        row = found["network"][0]
        assert (row["scope"], row["src"], row["dst"]) == ("link", 1, 2), row
        assert row["mean_ns"] > 10 * row["usual_ns"], row  # 31 times
        assert_cost(found, truth, 0.2)
        saves = {advice["rule"]: advice["saves_ns"] for advice in found["advice"]}
        assert saves["slow_network"] == row["gain_ns"] and "slow_link" not in saves, saves
        (network,) = [what for what in found["whatif"]["scenarios"] if what["scope"] == "network"]
        assert max(saves.values()) <= network["gain_ns"], (saves, network)


@case
def congested_host_is_named():
    found, truth = told("host", *RENDEZVOUS, "-r", "32", "--ranks-per-host", "4", "-s", "100", "-f",
                        "congestion:host=3,percent=3000,steps=0-99")
    assert found["job"]["headline"].startswith("The network at host node0003 was slow in steps 0-99: ")
    assert found["network"][0]["hostname"] == "node0003", found["network"]
    assert_cost(found, truth, 0.3)


@case
def congestion_of_collectives_is_the_networks_in_its_steps():
    found, truth = told("all", "-p", "data", "-r", "8", "--ranks-per-host", "4", "-s", "100", "-f",
                        "congestion:percent=1000,steps=30-59")
    assert found["job"]["verdict"] == "network", found["job"]
    assert found["job"]["headline"].startswith("The network between all hosts was slow in steps 30-59: ")
    assert_cost(found, truth, 0.1)


@case
def bursts_of_other_traffic_in_a_stretch_are_found_on_both_kinds_of_calls():
    found, truth = told("bursts", "-p", "halo", "-c", "1", "-r", "8", "--ranks-per-host", "4", "-s", "100",
                        "--step-us", "40000", "-n", "1", "--seed", "35", "-f",
                        "congestion:percent=3000,steps=20-69")
    assert found["job"]["headline"].startswith("The network between all hosts was slow in steps 20-69: ")
    assert_cost(found, truth, 0.1)


@case
def congestion_of_the_whole_run_is_told_by_its_fastest_transfers():
    options = ["-p", "data", "-r", "8", "--ranks-per-host", "2", "-s", "100", "-f", "congestion:percent=1000"]
    found, truth = told("always", "--os-samples", *options)
    assert found["job"]["verdict"] == "network", found["job"]
    assert found["job"]["headline"].startswith("The network between all hosts was unsteady: "), found["job"]
    (row,) = found["network"]
    assert (row["scope"], row["src"], row["hostname"], row["steps"]) == ("unsteady", None, None, 100), row
    assert_cost(found, truth, 0.2)
    assert row["gain_ns"] < truth["faults"][0]["lost_ns"], "the fastest were slow, too"
    found, _ = told("no samples", *options)
    assert found["network"] == [], "nothing shows that the ranks had their CPUs"


@case
def other_networks_are_not_named():
    for name, options in (("clean", ["-p", "ring"]), ("halo", ["-p", "halo", "-n", "5"]),
                          ("hybrid", ["-p", "hybrid", "-n", "3"]), ("pipeline", ["-p", "pipeline"]),
                          ("rank", [*RENDEZVOUS, "-f", "slow_rank:rank=3,percent=50,steps=40-59"]),
                          ("one host", [*RENDEZVOUS, "--ranks-per-host", "8", "-f",
                                        "slow_link:from=1,to=2,percent=3000"])):
        found, _ = told(name, "-r", "8", "--ranks-per-host", "4", "-s", "100", *options)
        assert found["network"] == [] and found["job"]["verdict"] != "network", (name, found["job"])


simulated.main()
