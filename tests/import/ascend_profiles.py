"""Profiles in the form that MindSpore's and torch_npu's profilers leave, of a job that is known.

    ascend_profiles.py DIR [ranks]        writes such a job's profiles, to look at

The form is that of mindspore/profiler/analysis in MindSpore 2.10's wheel, of torch_npu's
profiler/analysis, and of msprof's assemblers; times are made here. Each step of each rank computes,
copies, and does an all-reduce of all ranks while it computes on, and one more when it has ended. One
rank computes longer than the others, and one link is slower than the others.
"""
import csv
import json
import os
import sqlite3
import sys

BASE_NS = 1795640432000000000
WORLD = "10.0.0.1%eth0_60000_0_1795640432000000"
COUNT = 1 << 20  # elements of FP32
TASK_FIELDS = {"Model Id": 4294967295, "Batch Id": 0, "Subtask Id": 4294967295}


def group_number(name):
    high = low = 0
    for letter in name:
        high = (high * 29 + ord(letter)) & 0xFFFFFFFF
        low = (low * 131 + ord(letter)) & 0xFFFFFFFF
    return str(high << 32 | low)


def us(ns):
    """Microseconds with three decimals, as text."""
    return f"{ns // 1000}.{ns % 1000:03d}"


class Job:
    """Times in ns of a job's tasks, by rank."""

    def __init__(self, ranks=8, steps=3, slow_rank=5, slow_link=(2, 3), skews=None, first_step=4):
        self.ranks, self.steps, self.slow_rank, self.slow_link = ranks, steps, slow_rank, slow_link
        self.skews = skews or {}  # of hosts
        self.first_step = first_step
        self.kernels = {r: [] for r in range(ranks)}  # name, type, core, start, end, stream, number
        self.copies = {r: [] for r in range(ranks)}
        self.operations = {r: [] for r in range(ranks)}
        self.step_times = {r: [] for r in range(ranks)}
        self.connection = 100
        at = 0
        for step in range(steps):
            at = self.add_step(step, at)

    def host(self, rank):
        return f"node{rank // 4}"

    def links(self, rank):
        """To where the rank sends in a ring, and how long that takes."""
        to = (rank + 1) % self.ranks
        return to, 400_000 if (rank, to) == self.slow_link else 100_000

    def add_step(self, step, at):
        entered = {}
        for rank in range(self.ranks):
            self.connection += 10
            jitter = 1_000 * ((rank * 7 + step * 3) % 11)
            long = 2_000_000 if rank == self.slow_rank else 0
            compute = 3_000_000 + jitter + long
            begin = at + 200_000
            self.kernels[rank] += [
                ("aclnnMatmul_MatMulV2", "MatMulV2", "AI_CORE", begin, begin + compute, 2,
                 self.connection),
                ("aclnnCast_Cast", "Cast", "AI_CPU", begin + compute + 5_000,
                 begin + compute + 45_000 + rank, 2, self.connection + 1)]
            self.copies[rank].append((begin - 60_000, begin - 20_000, self.connection + 2, 4096))
            entered[rank] = begin + compute + 50_000
        last = max(entered.values())
        end = last + 8 * 400_000
        for rank in range(self.ranks):
            self.add_operation(rank, 2 * step, entered[rank], last, end, step)
            # what computes while the first all-reduce is in its transfers, and the second behind it
            self.kernels[rank].append(("aclnnAdd_Add", "Add", "AI_VECTOR_CORE", last + 100_000,
                                       last + 700_000 + 500 * rank, 3, self.connection + 5))
            self.add_operation(rank, 2 * step + 1, end + 30_000 + 700 * rank,
                               end + 30_000 + 700 * (self.ranks - 1), end + 2_000_000, step)
        stop = end + 2_300_000
        for rank in range(self.ranks):
            self.step_times[rank].append((self.first_step + step, at, stop - 1))
        return stop

    def add_operation(self, rank, number, start, last, end, step):
        to, length = self.links(rank)
        self.operations[rank].append(
            dict(name=f"hcom_allReduce__{group_number(WORLD)[-3:]}_{number}_1", start=start,
                 wait=last - start, transfer=length, end=end, to=to, step=self.first_step + step,
                 connection=self.connection + 20 + 100 * rank + number, bytes=4 * COUNT))

    def time(self, rank, ns):
        return BASE_NS + ns + self.skews.get(self.host(rank), 0)


