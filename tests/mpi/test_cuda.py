"""What runs on GPUs is in the rank file: with stand-ins for CUDA's libraries (programs/standin),
which serve CUPTI's records as CUDA 11.8, 13.0 and 13.5 lay them out."""

import json
import os
import shutil
import signal
import sys
import time

import harness as h

LAYOUTS = {"13.5": "libcupti.so.13.5", "13.0": "libcupti.so.13", "11.8": "libcupti.so.11.8"}


def standin(name):
    return h.program(os.path.join("standin", name))


def run(*arguments, layout="13.0", options=(), status=0, env=None, program="gpuactor", **more):
    library = standin(LAYOUTS[layout])
    env = {"STANDIN_CUPTI": library, "PROFWRAP_CUPTI": library, **(env or {})}
    return h.run([*h.profwrap("--no-merge", "-o", "out", *options), h.program(program),
                  *arguments], status=status, env=env, **more)


def names(file):
    return [row[0] for row in h.rows(file, "events/kernel", "name")]


def no_faults(done):
    h.check("faults 0" in h.lines(done.stdout), done.stdout)


GRAPH = 9 << 32  # its number is in those of its nodes


def everything(layout, level=1):
    done = run("all", layout=layout, options=("--level", str(level)))
    no_faults(done)
    file = h.open_complete("out")
    h.equal(h.rows(file, "events/kernel", "name", "device", "stream", "graph_node", "launched_by"), [
        ("void kernel<3>(float*)", 0, 7, 0, "inner"),
        ("second_kernel", 1, 8, 0, "outer"),
        ("in_graph", 0, 3, GRAPH + 1001, "outer"),
        ("in_graph", 0, 3, GRAPH + 1002, "outer"),
        ("in_graph", 0, 3, GRAPH + 1003, "outer"),
        ("by_driver", 0, 4, 0, "" if layout == "11.8" and level == 1 else "outer"),
        ("outside", 0, 7, 0, ""),
    ], "kernels")
    shape = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers",
             "static_shared_bytes", "dynamic_shared_bytes", "context")
    h.equal(h.rows(file, "events/kernel", *shape)[0], (7, 5, 3, 256, 2, 1, 40, 1024, 200000, 1),
            "shape of a kernel")
    h.equal(h.rows(file, "events/kernel", "graph", "cluster_x", "cluster_y", "cluster_z"),
            [(0, 1, 1, 1)] * 2 + [(9, 2, 4, 1)] * 3 + [(0, 1, 1, 1)] * 2, "graphs and clusters")
    limits = ("capability", "warps", "blocks", "shared_bytes", "registers")
    h.equal([[int(d[f]) for f in limits] for d in file["devices"][:]],
            [[900, 64, 32, 228 << 10, 64 << 10]] * 2, "what devices can hold")
    for launch, start, end, thread in h.rows(file, "events/kernel", "launch", "start", "end",
                                           "thread"):
        if launch != -1:
            h.check(launch <= start <= end < launch + 10**9 and thread == 0, launch, start, end)
    return file


@h.case
def layout_of_13():
    file = everything("13.0")
    ranges = {name: (start, end) for name, start, end
              in h.rows(file, "events/range", "name", "start", "end")}
    launch, start, end = h.rows(file, "events/kernel", "launch", "start", "end")[0]
    h.check(ranges["inner"][0] <= launch < start < end <= ranges["inner"][1],
            "the kernel is not inside its range, in the same clock")
    h.equal(len(file["events/cuda_api"]) if "events/cuda_api" in file else 0, 0,
            "calls at level 1")
    h.equal(h.overhead(file)["cupti_version"], 130001, "version")
    h.check(2e6 <= h.overhead(file)["cupti_overhead"] < 1e9, "CUPTI's own time")


@h.case
def layout_of_13_5():
    file = everything("13.5")
    h.equal(h.overhead(file)["cupti_version"], 130500, "version")


@h.case
def layout_of_11_8():
    file = everything("11.8")
    h.equal(h.overhead(file)["cupti_version"], 18, "version")


@h.case
def copies_and_memory():
    for layout in LAYOUTS:
        run("all", layout=layout, options=("-o", layout))
        file = h.open_complete(layout)
        found = h.copies(file, "bytes", "src_device", "dst_device", "asynchronous", "device")
        h.equal(sorted(found), [("d2h", 8192, -1, -1, 0, 1), ("h2d", 4096, -1, -1, 1, 1),
                                ("p2p", 5 << 30, 1, 0, 0, 1)], "copies of " + layout)
        h.equal(h.rows(file, "events/memset", "bytes", "value", "launched_by"), [(77, 0xab, "outer")],
                "memsets of " + layout)
        memory = file["samples/memory"][:]
        h.equal([(int(r["device"]), int(r["delta_bytes"]), int(r["total_bytes"])) for r in memory],
                [(0, 1 << 20, 1 << 20), (0, -(1 << 18), (1 << 20) - (1 << 18))], "memory")
        waits = file["events/cuda_sync"]
        h.equal(list(zip(h.enum_names(waits, "kind"),
                         *(waits[f].tolist() for f in ("device", "stream", "event")))),
                [("stream", 0, 7, -1), ("context", 1, -1, -1)], "waits of " + layout)


@h.case
def memory_pools():
    """The device memory that pools hold in addition to allocated memory: after each change, and its
    peak in the cluster file."""
    kib, mib = 1 << 10, 1 << 20
    for layout in LAYOUTS:
        done = run("pools", layout=layout, options=("-o", layout))
        no_faults(done)
        memory = h.open_complete(layout)["samples/memory"][:]
        h.equal([tuple(int(r[f]) for f in ("delta_bytes", "total_bytes", "pool_bytes"))
                 for r in memory],
                [(0, 0, 0), (3 * mib, 3 * mib, 32 * mib), (mib, 4 * mib, 36 * mib),
                 (kib, 4 * mib + kib, 36 * mib), (-3 * mib, mib + kib, 36 * mib),
                 (0, mib + kib, 6 * mib), (0, mib + kib, 2 * mib)], "memory of " + layout)
    h.run(h.profwrap("merge", layout))
    peaks = {row["what"].decode(): int(row["peak_bytes"])
             for row in h.h5py().File(layout + "/cluster.h5")["memory"][:] if row["device"] == 0}
    h.equal(peaks, {"allocated": 4 * mib + kib, "pools": 36 * mib}, "peaks")


