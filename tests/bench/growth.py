"""How the merge and the reports grow along each axis by itself: steps, ranks, slow ranks, events,
communicators, names of ranges, threads, windows, hosts and run time.

    growth.py PROFWRAP [--axis NAME,...] [--size small|full] [--times] [--most N] [--processes N]

For every size of an axis a run is written, by `profwrap sim` or as rank files of docs/schema.md, then
merged, by one process if not told otherwise, and reported as text, JSON and HTML. Printed are seconds,
the peak memory of the largest process, and sizes of files; then
the exponents of processor time and memory over the two largest sizes. Merge and report must end with
status 0, cluster.h5 must have what was written, and nothing may grow worse than by the exponents of
AXES. A status other than 0 without one sentence is distinguished from one with it.

The small sizes are a test: they have columns of many chunks, more threads than there are rings, and a
year of timestamps. They take too little for exponents. Instead, what the largest takes above a run of
one step is compared with what it took when this was written (SMALL): twice the memory is a failure.
With --times, which is for a machine without other work, so is three times the processor time, in units of
that run's merge, which is as fast as the machine: the larger size is at least ten times the smaller, and
what takes quadratic time for it takes more. The steps' figures are of two processes, the others' of one.
"""
import argparse
import dataclasses
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Callable

import measure
from measure import report

h5py = measure.h5py()
import numpy  # noqa: E402

YEAR_NS = 31_556_952 * 10**9
START_NS = 10**9
ROWS_A_WRITE = 1 << 20
OPERATORS_MOST = 100_001  # rows, the last of which is of all others
# No exponent is given for what is shorter or smaller: starting and ending dominate it.
LEAST_S, LEAST_BYTES = 0.5, 64 << 20
PAGE_MOST_BYTES = 24 << 20  # that a browser shall read


# ---- runs ----

def sim(where, *options):
    subprocess.run([profwrap, "sim", *map(str, options), where], check=True)


def replace(file, path, rows):
    """Replaces the rows of a table, stored as rank files store tables."""
    dtype = file[path].dtype
    del file[path]
    dataset = file.create_dataset(path, (len(rows),), dtype, maxshape=(None,), shuffle=True,
                                  chunks=(max(1, min(8192, len(rows))),), compression="gzip",
                                  compression_opts=1)
    for begin in range(0, len(rows), ROWS_A_WRITE):
        dataset[begin:begin + ROWS_A_WRITE] = rows[begin:begin + ROWS_A_WRITE]


def table(file, path, count, **fields):
    """Writes `count` rows that are like the first row of the existing table, but have these
    fields."""
    old = file[path]
    rows = numpy.zeros(count, old.dtype)
    if len(old):
        rows[:] = old[0]
    for field, values in fields.items():
        rows[field] = values
    replace(file, path, rows)


def sim_files(where, ranks=2, **options):
    """A small run of one step, whose files are then extended."""
    sim(where, "-r", ranks, "-s", 1, "-c", 1, *(
        part for name, value in options.items() for part in ("--" + name.replace("_", "-"), value)))
    for rank in range(ranks):
        with h5py.File(os.path.join(where, f"rank-{rank:05d}.h5"), "r+") as file:
            yield rank, file


def one_step(file, end):
    table(file, "steps", 1, step=0, start=START_NS, end=end)


def slots(count, apart=1000):
    """The times at which `count` things begin, one after the other."""
    return START_NS + apart * numpy.arange(count, dtype="i8")


def write_steps(where, size):
    sim(where, "-r", 2, "-s", size, "-c", 1)
    return {"steps": size}


def write_ranks(where, size):
    sim(where, "-r", size, "-s", 2, "-c", 1, "--ranks-per-host", 16)
    return {"ranks": size}


def write_hosts(where, size):
    sim(where, "-r", size, "-s", 4, "-c", 1, "--ranks-per-host", 1)
    return {"ranks": size, "hosts": size}