# ---- sums, by the definitions of the profilers ----

def union(spans):
    out = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def minus(spans, others):
    out = []
    for start, end in spans:
        for low, high in others:
            if high <= start or low >= end:
                continue
            if low > start:
                out.append([start, low])
            start = max(start, high)
        if start < end:
            out.append([start, end])
    return out


def overlap(job, rank):
    """The rows of Overlap Analysis."""
    computing = union([k[3:5] for k in job.kernels[rank]])
    communication = union([(o["start"], o["end"]) for o in job.operations[rank]])
    every = union([tuple(s) for s in computing + communication])
    tasks = union([k[3:5] for k in job.kernels[rank]] + [c[:2] for c in job.copies[rank]] +
                  [(o["start"], o["end"]) for o in job.operations[rank]])
    free = minus([[tasks[0][0], tasks[-1][1]]], every)
    return {"Computing": computing, "Communication": communication,
            "Communication(Not Overlapped)": minus(communication, computing), "Free": free}


def step_rows(job, rank):
    parts = overlap(job, rank)
    for step, start, end in job.step_times[rank]:
        inside = {name: sum(b - a for a, b in spans if start <= a <= end)
                  for name, spans in parts.items() if name != "Free"}
        free = sum(max(0, min(b, end) - max(a, start)) for a, b in parts["Free"])
        first = min(a for a, _ in parts["Computing"] + parts["Communication"] if a >= start)
        operations = [o for o in job.operations[rank] if o["step"] == step]
        stage = operations[-1]["end"] - operations[0]["start"]
        exposed = inside["Communication(Not Overlapped)"]
        yield dict(zip(
            ("Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication",
             "Free", "Stage", "Bubble", "Communication(Not Overlapped and Exclude Receive)",
             "Preparing"),
            (step, *map(us, (inside["Computing"], exposed, inside["Communication"] - exposed,
                             inside["Communication"], free, stage, 0, exposed, first - start)))))


# ---- files ----

def metadata(pid, name, label, sort):
    return [{"name": "process_name", "pid": pid, "tid": 0, "ph": "M", "args": {"name": name}},
            {"name": "process_labels", "pid": pid, "tid": 0, "ph": "M", "args": {"labels": label}},
            {"name": "process_sort_index", "pid": pid, "tid": 0, "ph": "M",
             "args": {"sort_index": sort}}]


def thread(pid, tid, name):
    return [{"name": "thread_name", "pid": pid, "tid": tid, "ph": "M", "args": {"name": name}},
            {"name": "thread_sort_index", "pid": pid, "tid": tid, "ph": "M",
             "args": {"sort_index": tid}}]


def span(name, pid, tid, start, end, category=None, **arguments):
    out = {"name": name, "pid": pid, "tid": tid, "ts": us(start), "dur": (end - start) / 1000,
           "ph": "X", "args": arguments}
    if category is not None:
        out["cat"] = category
    return out


HOST, CANN, DEVICE, HCCL, OVERLAP, FREQ = 1, 3201, 3203, 3204, 3205, 3206
THREAD = 4711