@h.case
def memory_that_is_mapped():
    """Memory of cuMemCreate(), as for expandable segments, counts until its handle is released and
    no part of it is mapped."""
    piece = 2 << 20
    for layout in LAYOUTS:
        done = run("segments", layout=layout, options=("-o", layout))
        no_faults(done)
        memory = h.open_complete(layout)["samples/memory"][:]
        h.equal([(int(r["device"]), int(r["delta_bytes"]), int(r["total_bytes"])) for r in memory],
                [(1, piece, piece), (1, piece, 2 * piece), (1, piece, 3 * piece),
                 (1, -piece, 2 * piece), (1, -piece, piece), (1, -piece, 0),
                 (1, 2 * piece, 2 * piece), (1, piece, 3 * piece), (1, piece, 4 * piece),
                 (1, -2 * piece, 2 * piece)],
                "memory of " + layout)


def lacking(folder):
    h.run(h.profwrap("merge", folder))
    with h.h5py().File(folder + "/cluster.h5") as cluster:
        return [row["detail"].decode() for row in cluster["completeness"][:]
                if row["what"] == b"gpu_lacking"]


@h.case
def memory_that_is_not_seen_beside_a_subscriber():
    """When a profiler keeps the only subscription (Kineto), profwrap comes back without one."""
    run("takeover")
    h.equal(lacking("out"), ["memory that the program maps itself (refused with error 39)"], "what")


@h.case
def a_kind_that_is_refused():
    for layout in ("13.0", "11.8"):
        run("all", layout=layout, options=("-o", layout), env={"STANDIN_REFUSES_KIND": "1"})
        file = h.open_complete(layout)
        h.equal((len(names(file)), h.overhead(file)["cupti_result"]), (7, 27), "kernels and result")
        h.equal(lacking(layout), ["copies (refused with error 27)"], "what is missing")
        said = h.run(h.profwrap("report", "--full", layout)).stdout.decode()
        h.check("gpu_lacking" in said, "in the report")
    run("all", options=("-o", "whole"))
    h.equal(lacking("whole"), [], "what is missing where nothing is refused")


@h.case
def names_of_c_stay():
    run("names")
    h.equal(names(h.open_complete("out")),
            ["f", "Kc", "_kernel", "scal(float*, int)", "ns::gemm()"], "kernels")


@h.case
def names_that_are_unmapped():
    """Names are unmapped with their module before their record is read. The program does not crash,
    and the kernel has no name. A name that ends at the end of its page is read."""
    run("unmapped")
    h.equal(names(h.open_complete("out")), ["before", "gone", "", "last", "after"], "kernels")
    run("unmapped", options=("-o", "all"), env={"STANDIN_UNMAPS": "1"})
    h.equal(names(h.open_complete("all")), ["before", "", "", "", "after"], "kernels")


@h.case
def waits_for_no_stream():
    """The values for "no stream" and "no context": 0 from 13.2 on; before, all bits are set."""
    run("waits")
    waits = h.open_complete("out")["events/cuda_sync"][:]
    found = list(zip(h.enum_names(h.open_complete("out")["events/cuda_sync"], "kind"),
                     *(waits[f].tolist() for f in ("device", "stream", "event"))))
    h.equal(sorted(found), sorted([("context", 0, -1, -1)] + [("context", -1, -1, -1)] * 2 +
                                  [("stream", 0, -1, -1), ("stream", 0, 7, -1)]), "waits")


@h.case
def calls_at_level_2():
    file = everything("11.8", level=2)
    h.equal([row[0] for row in h.rows(file, "events/cuda_api", "name")],
            ["cudaLaunchKernel_v7000"] * 2 + ["cudaMemcpyAsync_v3020", "cudaGraphLaunch_v10000",
             "cuLaunchKernel", "cudaLaunchKernel_v7000", "cudaMalloc_v3020"], "calls")
    calls = {row[0]: row[1] for row in h.rows(file, "events/cuda_api", "correlation", "start")}
    for correlation, launch in h.rows(file, "events/kernel", "correlation", "launch"):
        h.equal(launch, calls[correlation], "launch of a kernel")


@h.case
def no_calls_at_level_0():
    run("all", options=("--level", "0"))
    file = h.open_complete("out")
    h.equal(len(names(file)), 7, "kernels")
    h.equal(set(h.rows(file, "events/kernel", "launch", "thread", "launched_by")), {(-1, -1, "")},
            "launches")


@h.case
def two_devices_apart():
    """In a process with two GPUs, the report has each GPU separately, and the occupancy of its
    kernels."""
    run("all", layout="13.0")
    h.run(h.profwrap("merge", "out"))
    file = h.h5py().File("out/cluster.h5")
    rank, = file["gpu_ranks"][:]
    h.equal((int(rank["devices_used"]), int(rank["kernels"])), (2, 7), "GPUs and kernels")
    table = file["gpu_devices"][:]
    h.equal([(int(d["rank"]), int(d["device"]), d["name"].decode(), int(d["kernels"]),
              int(d["copies"]), int(d["copied_bytes"])) for d in table],
            [(0, 0, "Stand-in GPU 0", 6, 0, 0),
             (0, 1, "Stand-in GPU 1", 1, 3, 4096 + 8192 + (5 << 30))], "devices")
    # 512 threads of 40 registers, and a block's 1 KiB and 200,000 bytes of shared memory and the
    # driver's of the multiprocessor's 228: one block of 16 warps, of 64.
    h.equal([round(float(d["occupancy"]), 6) for d in table], [0.25, 0.25], "occupancy")
    kernels = h.rows(h.open_complete("out"), "events/kernel", "device", "start", "end")
    for d in table:
        mine = [k for k in kernels if k[0] == int(d["device"])]
        h.equal(int(d["compute_ns"]), sum(end - start for _, start, end in mine), "computing")
    text, data, _ = reported()
    h.check("Ranks that used several GPUs" in text, text)
    h.equal([row["device"] for row in data["gpu"]["devices"]], [0, 1], "in the JSON")


