"""Part A of validate.sh: kernels, as CUPTI reports them."""
import os
import shutil
import signal
import statistics
import tempfile

import libraries
from validate_run import (HERE, KERNELS, PROFWRAP, Failed, Skipped, check, counted, is_standin,
                          need_gpu, opened, percentile, profiled, record, run, setting)

NOBODY = 65534
OVERHEAD_PERCENT = float(setting("OVERHEAD_PERCENT", 1))
# What CUPTI is allowed to take on the device, and the granularity in which CUDA takes it.
REPLAY_MIB = 256 + 64


def check_ptx_is_valid():
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not os.access(ptxas, os.X_OK):
        raise Skipped("no ptxas: the driver will see")
    with tempfile.NamedTemporaryFile() as out:
        run([ptxas, "-arch=sm_90", os.path.join(HERE, "spin.ptx"), "-o", out.name])
    return "assembles for sm_90"


def check_injection_and_return_codes():
    need_gpu()
    file = profiled("codes", KERNELS, "kernels", 10)
    found = file.overhead()
    check(found.get("cupti_result") == 0, "CUPTI answered", found.get("cupti_result"),
          "(none: InitializeInjection was not called)", file.attributes.get("gpu_unrecorded", ""))
    return f"CUPTI {found['cupti_version']:.0f} answers 0"


def check_kernels_inside_their_ranges():
    need_gpu()
    file = profiled("ranges", KERNELS, "kernels", 1000, 20000)
    names = file.texts
    kernels = sorted(file.rows("events/kernel"), key=lambda r: r["start"])
    ranges = sorted((r for r in file.rows("events/range") if names[r["name"]] == "work"),
                    key=lambda r: r["start"])
    check(len(kernels) == len(ranges) == 1000, len(kernels), "kernels in", len(ranges), "ranges")
    margins = []
    for kernel, outer in zip(kernels, ranges):
        check(names[kernel["name"]] == "spin", "kernel", names[kernel["name"]])
        check(names[kernel["launched_by"]] == "work", "launched by", names[kernel["launched_by"]])
        margins.append(min(kernel["start"] - outer["start"], outer["end"] - kernel["end"],
                           kernel["launch"] - outer["start"]))
    nearest = percentile(margins, 1)
    check(nearest >= 0, "1 % of the kernels are", -nearest, "ns or more outside their ranges")
    length = statistics.median(k["end"] - k["start"] for k in kernels)
    check(18000 <= length <= 40000, "kernels of 20 us last", length, "ns")
    return (f"1000 of 1000; distance to an end of the range: 1st percentile {nearest} ns, least "
            f"{min(margins)} ns; median length {length:.0f} ns")


def step_ns(*before, level=None):
    command = [KERNELS, "steps", 200, 200000]
    if level is not None:
        command = [PROFWRAP, "--quiet", "--no-merge", "--level", level, "-o", f"cost-{before[0]}",
                   *command]
    return float(run(command).split()[1])


def check_overhead():
    """Steps of 50 kernels of 200 us, interleaved. The budget is 1 % at level 1. With a stand-in the
    share means nothing and is measured once."""
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


def check_launch_cost():
    """The added cost of a launch, with kernels of no length."""
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


def check_graph_replay():
    need_gpu()
    kernels = profiled("graph", KERNELS, "graph", 100, 5000).rows("events/kernel")
    nodes = {k["graph_node"] for k in kernels}
    check(len(kernels) == 1000, len(kernels), "kernels instead of 1000")
    check(len(nodes) == 10 and 0 not in nodes, "nodes", nodes)
    launches = {k["correlation"] for k in kernels}
    check(len(launches) == 100, len(launches), "launches of the graph")
    return "10 nodes, 100 replays"


def check_copies_and_memsets():
    need_gpu()
    file = profiled("copies", KERNELS, "copies", 100)
    kinds = [row["kind"] for row in file.rows("events/memcpy")]
    check(kinds.count("h2d") == 100, "copies", kinds[:5])
    sets = len(file.rows("events/memset"))
    check(sets == 100, sets, "memsets")
    return "100 each"