def trace_events(job, rank, maker):
    at = lambda ns: job.time(rank, ns)
    layer = "MindSpore" if maker == "ms" else "Python"
    events = []
    for step, start, end in job.step_times[rank]:
        events.append(span(f"ProfilerStep#{step}", HOST, THREAD, at(start), at(end),
                           "" if maker == "ms" else "cpu_op", **{"Sequence number": -1}))
        events.append(span("aten::mm", HOST, THREAD, at(start + 10_000), at(start + 90_000),
                           "cpu_op", **{"Sequence number": step, "Input Dims": "8,3;\r\n3,5"}))
    numbers = [(k[6], k[3]) for k in job.kernels[rank]] + [
        (c[2], c[0]) for c in job.copies[rank]] + [
        (o["connection"], o["start"]) for o in job.operations[rank]]
    launched = set()
    for i, (number, start) in enumerate(numbers):
        if number in launched:
            continue
        launched.add(number)
        begin = max(s for _, s, _ in job.step_times[rank] if s < start) + 20_000 + 1_000 * i
        events.append(span("Node@launch", CANN, THREAD, at(begin), at(begin + 900),
                           **{"Thread Id": THREAD, "Mode": "launch", "level": "node",
                              "id": "0", "item_id": "0", "connection_id": number}))
        events += [{"name": "HostToDevice", "ph": "s", "cat": "HostToDevice", "id": str(number << 32),
                    "pid": CANN, "tid": THREAD, "ts": us(at(begin))},
                   {"name": "HostToDevice", "ph": "f", "cat": "HostToDevice", "id": str(number << 32),
                    "pid": DEVICE, "tid": 2, "ts": us(at(start)), "bp": "e"}]
    for i, (name, _, core, start, end, stream, number) in enumerate(job.kernels[rank]):
        events.append(span(name, DEVICE, stream, at(start), at(end),
                           **{"Task Type": core, "Physic Stream Id": stream, "Task Id": i,
                              "connection_id": number, **TASK_FIELDS}))
        events.append(span("EVENT_RECORD", DEVICE, stream, at(end), at(end + 20),
                           **{"Task Type": "EVENT_RECORD", "Physic Stream Id": stream, "Task Id": i,
                              "connection_id": 4294967295, **TASK_FIELDS}))
    for start, end, number, size in job.copies[rank]:
        events.append(span("MEMCPY_ASYNC", DEVICE, 2, at(start), at(end),
                           **{"Task Type": "MEMCPY_ASYNC", "Physic Stream Id": 2, "Task Id": 9,
                              "connection_id": number, "size(B)": size, "bandwidth(GB/s)": 0.1,
                              "operation": "host to device", **TASK_FIELDS}))
    for o in job.operations[rank]:
        events.append(span(o["name"], HCCL, 0, at(o["start"]), at(o["end"]),
                           rank_size=job.ranks, connection_id=o["connection"], data_type="FP32",
                           alg_type="RING-RING", count=COUNT, relay="no", retry="no",
                           **{"model id": 4294967295}))
        events += plane_tasks(o, rank, at)
    for tid, (name, spans) in enumerate(overlap(job, rank).items()):
        events += [span(name, OVERLAP, tid, at(a), at(b)) for a, b in spans]
    events.append({"name": "AI Core Freq", "pid": FREQ, "tid": 0, "ts": us(at(0)), "ph": "C",
                   "args": {"MHz": 1800}})
    # names come behind the events that they are for
    events += metadata(HOST, layer, "CPU", 1) + thread(HOST, THREAD, f"Thread {THREAD}")
    events += metadata(CANN, "CANN", "CPU", 9) + thread(CANN, THREAD, f"Thread {THREAD}")
    events += metadata(DEVICE, "Ascend Hardware", f"NPU {rank % 4}", 13)
    events += thread(DEVICE, 2, "Stream 2") + thread(DEVICE, 3, "Stream 3")
    events += metadata(HCCL, "Communication", f"NPU {rank % 4}", 24)
    events += thread(HCCL, 0, f"Group {group_number(WORLD)} Communication")
    events += thread(HCCL, 1, "Plane 0")
    events += metadata(OVERLAP, "Overlap Analysis", f"NPU {rank % 4}", 25)
    events += metadata(FREQ, "AI Core Freq", f"NPU {rank % 4}", 14)
    return events


def plane_tasks(o, rank, at):
    fields = {"stream id": 8, "task id": 1, "context id": 0, "data type": "FP32",
              "model id": 4294967295}
    start = o["start"]
    yield span("Notify_Wait", HCCL, 1, at(start), at(start + o["wait"]),
               **{"notify_id": "12", "duration estimated(us)": 0, "task type": "Notify_Wait",
                  "src rank": rank, "dst rank": o["to"], "transport type": "LOCAL",
                  "size(Byte)": 0, "link type": "INVALID_TYPE", "bandwidth(GB/s)": 0, **fields})
    start += o["wait"]
    yield span("Memcpy", HCCL, 1, at(start), at(start + o["transfer"]),
               **{"notify_id": "18446744073709551615", "duration estimated(us)": 1,
                  "task type": "Memcpy", "src rank": rank, "dst rank": o["to"],
                  "transport type": "SDMA", "size(Byte)": o["bytes"], "link type": "HCCS",
                  "bandwidth(GB/s)": o["bytes"] / o["transfer"], **fields})