@h.case
def two_devices_sampled():
    folder = os.path.dirname(standin("libnvidia-ml.so.1"))
    run("sampled", options=("--sample-hz", "20"), env={"LD_LIBRARY_PATH": folder})
    file = h.open_complete("out")
    devices = file["devices"][:]
    h.equal([(int(d["device"]), d["name"].decode(), d["uuid"].decode(), d["bus_id"].decode(),
              int(d["memory_bytes"]) >> 30, int(d["multiprocessors"])) for d in devices],
            [(0, "Stand-in GPU 0", "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", "00000000:3B:00.0",
              80, 132),
             (1, "Stand-in GPU 1", "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", "", 81, 133)],
            "devices")
    samples = file["samples/gpu"][:]
    h.check(len(samples) >= 12, "only", len(samples), "samples")
    first, last = samples[0], samples[-1]
    fields = ("device", "sm_clock_mhz", "memory_clock_mhz", "clock_reasons", "power_mw",
              "temperature_c", "busy_percent", "memory_busy_percent", "memory_used_bytes",
              "ecc_corrected", "ecc_uncorrected", "pcie_tx_bytes", "pcie_rx_bytes", "pcie_replays",
              "nvlink_tx_bytes", "nvlink_rx_bytes", "power_instant_mw", "power_capped_ns",
              "heat_slowed_ns", "brake_slowed_ns", "rows_remapped", "remap_pending", "remap_failed",
              "nvlink_errors")
    h.equal([int(first[f]) for f in fields],
            [0, 1980, 2619, 0x44, 651234, 71, 93, 41, 50, 2, -1, 197, -1, 5, 138 * 1024,
             139 * 1024, 186, 74, 75, -1, 142 + 143, 0, 0, 38 + 52 + 59], "first sample")
    h.check(int(last["pcie_tx_bytes"]) > 197, "a slow counter was read once only")
    h.check((samples["time"][1:] > samples["time"][:-1]).all(), "times do not rise")
    h.check("nvml_sample" in h.overhead(file), "what a sample costs is not said")


def sampled(name, nap_ms="1500", **env):
    folder = os.path.dirname(standin("libnvidia-ml.so.1"))
    run("sampled", nap_ms, options=("--sample-hz", "10", "-o", name),
        env={"LD_LIBRARY_PATH": folder, **env})
    return h.open_rank(name)


@h.case
def errors_of_a_gpu():
    file = sampled("ill", "2500", STANDIN_NVML_ILL="1")
    h.equal([(int(e["device"]), int(e["xid"]), int(e["instance"]))
             for e in file["events/gpu_error"][:]], [(0, 94, 7), (0, 63, -1)], "errors")
    samples = file["samples/gpu"][:]
    new = int(samples[-1]["ecc_uncorrected"]) - int(samples[0]["ecc_uncorrected"])
    links = int(samples[-1]["nvlink_errors"]) - int(samples[0]["nvlink_errors"])
    h.check(new > 0 and links > 0, "counters do not rise", samples)
    h.run(h.profwrap("merge", "ill"))
    with h.h5py().File("ill/cluster.h5") as cluster:
        said = {row["what"].decode(): (int(row["count"]), row["detail"].decode())
                for row in cluster["completeness"][:]}
    h.equal(said["gpu_errors"],
            (2 + new + links + 1, "device 0: XID 94; device 0: XID 63; "
             f"device 0: {new} uncorrectable ECC errors; device 0: {links} errors of NVLink; "
             "device 0: rows of memory wait for a reset to be remapped"), "what the merge says")
    slowed = int(samples[-1]["heat_slowed_ns"]) - int(samples[0]["heat_slowed_ns"])
    h.equal(said["gpu_slowed"], (1, f"device 0: heat lowered the clocks for {slowed / 1e9:.3f} s"),
            "what it says of clocks")
    h.check("gpu_error" in h.run(h.profwrap("report", "--full", "ill")).stdout.decode(), "not in the report")


@h.case
def an_instance_of_a_gpu():
    file = sampled("mig", STANDIN_NVML_MIG="1")
    h.equal(file["devices"][:][0]["uuid"].decode(), "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f", "uuid")
    first = file["samples/gpu"][:][0]
    h.equal([int(first[f]) for f in ("memory_used_bytes", "sm_clock_mhz", "power_instant_mw")],
            [6, 1980, 186], "memory of the instance; the rest of the GPU")


MEASURED = {"engine_active": 0.93, "sm_active": 0.8, "sm_occupancy": 0.4, "tensor_active": 0.625,
            "dram_active": 0.515, "fp64_active": 0, "fp32_active": 0.125, "fp16_active": 0.03125,
            "pcie_tx_bytes_per_s": 100 << 20, "pcie_rx_bytes_per_s": -1,
            "nvlink_tx_bytes_per_s": 2000 << 20, "nvlink_rx_bytes_per_s": 1000 << 20}


def measured(file):
    """Returns the samples with GPM values, after checking these values."""
    samples = file["samples/gpu"][:]
    for sample in samples[samples["gpm_ns"] == 0]:
        h.equal({float(sample[name]) for name in MEASURED}, {-1.0}, "what was not measured")
    return samples[samples["gpm_ns"] > 0]


def gpm_of(file):
    return file["devices"][:][0]["gpm"].decode()


