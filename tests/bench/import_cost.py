"""What it costs to import a trace: MB of JSON per second of one core's time, and memory.

    import_cost.py PROFWRAP [--gigabytes N]     PROFWRAP_BENCH_HTA: a Python that has HTA

The trace is generated: steps of operators, launches, kernels and all-reduces, in the spelling of
torch.profiler. With HolisticTraceAnalysis, its load and breakdown of a smaller one is timed, too: in
processor time of all processes, because other programs may run at the same time.
"""
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RATE_MB_S, MEMORY_MIB, TIMES_HTA = 100, 200, 5
TRACES = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "shared", "traces")
EVENT = ('  {\n    "ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": %d,\n'
         '    "ts": %d.%03d, "dur": %d.%03d,\n    "args": {\n      %s\n    }\n  }')


# A profiled step has so many blocks. With a step for each block, HTA would search a thousand steps
# for each event, and take minutes.
BLOCKS_OF_STEP = 100


def block(number):
    """The events of a part of a step, about 60 kB."""
    at, found = 1682725898000000 + 100000 * number, []

    def add(category, name, start, length, arguments, pid=4037, tid=4037):
        found.append(EVENT % (category, name, pid, tid, at + start, start % 1000, length,
                              length % 1000, arguments))
    if number % BLOCKS_OF_STEP == 0:
        add("user_annotation", f"ProfilerStep#{number // BLOCKS_OF_STEP}", 0,
            BLOCKS_OF_STEP * 100000 - 10, '"External id": 1')
    for i in range(60):
        start, correlation = 1000 * i + 10, number * 1000 + i + 1
        operator = ("aten::linear", "aten::mm", "aten::add_", "aten::native_layer_norm")[i % 4]
        add("cpu_op", operator, start, 900, f'"External id": {correlation}, "Record function id": '
            f'0, "Ev Idx": {correlation}, "Input Dims": [[{i}, 64], [64, 32]], '
            '"Input type": ["float", "float"]')
        add("cuda_runtime", "cudaLaunchKernel", start + 100, 8,
            f'"External id": {correlation}, "cbid": 211, "correlation": {correlation}')
        name = ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                if i % 20 == 0 else f"void at::native::elementwise_kernel<{i % 7}, 4>(int, float)")
        extra = (', "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, '
                 '"Group size": 1, "dtype": "Float", "Process Group Name": "0"'
                 if i % 20 == 0 else "")
        add("kernel", name, start + 200, 700,
            f'"External id": {correlation}, "queued": 0, "device": 0, "context": 1, "stream": '
            f'{20 if extra else 7}, "correlation": {correlation}, "registers per thread": 32, '
            f'"shared memory": 0, "grid": [64, 1, 1], "block": [128, 1, 1]{extra}', 0, 7)
    return ",\n".join(found)


def generate(path, megabytes):
    with open(path, "w") as file:
        file.write('{\n  "schemaVersion": 1,\n  "distributedInfo": {"backend": "nccl", "rank": 0, '
                   '"world_size": 1},\n  "traceEvents": [\n')
        number = 0
        while number == 0 or file.tell() < megabytes * 1000000:
            file.write((",\n" if number else "") + block(number))
            number += 1
        file.write("\n  ]\n}\n")
    return os.path.getsize(path) / 1e6


def imported(path, directory):
    """Processor time and elapsed time in seconds, and the peak memory in MiB."""
    begun = time.monotonic()
    process = subprocess.Popen([profwrap, "import", "-j", "1", "-o", directory, path],
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, status
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begun, usage.ru_maxrss / 1024


HTA = """
import json, os, sys
from hta.trace_analysis import TraceAnalysis
files = json.loads(sys.argv[1])
loaded = sum(os.times()[:4])
TraceAnalysis(trace_files=dict(enumerate(files)), trace_dir="/").get_temporal_breakdown(visualize=False)
print(sum(os.times()[:4]) - loaded)
"""


def processor_time():
    """Of all processes that this one started and that ended, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def race(python, files, directory):
    """Three processor times in seconds: the whole program with HTA, only its load and breakdown, and
    our commands, each with all its processes."""
    begun = processor_time()
    done = subprocess.run([python, "-c", HTA, json.dumps(files)], capture_output=True, text=True,
                          check=True)
    whole, inside = processor_time() - begun, float(done.stdout.split()[-1])
    begun = processor_time()
    for command in (["import", "-o", directory, *files], ["merge", directory],
                    ["report", "--full", directory]):
        subprocess.run([profwrap, *command], check=True, capture_output=True)
    return whole, inside, processor_time() - begun


def against_hta(where):
    """Compares whole programs. The time of HTA without the start of its interpreter is also
    printed."""
    python = os.environ.get("PROFWRAP_BENCH_HTA")
    if not python:
        print("HTA: not compared (PROFWRAP_BENCH_HTA names a Python that has it)")
        return True
    sets = {"generated": [os.path.join(where, "rank-0.json")]}
    generate(sets["generated"][0], 60)
    real = [os.path.join(TRACES, f"sampled_rank-{rank}.json.gz") for rank in (0, 1)]
    if all(os.path.exists(path) for path in real):
        sets["real, two ranks"] = real
    good = True
    for name, files in sets.items():
        runs = [race(python, files, os.path.join(where, f"{name} {i}")) for i in range(3)]
        whole, inside, ours = (statistics.median(column) for column in zip(*runs))
        megabytes = sum(os.path.getsize(path) for path in files) / 1e6
        print(f"HTA, {name} ({megabytes:.1f} MB of files): {whole:.2f} s, of which load and breakdown "
              f"{inside:.2f} s; import, merge and report {ours:.2f} s: {whole / ours:.1f} times as "
              f"fast (at least {TIMES_HTA}), {inside / ours:.1f} without HTA's start")
        good &= whole >= TIMES_HTA * ours
    return good


def main():
    where = tempfile.mkdtemp(prefix="import-cost-", dir=os.getcwd())
    try:
        path = os.path.join(where, "trace.json")
        megabytes = generate(path, 1000 * gigabytes)
        cpu, clock, memory = imported(path, os.path.join(where, "out"))
        os.unlink(path)
        print(f"{megabytes:.0f} MB of JSON: {megabytes / cpu:.0f} MB/s per core (at least "
              f"{RATE_MB_S}), {clock:.1f} s, peak {memory:.0f} MiB (at most {MEMORY_MIB})")
        good = megabytes / cpu >= RATE_MB_S and memory <= MEMORY_MIB
        sys.exit(0 if against_hta(where) and good else 1)
    finally:
        shutil.rmtree(where)


profwrap = sys.argv[1]
gigabytes = float(sys.argv[3]) if sys.argv[2:3] == ["--gigabytes"] else 0.3
main()