def time_info(o, rank, job):
    elapse = o["end"] - o["start"]
    return {"Start Timestamp(us)": job.time(rank, o["start"]) / 1000, "Elapse Time(ms)": elapse / 1e6,
            "Transit Time(ms)": o["transfer"] / 1e6, "Wait Time(ms)": o["wait"] / 1e6,
            "Synchronization Time(ms)": o["wait"] / 1e6,
            "Idle Time(ms)": (elapse - o["wait"] - o["transfer"]) / 1e6,
            "Wait Time Ratio": round(o["wait"] / (o["wait"] + o["transfer"]), 4),
            "Synchronization Time Ratio": round(o["wait"] / (o["wait"] + o["transfer"]), 4)}


def bandwidth(size, length):
    mb, ms = size / 1e6, length / 1e6
    return {"Transit Size(MB)": mb, "Transit Time(ms)": ms,
            "Bandwidth(GB/s)": round(mb / ms, 4) if ms else 0}


def communication(job, rank):
    out = {}
    empty = {**bandwidth(0, 0), "Large Packet Ratio": 0, "Size Distribution": {}}
    for step, _, _ in job.step_times[rank]:
        collective = {}
        for o in job.operations[rank]:
            if o["step"] == step:
                own = {**bandwidth(o["bytes"], o["transfer"]), "Large Packet Ratio": 1.0,
                       "Size Distribution": {str(o["bytes"] / 1e6): [1, o["transfer"] / 1e6]}}
                collective[f"{o['name']}@{group_number(WORLD)}"] = {
                    "Communication Time Info": time_info(o, rank, job),
                    "Communication Bandwidth Info": {
                        "RDMA": empty, "HCCS": own, "PCIE": empty, "SDMA": own, "SIO": empty}}
        keys = ("Elapse", "Transit", "Wait", "Synchronization", "Idle")
        infos = [c["Communication Time Info"] for c in collective.values()]
        collective["Total Op Info"] = {
            "Communication Time Info": {f"{k} Time(ms)": sum(i[f"{k} Time(ms)"] for i in infos)
                                        for k in keys},
            "Communication Bandwidth Info": {}}
        out[f"step{step}"] = {"p2p": {}, "collective": collective}
    return out


def matrix(job, rank):
    out = {}
    for step, _, _ in job.step_times[rank]:
        collective = {}
        for o in job.operations[rank]:
            if o["step"] == step:
                collective[f"{o['name']}@{group_number(WORLD)}"] = {
                    f"{rank}-{rank}": {"Transport Type": "LOCAL", **bandwidth(o["bytes"], 5_000)},
                    f"{rank}-{o['to']}": {"Transport Type": "HCCS",
                                          **bandwidth(o["bytes"], o["transfer"])}}
        out[f"step{step}"] = {"p2p": {}, "collective": collective}
    return out