@h.case
def what_nvml_measures():
    file = sampled("gpm", "3500")
    rows = measured(file)
    h.equal(gpm_of(file), "measured", "in the device's row")
    h.check(len(rows), "nothing was measured")
    for row in rows:
        h.equal({name: float(row[name]) for name in MEASURED}, MEASURED, "measured")
    h.check(int(sum(rows["gpm_ns"])) <= int(rows["time"][-1]) - int(file["samples/gpu"]["time"][0])
            + 100000000, "measured for longer than sampled", rows["gpm_ns"])
    h.run(h.profwrap("merge", "gpm"))
    with h.h5py().File("gpm/cluster.h5") as cluster:
        device, = cluster["gpu_devices"][:]
        series = cluster["gpu_series"][:]
    h.equal((device["gpm"].decode(), int(device["gpm_ns"])), ("measured", int(sum(rows["gpm_ns"]))),
            "of the GPU")
    for name, value in MEASURED.items():
        h.check(abs(float(device[name]) - value) <= 1e-9 * abs(value), name, device[name])
    known = series[series["sm_active"] >= 0]
    h.check(len(known) and (abs(known["sm_active"] - 0.8) < 1e-9).all(), "in the series", series)
    h.equal([float(device[name]) for name in ("power_w", "power_most_w", "temperature_most_c")],
            [651.234, 651.234, 71], "power and temperature")


@h.case
def an_instance_is_measured():
    file = sampled("part", "2500", STANDIN_NVML_MIG="1")
    rows = measured(file)
    h.check(len(rows), "nothing was measured")
    h.equal([float(rows[0][name]) for name in ("engine_active", "sm_active", "tensor_active")],
            [0.465, 0.4, 0.3125], "of the instance, not of the GPU")


@h.case
def what_nvml_cannot_measure():
    """Before Hopper, or with a driver that has another version of the structs, there are no GPM
    values, the device's row has the reason, and all other samples are taken."""
    for how, said in (("unsupported", "not supported"), ("version", "of another version")):
        file = sampled(how, "2500", STANDIN_NVML_GPM=how)
        h.equal((len(measured(file)), gpm_of(file)), (0, said), how)
        h.check(len(file["samples/gpu"]) >= 15, len(file["samples/gpu"]), "samples")
        h.equal(list(file["events/gap"][:]), [], "gaps")


@h.case
def a_measurement_that_fails_between_others():
    """The third sample fails. The next measurement starts again, and is not a mean over the
    failure."""
    file = sampled("lost", "5500", STANDIN_NVML_GPM="lost")
    rows = measured(file)
    h.check(len(rows) >= 2, len(rows), "rows")
    begins = int(rows["time"][1]) - int(rows["gpm_ns"][1])
    h.check(begins - int(rows["time"][0]) > 500000000, "a mean over the failure", rows)
    h.equal(gpm_of(file), "measured", "in the device's row")


@h.case
def nvml_that_never_answers():
    """With a lost GPU, or an nvmlInit() that hangs, all else is recorded, the run ends, and the
    report says what is missing."""
    for hangs_in, known in (("init", 0), ("3", 2)):
        file = sampled(hangs_in, STANDIN_NVML_HANG=hangs_in)
        h.equal(int(file.attrs["complete"]), 1, "complete")
        h.equal(names(file), ["sampled"], "kernels")
        others = len(file["samples/process"])
        h.check(others >= 10, "other samples", others)
        h.equal(len(file["samples/gpu"]) if "samples/gpu" in file else 0, known, "samples")
        ((reason, kind, lost),) = h.gaps(file)
        h.equal((reason, kind), ("nvml_late", "device"), "gap")
        h.equal(h.overhead(file)["nvml_missed"], lost, "missed")
        # Each of the others' times has one of the GPU's, known or missed; a busy machine misses times.
        h.check(2 * (lost + known) >= others, lost, "missed samples of", others)
        h.equal(int(file.attrs["dropped_events"]), 0, "records dropped")
        h.run(h.profwrap("merge", hangs_in))
        with h.h5py().File(hangs_in + "/cluster.h5") as cluster:
            said = {row["what"].decode(): int(row["count"]) for row in cluster["completeness"][:]}
        h.equal(said["nvml_late"], lost, "what the merge says")
        h.check("dropped_events" not in said, said)


@h.case
def nvml_that_answers_late():
    file = sampled("slow", "6000", STANDIN_NVML_SLOW="3")
    (gap,) = file["events/gap"][:]
    h.equal(h.enum_names(file["events/gap"], "reason"), ["nvml_late"], "gap")
    times = file["samples/gpu"]["time"][:]
    h.equal(sum(times < gap["start"]), 2, "samples before")
    h.equal(sum((times >= gap["start"]) & (times <= gap["end"])), 1, "the one that took so long")
    h.check(sum(times > gap["end"]) >= 3, "samples afterwards", times, gap)


@h.case
def many_records():
    done = run("flood", "200000")
    no_faults(done)
    file = h.open_complete("out")
    found = names(file)
    h.equal((len(found), found.count("odd")), (200000, 100000), "kernels")
    h.equal(len(set(r[0] for r in h.rows(file, "events/kernel", "correlation"))), 200000, "different")
    h.equal(sum(launch == -1 for launch, in h.rows(file, "events/kernel", "launch")), 0,
            "kernels without a launch")


@h.case
def small_rings_lose_nothing():
    """The ring's producer is profwrap's thread, not a thread of the application, so it can wait for
    room."""
    run("flood", "15000", options=("--ring-size", "64K"))
    file = h.open_complete("out")
    h.equal(len(names(file)), 15000, "kernels")


@h.case
def no_buffers_left():
    """Before CUDA 12.9 libcupti crashes when a request for a buffer is declined."""
    for layout in LAYOUTS:
        run("drop", layout=layout, options=("-o", layout))
        file = h.open_rank(layout)
        kept = len(names(file))
        h.check(0 < kept < 60, kept, "kernels of 60")
        h.equal(h.gaps(file), [("cupti_full", "device", 60 - kept)], "gaps of " + layout)
        h.equal(int(file.attrs["dropped_events"]), 60 - kept, "dropped_events")


@h.case
def more_than_all_buffers():
    """More buffers are in use at a time than there are scrap buffers, whose records are counted as
    lost."""
    for layout in LAYOUTS:
        run("drop", "120", layout=layout, options=("-o", layout))
        file = h.open_rank(layout)
        kept = len(names(file))
        h.check(0 < kept < 120, kept, "kernels of 120")
        h.equal(h.gaps(file), [("cupti_full", "device", 120 - kept)], "gaps of " + layout)


