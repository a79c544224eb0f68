"""Writes a small directory as MindSpore's profiler left it before version 2.4, for MindInsight. The files
of each rank are written as the profiler's parsers write them (csv.writer; words between spaces)."""
import csv
import json
import os

START = 5_000_000_000  # 10 ns: the device's counter at the begin of the first step
BASE = ["step_num", "start_point", "end_point", "total", "fp_point", "bp_point",
        "iteration_interval", "fp_and_bp", "tail"]
REDUCE = "stream_10_0_AllReduce-op7"
# Of each step of a rank: interval, fp_and_bp, tail, and when in it the all-reduce begins and ends;
# all in us.
STEPS = {
    0: [(0, 700, 100, 400, 650), (200, 700, 100, 600, 850), (50, 700, 100, 450, 700)],
    1: [(0, 900, 100, 600, 850), (20, 900, 100, 620, 870), (30, 910, 100, 630, 880)],
}
# Of each step: batch in the host's queue, its capacity, in the device's queue; then ms of the host
# at which the batch was taken.
BATCHES = [(3, 8, 2, 85406000), (0, 8, 0, 85406010), (5, 8, 1, 85406020)]
STAMPS = [85405990, 85406005, 85406010, 85406025]

# Of each interval between two samples: percentages of all 8 CPUs of the host, and of one CPU.
HOST = {"user_utilization": [30, 20, 10], "sys_utilization": [5, 5, 5], "io_utilization": [1, 0, 1],
        "idle_utilization": [60, 70, 80], "runable_processes": [3, 4, 5], "context_switch_count": [7, 8, 9]}
PROCESS = {"user_utilization": [150, 210, 90], "sys_utilization": [10, 20, 30]}
OPERATORS = {-1: ([0, 1, 0], [0, 0, 0]), 0: ([2, 3, 4], [1, 1, 1]), 1: ([80, 120, 40], [4, 5, 6]),
             2: ([60, 80, 40], [6, 15, 23])}


def operator_cpu(op, rank):
    """The other rank's operators use twice the CPU time."""
    user, system = OPERATORS[op]
    return {"user_utilization": [(1 + rank) * value for value in user], "sys_utilization": system}


def write_rows(path, rows):
    with open(path, "w") as file:
        csv.writer(file).writerows(rows)


def step_rows(rank):
    """Returns the rows of the step trace, in units of 10 ns."""
    at, rows = START, []
    for number, (interval, both, tail, first, last) in enumerate(STEPS[rank], 1):
        interval, both, tail, first, last = (100 * us for us in (interval, both, tail, first, last))
        total = interval + both + tail
        rows.append([number, at, at + total, total, at + interval, at + interval + both, interval,
                     both, tail, last - first, at + first, at + last])
        at += total
    return rows


def write_steps(where, rank):
    rows = step_rows(rank)
    mean = ["-"] + [round(sum(column) / len(rows)) for column in list(zip(*rows))[1:]]
    write_rows(os.path.join(where, f"step_trace_raw_{rank}_detail_time.csv"),
               [BASE + [REDUCE, REDUCE + "_start_point", REDUCE + "_end_point"], *rows, mean])


def kernels(rank):
    """Returns the operators that ran: (name, stream, start and length in units of 10 ns)."""
    return [(f"Default/network-Net/{name}", 3, row[4] + after, length)
            for row in step_rows(rank)
            for name, after, length in (("MatMul-op1", 0, 20_000), ("ReLU-op2", 20_500, 1))]


def write_kernels(where, rank, unit="ms"):
    with open(os.path.join(where, f"output_timeline_data_{rank}.txt"), "w") as file:
        comma = ", " if unit == "ms" else ","
        file.write(comma.join(["op_name", "stream_id", f"start_time({unit})", "duration(ms)"]) + "\n")
        for name, stream, start, length in kernels(rank):
            time = start / 1e5 if unit == "ms" else start / 100
            file.write(",".join([name, str(stream), str(time), str(length / 1e5)]) + "\n")


def write_sums(where, rank):
    write_rows(os.path.join(where, f"aicore_intermediate_{rank}_detail.csv"),
               [["full_op_name", "execution_time"], ["Default/network-Net/MatMul-op1", "0.2"],
                ["Default/network-Net/ReLU-op2", "1e-05"]])
    write_rows(os.path.join(where, f"aicore_intermediate_{rank}_type.csv"),
               [["op_type", "execution_time", "execution_frequency", "percent"],
                ["MatMul", "0.2", 1, 99.99], ["ReLU", "1e-05", 1, 0.01]])


