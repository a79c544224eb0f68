"""Imported directories of MindSpore's profiler before version 2.4: steps, kernels and queues are what the
files say, worked by hand and as mindinsight reads them, and bad files are named.

    test_mindinsight.py PROFWRAP CASE        test_mindinsight.py --list
"""
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import ascend_profiles
import mindinsight_profiles as written

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))
import stored  # noqa: E402

CASES = {}
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "profwrap")

# What mindinsight says of a directory, as JSON.
MINDINSIGHT = """
import json, sys
from mindinsight.profiler.analyser.analyser import AicoreDetailAnalyser, AicoreTypeAnalyser
from mindinsight.profiler.analyser.minddata_analyser import MinddataAnalyser
from mindinsight.profiler.analyser.minddata_cpu_utilization_analyser import MinddataCpuUtilizationAnalyser
from mindinsight.profiler.analyser.minddata_pipeline_analyser import MinddataPipelineAnalyser
from mindinsight.profiler.analyser.step_trace_analyser import StepTraceAnalyser
out = {}
for rank in "01":
    steps = StepTraceAnalyser(sys.argv[1], rank)
    ms = lambda name: steps.query({"filter_condition": {"mode": "proc", "proc_name": name,
                                                        "step_id": None}})["info"][name]
    data = MinddataAnalyser(sys.argv[1], rank)
    out[rank] = {
        **{name: ms(name) for name in ("total", "iteration_interval", "fp_and_bp", "tail")},
        "reduces": steps.query_for_all_reduce(),
        "summary": steps.summary,
        "host": data.analyse_device_queue_info("queue")[0],
        "device": data.analyse_get_next_info("queue")[0],
        "pipeline": MinddataPipelineAnalyser(sys.argv[1], rank).data,
        "cpu": MinddataCpuUtilizationAnalyser(sys.argv[1], rank).query({}),
        "operators": AicoreDetailAnalyser(sys.argv[1], rank).data,
        "types": AicoreTypeAnalyser(sys.argv[1], rank).data,
    }
print(json.dumps(out))
"""