@h.case
def kernels_without_times():
    """Records without times, for which CUPTI had no memory on the device, are counted. The device
    memory of CUPTI is limited, and the limit is recorded."""
    for layout in LAYOUTS:
        done = run("without-times", layout=layout, options=("-o", layout))
        no_faults(done)
        file = h.open_rank(layout)
        h.equal(names(file), ["timed", "timed_again"], "kernels of " + layout)
        h.equal(sum(lost for reason, _, lost in h.gaps(file) if reason == "cupti_untimed"), 3,
                f"records without times, of {h.gaps(file)}")
        h.equal(int(file.attrs["dropped_events"]), 3, "dropped_events")
        most = int(h.overhead(file)["cupti_device_memory"])
        h.check(f"device memory {most}" in h.lines(done.stdout), most, done.stdout)
        h.check(64 << 20 <= most <= 256 << 20, most, "bytes")


@h.case
def more_threads_than_buffers():
    """By default, CUPTI of CUDA 13 takes a buffer for each thread that launches."""
    done = run("threads")
    no_faults(done)
    file = h.open_complete("out")
    h.equal(len(names(file)), 40, "kernels")
    h.equal(h.gaps(file), [], "gaps")


@h.case
def another_profiler():
    """Another profiler in the program gets CUPTI when both cannot record: the process has one set
    of callbacks, or the profiler is linked with the older functions."""
    for layout in LAYOUTS:
        done = run("takeover", layout=layout, options=("-o", layout))
        no_faults(done)
        h.check(any(line.startswith("theirs 1 failed 0 ") for line in h.lines(done.stdout)),
                done.stdout)
        file = h.open_complete(layout)
        h.equal(names(file), ["before", "after"], "kernels of " + layout)
        table = file["events/gap"][:]
        h.equal(h.gaps(file), [("cupti_taken", "device", 0)], "gaps")
        h.equal(text(file, "cupti_taken_by"), "gpuactor", "who")
        before, after = h.rows(file, "events/kernel", "start", "end")
        h.check(before[1] <= table[0]["start"] < table[0]["end"] <= after[0] + 10**6,
                "the gap is not between them")
    h.run(h.profwrap("merge", layout))
    said = [row for row in h.h5py().File(layout + "/cluster.h5")["completeness"][:]
            if row["what"] == b"cupti_taken"]
    h.equal([int(row["count"]) for row in said], [1], "stretches")
    h.check(b"(gpuactor)" in said[0]["detail"], said)


@h.case
def a_profiler_beside_us():
    """From 13.4 on both record: neither stops, and profwrap's records use profwrap's clock."""
    done = run("share", layout="13.5")
    no_faults(done)
    h.check("theirs 1 failed 0" in h.lines(done.stdout), done.stdout)
    file = h.open_complete("out")
    h.equal(names(file), ["before", "during", "after"], "kernels")
    h.equal(h.gaps(file), [], "gaps")
    h.equal(h.overhead(file)["cupti_version"], 130500, "version")


@h.case
def a_profiler_that_cannot_be_beside_us():
    """The profiler is linked with the older functions, and CUPTI would refuse it. So profwrap uses
    the older functions, too."""
    done = run("share", layout="13.5", env={"STANDIN_LOADED": standin("libprofiler.so")})
    no_faults(done)
    h.check("theirs 0 failed 39" in h.lines(done.stdout), done.stdout)
    h.equal(names(h.open_complete("out")), ["before", "during", "after"], "kernels")


@h.case
def another_tool_has_cupti_already():
    """The file says so, with the tool's name if CUPTI reports it."""
    root = bring_gpu()
    for layout, by in {"13.5": "CUPTI for nsys", "13.0": "CUPTI for nsys",
                       "11.8": "another tool"}.items():
        done = run("only-start", layout=layout, options=("-o", layout),
                   env={**root, "STANDIN_HELD": "nsys"})
        no_faults(done)
        file = h.open_complete(layout)
        h.equal(h.gaps(file), [("cupti_taken", "device", 0)], "gaps of " + layout)
        h.equal(text(file, "cupti_taken_by"), by, "who")
        h.equal(text(file, "gpu_unrecorded"), "another tool has CUPTI: " + by, "why nothing is there")


def text(file, name):
    value = file.attrs[name]
    return value.decode() if isinstance(value, bytes) else str(value)


@h.case
def a_profiler_that_is_not_seen():
    """A profiler finds CUPTI by dlsym(). CUPTI refuses it, so that it does not get profwrap's
    buffers and free them."""
    for layout in LAYOUTS:
        done = run("hold", layout=layout, options=("-o", layout))
        no_faults(done)
        h.check("failed 39" in h.lines(done.stdout), done.stdout)
        file = h.open_complete(layout)
        h.equal((names(file), h.gaps(file)), (["before", "after"], []), layout)


@h.case
def a_profiler_that_is_known_by_its_file():
    """Triton's profiler is recognised by the library that a program loads to use it. GPU activity
    is left to this profiler."""
    proton = shutil.copy(standin("libprofiler.so"), "libproton.so")
    for layout in LAYOUTS:
        for variable, kernels in {"STANDIN_LOADED": [], "STANDIN_COMES": ["before"]}.items():
            out = variable + layout
            done = run("hold", layout=layout, options=("-o", out),
                       env={variable: os.path.abspath(proton)})
            no_faults(done)
            h.check("failed 0" in h.lines(done.stdout), done.stdout)
            file = h.open_complete(out)
            h.equal((names(file), h.gaps(file)), (kernels, [("cupti_taken", "device", 0)]), out)
            h.equal(text(file, "cupti_taken_by"), "libproton.so", "who")


