"""Sums of traces of torch.profiler, read from their JSON alone, beside those of `profwrap import`.

    trace_sums.py PROFWRAP TRACE...

For each trace: the time and number of kernels, of each name, of copies and fills, of operators, and of
communication, and the time in which a GPU computes, communicates and is busy. Prints a line for each
trace, and each difference of more than 0.1 us. Where events are left out of the import, it must say so:
their number and kind are printed, and the sums are compared without them. Status 1: something differs.
Needs h5py.
"""
import collections
import decimal
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

import h5py

MOST_NS = 100  # 0.1 us
# Written from the sources of the libraries, not from the table in src/core/comm_kernel.c.
COMMUNICATION = re.compile(r"""
    \b(nccl\w*Kernel|ncclDevKernel|ncclSymkDevKernel|rccl\w*Kernel|msccl\w*Kernel)
  | \b(deep_ep|dpsk::ep)::(\w+::)*(dispatch|combine|hybrid_|\w*notify|barrier)
  | \bmultimem_\w*(all_reduce|all_gather)_kernel | \b(one|two)_shot_all_reduce
  | \bcross_device_reduce_ | \ballreduce_(prototype|fusion_kernel)_ | \boneccl_ | \buserbuffers_fp16
  | \bKernel_(all_sum|gather_from_remote|load_input|local_sum|write_output) | \bAllreduce_small_kernel
  | \bEp(Dispatch|Combine) | \bnvshmemi?_ | _on_stream_kernel | \bkuserbuffers_p
  | \bmscclpp::(\w+::)*(all(reduce|gather)|executionKernel) | \ballreduce_1shotLL_
  | \b(one|two)[sS]hotAll[rR]educe\w*Kernel | \bmoeA2A(Dispatch|Combine)Kernel | \bmoeAllToAllKernel
  | \bmixed_comm::(\w*allreduce|allgather|reducescatter)_kernel | \bsymmetric_memory::\w*barrier_kernel
  | \bnvshmem_extension::allToAllV""", re.VERBOSE)
KINDS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset", "cpu_op": "operator",
         "Kernel": "kernel", "Memcpy": "memcpy", "Memset": "memset", "Operator": "operator"}
TABLES = {"kernel": "events/kernel", "memcpy": "events/memcpy", "memset": "events/memset",
          "operator": "events/range"}
ANY_EVENT = "events without a possible time and length"  # of a device, or of the host
LEFT_OUT = re.compile(r"left out: (\d+) (.*)")
OF_DEVICES = re.compile(r"activities of devices|graph|without a possible time|impossible")


def is_communication(name):
    """By the kernel's own name; of oneCCL's lambdas, by its arguments."""
    if "ccl_comm" in name:  # lambdas of oneCCL
        return re.match(r"(allreduce|allgatherv|reduce_scatter|invoke_barrier)", name) is not None
    return COMMUNICATION.search(name.replace("(anonymous namespace)::", "").split("(", 1)[0]) is not None