def case(function):
    CASES[function.__name__] = function
    return function


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def run(*arguments, status=0):
    done = subprocess.run([profwrap, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stderr if status or arguments[0] == "import" else done.stdout


def new(name=""):
    return tempfile.mkdtemp(dir=where, prefix=name)


def imported(*paths):
    """Imports the paths, and checks that all events are imported or counted. Returns the rank files by
    rank, the messages, and the directory."""
    directory = new()
    said = run("import", "-o", directory, *paths)
    ranks = {int(name[5:10]): h5py.File(os.path.join(directory, name))
             for name in os.listdir(directory) if name.endswith(".h5")}
    events, taken = map(int, re.search(r"(\d+) events,? .*?(\d+) imported", said).groups())
    left_out = sum(int(n) for n in re.findall(r"left out: (\d+) ", said))
    assert events == taken + left_out, said
    return ranks, said, directory


def refused(*paths):
    directory = new()
    said = run("import", "-o", directory, *paths, status=1)
    assert not [name for name in os.listdir(directory) if name.startswith("rank")], said
    assert len(said.splitlines()) == 1, said
    return said


def merged(directory):
    run("merge", directory)
    return h5py.File(os.path.join(directory, "cluster.h5"))


def texts(file):
    return [text.decode() for text in file["strings"][()]]


def rows_of(file, table, *fields):
    names = texts(file)
    value = lambda row, field: (names[row[field]] if field in ("name", "queue", "category", "type")
                                else row[field].item())
    return [tuple(value(row, field) for field in fields) for row in file[table][()]]


# ---- what is in the files ----

@case
def steps_and_phases():
    ranks, said, directory = imported(written.write_job(new()))
    assert sorted(ranks) == [0, 1] and "2 rows with averages over steps" in said, said
    # worked by hand: 10 ns are a unit; rank 0 begins at 5e9 of them
    begin = 50_000_000_000
    assert rows_of(ranks[0], "steps", "step", "start", "end") == [
        (1, begin, begin + 800_000), (2, begin + 800_000, begin + 1_800_000),
        (3, begin + 1_800_000, begin + 2_650_000)]
    ranges = rows_of(ranks[0], "events/range", "name", "start", "end")
    second = begin + 800_000
    for expected in (("data", second, second + 200_000), ("forward", second + 200_000, second + 900_000),
                     ("backward", second + 900_000, second + 900_000),
                     ("optimizer", second + 900_000, second + 1_000_000),
                     ("allreduce", second + 600_000, second + 850_000)):
        assert expected in ranges, (expected, ranges)
    cluster = merged(directory)
    trace, phases = cluster["step_trace"][()], cluster["phase_trace"][()]
    for rank, steps in written.STEPS.items():
        for i, (interval, both, tail, first, last) in enumerate(steps):
            row, phase = trace[i][rank], phases[i][rank]
            assert [int(row[name]) for name in ("total_ns", "interval_ns", "fp_bp_ns", "tail_ns")] == \
                [1000 * us for us in (interval + both + tail, interval, both, tail)], (rank, i, row)
            assert [int(phase[name]) for name in ("forward_ns", "backward_ns", "allreduce_ns",
                                                  "optimizer_ns")] == \
                [1000 * both, -1, 1000 * (last - first), 1000 * tail], (rank, i, phase)
    assert "MindSpore" in cluster.attrs["job_id"].decode(), dict(cluster.attrs)
    text = run("report", "--section", "steps", directory)
    assert re.search(r"0 +883 us +83\.3 us +700 us +100 us", text), text
    assert re.search(r"1 +1\.0 ms +16\.7 us +903 us +100 us", text), text


@case
def inference_has_no_backward():
    directory = new()
    base = [name for name in written.BASE if name not in ("bp_point", "tail")]
    base[base.index("fp_and_bp")] = "fp"
    rows = [[1, 100, 900, 800, 300, 200, 600], ["-", 100, 900, 800, 300, 200, 600]]
    written.write_rows(os.path.join(directory, "step_trace_raw_0_detail_time.csv"), [base, *rows])
    ranks, _, out = imported(directory)
    assert rows_of(ranks[0], "events/range", "name", "start", "end") == \
        [("data", 1000, 3000), ("forward", 3000, 9000), ("step", 1000, 9000)]
    assert "backward" not in texts(ranks[0])
    row = merged(out)["step_trace"][()][0][0]
    assert (row["interval_ns"], row["fp_bp_ns"], row["tail_ns"]) == (2000, -1, -1)


@case
def kernels_and_their_sums():
    directory = written.write_job(new())
    ranks, said, out = imported(directory)
    for rank, file in ranks.items():
        expected = [(name, stream, 10 * start, 10 * (start + length))
                    for name, stream, start, length in written.kernels(rank)]
        expected += [("GetNext", 0, 10 * row[1] + 10_000, 10 * row[1] + 60_000)
                     for row in written.step_rows(rank)]
        assert sorted(rows_of(file, "events/kernel", "name", "stream", "start", "end")) == \
            sorted(expected)
    # the sums of both files, as they are printed
    for file in ranks.values():
        assert rows_of(file, "mindinsight/sums", "name", "type", "calls", "time_us") == \
            [("Default/network-Net/MatMul-op1", "", -1, 0.2 * 1e3),
             ("Default/network-Net/ReLU-op2", "", -1, 1e-05 * 1e3),
             ("", "MatMul", 1, 0.2 * 1e3), ("", "ReLU", 1, 1e-05 * 1e3)]
    # the sums of the profiler's own file are the means of the kernels
    kernels = {row["name"].decode(): row for row in merged(out)["kernels"]}
    with open(os.path.join(directory, "aicore_intermediate_0_detail.csv")) as file:
        for row in csv.DictReader(file):
            ours = kernels[row["full_op_name"]]
            assert int(ours["total_ns"]) == round(float(row["execution_time"]) * 1e6 *
                                                  int(ours["calls"])), (row, ours)


@case
def sums_that_cannot_be_are_counted():
    directory = new()
    written.write_steps(directory, 0)
    written.write_rows(os.path.join(directory, "aicore_intermediate_0_detail.csv"),
                       [["full_op_name", "execution_time", "execution_frequency"],
                        ["Default/MatMul-op1", "0.5", "x"], ["", "0.5", 1], ["Default/Add-op2", "nan", 1],
                        ["Default/Add-op3", "1e300", 1], ["Default/Add-op4", "-1", 1],
                        ["Default/Add-op5", "", 1], ["Default/\u4e2d-op6", "0", -3]])
    ranks, said, _ = imported(directory)
    assert rows_of(ranks[0], "mindinsight/sums", "name", "calls", "time_us") == \
        [("Default/MatMul-op1", -1, 500.0), ("Default/\u4e2d-op6", -1, 0.0)]
    assert "4 events without a possible time" in said and "1 events without the fields" in said, said


@case
def kernels_of_gpus():
    directory = new()
    written.write_steps(directory, 0)
    start = 10 * written.START
    with open(os.path.join(directory, "activity_execute_timestamp_0.txt"), "w") as file:
        file.write(f"void add<float, 4>(a;b);7;{start + 5};12.5\n"
                   f"gemm;7;{start + 90_000};0.001\ncut;7\nbad;7;x;1\n")
    ranks, said, _ = imported(directory)
    assert rows_of(ranks[0], "events/kernel", "name", "stream", "start", "end") == [
        ("void add<float, 4>(a;b)", 7, start + 5, start + 12_505),
        ("gemm", 7, start + 90_000, start + 90_001)]
    assert "1 events without a possible time" in said and "1 events without the fields" in said, said


@case
def units_of_other_versions():
    directory = new()
    for rank in (0, 1):
        written.write_steps(directory, rank)
        written.write_aicpu(directory, rank, (2, 2))
        written.write_kernels(directory, rank, "us")
    # a version that wrote ms below a head with us
    path = os.path.join(directory, "output_timeline_data_1.txt")
    with open(path) as file:
        rows = list(csv.reader(file))
    written.write_rows(path, [rows[0], *[[a, b, float(us) / 1000, d] for a, b, us, d in rows[1:]]])
    ranks, said, _ = imported(directory)
    assert "without a possible time" not in said, said
    for rank, file in ranks.items():
        starts = {start for _, start in rows_of(file, "events/kernel", "name", "start")}
        assert {10 * start for _, _, start, _ in written.kernels(rank)} <= starts, starts
        assert {10 * row[1] + 10_000 for row in written.step_rows(rank)} <= starts, starts


@case
def times_of_aicpu_without_steps():
    for version in ((2, 1), (2, 2)):
        directory = new()
        written.write_aicpu(directory, 0, version)
        ranks, _, _ = imported(directory)
        assert rows_of(ranks[0], "events/kernel", "start", "end") == [
            (10 * row[1] + 10_000, 10 * row[1] + 60_000) for row in written.step_rows(0)]


@case
def queues():
    ranks, said, out = imported(written.write_job(new()))
    # of four samples of TFReader's queue one is before the first batch; Batch's are twice
    assert "2 samples of queues whose step is not known" in said, said
    assert "8 samples of a queue whose size at each batch is imported" in said, said
    assert "18 times of getting and sending single batches" in said, said
    starts = [10 * row[1] for row in written.step_rows(0)]
    sampled = [starts[0] + 400_000, starts[1], starts[2]]  # half of the first batch's 10 ms is over
    assert sorted(rows_of(ranks[0], "samples/queue", "queue", "time", "size", "capacity")) == sorted(
        [("Batch_1", start, size, capacity)
         for start, (size, capacity, _, _) in zip(starts, written.BATCHES)] +
        [("device queue", start, size, 0) for start, (_, _, size, _) in zip(starts, written.BATCHES)] +
        [("TFReader_2", time, size, 16) for time, size in zip(sampled, (15, 16, 14))])
    queues_ = {(int(row["rank"]), row["queue"].decode()): row for row in merged(out)["queues"]}
    batch = queues_[0, "Batch_1"]
    assert (int(batch["samples"]), int(batch["empty_samples"]), int(batch["steps_empty"])) == (3, 1, 1)
    assert abs(batch["usage"] - (3 / 8 + 0 + 5 / 8) / 3) < 1e-12
    assert [int(queues_[0, name]["place"]) for name in ("TFReader_2", "Batch_1", "device queue")] == \
        [0, 1, 2]
    assert batch["filled_by"].decode() == "Batch", batch
    text = run("report", "--section", "data_pipeline", out)
    assert "The host's queue is empty in more than 30 %" in text and "'Batch'" in text, text


@case
def profiles_that_began_later():
    """The first batch is that of the first step, whatever its number."""
    directory = new()
    written.write_steps(directory, 0)
    written.write_queues(directory, 0, first=501)
    ranks, _, _ = imported(directory)
    assert len(ranks[0]["samples/queue"]) == 9


@case
def queues_without_steps():
    directory = new()
    written.write_queues(directory, 0)
    ranks, said, _ = imported(directory)
    assert "3 samples of queues whose step is not known" in said, said  # of the device, another clock
    assert rows_of(ranks[0], "samples/queue", "queue", "time")[:3] == \
        [("Batch_1", 1_000_000 * time) for _, _, _, time in written.BATCHES]
    assert [time for name, time in rows_of(ranks[0], "samples/queue", "queue", "time")
            if name == "TFReader_2"] == [1_000_000 * time for time in written.STAMPS]


@case
def branches_of_the_pipeline_are_counted():
    directory = new()
    written.write_steps(directory, 0)
    written.write_queues(directory, 0)
    path = os.path.join(directory, "minddata_pipeline_raw_0.csv")
    with open(path) as file:
        rows = list(csv.reader(file))
    rows[2][9] = "[2, 3]"
    rows.append([3, "Map", 1, "[1, 2]", 1.5, 4, 0.375, 10, 1, ""])
    written.write_rows(path, rows)
    ranks, said, _ = imported(directory)
    assert "6 samples of queues in branches of the data pipeline" in said, said
    assert {name for name, in rows_of(ranks[0], "samples/queue", "queue")} == \
        {"Batch_1", "device queue"}


@case
def a_circle_in_the_pipeline_ends():
    """Operators without queues that are each other's children; then one of them has a queue."""
    for sizes in ("", "[1, 2]"):
        directory = new()
        written.write_steps(directory, 0)
        written.write_queues(directory, 0)
        path = os.path.join(directory, "minddata_pipeline_raw_0.csv")
        with open(path) as file:
            rows = list(csv.reader(file))
        names, rows = rows[0], rows[1:3]
        rows[1][names.index("children_id")] = "[0]"
        rows[1][names.index("output_queue_size")] = sizes
        written.write_rows(path, [names, *rows])
        queues = {name for name, in rows_of(imported(directory)[0][0], "samples/queue", "queue")}
        assert queues == {"Batch_1" if sizes else "host queue", "device queue"}, queues


@case
def cpu_time_of_the_pipeline():
    directory = written.write_job(new())
    ranks, said, out = imported(directory)
    # the first sample was before the first batch, so when the first interval began is not known
    assert "12 samples of CPU time whose step is not known" in said, said
    rows = written.step_rows(0)
    times = [10 * rows[0][1] + 400_000, 10 * rows[1][1], 10 * rows[2][1]]
    assert rows_of(ranks[0], "samples/pipeline_cpu", "time", "name", "workers", "user_share",
                   "sys_share") == \
        [(times[1 + i], name, workers, user[1 + i] / 100, system[1 + i] / 100)
         for op, name, workers in ((-1, "(no operator)", -1), (0, "DeviceQueue_0", 1), (1, "Batch_1", 4),
                                   (2, "TFReader_2", 8))
         for user, system in [written.OPERATORS[op]] for i in range(2)]
    spans = [times[1] - times[0], times[2] - times[1]]
    sums = lambda shares: [0, round(shares[0] * spans[0]),
                           round(shares[0] * spans[0]) + round(shares[1] * spans[1])]
    assert rows_of(ranks[0], "samples/process", "time", "cpu_user_ns", "cpu_sys_ns", "rss_bytes") == \
        list(zip(times, sums((2.1, 0.9)), sums((0.2, 0.3)), [-1] * 3))
    assert rows_of(ranks[0], "samples/host", "time", "busy_ns", "idle_ns", "steal_ns") == \
        list(zip(times, sums((8 * 0.3, 8 * 0.19)), sums((8 * 0.7, 8 * 0.81)), [-1] * 3))
    cluster = merged(out)
    cpu = {(int(row["rank"]), row["name"].decode()): row for row in cluster["pipeline_cpu"]}
    batch = cpu[1, "Batch_1"]
    assert (int(batch["workers"]), int(batch["samples"])) == (4, 2), batch
    assert [round(float(batch[name]), 9) for name in ("user_share", "sys_share", "max_share")] == \
        [1.6, 0.055, 2.45], batch
    used, = (row for row in cluster["utilisation"] if row["rank"] == 0)
    assert abs(used["cpu_user_share"] - sums((2.1, 0.9))[-1] / sum(spans)) < 1e-9, used
    assert abs(used["host_busy_share"] - (0.3 * spans[0] + 0.19 * spans[1]) / sum(spans)) < 1e-6, used
    assert used["rss_max_bytes"] == -1 and len(cluster["memory"]) == 0, used
    text = run("report", "--section", "data_pipeline,utilisation", out)
    # user and system of both ranks, the most, its rank, a worker's share, and the most in a sample
    assert len(re.findall(r"Batch_1 +4 +120 % +5\.5 % +166 % +1 +41 % +245 %", text)) == 1, text
    assert "n/a" in text.split("What each rank's process used")[1], text
    report = json.loads(run("report", "--format", "json", out))
    assert len(report["pipeline_cpu"]) == 8 and report["pipeline_cpu"][0]["samples"] == 2
    assert "Batch_1" in run("report", "--format", "csv", "--section", "data_pipeline", out)
    run("report", "--format", "html", out)
    run("report", "--full", out)


@case
def sums_of_operators_are_reported():
    directory = new()
    for rank in (0, 1):
        written.write_steps(directory, rank)
        written.write_newer_sums(directory, rank)
    rows = [["full_op_name", "execution_time", "execution_frequency"],
            ["Default/network-Net/MatMul-op1", 0.5, 3], ["Default/network-Net/Only-op3", 0.1, 2]]
    written.write_rows(os.path.join(directory, "aicore_intermediate_1_detail.csv"), rows)
    _, _, out = imported(directory)
    sums = {(row["name"].decode().split("/")[-1], row["type"].decode()): row
            for row in merged(out)["mindinsight_sums"]}
    tell = lambda row: (int(row["ranks"]), int(row["calls"]), round(float(row["mean_us"]), 6),
                        round(float(row["max_us"]), 6), int(row["max_rank"]))
    assert tell(sums["MatMul-op1", ""]) == (2, 6, 350.0, 500.0, 1), sums
    assert tell(sums["Only-op3", ""]) == (1, 2, 100.0, 100.0, 1)
    assert tell(sums["", "MatMul"]) == (2, 6, 600.0, 600.0, 0), sums
    text = run("report", "--section", "aicore", out)
    assert re.search(r"MatMul-op1 +6 +350 us +500 us +1 +2", text), text
    assert "As MindSpore's profiler added them up" in text and text.index("Type") < text.index("MatMul-op1")
    assert len(json.loads(run("report", "--format", "json", out))["aicore"]) == 5


# ---- beside mindinsight ----

def check_operators(told, kernels):
    """mindinsight's times of operators and types are those of /kernels, whose rows have all ranks; these
    are alike. It prints six digits of us, and our means are of whole ns."""
    ours = {row["name"].decode().split("/")[-1]: row for row in kernels}
    for name, _, kind, mean, calls, *_ in told["operators"]:
        row = ours[name]
        assert (2 * calls, round(2 * calls * mean * 1e3)) == (int(row["calls"]), int(row["total_ns"])), \
            (name, row)
        total, = (one[1] for one in told["types"] if one[0] == kind)
        assert round(2e3 * total) == int(row["total_ns"]), (kind, total, row)


def check_cpu(told, rank, cluster):
    """mindinsight's means are whole percentages."""
    ours = {row["name"].decode(): row for row in cluster["pipeline_cpu"] if row["rank"] == rank}
    names = {0: "DeviceQueue_0", 1: "Batch_1", 2: "TFReader_2"}
    assert len(told["op_info"]["op_list"]) == len(names)
    for op in told["op_info"]["op_list"]:
        row = ours[names[op["op_id"]]]
        assert int(row["samples"]) == 3 and int(row["workers"]) == op["num_workers"], (op, row)
        for field, key in (("user_share", "user_utilization"), ("sys_share", "sys_utilization")):
            assert round(100 * float(row[field])) == op["metrics"][key]["avg_value"], (op, row)


@case
def mindinsight_says_the_same():
    python = os.path.join(CACHE, "mindinsight", "bin", "python")
    if not os.path.exists(python):
        skip(f"{python} is not there")
    if subprocess.run([python, "-c", "import mindinsight.profiler.analyser.step_trace_analyser"],
                      capture_output=True).returncode:
        skip("mindinsight does not start there")
    written.STAMPS[0] = written.BATCHES[0][3]  # all samples are in a step
    directory = written.write_job(new())
    for rank in (0, 1):
        written.write_newer_sums(directory, rank)
    done = subprocess.run([python, "-c", MINDINSIGHT, directory], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout.splitlines()[-1])
    ranks, _, out = imported(directory)
    cluster = merged(out)
    trace = cluster["step_trace"][()]
    ours = {(int(row["rank"]), row["queue"].decode()): row for row in cluster["queues"]}
    for rank in (0, 1):
        told = theirs[str(rank)]
        for name, field in (("total", "total_ns"), ("iteration_interval", "interval_ns"),
                            ("fp_and_bp", "fp_bp_ns"), ("tail", "tail_ns")):
            assert [round(int(row[rank][field]) / 1e6, 4) for row in trace] == told[name], (rank, name)
        reduces = [(start, end) for name, start, end in
                   rows_of(ranks[rank], "events/range", "name", "start", "end") if name == "allreduce"]
        assert [(round(start / 1e6, 9), round((end - start) / 1e6, 9)) for start, end in reduces] == \
            [(round(row[2], 9), round(row[3], 9)) for row in told["reduces"]], told["reduces"]
        host, device = ours[rank, "Batch_1"], ours[rank, "device queue"]
        assert [size for name, size in rows_of(ranks[rank], "samples/queue", "queue", "size")
                if name == "Batch_1"] == told["host"]["info"]["queue"]
        assert int(host["empty_samples"]) == told["host"]["summary"]["queue_summary"]["empty_queue"]
        assert int(device["empty_samples"]) == told["device"]["summary"]["queue_summary"]["empty_queue"]
        assert int(device["samples"]) == told["device"]["size"]
        reader = next(row for row in told["pipeline"] if row[1] == "TFReader")
        assert abs(ours[rank, "TFReader_2"]["mean_size"] - reader[4]) < 1e-9, reader
        assert abs(ours[rank, "TFReader_2"]["usage"] - reader[6]) < 1e-9, reader
        check_cpu(told["cpu"], rank, cluster)
        check_operators(told, cluster["kernels"])
        sums = rows_of(ranks[rank], "mindinsight/sums", "name", "type", "calls", "time_us")
        digits = lambda us: float(format(us, ".6f"))  # that mindinsight prints
        assert [(name.split("/")[-1], calls, digits(us)) for name, _, calls, us in sums if name] == \
            [(row[0], row[4], row[3]) for row in told["operators"]], told["operators"]
        assert [(kind, digits(us), calls) for name, kind, calls, us in sums if not name] == \
            [tuple(row[:3]) for row in told["types"]], told["types"]


# ---- bad files ----

@case
def damaged_files_are_named_and_the_others_taken():
    directory = written.write_job(new())
    path = os.path.join(directory, "step_trace_raw_0_detail_time.csv")
    lines = open(path).read().splitlines()
    open(path, "w").write("\n".join([lines[0], lines[1], "2,9,5,1,7,6", "x,1,2", lines[3][:20]]))
    open(os.path.join(directory, "aicpu_intermediate_0.csv"), "w").close()
    open(os.path.join(directory, "minddata_cpu_utilization_0.json"), "w").write('{"time_stamp": [1')
    open(os.path.join(directory, "device_queue_profiling_0.txt"), "a").write("1 8 x\n\n\0\n9 9 9 9\n")
    open(os.path.join(directory, "minddata_pipeline_raw_0.csv"), "a").write("7,[x],,\n-1,Map\n1\n")
    open(os.path.join(directory, "profiler_info_0.json"), "w").write("[")
    ranks, said, _ = imported(directory)
    assert sorted(ranks) == [0, 1] and len(ranks[0]["steps"]) == 1, said
    assert "1 events without a possible time" in said, said  # the second row; the last one is cut
    assert "step_trace_raw_0_detail_time.csv is not read to its end: it is empty, or ends" in said, said
    assert len(ranks[1]["steps"]) == 3 and len(ranks[1]["events/kernel"]) == 9


@case
def empty_and_half_written_steps_are_told():
    directory = written.write_job(new())
    path = os.path.join(directory, "step_trace_raw_0_detail_time.csv")
    open(path, "w").close()
    ranks, said, _ = imported(directory)
    assert "step_trace_raw_0_detail_time.csv: has no step: it is empty, or half written" in said, said
    assert not ranks[0].attrs["complete"] and ranks[1].attrs["complete"]
    assert len(ranks[0]["events/kernel"]) == 9


@case
def tables_that_are_cut_or_have_other_columns_are_named():
    for name in ("output_timeline_data_0.txt", "aicpu_intermediate_0.csv", "aicore_intermediate_0_type.csv",
                 "minddata_pipeline_raw_0.csv"):
        path = os.path.join(written.write_job(new()), name)
        text = open(path).read()
        for content, words in (("", "it is empty"), ("hello, world\n1,2\n", "its head has other columns"),
                               (text.rstrip()[:-1], "ends in the middle of a row")):
            open(path, "w").write(content)
            ranks, said, _ = imported(os.path.dirname(path))
            assert re.search(rf"rank 0: .*: {name} is not read to its end: .*{words}", said), said
            assert not ranks[0].attrs["complete"] and ranks[1].attrs["complete"], said
    # of a line of text no number is taken that may be another one
    path = os.path.join(written.write_job(new()), "minddata_aicpu_0.txt")
    text = open(path).read()
    open(path, "w").write(text.rstrip())
    _, said, _ = imported(os.path.dirname(path))
    assert "1 events without the fields" in said, said


@case
def one_file_of_a_directory():
    directory = written.write_job(new())
    steps = os.path.join(directory, "step_trace_raw_1_detail_time.csv")
    ranks, _, _ = imported(steps)
    assert list(ranks) == [1] and len(ranks[1]["events/kernel"]) == 9
    said = refused(os.path.join(directory, "aicpu_intermediate_1.csv"))
    assert "is read with step_trace_raw_1_detail_time.csv beside it" in said, said


@case
def directories_of_ranks_below_one():
    top = new()
    for rank in (0, 1):
        directory = os.path.join(top, f"rank_{rank}", "profiler")
        os.makedirs(os.path.join(directory, "PROF_000001_20230101", "device_0"))
        for write in (written.write_steps, written.write_info):
            write(directory, rank)
    ranks, _, _ = imported(top)
    assert sorted(ranks) == [0, 1]
    # the same rank in two directories is of two runs, or of two hosts that both count from 0
    shutil.copytree(os.path.join(top, "rank_0"), os.path.join(top, "rank_2"))
    said = run("import", "-o", new(), top, status=1)
    assert "rank 0 is in several traces at the same time" in said, said


@case
def files_beside_newer_profiles_are_named():
    top = written.write_job(new())
    job = ascend_profiles.Job(ranks=1)
    ascend_profiles.write_profile(job, 0, top, maker="ms")
    ranks, said, _ = imported(top)
    assert list(ranks) == [0] and len(ranks[0]["events/comm"]) == 2 * job.steps, said
    assert "its files of MindInsight, of 2 ranks, are not read" in said, said


@case
def versions_and_sizes_of_jobs():
    directory = written.write_job(new())
    written.write_info(directory, 1, "2.2.0")
    _, said, _ = imported(directory)
    assert "MindSpore 2.2.0" in said and "MindSpore 2.1.0" in said, said
    with open(os.path.join(directory, "profiler_info_1.json"), "w") as file:
        json.dump({"rank_size": 7}, file)
    assert "of a job of 7" in refused(directory)


def main():
    global profwrap, where, h5py
    if sys.argv[1] == "--list":
        print("\n".join(CASES))
        return
    profwrap = os.path.abspath(sys.argv[1])
    try:
        import h5py
    except ImportError:
        skip("h5py is not installed")
    where = tempfile.mkdtemp(prefix="profwrap-mindinsight-")
    try:
        CASES[sys.argv[2]]()
        stored.compare_below(profwrap, where)
    finally:
        shutil.rmtree(where)


main()