@h.case
def a_profiler_that_records_all_the_time():
    """A profiler uses CUPTI from before CUDA's start until the end. The report names it, and does
    not say that CUPTI refused profwrap."""
    for out, env in {"kineto": {}, "proton": {
            "STANDIN_LOADED": shutil.copy(os.path.abspath(standin("libprofiler.so")),
                                          os.path.abspath("libproton.so"))}}.items():
        shutil.rmtree("root", ignore_errors=True)
        run("only-start" if env else "profiled", options=("-o", out), env={**bring_gpu(), **env})
        by = "libproton.so" if env else "gpuactor"
        file = h.open_complete(out)
        h.equal((names(file), h.gaps(file)), ([], [("cupti_taken", "device", 0)]), out)
        h.equal(h.overhead(file)["cupti_result"], 1003, "result")
        h.equal(text(file, "gpu_unrecorded"),
                "another profiler in the program used CUPTI all the time: " + by, "why")
        os.rename(out, "out")
        h.run(h.profwrap("merge", "out"))
        check_not_recorded("used CUPTI all the time: " + by)
        shutil.rmtree("out")


@h.case
def a_profiler_that_stops_twice():
    """The profiler disables its kinds twice. The second time does not disable the kinds that
    profwrap has enabled again. Launches are recorded again, too, although CUPTI has no effect of
    single functions after the kind has been disabled."""
    done = run("disable-twice")
    no_faults(done)
    h.check("failed 0" in h.lines(done.stdout), done.stdout)
    file = h.open_complete("out")
    h.equal(names(file), ["after", "later"], "kernels")
    for launch, start in h.rows(file, "events/kernel", "launch", "start"):
        h.check(0 <= launch <= start, "launch", launch, "of a kernel at", start)
    h.equal(h.gaps(file), [("cupti_taken", "device", 0)], "gaps")


@h.case
def finalized_while_it_is_asked():
    """cuptiFinalize() waits until profwrap's thread has left CUPTI, and later kernels are
    recorded."""
    done = run("finalize", env={"STANDIN_SLOW_FLUSH": "200"})
    no_faults(done)
    h.check("flushing 1 failed 0" in h.lines(done.stdout), done.stdout)
    h.equal(names(h.open_complete("out")), ["before", "after"], "kernels")


@h.case
def a_profiler_that_comes_during_a_long_flush():
    """The flush takes longer than the profiler's call may wait. CUPTI refuses the profiler until
    the flush has ended."""
    done = run("try-often", env={"STANDIN_SLOW_FLUSH": "2500"})
    h.check("refused 1 failed 0" in h.lines(done.stdout), done.stdout)


@h.case
def a_second_library():
    """The program's calls by name reach the program's own libcupti. Meanwhile profwrap stops using
    CUPTI, and afterwards begins again."""
    done = run("second", layout="11.8", env={"STANDIN_SECOND": standin(LAYOUTS["13.0"])})
    no_faults(done)
    h.check("ours 0 theirs 400 then 0 failed 0" in h.lines(done.stdout), done.stdout)
    file = h.open_complete("out")
    h.equal(names(file), ["before", "after"], "kernels")
    h.equal(h.gaps(file), [("cupti_taken", "device", 0)], "gaps")
    h.equal(h.overhead(file)["cupti_version"], 18, "version")


@h.case
def a_flush_that_never_returns():
    """The flush hangs, as with a GPU that hangs, at the end or before. The program ends all the
    same."""
    for flags in ("1", "0"):
        begin = time.monotonic()
        run("flood", "100", options=("-o", "stuck" + flags), env={"STANDIN_STUCK_FLUSH": flags})
        h.check(time.monotonic() - begin < 20, "took", time.monotonic() - begin, "s")
        h.equal(int(h.open_rank("stuck" + flags).attrs["complete"]), 1, "complete")


@h.case
def a_record_that_cannot_be_read():
    """The records after this one in the buffer are lost and counted."""
    for layout in LAYOUTS:
        run("names", layout=layout, options=("-o", layout, "--level", "0"),
            env={"STANDIN_BROKEN": "1"})
        file = h.open_rank(layout)
        h.check(0 < len(names(file)) < 5, names(file))
        h.check(("cupti_full", "device", 1) in h.gaps(file), layout, h.gaps(file))


@h.case
def buffers_come_after_the_flush():
    """A thread of CUPTI returns the last buffer after the flush. It has names that were not read
    before."""
    for layout in LAYOUTS:
        done = run("names", layout=layout, options=("-o", layout),
                   env={"STANDIN_LATE_BUFFERS": "60"})
        no_faults(done)
        h.equal(names(h.open_complete(layout))[-1], "ns::gemm()", "the last kernel of " + layout)


@h.case
def threads_of_which_the_program_takes_the_stack():
    """glibc takes static thread-local storage from each thread's stack. The stack of profwrap's
    thread has room for the program's storage, and for what libcupti needs."""
    for program in ("gputls200", "gputls1024"):
        run("all", program=program, options=("-o", program), env={"STANDIN_FLUSH_PAGES": "25"})
        h.equal(len(names(h.open_complete(program))), 7, "kernels of " + program)


@h.case
def a_thread_that_cannot_be_started():
    """Without profwrap's thread no thread would read the buffers, so CUPTI is not used, and the
    report says why."""
    run("all", program="gputls200", options=("-o", "out"),
        env={**bring_gpu(), "STANDIN_NO_THREADS": "1"})
    file = h.open_complete("out")
    h.equal(h.overhead(file)["cupti_result"], 1002, "result")
    h.check(text(file, "gpu_unrecorded").startswith("no thread could be started"), dict(file.attrs))
    h.run(h.profwrap("merge", "out"))
    check_not_recorded("no thread could be started")


@h.case
def killed():
    run("die", status=-signal.SIGKILL)
    file = h.open_rank("out")
    h.equal(int(file.attrs["complete"]), 1, "complete")
    found = h.rows(file, "events/kernel", "name", "stream")
    h.equal((len(found), len([r for r in found if r[1] == 2])), (5010, 10), "kernels")
    h.equal({r[0] for r in found if r[1] == 2}, {"odd"}, "names out of a buffer that was left")
    h.equal(len(set(r[0] for r in h.rows(file, "events/kernel", "correlation"))), 5010, "different")