def check_kill_recovery():
    need_gpu()
    found = {}
    for name, when in (("late", ["later"]), ("at-once", [])):
        found[name] = profiled("killed-" + name, KERNELS, "die", 2000, 20000, *when,
                               status=-signal.SIGKILL).rows("events/kernel")
    late, at_once = found["late"], found["at-once"]
    check(len(late) == 2000, len(late), "of 2000 kernels, killed a second later")
    return f"2000 of 2000 when killed a second later, {len(at_once)} when killed at once"


def check_without_root():
    need_gpu()
    if os.geteuid() != 0:
        found = profiled("user", KERNELS, "kernels", 10).rows("events/kernel")
        check(len(found) == 10, len(found), "kernels instead of 10")
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
        found = len(opened(os.path.join(folder, "out")).rows("events/kernel"))
    check(found == 10, found, "kernels instead of 10")
    return "10 of 10 kernels as user nobody"


# ---- more than CUPTI's buffers hold ----

def check_pool_exhaustion():
    """The collector is stopped until CUPTI's buffers and our ring are full, and then continues. At
    level 0 all records are kernels."""
    need_gpu()
    kernels, later = 80000 if is_standin() else 400000, 100
    said = record("stalled", KERNELS, "stall", kernels, later, level=0,
                  options=("--ring-size", "64K"))
    check("stalled" in said, "the collector was not stopped")
    rows, lost = counted("stalled")
    found = rows.get("/events/kernel", 0)
    check(found + lost == kernels + later, found, "recorded and", lost, "lost, of",
          kernels + later)
    if lost == 0:
        raise Skipped(f"CUPTI kept all of {found} kernels on the device meanwhile")
    return f"{found} recorded and {lost} counted as lost, of {kernels + later}"


def check_many_threads():
    """There are more threads than buffers in the pool."""
    need_gpu()
    threads, each, buffers = 48, 100, 32
    # Small rings: 48 of the usual size are more than the shared memory that some containers have.
    file = profiled("threads", KERNELS, "threads", threads, each,
                    options=("--ring-size", "256K"))
    kernels = file.rows("events/kernel")
    check(len(kernels) == threads * each, len(kernels), "kernels and", file.lost(), "lost, of",
          threads * each)
    launched = {kernel["thread"] for kernel in kernels}
    check(len(launched) == threads and -1 not in launched, "known are", len(launched - {-1}),
          "threads of", threads)
    return f"{threads * each} of {threads * each} kernels of {len(launched - {-1})} threads"


def check_a_million_replays():
    """CUPTI stores times on the device, and this memory must not grow without end. With graphs, the
    device ran out of memory after about 8 million kernels."""
    need_gpu()
    replays, nodes = 4000 if is_standin() else 1000000, 10
    kernels = replays * nodes
    plain = run([KERNELS, "replay", replays, nodes]).split()
    said = record("replays", KERNELS, "replay", replays, nodes).split()
    rows, lost = counted("replays")
    found = rows.get("/events/kernel", 0)
    # Calls may be among what was lost.
    check(found <= kernels <= found + lost, found, "recorded and", lost, "lost, of", kernels)
    taken, without = int(said[3]), int(plain[3])
    check(taken <= without + REPLAY_MIB * 2**20, taken, "bytes of the device's memory were taken,",
          without, "without profwrap")
    return (f"{replays} replays: {found} kernels recorded, {lost} counted as lost; device memory "
            f"{taken / 2**20:.0f} MiB more at most ({without / 2**20:.0f} without profwrap); "
            f"{float(said[1]):.0f} ns a replay ({float(plain[1]):.0f})")


# ---- other libraries ----

def check_cuda_12():
    """The libcupti is older than the driver's."""
    need_gpu()
    path = libraries.cupti_12()
    if not path:
        raise Skipped("no libcupti.so.12")
    file = profiled("cuda12", KERNELS, "kernels", 100,
                    env={"PROFWRAP_CUPTI": path, "STANDIN_CUPTI": path})
    version, kernels = file.overhead().get("cupti_version", 0), file.rows("events/kernel")
    check(0 < version < 130000, "CUPTI", version, "was used instead of", path)
    check(len(kernels) == 100, len(kernels), "kernels instead of 100")
    return f"100 of 100 kernels by CUPTI {version:.0f}"
