"""One part of validate.sh: runs programs on the GPU under profwrap, and checks what was recorded.

    validate.py PART

Each check prints a line and adds it to the record; see validate_run.py.
"""
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile

import h5py

from validate_run import (BUILD, HERE, PROFWRAP, Failed, Skipped, await_end, check, end, enum_names,
                          is_standin, overhead, profiled, rows, run, run_checks, setting, start,
                          texts)

KERNELS = os.path.join(BUILD, "tests", "gpu", "gpukernels")
NOBODY = 65534
OVERHEAD_PERCENT = float(setting("OVERHEAD_PERCENT", 1))
# Two ranks on one GPU: NCCL refuses that unless they seem to be on different hosts.
TWO_ON_ONE = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NET": "Socket",
              "NCCL_SOCKET_IFNAME": "lo", "NCCL_NVLS_ENABLE": "0", "NCCL_MAX_CTAS": "2"}


def have_torch():
    """A Python whose PyTorch has CUDA."""
    for python in (sys.executable, "python3"):
        try:
            run([python, "-c", "import torch; assert torch.cuda.is_available()"])
            return python
        except Failed:
            continue
    raise Skipped("no Python with a PyTorch that has CUDA, and a GPU for it")


def need_gpu():
    """Skips with the program's own reason where there is none."""
    if not os.access(KERNELS, os.X_OK):
        raise Skipped(f"{KERNELS} was not built")
    run([KERNELS, "kernels", 1])


# ---- A: kernels ----

def a_ptx_is_valid():
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not os.access(ptxas, os.X_OK):
        raise Skipped("no ptxas: the driver will see")
    with tempfile.NamedTemporaryFile() as out:
        run([ptxas, "-arch=sm_90", os.path.join(HERE, "spin.ptx"), "-o", out.name])
    return "assembles for sm_90"


def a_injection_and_return_codes():
    need_gpu()
    file = profiled("codes", KERNELS, "kernels", 10)
    found = overhead(file)
    check(found.get("cupti_result") == 0, "CUPTI answered", found.get("cupti_result"),
          "(none: InitializeInjection was not called)")
    return f"CUPTI {found['cupti_version']:.0f} answers 0"


def a_kernels_inside_their_ranges():
    need_gpu()
    file = profiled("ranges", KERNELS, "kernels", 1000, 20000)
    names = texts(file)
    kernels = sorted(rows(file, "events/kernel"), key=lambda r: r["start"])
    ranges = sorted((r for r in rows(file, "events/range") if names[r["name"]] == "work"),
                    key=lambda r: r["start"])
    check(len(kernels) == len(ranges) == 1000, len(kernels), "kernels in", len(ranges), "ranges")
    margins = []
    for kernel, outer in zip(kernels, ranges):
        check(names[kernel["name"]] == "spin", "kernel", names[kernel["name"]])
        check(names[kernel["launched_by"]] == "work", "launched by", names[kernel["launched_by"]])
        margins += [int(kernel["start"] - outer["start"]), int(outer["end"] - kernel["end"]),
                    int(kernel["launch"] - outer["start"])]
    check(min(margins) >= 0, "a kernel is", -min(margins), "ns outside its range")
    length = statistics.median(int(k["end"] - k["start"]) for k in kernels)
    check(18000 <= length <= 40000, "kernels of 20 us last", length, "ns")
    return f"1000 of 1000, nearest {min(margins)} ns from an end; median length {length:.0f} ns"


def step_ns(*before, level=None):
    command = [KERNELS, "steps", 200, 200000]
    if level is not None:
        command = [PROFWRAP, "--quiet", "--no-merge", "--level", level, "-o", f"cost-{before[0]}",
                   *command]
    return float(run(command).split()[1])


def a_overhead():
    """Steps of 50 kernels of 200 us, interleaved; budget 1 % at level 1. A stand-in's share says
    nothing, and is asked for once."""
    need_gpu()
    ways = {"off": None, "level 0": 0, "level 1": 1, "level 2": 2}
    found = {way: [] for way in ways}
    for turn in range(1 if is_standin() else 5):
        for way, level in ways.items():
            found[way].append(step_ns(f"{turn}-{level}", level=level))
    plain = statistics.median(found["off"])
    shares = {way: 100 * (statistics.median(found[way]) / plain - 1) for way in ways}
    text = ", ".join(f"{way} {share:+.2f} %" for way, share in shares.items() if way != "off")
    check(shares["level 1"] <= OVERHEAD_PERCENT, "level 1 costs more than", OVERHEAD_PERCENT, "%:",
          text)
    return f"step {plain / 1e6:.3f} ms; {text}"