def write_newer_sums(where, rank):
    """Writes the sums with the columns that MindSpore 2.3 has, and the list of operators in which
    mindinsight finds their types."""
    runs = {}
    for name, _, _, length in kernels(rank):
        runs.setdefault(name, []).append(length / 1e5)
    kind = {name: name.split("/")[-1].split("-")[0] for name in runs}
    write_rows(os.path.join(where, f"aicore_intermediate_{rank}_detail.csv"),
               [["full_op_name", "execution_time", "execution_frequency"],
                *([name, sum(ms) / len(ms), len(ms)] for name, ms in runs.items())])
    write_rows(os.path.join(where, f"aicore_intermediate_{rank}_type.csv"),
               [["op_type", "total_time", "execution_frequency", "percent"],
                *([kind[name], sum(ms), len(ms), sum(ms) / sum(map(sum, runs.values()))]
                  for name, ms in runs.items())])
    write_rows(os.path.join(where, f"framework_raw_{rank}.csv"),
               [["task_id", "stream_id", "block_dim", "full_op_name", "op_name", "kernel_name", "op_type",
                 "subgraph", "op_info"],
                *([i, 3, 1, name, name.split("/")[-1], kind[name], kind[name], "Default", ""]
                  for i, name in enumerate(runs))])


def write_aicpu(where, rank, version=(2, 1)):
    """Writes the operators on the AI CPU. Up to version 2.1, run_start and run_end are in us. In 2.2,
    run_start is in ms, and run_end is run_start plus total_time."""
    rows = [["serial_number", "op_type", "total_time", "dispatch_time", "execution_time",
             "run_start", "run_end"]]
    for i, row in enumerate(step_rows(rank), 1):
        start = row[1] + 1_000  # 10 us after the step
        if version < (2, 2):
            rows.append([i, "GetNext", 0.08, 0.02, 0.05, start / 100, start / 100 + 50])
        else:
            rows.append([i, "GetNext", 0.07, 0.02, 0.05, start / 1e5, start / 1e5 + 0.07])
    write_rows(os.path.join(where, f"aicpu_intermediate_{rank}.csv"), rows)


def write_queues(where, rank, first=1):
    with open(os.path.join(where, f"device_queue_profiling_{rank}.txt"), "w") as file:
        for i, (size, capacity, _, time) in enumerate(BATCHES, first):
            for kind, cost in enumerate((3, 1, 4)):
                file.write(f"0 {kind} {i} {cost} {time}\n")
            file.write(f"1 {capacity} {i} {size} {time}\n")
    with open(os.path.join(where, f"minddata_aicpu_{rank}.txt"), "w") as file:
        for i, (_, _, size, _) in enumerate(BATCHES):
            file.write(f"GetNext_dequeue_wait {1000 * i} {1000 * i + 40} {size}\n")
    queues = {1: (8, [3, 4, 0, 5]), 2: (16, [16, 15, 16, 14])}
    rows = [["op_id", "op_type", "num_workers", "output_queue_size", "output_queue_average_size",
             "output_queue_length", "output_queue_usage_rate", "sample_interval", "parent_id",
             "children_id"],
            [0, "DeviceQueue", 1, None, None, None, None, 10, None, [1]]]
    for op, kind, workers, children in ((1, "Batch", 4, [2]), (2, "TFReader", 8, None)):
        length, sizes = queues[op]
        mean = sum(sizes) / len(sizes)
        rows.append([op, kind, workers, sizes, mean, length, mean / length, 10, op - 1, children])
    write_rows(os.path.join(where, f"minddata_pipeline_raw_{rank}.csv"), rows)
    with open(os.path.join(where, f"minddata_cpu_utilization_{rank}.json"), "w") as file:
        json.dump({"cpu_processor_num": 8, "sampling_interval": 10, "time_stamp": STAMPS,
                   "device_info": HOST, "process_info": PROCESS,
                   "op_info": [{"metrics": operator_cpu(op, rank), "op_id": op}
                               for op in sorted(OPERATORS)]}, file)
    with open(os.path.join(where, f"pipeline_profiling_{rank}.json"), "w") as file:
        json.dump({"op_info": [{"op_id": row[0], "num_workers": row[2]} for row in rows[1:]]}, file)


def write_info(where, rank, version="2.1.0"):
    with open(os.path.join(where, f"profiler_info_{rank}.json"), "w") as file:
        json.dump({"context_mode": "graph", "rank_id": rank, "rank_size": len(STEPS),
                   "ms_version": version, "parallel_mode": "data-parallel", "stage_num": 1}, file)


def write_job(where):
    """Writes all files of all ranks. Returns the directory."""
    for rank in STEPS:
        for write in (write_steps, write_kernels, write_sums, write_aicpu, write_queues, write_info):
            write(where, rank)
    return where