@h.case
def killed_while_records_are_lost():
    """Losses that the program had not reported when it was killed are counted."""
    run("die-losing", status=-signal.SIGKILL)
    file = h.open_rank("out")
    kept = len(names(file)) - 2000  # whose names had not been read
    h.check(20 < kept < 60, kept, "kernels of 60")
    h.equal(sorted(h.gaps(file)), [("cupti_full", "device", 60 - kept + 1),
                                   ("cupti_untimed", "device", 2)], "gaps")
    h.equal(int(file.attrs["dropped_events"]), 60 - kept + 3, "dropped_events")
    for gap in file["events/gap"][:]:
        h.check(0 < gap["start"] <= gap["end"] < 1 << 62, gap)


@h.case
def forked():
    done = run("fork")
    h.check("child 0" in h.lines(done.stdout), done.stdout)
    file = h.open_complete("out")
    h.equal(names(file), ["parent", "parent again"], "kernels")


@h.case
def children_that_use_the_gpu():
    """Programs that the program starts, and a child that starts CUDA itself, are counted, and the
    first lines of the report say so."""
    for how, kernels, count in (("children", ["parent", "parent again"], 2), ("forked-first", [], 1)):
        done = run(how)
        h.equal(h.lines(done.stdout).count("child 0"), count, "children that ended")
        file = h.open_complete("out")
        h.equal(names(file), kernels, "kernels")
        h.equal(h.overhead(file)["gpu_processes"], count, "in /overhead")
        h.run(h.profwrap("merge", "out"))
        text, data, html = reported()
        said = ("GPUs were used by 2 child processes that were not recorded" if count == 2 else
                "GPUs were used by 1 child process that was not recorded")
        h.check(said in text[:600] and said in data["job"]["incomplete"] and said in html, said, text)
        h.equal(data["completeness"]["gpu_processes_not_recorded"], count, "in the JSON")
        shutil.rmtree("out")


@h.case
def paused():
    run("pause")
    file = h.open_complete("out")
    h.equal(names(file), ["recorded", "recorded again"], "kernels")


@h.case
def without_a_gpu():
    """CUDA is never started: profwrap prints, starts and loads nothing, and the file has no
    rows."""
    done = run("nothing", env={"PROFWRAP_CUPTI": "/nonexistent/libcupti.so"})
    h.equal(h.lines(done.stderr), [], "messages")
    file = h.open_complete("out")
    h.check(not [key for key in h.overhead(file) if "cup" in key or "nvml" in key], h.overhead(file))
    for table in ("events/kernel", "events/cuda_sync", "samples/gpu", "devices"):
        h.check(table not in file or len(file[table]) == 0, table, "has rows")


@h.case
def the_real_library_without_a_driver():
    """The toolkit's own libcupti refuses where there is no driver, and this has no effect on the
    run."""
    found = [path for path in ("/usr/local/cuda/lib64/libcupti.so",
                               "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so")
             if os.path.exists(path)]
    if not found:
        raise h.Skipped("no CUDA toolkit under /usr/local/cuda")
    if os.path.exists("/dev/nvidiactl"):
        raise h.Skipped("there is a GPU: tests/gpu/validate.sh is for it")
    done = run("only-start", env={"STANDIN_CUPTI": found[0], "PROFWRAP_CUPTI": found[0]}, status=3)
    h.check("no standin_now" in done.stderr.decode(), done.stderr)
    done = h.run([*h.profwrap("--no-merge", "-o", "real"), h.program("gpuactor"), "only-start"],
                 env={"PROFWRAP_CUPTI": found[0]})
    h.equal(h.lines(done.stderr), [], "messages")
    file = h.open_complete("real")
    h.equal(h.overhead(file).get("cupti_result"), 999, "CUPTI's answer")
    h.check(h.overhead(file).get("cupti_version", 0) >= 18, "version")


def bring_gpu(folder="root"):
    """A tree of devices with a GPU in it, for PROFWRAP_FSROOT."""
    os.makedirs(os.path.join(folder, "dev"))
    open(os.path.join(folder, "dev", "nvidia0"), "w").close()
    return {"PROFWRAP_FSROOT": os.path.abspath(folder)}


def run_without_cupti(env, *arguments):
    h.run([*h.profwrap("--no-merge", "-o", "out"), h.program("gpuactor"), *arguments], env=env)
    h.run(h.profwrap("merge", "out"))


def reported():
    text = h.run(h.profwrap("report", "--full", "out")).stdout.decode()
    data = json.loads(h.run(h.profwrap("report", "--format", "json", "out")).stdout)
    html = h.run(h.profwrap("report", "--format", "html", "out")).stdout.decode()
    return " ".join(text.split()), data, html


def check_not_recorded(words):
    """The first lines of each report say that the GPU was not recorded, and why."""
    text, data, html = reported()
    said = data["job"]["incomplete"]
    h.check(said.startswith("GPU activity of 1 rank was not recorded: ") and words in said, said)
    h.equal(data["completeness"]["ranks_gpu_not_recorded"], 1, "ranks")
    h.check(0 <= text.find("Incomplete: GPU activity of 1 rank was not recorded") < 400, text)
    h.check(said in html, "the page does not say it")


@h.case
def a_cupti_that_refuses_is_said():
    root = bring_gpu()
    for layout, words in {"13.0": "newer than the driver", "13.5": "newer than the driver"}.items():
        library = standin(LAYOUTS[layout])
        run_without_cupti({**root, "PROFWRAP_CUPTI": library, "STANDIN_REFUSES": "0:15",
                           "STANDIN_CUPTI": library}, "only-start")
        check_not_recorded(words)
        shutil.rmtree("out")
    run_without_cupti({**root, "PROFWRAP_CUPTI": library, "STANDIN_REFUSES": "0:35",
                       "STANDIN_CUPTI": library}, "only-start")
    check_not_recorded("privileges")