def write_csv(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def kernel_rows(job, rank):
    for i, (name, kind, core, start, end, stream, _) in enumerate(job.kernels[rank]):
        yield {"Step Id": "", "Model ID": 4294967295, "Task ID": i, "Stream ID": stream,
               "Name": name, "Type": kind, "Accelerator Core": core,
               "Start Time(us)": us(job.time(rank, start)) + "\t", "Duration(us)": us(end - start),
               "Wait Time(us)": 0, "Block Dim": 24, "Mix Block Dim": 0,
               "Input Shapes": '"8,3;3,5"', "Input Data Types": "FLOAT;FLOAT",
               "Input Formats": "ND;ND", "Output Shapes": '"8,5"', "Output Data Types": "FLOAT",
               "Output Formats": "ND"}


def statistic_rows(job, rank):
    kinds = {}
    for _, kind, core, start, end, _, _ in job.kernels[rank]:
        kinds.setdefault((kind, core), []).append(end - start)
    total = sum(map(sum, kinds.values()))
    for (kind, core), times in kinds.items():
        yield {"Device_id": rank % 4, "OP Type": kind, "Core Type": core, "Count": len(times),
               "Total Time(us)": us(sum(times)), "Min Time(us)": us(min(times)),
               "Avg Time(us)": round(sum(times) / len(times) / 1000, 3),
               "Max Time(us)": us(max(times)), "Ratio(%)": round(100 * sum(times) / total, 3)}


def memory_rows(job, rank):
    for i, (_, start, end) in enumerate(job.step_times[rank]):
        yield {"Name": "aten::mm", "Size(KB)": 512.0 * (i + 1),
               "Allocation Time(us)": us(job.time(rank, start + 15_000)) + "\t",
               "Release Time(us)": us(job.time(rank, end - 50_000)) + "\t",
               "Active Release Time(us)": "", "Duration(us)": us(end - start - 65_000),
               "Active Duration(us)": "", "Allocation Total Allocated(MB)": 1.5 + i,
               "Allocation Total Reserved(MB)": 20.0, "Allocation Total Active(MB)": 1.5 + i,
               "Release Total Allocated(MB)": 1.0 + i, "Release Total Reserved(MB)": 20.0,
               "Release Total Active(MB)": 1.0 + i, "Stream Ptr": 0, "Device Type": f"NPU:{rank % 4}"}


def write_profile(job, rank, where, maker="pt", version="2.6.0", pid=None, world=WORLD,
                  start_time="20261125210032198"):
    """The profile directory of a rank; its path."""
    path = os.path.join(where, f"{job.host(rank)}_{pid or 9000 + rank}_{start_time}_ascend_{maker}")
    out = os.path.join(path, "ASCEND_PROFILER_OUTPUT")
    os.makedirs(out)
    dump = lambda name, value: open(os.path.join(path, name), "w").write(json.dumps(value))
    key = "ms_version" if maker == "ms" else "torch_npu_version"
    dump(f"profiler_info_{rank}.json", {"rank_id": rank, key: version, "cann_version": "8.1.RC1",
                                        "config": {}})
    dump("profiler_metadata.json", {
        "distributed_args": {"world_size": job.ranks, "rank": rank},
        "parallel_group_info": {world: {"group_name": "default_group", "group_rank": rank,
                                        "global_ranks": list(range(job.ranks))}}})
    dump("ASCEND_PROFILER_OUTPUT/trace_view.json", trace_events(job, rank, maker))
    dump("ASCEND_PROFILER_OUTPUT/communication.json", communication(job, rank))
    dump("ASCEND_PROFILER_OUTPUT/communication_matrix.json", matrix(job, rank))
    write_csv(os.path.join(out, "step_trace_time.csv"),
              [{"Device_id": rank % 4, **row} for row in step_rows(job, rank)])
    write_csv(os.path.join(out, "kernel_details.csv"), list(kernel_rows(job, rank)))
    write_csv(os.path.join(out, "op_statistic.csv"), list(statistic_rows(job, rank)))
    write_csv(os.path.join(out, "operator_memory.csv"), list(memory_rows(job, rank)))
    return path


def write_job(job, where, **options):
    return [write_profile(job, rank, where, **options) for rank in range(job.ranks)]


# ---- what msprof-analyze makes of all ranks' profiles ----

STEP_COLUMNS = ("Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free",
                "Stage", "Bubble", "Communication(Not Overlapped and Exclude Receive)", "Preparing")


def all_ranks(job):
    return "(" + ", ".join(map(str, range(job.ranks))) + ")"


def analysed_steps(job):
    """The rows of cluster_step_trace_time.csv: of ranks, and the most of them for the stage."""
    rows = [{"Step": row["Step"], "Type": "rank", "Index": rank,
             **{name: float(row[name]) for name in STEP_COLUMNS}}
            for rank in range(job.ranks) for row in step_rows(job, rank)]
    for step, _, _ in job.step_times[0]:
        most = {name: max(row[name] for row in rows if row["Step"] == step) for name in STEP_COLUMNS}
        rows.append({"Step": step, "Type": "stage", "Index": all_ranks(job), **most})
    return rows


def analysed(job, of_rank):
    """The operations of all ranks, by step and name: with `communication` those of each rank, with
    `matrix` the links of all."""
    steps = {}
    for rank in range(job.ranks):
        for step, kinds in of_rank(job, rank).items():
            for name, value in kinds["collective"].items():
                if name.startswith("Total"):
                    continue
                part = value if of_rank is matrix else {str(rank): value}
                steps.setdefault(step, {}).setdefault(name, {}).update(part)
    return {all_ranks(job): steps}


def write_analysis(job, where):
    """The directory that msprof-analyze leaves in `where`; its path."""
    path = os.path.join(where, "cluster_analysis_output")
    os.makedirs(path, exist_ok=True)
    write_csv(os.path.join(path, "cluster_step_trace_time.csv"), analysed_steps(job))
    for name, of_rank in (("cluster_communication.json", communication),
                          ("cluster_communication_matrix.json", matrix)):
        with open(os.path.join(path, name), "w") as file:
            json.dump(analysed(job, of_rank), file)
    return path


ANALYSIS_TABLES = """
CREATE TABLE ClusterStepTraceTime (step TEXT, type TEXT, "index" TEXT, computing NUMERIC,
    communication_not_overlapped NUMERIC, overlapped NUMERIC, communication NUMERIC, free NUMERIC,
    stage NUMERIC, bubble NUMERIC, communication_not_overlapped_and_exclude_receive NUMERIC,
    preparing NUMERIC, dp_index INTEGER, pp_index INTEGER, tp_index INTEGER);
CREATE TABLE ClusterCommAnalyzerTime (rank_set TEXT, step TEXT, rank_id INTEGER, hccl_op_name TEXT,
    group_name TEXT, start_timestamp NUMERIC, elapsed_time NUMERIC, transit_time NUMERIC,
    wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC,
    synchronization_time_ratio NUMERIC, wait_time_ratio NUMERIC);
CREATE TABLE ClusterCommAnalyzerMatrix (rank_set TEXT, step TEXT, hccl_op_name TEXT, group_name TEXT,
    src_rank TEXT, dst_rank TEXT, transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC,
    transport_type TEXT, op_name TEXT);
CREATE TABLE CommunicationGroup (type TEXT, rank_set TEXT, group_name TEXT, group_id TEXT,
    pg_name TEXT);
CREATE TABLE HostInfo (hostUid TEXT, hostName TEXT);
CREATE TABLE RankDeviceMap (rankId INTEGER, deviceId INTEGER, hostUid TEXT, profilePath TEXT);
CREATE TABLE ClusterBaseInfo (key TEXT, value TEXT);
"""


def write_analysis_db(job, where):
    """The same as a database; the directory's path."""
    path = os.path.join(where, "cluster_analysis_output")
    os.makedirs(path, exist_ok=True)
    db = sqlite3.connect(os.path.join(path, "cluster_analysis.db"))
    db.executescript(ANALYSIS_TABLES)
    add = lambda table, *row: db.execute(
        f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    ranks, group = all_ranks(job), group_number(WORLD)
    for row in analysed_steps(job):
        add("ClusterStepTraceTime", str(row["Step"]), row["Type"], str(row["Index"]),
            *(row[name] for name in STEP_COLUMNS), 0, 0, 0)
    for step, operations in analysed(job, communication)[ranks].items():
        for name, of_ranks in operations.items():
            for rank, one in of_ranks.items():
                info = one["Communication Time Info"]
                add("ClusterCommAnalyzerTime", ranks, step, int(rank), name.split("@")[0], group,
                    info["Start Timestamp(us)"],
                    *(info[f"{key} Time(ms)"] for key in ("Elapse", "Transit", "Wait",
                                                          "Synchronization", "Idle")), 0, 0)
            add("ClusterCommAnalyzerTime", ranks, step, 0, "Total Op Info", group, 0, 1, 1, 1, 1, 1, 0, 0)
    for step, operations in analysed(job, matrix)[ranks].items():
        for name, links in operations.items():
            for link, one in links.items():
                add("ClusterCommAnalyzerMatrix", ranks, step, name.split("@")[0], group,
                    *link.split("-"), one["Transit Size(MB)"], one["Transit Time(ms)"],
                    one["Bandwidth(GB/s)"], one["Transport Type"], "")
    add("CommunicationGroup", "collective", ranks, group, WORLD, "default_group")
    hosts = sorted({job.host(rank) for rank in range(job.ranks)})
    for i, host in enumerate(hosts):
        add("HostInfo", str(i), host)
    for rank in range(job.ranks):
        add("RankDeviceMap", rank, rank % 4, str(hosts.index(job.host(rank))), "/profiles")
    add("ClusterBaseInfo", "distributed_args", json.dumps({"world_size": job.ranks}))
    db.commit()
    db.close()
    return path


# ---- databases ----

TABLES = """
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);
CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ENUM_MEMCPY_OPERATION (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER,
    name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER,
    inputShapes INTEGER, callchainId INTEGER, type INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER,
    connectionId INTEGER PRIMARY KEY, name INTEGER);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER,
    globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER,
    taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER,
    mixBlockDim INTEGER, taskType INTEGER, opType INTEGER);
CREATE TABLE MEMCPY_INFO (globalTaskId INTEGER, size NUMERIC, memcpyOperation INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER,
    connectionId INTEGER, groupName INTEGER, opId INTEGER PRIMARY KEY, relay INTEGER, retry INTEGER,
    dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER);
"""


def write_db(job, rank, where, name="ascend_pytorch_profiler_{}.db"):
    """The profile of a rank that has a database and no text; its path."""
    path = write_profile(job, rank, where)
    out = os.path.join(path, "ASCEND_PROFILER_OUTPUT")
    for file in os.listdir(out):
        os.remove(os.path.join(out, file))
    db = sqlite3.connect(os.path.join(out, name.format(rank)))
    db.executescript(TABLES)
    ids = {}
    text = lambda value: ids.setdefault(value, len(ids))
    at = lambda ns: job.time(rank, ns)
    add = lambda table, *row: db.execute(
        f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
    add("RANK_DEVICE_MAP", rank, rank % 4)
    add("HOST_INFO", "1", job.host(rank))
    add("ENUM_HCCL_DATA_TYPE", 4, "FP32")
    add("ENUM_MEMCPY_OPERATION", 1, "host to device")
    numbers = []
    tid = 77 << 32 | THREAD
    for step, start, end in job.step_times[rank]:
        add("STEP_TIME", step, at(start), at(end))
        add("PYTORCH_API", str(at(start + 10_000)), str(at(start + 90_000)), tid, 0,
            text("aten::mm"), step, 0, 0, 0, 0, 0)
    for i, (kernel, kind, core, start, end, stream, number) in enumerate(job.kernels[rank]):
        add("TASK", at(start), at(end), rank % 4, number, i, 77, text(core), 0, stream, i, 0)
        add("COMPUTE_TASK_INFO", text(kernel), i, 24, 0, text(core), text(kind))
        numbers.append((number, start))
    for i, (start, end, number, size) in enumerate(job.copies[rank]):
        add("TASK", at(start), at(end), rank % 4, number, 1000 + i, 77, text("MEMCPY_ASYNC"), 0, 2,
            1000 + i, 0)
        add("MEMCPY_INFO", 1000 + i, size, 1)
        numbers.append((number, start))
    add("TASK", at(5), at(6), rank % 4, 0, 5000, 77, text("EVENT_RECORD"), 0, 2, 5000, 0)
    for i, o in enumerate(job.operations[rank]):
        add("COMMUNICATION_OP", text(o["name"]), at(o["start"]), at(o["end"]), o["connection"],
            text(group_number(WORLD)), i, 0, 0, 4, text("RING-RING"), COUNT,
            text("hcom_allReduce_"))
        numbers.append((o["connection"], o["start"]))
    for i, (number, start) in enumerate(dict(numbers).items()):
        begin = max(s for _, s, _ in job.step_times[rank] if s < start) + 20_000 + 1_000 * i
        add("CANN_API", at(begin), at(begin + 900), 20000, tid, number, text("launch"))
    for value, number in ids.items():
        add("STRING_IDS", number, value)
    db.commit()
    db.close()
    return path


if __name__ == "__main__":
    write_job(Job(int(sys.argv[2]) if len(sys.argv) > 2 else 8), sys.argv[1])