def nanoseconds(text):
    return int((decimal.Decimal(text) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def read_trace(path):
    """(kind, name, start, end in ns) of the events with a length."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as file:
        document = json.load(file, parse_float=str, parse_int=str, strict=False)
    events = document["traceEvents"] if isinstance(document, dict) else document
    out = []
    for one in events:
        kind = KINDS.get(one.get("cat")) if isinstance(one, dict) else None
        if not kind or one.get("ph") != "X" or "dur" not in one:
            continue
        start = nanoseconds(one["ts"])
        out.append((kind, one["name"], start, start + nanoseconds(one["dur"])))
    return out


def union(spans):
    total, behind = 0, None
    for start, end in sorted(spans):
        total += max(0, end - max(start, behind if behind is not None else start))
        behind = end if behind is None else max(behind, end)
    return total


def sums(events):
    """Time and number of each kind and name."""
    out = collections.defaultdict(lambda: [0, 0])
    for kind, name, start, end in events:
        keys = [(kind, None)]
        keys += [(kind, name)] if kind in ("kernel", "operator") else []
        keys += [("communication", None)] if kind == "kernel" and is_communication(name) else []
        for key in keys:
            out[key][0] += end - start
            out[key][1] += 1
    return out


def busy(events):
    """Times in which the GPU communicates, computes, and does anything."""
    talking = [(start, end) for kind, name, start, end in events
               if kind == "kernel" and is_communication(name)]
    computing = [(start, end) for kind, name, start, end in events
                 if kind == "kernel" and not is_communication(name)]
    copying = [(start, end) for kind, _, start, end in events if kind in ("memcpy", "memset")]
    return {"comm_ns": union(talking), "compute_ns": union(computing),
            "busy_ns": union(talking + computing + copying)}


def run(profwrap, *arguments):
    done = subprocess.run([profwrap, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    return done.returncode, done.stderr


def read_file(path):
    out = []
    with h5py.File(path) as file:
        names = [text.decode() for text in file["strings"][()]]
        for kind, table in TABLES.items():
            if table not in file:
                continue
            rows = file[table][:]
            if kind == "operator":
                kinds = h5py.check_enum_dtype(rows.dtype["kind"])
                rows = rows[rows["kind"] == kinds["operator"]]
            for row in rows:
                name = names[row["name"]] if "name" in rows.dtype.names else None
                out.append((kind, name, int(row["start"]), int(row["end"])))
        comm = file["events/comm"]
        gloo = h5py.check_enum_dtype(comm.dtype["source"])["gloo"]
        device = [row for row in comm[:] if row["source"] != gloo]
        return out, [sum(int(row["end"] - row["start"]) for row in device), len(device)]


def imported(profwrap, path, directory):
    for more in ([], ["--rank", "0"]):
        status, said = run(profwrap, "import", *more, "-o", directory, path)
        if status == 0:
            break
    return status, said


def left_out(said):
    """What the import says that it left out of the devices' activities, by kind."""
    out = {}
    for line in said.splitlines():
        found = LEFT_OUT.search(line)
        if found and OF_DEVICES.search(found.group(2)):
            out[found.group(2)] = int(found.group(1))
    return out


def differences(wanted, found, missing):
    """Sums that differ. Of a name of which events are left out, the others count. `missing`: how many
    events of devices, and operators, are."""
    out = []
    for key in sorted(set(wanted) | set(found), key=str):
        if missing["operator" if key[0] == "operator" else "device"] == 0:
            ns, count = (found[key][i] - wanted[key][i] for i in (0, 1))
            if abs(ns) > MOST_NS or count:
                out.append((key, ns, count))
        elif found[key][1] > wanted[key][1] or found[key][0] > wanted[key][0]:
            out.append((key, found[key][0] - wanted[key][0], found[key][1] - wanted[key][1]))
    return out


def compare(profwrap, path):
    """One line about the trace, and what differs. None: the import refuses it, and says why."""
    with tempfile.TemporaryDirectory() as directory:
        directory = os.path.join(directory, "job")
        status, said = imported(profwrap, path, directory)
        if status:
            return said.strip().splitlines()[-1], None
        events = read_trace(path)
        (name,) = [one for one in os.listdir(directory) if one.endswith(".h5")]
        mine, comm = read_file(os.path.join(directory, name))
        wanted, found = sums(events), sums(mine)
        kinds = left_out(said)
        missing = {of: sum(wanted[kind, None][1] - found[kind, None][1] for kind in of_kind)
                   for of, of_kind in (("device", ("kernel", "memcpy", "memset")), ("operator", ("operator",)))}
        out = differences(wanted, found, missing)
        told = sum(kinds.values())
        if not told - kinds.get(ANY_EVENT, 0) <= sum(missing.values()) <= told:
            out.append((("left out", str(kinds)), 0, missing))
        if comm != found["communication", None]:
            out.append((("operations of communication", None),
                        comm[0] - found["communication", None][0],
                        comm[1] - found["communication", None][1]))
        run(profwrap, "merge", directory)
        with h5py.File(os.path.join(directory, "cluster.h5")) as cluster:
            rows = cluster["gpu_ranks"][:]
            for key, ns in busy(mine).items() if len(rows) == 1 and rows[0]["devices"] == 1 else ():
                if abs(int(rows[0][key]) - ns) > MOST_NS:
                    out.append(((key, None), int(rows[0][key]) - ns, 0))
        kernels, talk = wanted["kernel", None], wanted["communication", None]
        text = (f"{kernels[1]} kernels {kernels[0] / 1e6:.6f} ms, {talk[1]} of communication "
                f"{talk[0] / 1e6:.6f} ms, {wanted['memcpy', None][1]} copies, "
                f"{wanted['operator', None][1]} operators; left out: {kinds or 'none'}")
        return text, out


def main():
    bad = 0
    for path in sys.argv[2:]:
        text, found = compare(sys.argv[1], path)
        print(f"{path}: {'refused: ' if found is None else ''}{text}")
        for key, ns, count in found or ():
            print(f"    differs: {key[0]} {str(key[1])[:80]}: {ns / 1e3:+.3f} us, {count:+d} events")
        bad += bool(found)
    print(f"{len(sys.argv) - 2} traces, {bad} with differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