@h.case
def no_cupti_is_said():
    """Holds on any machine without a GPU, because a libcupti of the machine also refuses where
    there is no driver."""
    if os.path.exists("/dev/nvidiactl"):
        raise h.Skipped("there is a GPU")
    run_without_cupti({**bring_gpu(), "PROFWRAP_CUPTI": "/nonexistent/libcupti.so"}, "only-start")
    check_not_recorded("")
    shutil.rmtree("out")
    run_without_cupti({"PROFWRAP_CUPTI": "/nonexistent/libcupti.so",
                       "PROFWRAP_FSROOT": os.path.abspath("none")}, "only-start")
    h.equal(reported()[1]["job"]["incomplete"], None, "what is missing where there is no GPU")


@h.case
def the_next_cupti_is_tried():
    """The first libcupti is newer than the driver."""
    found, folder = standin(LAYOUTS["11.8"]), os.path.dirname(standin(LAYOUTS["11.8"]))
    done = h.run([*h.profwrap("--no-merge", "-o", "out"), h.program("gpuactor"), "all"],
                 env={"LD_LIBRARY_PATH": folder, "STANDIN_REFUSES": "13:15", "STANDIN_LATE": "1",
                      "STANDIN_CUPTI": found})
    no_faults(done)
    file = h.open_complete("out")
    h.equal(len(names(file)), 7, "kernels")
    h.equal((h.overhead(file)["cupti_version"], h.overhead(file)["cupti_result"]), (18, 0), "CUPTI")
    h.check("gpu_unrecorded" not in file.attrs, dict(file.attrs))


@h.case
def the_doctor_searches_as_the_probe_does():
    """The doctor finds libcupti in the toolkit that the environment names, and lists the one in
    Python's packages."""
    root, venv = os.path.abspath("toolkit"), os.path.abspath("venv")
    wheel = os.path.join(venv, "lib/python3.11/site-packages/nvidia/cu13/lib")
    for folder in (os.path.join(root, "lib64"), wheel):
        os.makedirs(folder)
    shutil.copy(standin(LAYOUTS["11.8"]), os.path.join(root, "lib64", "libcupti.so.11.8"))
    shutil.copy(standin(LAYOUTS["13.0"]), os.path.join(wheel, "libcupti.so.13"))
    said = h.run(h.profwrap("doctor"), status=None,
                 env={"CUDA_HOME": root, "VIRTUAL_ENV": venv}).stdout.decode()
    h.check("version 18: what GPUs do is recorded" in said, said)
    h.check(os.path.join(wheel, "libcupti.so.13") in said, said)
    refusing = h.run(h.profwrap("doctor"), status=None,
                     env={"PROFWRAP_CUPTI": standin(LAYOUTS["13.5"]), "STANDIN_REFUSES": "0:15"})
    h.check("CUPTI" in refusing.stdout.decode(), refusing.stdout)
    h.check("version 0 " not in refusing.stdout.decode(), refusing.stdout)


def check_finds(out, library, env):
    h.run([*h.profwrap("--no-merge", "-o", out), h.program("gpuactor"), "all"],
          env={**env, "STANDIN_LATE": "1", "STANDIN_CUPTI": library})
    h.equal(len(names(h.open_complete(out))), 7, "kernels of " + out)


@h.case
def where_the_toolkit_is():
    """The toolkit is found by the environment variables that modules and users set."""
    for variable, place in {"CUDA_HOME": "extras/CUPTI/lib64", "CUDA_PATH": "lib64",
                            "CONDA_PREFIX": "lib"}.items():
        root = os.path.abspath(variable)
        os.makedirs(os.path.join(root, place))
        library = shutil.copy(standin(LAYOUTS["11.8"]),
                              os.path.join(root, place, "libcupti.so.11.8"))
        check_finds("by-" + variable, library, {variable: root})


@h.case
def among_python_packages():
    """libcupti is found beside any library of CUDA that the program has loaded, not only beside the
    runtime."""
    for loaded, place in {"nvidia/cuda_runtime/lib/libcudart.so.12": "nvidia/cuda_cupti/lib",
                          "nvidia/cu13/lib/libcublas.so.13": "nvidia/cu13/lib",
                          "torch/lib/libtorch_cuda.so": "nvidia/cuda_cupti/lib"}.items():
        name = os.path.basename(loaded)
        site = os.path.abspath("site-" + name)
        for folder in (os.path.dirname(loaded), place):
            os.makedirs(os.path.join(site, folder), exist_ok=True)
        beside = shutil.copy(standin("libnvidia-ml.so.1"), os.path.join(site, loaded))
        library = shutil.copy(standin(LAYOUTS["11.8"]),
                              os.path.join(site, place, "libcupti.so.11.8"))
        check_finds("beside-" + name, library, {"STANDIN_LOADED": beside})


@h.case
def injection_already_set():
    done = run("nothing", env={"CUDA_INJECTION64_PATH": "/opt/other/tool.so"})
    messages = h.lines(done.stderr)
    h.equal(len(messages), 1, "messages")
    h.check("CUDA is not recorded: CUDA_INJECTION64_PATH names another tool, /opt/other/tool.so"
            in messages[0], messages)
    h.check("injection /opt/other/tool.so" in h.lines(done.stdout), done.stdout)
    h.check("gpu_unrecorded" not in h.open_complete("out").attrs, "CUDA was not used")
    shutil.rmtree("out")
    env = {"CUDA_INJECTION64_PATH": "/opt/other/tool.so", **bring_gpu(), "STANDIN_LOADED":
           shutil.copy(standin("libprofiler.so"), os.path.abspath("libcuda.so.1"))}
    run_without_cupti(env, "idle")
    h.equal(text(h.open_rank("out"), "gpu_unrecorded"),
            "CUDA_INJECTION64_PATH names another tool: tool.so", "why nothing is there")
    check_not_recorded("names another tool: tool.so")
    shutil.rmtree("out")
    run_without_cupti({**env, "PROFWRAP_FSROOT": os.path.abspath("none")}, "idle")
    h.equal(reported()[1]["job"]["incomplete"], None, "what is missing where there is no GPU")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