def a_launch_cost():
    """Kernels of no length: what a launch costs more."""
    need_gpu()
    found = {}
    for name, level in (("off", None), ("level 0", 0), ("level 1", 1), ("level 2", 2)):
        command = [KERNELS, "steps", 400, 0]
        if level is not None:
            command = [PROFWRAP, "--quiet", "--no-merge", "--level", level, "-o",
                       f"launch-{level}", *command]
        found[name] = statistics.median(
            float(run(["sh", "-c", 'rm -rf launch-*; exec "$@"', "sh", *command]).split()[1])
            for _ in range(3)) / 50
    return ", ".join(f"{name} {ns:.0f} ns" for name, ns in found.items()) + " a launch (figure only)"


def a_graph_replay():
    need_gpu()
    kernels = rows(profiled("graph", KERNELS, "graph", 100, 5000), "events/kernel")
    nodes = {int(k["graph_node"]) for k in kernels}
    check(len(kernels) == 1000, len(kernels), "kernels instead of 1000")
    check(len(nodes) == 10 and 0 not in nodes, "nodes", nodes)
    launches = {int(k["correlation"]) for k in kernels}
    check(len(launches) == 100, len(launches), "launches of the graph")
    return "10 nodes, 100 replays"


def a_copies_and_memsets():
    need_gpu()
    file = profiled("copies", KERNELS, "copies", 100)
    kinds = enum_names(file, "events/memcpy", "kind")
    check(kinds.count("h2d") == 100, "copies", kinds[:5])
    check(len(rows(file, "events/memset")) == 100, "memsets", len(rows(file, "events/memset")))
    return "100 each"


def a_kill_recovery():
    need_gpu()
    late = rows(profiled("killed", KERNELS, "die", 2000, 20000, "later", status=-signal.SIGKILL),
                "events/kernel")
    at_once = rows(profiled("killed-at-once", KERNELS, "die", 2000, 20000, status=-signal.SIGKILL),
                   "events/kernel")
    check(len(late) == 2000, len(late), "of 2000 kernels, killed a second later")
    return f"2000 of 2000 when killed a second later, {len(at_once)} when killed at once"