def write_slow_ranks(where, size):
    """An eighth of the ranks is slow, on one host. The ranks' work differs by design, too."""
    sim(where, "-r", size, "-s", 100, "-c", 1, "--ranks-per-host", size // 8, "--os-samples",
        "--tell-roles", "--lengths", 30, "-f", "slow_host:host=1,percent=40")
    return {"ranks": size, "hosts": 8}


def write_events(where, size):
    """Half of the events are ranges, half are collectives, of 32 ranks, in ten steps."""
    ranks = 32
    count = size // (2 * ranks)
    names = numpy.arange(count) % 5 + 1
    for rank, file in sim_files(where, ranks, ranks_per_host=16):
        times = slots(count)
        table(file, "events/comm", count, start=times + 500, end=times + 900 + rank,
              seq=numpy.arange(count), inside_ns=400 + rank)
        table(file, "events/range", count, start=times, end=times + 490, name=names)
        table(file, "comms", 1, collectives=count)
        bounds = START_NS + 1000 * (count * numpy.arange(11) // 10)
        table(file, "steps", 10, step=numpy.arange(10), start=bounds[:-1], end=bounds[1:])
    return {"events": 2 * ranks * count, "steps": 10}


def write_communicators(where, size):
    """One collective on each communicator."""
    for rank, file in sim_files(where):
        times = slots(size)
        table(file, "comms", size, uid=1 + numpy.arange(size, dtype="u8") * 0x9E3779B97F4A7C15,
              collectives=1, first_member=2 * numpy.arange(size))
        table(file, "comm_members", 2 * size, world_rank=numpy.arange(2 * size) % 2)
        table(file, "events/comm", size, start=times + 100 * rank, end=times + 500 + rank,
              comm=numpy.arange(size), seq=0, inside_ns=400)
        table(file, "events/range", 0)
        one_step(file, START_NS + 1000 * size)
    return {"ranks": 2, "communicators": size}


def write_names(where, size):
    """Ranges that all have different names."""
    for _, file in sim_files(where):
        times = slots(size)
        old = list(file["strings"][:])
        del file["strings"]
        names = numpy.array(old + [b"range %d" % k for k in range(size)], dtype=object)
        file.create_dataset("strings", data=names, dtype=h5py.string_dtype())
        table(file, "events/range", size, start=times, end=times + 900,
              name=len(old) + numpy.arange(size), kind=enum(file, "events/range", "kind", "operator"))
        one_step(file, START_NS + 1000 * size)
    return {"ranks": 2, "operators": min(size, OPERATORS_MOST)}


def write_threads(where, size):
    """Each thread has ten ranges and ten calls. Up to 256 threads run at a time; the others
    follow."""
    each = 10
    for rank, file in sim_files(where):
        turn = numpy.repeat(numpy.arange(size) // 256, each)
        times = START_NS + 1000 * (turn * each + numpy.tile(numpy.arange(each), size))
        lanes = numpy.repeat(numpy.arange(size), each)
        order = numpy.argsort(times, kind="stable")
        times, lanes = times[order], lanes[order]
        table(file, "events/comm", len(times), start=times + 500, end=times + 900 + rank,
              seq=numpy.arange(len(times)), thread=lanes, inside_ns=400)
        table(file, "events/range", len(times), start=times, end=times + 490, thread=lanes,
              kind=enum(file, "events/range", "kind", "operator"))
        table(file, "comms", 1, collectives=len(times))
        one_step(file, int(times[-1]) + 1000)
    return {"ranks": 2, "events": 4 * each * size}


def write_windows(where, size):
    """Recorded steps and pauses alternate."""
    for _, file in sim_files(where):
        times, steps = slots(size, 2_000_000), 2 * numpy.arange(size)
        windows = dict(first_step=steps, last_step=steps, warmup_first_step=-1, warmup_last_step=-1,
                       start=times, end=times + 1_000_000)
        table(file, "windows", size, window=numpy.arange(size), cause=1, **windows)
        table(file, "events/gap", size - 1, start=times[:-1] + 1_000_000, end=times[1:], lost=0,
              reason=enum(file, "events/gap", "reason", "paused"), thread=65535)
        table(file, "steps", size, step=steps, start=times, end=times + 1_000_000)
        table(file, "events/comm", size, start=times + 1000, end=times + 900_000,
              seq=2 * numpy.arange(size), inside_ns=899_000)
        table(file, "events/range", size, start=times, end=times + 999_000)
        table(file, "comms", 1, collectives=2 * size)
    return {"ranks": 2, "steps": size}


def enum(file, name, field, value):
    return h5py.check_enum_dtype(file[name].dtype[field])[value]


def write_run_time(where, size):
    """A run of this many seconds on two hosts: steps are spread over the run, and clocks are
    measured every 5 s, as collectors do. The second host's clock is 50 ppm fast."""
    span, count = int(size) * 10**9, 10_000
    knots = max(2, int(size) // 5)
    for rank, file in sim_files(where, ranks_per_host=1):
        def clock(true):
            return START_NS + (true + true // 20_000 if rank else true)
        bounds = span // count * numpy.arange(count + 1, dtype="i8")
        starts, ends = clock(bounds[:-1]), clock(bounds[1:])
        busy = (ends - starts) // 2
        table(file, "steps", count, step=numpy.arange(count), start=starts, end=ends)
        table(file, "events/comm", count, start=starts + busy, end=starts + busy + 1000,
              seq=numpy.arange(count), inside_ns=1000)
        table(file, "events/range", count, start=starts, end=starts + busy)
        table(file, "comms", 1, collectives=count)
        true = numpy.linspace(0, span, knots).astype("i8")
        table(file, "clock", knots, local_ns=clock(true), offset_ns=true - clock(true) + START_NS,
              error_ns=1000 * rank)
        began = int(file.attrs["start_unix_ns"])
        file.attrs.modify("end_unix_ns", numpy.int64(began + span))
    return {"ranks": 2, "steps": count}


@dataclasses.dataclass
class Axis:
    write: Callable
    small: tuple
    full: tuple
    time: float = 1.15  # largest exponents of processor time and memory over the size
    memory: float = 1.1


AXES = {
    "steps": Axis(write_steps, (1000, 20_000), (100_000, 1_000_000, 10_000_000)),
    "ranks": Axis(write_ranks, (16, 256), (1000, 3000, 10_000)),
    "slow-ranks": Axis(write_slow_ranks, (32, 768), (256, 1024, 4096)),
    "events": Axis(write_events, (50_000, 500_000), (1_000_000, 10_000_000, 100_000_000)),
    "communicators": Axis(write_communicators, (1000, 20_000), (10_000, 30_000, 100_000)),
    "names": Axis(write_names, (1000, 30_000), (10_000, 100_000, 1_000_000)),
    "threads": Axis(write_threads, (16, 2000), (250, 1000, 10_000, 60_000)),
    "windows": Axis(write_windows, (10, 10_000), (100, 1000, 10_000, 100_000)),
    "hosts": Axis(write_hosts, (4, 64), (100, 300, 1000)),
    "run-time": Axis(write_run_time, (86_400, YEAR_NS // 10**9),
                     (3600, 86_400, YEAR_NS // 10**9), time=0.7, memory=0.3),
}


FORMS = ("merge", "text", "json", "html")
# Limits at the largest small size: processor time above that of the least run, in its merges; MiB above its.
# A page opens up to 64 rank files for each of up to 5 steps, for their timelines.
SMALL = {
    "steps": ((2.8, 34), (0.2, 11), (1.4, 67), (0.8, 20)),
    "ranks": ((5.0, 2), (0.1, 0), (0.2, 1), (8.0, 0)),
    "slow-ranks": ((19.7, 59), (0.6, 6), (2.0, 16), (5.0, 29)),
    "events": ((9.5, 107), (0.2, 3), (0.2, 3), (8.8, 9)),
    "communicators": ((2.0, 20), (0.5, 8), (6.8, 69), (5.0, 37)),
    "names": ((3.1, 36), (1.3, 22), (6.0, 75), (7.0, 89)),
    "threads": ((1.0, 12), (0.3, 4), (0.3, 4), (1.1, 14)),
    "windows": ((1.4, 18), (0.4, 7), (3.2, 46), (2.0, 21)),
    "hosts": ((1.3, 0), (0.1, 0), (0.1, 0), (7.5, 0)),
    "run-time": ((12.8, 17), (0.4, 7), (2.4, 32), (1.2, 9)),
}
SMALL_TIME, SMALL_MEMORY = 3, 2  # times as much is a failure
NOISE_MERGES, NOISE_BYTES = 1, 12 << 20


# ---- what is done with them ----

@dataclasses.dataclass
class Cost:
    processor_s: float
    elapsed_s: float
    peak_bytes: int


# A child's peak memory begins with what its parent has: this one has little.
STARTER = """
import json, os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as file:
    json.dump([os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss], file)
"""


def measured(command):
    """Runs the command. If its status is not 0, it must explain this in one sentence; the benchmark
    ends in any case."""
    start = time.monotonic()
    usage = os.path.join(where, "usage")
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile() as answer:
        subprocess.run([sys.executable, "-I", "-S", "-c", STARTER, usage, shutil.which(command[0]),
                        *command[1:]], stdout=answer, stderr=said, check=True)
        said.seek(0)
        text = said.read()
    with open(usage) as file:
        status, processor_s, peak = json.load(file)
    if status != 0:
        print(f"{' '.join(command)}: status {status}")
        print(text[-3000:])
        explained = status > 0 and text.startswith("profwrap: ") and text.count("\n") == 1
        raise Failed("it says why" if explained else "it does not say why in one sentence")
    return Cost(processor_s, time.monotonic() - start, peak * 1024)


class Failed(Exception):
    pass


def see(cluster, wanted):
    """The numbers of steps, ranks, events and so on in the cluster file."""
    with h5py.File(cluster) as file:
        found = {"steps": len(file["steps"]), "ranks": int(file["ranks"]["present"].sum()),
                 "events": int(file["ranks"]["events"].sum()), "hosts": int(file.attrs["nhosts"])}
        if "communicators" in wanted:
            found["communicators"] = len(set(file["collectives"]["comm_uid"].tolist()))
        if "operators" in wanted:
            found["operators"] = len(file["operators"])
    return found


def parse(page):
    with open(page) as file:
        json.load(file)


def compare(found, wanted):
    for name, count in wanted.items():
        if found[name] != count:
            raise Failed(f"cluster.h5 has {found[name]} {name}, but {count} were written")


def size_text(count):
    return f"{count / 1e6:.2f} MB" if count < 1e9 else f"{count / 1e9:.2f} GB"


def total_size(folder):
    return sum(entry.stat().st_size for entry in os.scandir(folder))


def merge_and_report(folder, wanted):
    """({command or format: its cost}, {file: its size})."""
    cluster = os.path.join(folder, "cluster.h5")
    written = total_size(folder)
    # The merge that is linked with MPI, also for one process: its start is part of the unit of all budgets.
    command = [os.path.join(os.path.dirname(profwrap), "../libexec/profwrap/profwrap-merge"), "-q", folder]
    if options.processes > 1:
        command = ["mpirun", "-np", str(options.processes), profwrap, "merge", "-q", folder]
    costs = {"merge": measured(command)}
    compare(aside(see, cluster, wanted), wanted)
    page = os.path.join(folder, "page")
    sizes = {"rank files": written, "cluster.h5": os.path.getsize(cluster)}
    for form in ("text", "json", "html"):
        costs[form] = measured([profwrap, "report", "--format", form, "-o", page, cluster])
        if form == "json":
            aside(parse, page)
        sizes[form] = os.path.getsize(page)
    if sizes["html"] > PAGE_MOST_BYTES:
        raise Failed(f"the page has {size_text(sizes['html'])}")
    return costs, sizes


def aside(function, *arguments):
    """Calls the function in another process, because the peak memory of a child begins with that of
    its parent."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(function(*arguments)).encode())
            os._exit(0)
        finally:
            os._exit(traceback.print_exc() or 1)
    os.close(writer)
    with open(reader) as answer:
        text = answer.read()
    assert os.waitpid(child, 0)[1] == 0, "the run was not written"
    return json.loads(text)


def exponent(smaller, larger, ratio):
    return math.log(larger / smaller) / math.log(ratio)


def judge(what, costs, sizes, axis):
    """Judges the two largest sizes, and only if the larger one costs more than starting and
    ending."""
    (few, small), (many, large) = costs[-2:]
    ratio, good = many / few, True
    for form in small:
        a, b = small[form], large[form]
        if b.processor_s >= LEAST_S:
            grown = exponent(max(a.processor_s, LEAST_S / 5), b.processor_s, ratio)
            good &= report(f"{what}, {form}: exponent of processor time", grown, axis.time)
        if b.peak_bytes >= LEAST_BYTES:
            grown = exponent(max(a.peak_bytes, LEAST_BYTES / 2), b.peak_bytes, ratio)
            good &= report(f"{what}, {form}: exponent of memory", grown, axis.memory)
    return good


def judge_small(what, least, largest):
    good, merge_s = True, least["merge"].processor_s
    for form, (times, mebibytes) in zip(FORMS, SMALL[what]):
        if options.times:
            taken = (largest[form].processor_s - least[form].processor_s) / merge_s
            good &= report(f"{what}, {form}: processor time in merges of the least run", taken,
                           SMALL_TIME * times + NOISE_MERGES)
        more = (largest[form].peak_bytes - least[form].peak_bytes) / 2**20
        good &= report(f"{what}, {form}: memory above the least run's", more,
                       SMALL_MEMORY * mebibytes + NOISE_BYTES / 2**20, " MiB")
    return good


def least_run():
    """The least costs of three runs of one step."""
    runs = []
    for number in range(3):
        folder = os.path.join(where, f"least-{number}")
        sim(folder, "-r", 2, "-s", 1, "-c", 1)
        runs.append(merge_and_report(folder, {"ranks": 2})[0])
        shutil.rmtree(folder)
    return {form: Cost(*(min(values) for values in zip(*(dataclasses.astuple(run[form])
                                                        for run in runs)))) for form in FORMS}


def grow(what, axis, sizes):
    costs = []
    least = least_run() if options.size == "small" else None
    for size in sizes:
        folder = os.path.join(where, f"{what}-{size}")
        start = time.monotonic()
        wanted = aside(axis.write, folder, size)
        print(f"{what} {size}: written in {time.monotonic() - start:.1f} s", flush=True)
        try:
            done, files = merge_and_report(folder, wanted)
        except Failed as failure:
            print(f"{what} {size}: FAILED, {failure}")
            return False
        costs.append((size, done))
        print(f"{what} {size}: " + "; ".join(
            f"{form} {cost.processor_s:.2f} s of processor, {cost.elapsed_s:.2f} s elapsed, "
            f"{cost.peak_bytes / 2**20:.0f} MiB" for form, cost in done.items()))
        print(f"{what} {size}: " + ", ".join(f"{name} {size_text(n)}" for name, n in files.items()),
              flush=True)
        shutil.rmtree(folder)
    if least:
        return judge_small(what, least, costs[-1][1])
    return len(costs) < 2 or judge(what, costs, sizes, axis)


parser = argparse.ArgumentParser()
parser.add_argument("profwrap")
parser.add_argument("--axis", default=",".join(AXES))
parser.add_argument("--size", choices=("small", "full"), default="full")
parser.add_argument("--times", action="store_true", help="judge the small sizes' processor time, too")
parser.add_argument("--processes", type=int, default=1, help="that merge")
parser.add_argument("--most", type=int, help="leave out sizes beyond this")
options = parser.parse_args()
profwrap = os.path.abspath(options.profwrap)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
del os.environ["PROFWRAP_READ_MEMORY"]  # that measure.py allows: as by default
good = True
with tempfile.TemporaryDirectory(prefix="profwrap-growth-") as where:
    for name in options.axis.split(","):
        chosen = getattr(AXES[name], options.size)
        good &= grow(name, AXES[name],
                     [size for size in chosen if not options.most or size <= options.most])
sys.exit(0 if good else 1)