def a_without_root():
    need_gpu()
    if os.geteuid() != 0:
        check(len(rows(profiled("user", KERNELS, "kernels", 10), "events/kernel")) == 10, "kernels")
        return "this whole run is not root's"
    if not shutil.which("setpriv"):
        raise Skipped("no setpriv to become another user")
    become = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
    with tempfile.TemporaryDirectory(prefix="pwgpu-nobody-", dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        for needed in (PROFWRAP, KERNELS):
            try:
                run([*become, "test", "-x", needed], cwd=folder)
            except Failed:
                raise Skipped(f"user nobody may not run {needed}") from None
        run([*become, PROFWRAP, "--quiet", "--no-merge", "-o", "out", KERNELS, "kernels", 10],
            cwd=folder)
        with h5py.File(os.path.join(folder, "out", "rank-00000.h5"), "r") as file:
            found = len(rows(file, "events/kernel"))
    check(found == 10, found, "kernels instead of 10")
    return "10 of 10 kernels as user nobody"


# ---- B: beside PyTorch's profiler ----

def b_yields_and_comes_back():
    need_gpu()
    python = have_torch()
    said = run([PROFWRAP, "--quiet", "--no-merge", "-o", "torch", python,
                os.path.join(HERE, "with_torch.py"), "profiled"])
    theirs = int(said.split("theirs")[1].split()[0])
    file = h5py.File("torch/rank-00000.h5", "r")
    reasons = enum_names(file, "events/gap", "reason")
    taken = [g for g, reason in zip(rows(file, "events/gap"), reasons) if reason == "cupti_taken"]
    kernels = rows(file, "events/kernel")
    check(theirs >= 50, "PyTorch's profiler saw", theirs, "kernels")
    check(len(taken) == 1, "gaps:", reasons)
    before = sum(int(k["end"]) <= int(taken[0]["start"]) for k in kernels)
    after = sum(int(k["start"]) >= int(taken[0]["end"]) for k in kernels)
    check(before >= 50 and after >= 50 and before + after == len(kernels),
          before, "before,", after, "after, of", len(kernels))
    return f"theirs {theirs}; ours {before} before and {after} after the gap, none in it"


# ---- C: two NCCL ranks on one GPU ----

def two_ranks(python):
    script, ranks = os.path.join(HERE, "with_torch.py"), []
    try:
        for rank in range(2):
            env = {**TWO_ON_ONE, "NCCL_HOSTID": f"h{rank}", "RANK": str(rank), "WORLD_SIZE": "2",
                   "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                   "MASTER_PORT": "29511", "TORCHELASTIC_RUN_ID": "validate",
                   "STANDIN_MEET": os.path.abspath("meet")}
            ranks.append(start([PROFWRAP, "--quiet", "--no-merge", "-o", "nccl", python, script,
                                "ranks"], env))
        for number, process in enumerate(ranks):
            errors = await_end(process, f"rank {number}")[1]
            check(process.returncode == 0, "rank", number, "ended with", process.returncode,
                  errors[-400:])
    finally:
        for process in ranks:
            end(process)


def c_collectives_match():
    need_gpu()
    two_ranks(have_torch())
    seen = []
    for rank in range(2):
        file = h5py.File(f"nccl/rank-{rank:05d}.h5", "r")
        events, sources = rows(file, "events/comm"), enum_names(file, "events/comm", "source")
        comms = rows(file, "comms")
        ops = enum_names(file, "events/comm", "op")
        seen.append([(int(comms[e["comm"]]["uid"]), int(e["seq"])) for e, source, op in
                     zip(events, sources, ops) if source == "nccl" and "llreduce" in op.lower()])
        check(len(rows(file, "events/nccl")), "rank", rank, "has no rows in /events/nccl")
    check(len(seen[0]) >= 100, len(seen[0]), "collectives of rank 0")
    check(set(seen[0]) == set(seen[1]), "communicators and numbers of the two ranks differ")
    return f"{len(seen[0])} collectives with the same communicator and number on both ranks"


def c_late_rank_is_named():
    need_gpu()
    if not os.path.exists("nccl/rank-00001.h5"):
        two_ranks(have_torch())
    run([PROFWRAP, "merge", "nccl"])
    report = json.loads(run([PROFWRAP, "report", "--format", "json", "nccl"]))
    found = report["stragglers"]
    check(found and found[0]["rank"] == 1, "stragglers:", found[:1])
    excess = found[0]["excess_ns"]
    check(40e6 <= excess <= 60e6, "rank 1 is named with", excess, "ns instead of 50 ms")
    return f"rank 1, {excess / 1e6:.1f} ms a step"


# ---- D: NVML, and the way to h5py ----

def d_nvml_cost():
    need_gpu()
    file = profiled("nvml", KERNELS, "kernels", 20000, 200000, options=("--sample-hz", 10))
    samples, found = rows(file, "samples/gpu"), overhead(file)
    check(len(samples) >= 20, len(samples), "samples")
    check(all(s["sm_clock_mhz"] > 0 for s in samples), "clocks are not readable")
    share = found["nvml_sample"] * 10 / 1e9
    check(share <= 0.2, f"reading takes {100 * share:.0f} % of a core at 10 Hz")
    watts = [int(s["power_mw"]) / 1000 for s in samples]
    return (f"{found['nvml_sample'] / 1e6:.2f} ms a sample of the collector's time; "
            f"{samples['sm_clock_mhz'].max()} MHz, {max(watts):.0f} W at most")


def d_whole_way():
    need_gpu()
    run([PROFWRAP, "--quiet", "-o", "whole", KERNELS, "kernels", 1000])
    with h5py.File("whole/rank-00000.h5", "r") as file:
        devices = rows(file, "devices")
        check(len(rows(file, "events/kernel")) == 1000, "kernels")
        check(len(devices) >= 1 and devices[0]["uuid"].startswith(b"GPU-"), devices)
        name = devices[0]["name"].decode()
    check(os.path.exists("whole/cluster.h5"), "no cluster.h5")
    return f"1000 kernels of {name} read by h5py {h5py.__version__}; merged"


def main():
    part = sys.argv[1]
    functions = [f for name, f in globals().items() if name.startswith(part.lower() + "_")]
    # What can be checked without a GPU does not make a validation.
    return run_checks(part, functions, lambda f: f is not a_ptx_is_valid)


if __name__ == "__main__":
    sys.exit(main())
