"""Imported traces: what is in the rank files is what the traces say, and bad traces are named.

    test_import.py PROFWRAP CASE        test_import.py --list
"""
import collections
import decimal
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))
import stored  # noqa: E402

CASES = {}
SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "shared", "traces")
BASE_US = 1682725898000000  # more digits than a double keeps of nanoseconds


def case(function):
    CASES[function.__name__] = function
    return function


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def shared(name):
    path = os.path.join(SHARED, name)
    if not os.path.exists(path):
        skip(f"the real traces are not there ({path})")
    return path


def run(*arguments, status=0):
    done = subprocess.run([profwrap, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stderr if status or arguments[0] == "import" else done.stdout


def imported(*files, options=()):
    """The files' rank files, by rank, and what was said."""
    directory = tempfile.mkdtemp(dir=where)
    said = run("import", *options, "-o", directory, *files)
    ranks = {int(name[5:10]): h5py.File(os.path.join(directory, name))
             for name in os.listdir(directory) if name.endswith(".h5")}
    assert not [name for name in os.listdir(directory) if name.endswith(".part")]
    return ranks, said


def refused(*files, options=()):
    directory = tempfile.mkdtemp(dir=where)
    said = run("import", *options, "-o", directory, *files, status=1)
    assert not [name for name in os.listdir(directory) if name.startswith("rank")], said
    return said


def event(name, category, start_us, length_us, thread=1, process=1, phase="X", **arguments):
    return {"ph": phase, "cat": category, "name": name, "pid": process, "tid": thread,
            "ts": BASE_US + start_us, "dur": length_us, "args": arguments}


def kernel(name, start_us, length_us, correlation, stream=7, **arguments):
    return event(name, "kernel", start_us, length_us, stream, 0, device=0, stream=stream, context=1,
                 correlation=correlation, grid=[8, 1, 1], block=[512, 1, 1],
                 **{"External id": correlation, "registers per thread": 96, "shared memory": 32,
                    **arguments})


def launch(start_us, correlation, name="cudaLaunchKernel", thread=1, length_us=5):
    return event(name, "cuda_runtime", start_us, length_us, thread, correlation=correlation)


def trace(name, events, rank=0, world=2, head=None, text=None):
    path = os.path.join(where, name)
    document = {"schemaVersion": 1}
    if rank is not None:
        document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": world}
    document.update(head or {})
    document["traceEvents"] = events
    data = text if text is not None else json.dumps(document)
    data = data.encode() if isinstance(data, str) else data
    with open(path, "wb") as file:
        file.write(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def texts(file):
    return [text.decode() for text in file["strings"][()]]


def steps(n=2, length_us=1000):
    return [event(f"ProfilerStep#{5 + i}", "user_annotation", i * length_us, length_us)
            for i in range(n)]


def data_parallel(rank, skew_us=0, late_us=0):
    """Two steps of one operator that launches an all-reduce; what a rank of two would leave."""
    events = steps()
    for i in range(2):
        at = 1000 * i
        events += [
            event("aten::mm", "cpu_op", at + 100, 50, **{"Input Dims": [[8, 3], [3, 5]],
                                                         "Sequence number": 40 + i}),
            launch(at + 120, 100 * i + 1),
            kernel("gemm", at + 130, 200 + late_us, 100 * i + 1),
            event("nccl:all_reduce", "user_annotation", at + 160, 40,
                  **{"Input Dims": [[1000]], "Input type": ["float"]}),
            launch(at + 170, 100 * i + 2),
            kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                   at + 340 + late_us, 500 - late_us, 100 * i + 2, stream=20,
                   **{"Collective name": "allreduce", "In msg nelems": 1000,
                      "Out msg nelems": 1000, "Group size": 2, "dtype": "Float",
                      "Process Group Name": "0", "Process Group Ranks": "[0, 1]"})]
    for one in events:
        one["ts"] += skew_us
    return events


@case
def times_keep_all_their_digits():
    digits = ["1682725898236567.123", "1682725898236568.9995", "4458676522690.655", "17.5e3", "12"]
    spans = ["0.001", "1000000000.999", "1", "0", "2.5"]
    text = ",".join('{"ph":"X","cat":"cpu_op","name":"n%d","pid":%d,"tid":1,"ts":%s,"dur":%s}'
                    % (i, i, ts, spans[i]) for i, ts in enumerate(digits))
    path = trace("digits.json", None, text='{"traceEvents":[%s],"baseTimeNanoseconds":'
                 '1700000000000000001}' % text)
    ranks, _ = imported(path)
    rows = ranks[0]["events/range"]
    names = texts(ranks[0])
    assert len(rows) == len(digits)
    for row in rows:
        i = int(names[row["name"]][1:])
        exact = lambda number: int((decimal.Decimal(number) * 1000).quantize(
            0, rounding=decimal.ROUND_HALF_UP))
        start = 1700000000000000001 + exact(digits[i])
        assert row["start"] == start, (digits[i], row["start"], start)
        assert row["end"] == start + exact(spans[i])


@case
def ranges_nest_and_launches_are_found():
    events = steps(1) + [
        event("outer", "user_annotation", 10, 100),
        event("aten::linear", "cpu_op", 20, 50, **{"Input Dims": [[2, 3], []]}),
        event("aten::mm", "cpu_op", 25, 20),
        event("module.py(3): forward", "python_function", 15, 80),
        launch(30, 7), launch(60, 8), launch(300, 9, thread=2),
        event("[memory]", "cpu_instant_event", 40, 0, phase="i", Bytes=512, **{
            "Total Allocated": 2048, "Device Type": 1, "Device Id": 0}),
        kernel("k7", 50, 10, 7), kernel("k8", 70, 10, 8), kernel("k9", 400, 10, 9),
        kernel("k0", 500, 10, 0), launch(600, 55, name="cudaStreamSynchronize", length_us=40)]
    ranks, said = imported(trace("nest.json.gz", events), options=["--cuda-calls"])
    file, names = ranks[0], texts(ranks[0])
    rows = {names[row["name"]]: row for row in file["events/range"]}
    depth = {name: row["depth"] for name, row in rows.items()}
    assert depth == {"ProfilerStep#5": 0, "outer": 1, "module.py(3): forward": 2,
                     "aten::linear": 3, "aten::mm": 4}, depth
    kinds = h5py.check_enum_dtype(file["events/range"].dtype["kind"])
    assert rows["aten::mm"]["kind"] == kinds["operator"]
    assert rows["outer"]["kind"] == kinds["user"]
    assert rows["module.py(3): forward"]["kind"] == kinds["function"]
    assert rows["ProfilerStep#5"]["kind"] == kinds["step"]
    assert names[rows["aten::linear"]["shapes"]] == "[[2, 3], []]"
    assert names[rows["aten::mm"]["category"]] == "aten"
    assert rows["aten::mm"]["alloc_bytes"] == rows["outer"]["alloc_bytes"] == 512
    ends = file["events/range"]["end"]
    assert all(ends[:-1] <= ends[1:])
    by = {names[row["name"]]: (names[row["launched_by"]], row["launch"], row["thread"])
          for row in file["events/kernel"]}
    at = lambda us: (BASE_US + us) * 1000
    assert by["k7"] == ("aten::mm", at(30), 0), by
    assert by["k8"] == ("aten::linear", at(60), 0)
    assert by["k9"][:2] == ("", at(300)) and by["k9"][2] != 0
    assert by["k0"] == ("", -1, -1)
    assert len(file["events/cuda_api"]) == 4
    sync = file["events/cuda_sync"][0]
    assert (sync["start"], sync["end"]) == (at(600), at(640))
    memory = file["samples/memory"][0]
    assert (memory["delta_bytes"], memory["total_bytes"], memory["device"]) == (512, 2048, 0)


@case
def operators_are_found_by_external_id_without_calls():
    events = [event("aten::mm", "cpu_op", 10, 20, **{"External id": 77}),
              event("aten::add", "cpu_op", 40, 20, **{"External id": 78}),
              kernel("a", 100, 10, 5, **{"External id": 77}),
              kernel("b", 120, 10, 4, **{"External id": 78})]
    ranks, _ = imported(trace("external.json", events, rank=None))
    names = texts(ranks[0])
    by = {names[row["name"]]: (names[row["launched_by"]], row["launch"])
          for row in ranks[0]["events/kernel"]}
    assert by == {"a": ("aten::mm", -1), "b": ("aten::add", -1)}, by


@case
def nccl_kernels_are_told_in_every_spelling():
    spellings = {
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)":
            "Allreduce",
        "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "Allgather",
        "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*, ncclWork*)":
            "Reduce_scatter_block",
        "ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)": "Bcast",
        "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)": "Sendrecv",
        "ncclAllReduceRingLLKernel_sum_f32(ncclColl)": "Allreduce",
        "void ncclSymDevKernel_AllReduce_AGxLL_R_sum_f32(ncclSymDevArgs)": "Allreduce",
        "ncclDevKernel_Generic(ncclDevComm*)": "Sendrecv",
        "ncclDevKernel_Reduce_Sum_f16_TREE_LL128": "Reduce"}
    events = [launch(i, i + 1) for i in range(len(spellings))]
    events += [kernel(name, 100 + 10 * i, 5, i + 1) for i, name in enumerate(spellings)]
    events += [kernel("not_nccl_at_all_AllReduce", 900, 5, 90), kernel("gemm", 910, 5, 91)]
    ranks, _ = imported(trace("nccl.json", events))
    file, names = ranks[0], texts(ranks[0])
    ops = {number: name for name, number in
           h5py.check_enum_dtype(file["events/comm"].dtype["op"]).items()}
    found = [ops[row["op"]] for row in file["events/comm"]]
    assert found == list(spellings.values()), found
    assert len(file["events/kernel"]) == len(spellings) + 2
    types = [names[row["datatype"]] for row in file["events/nccl"]]
    assert types[0] == "float" and types[2] == "bf16" and types[-1] == "f16", types
    assert set(file["events/comm"]["sent_bytes"]) == {-1}, "sizes that nobody told"
    assert all(row["channels"] == 8 for row in file["events/nccl"])


@case
def collectives_of_two_ranks_are_aligned_and_matched():
    skew_us = 5000000
    ranks, said = imported(trace("rank-0.json", data_parallel(0)),
                           trace("rank-1.json", data_parallel(1, skew_us, 300), rank=1))
    assert ranks[0]["comms"][0]["uid"] == ranks[1]["comms"][0]["uid"]
    assert ranks[0]["comms"][0]["size"] == 2 and "inferred" not in said
    assert list(ranks[0]["comm_members"]["world_rank"]) == [0, 1]
    assert list(ranks[0]["events/comm"]["sent_bytes"]) == [4000, 4000]
    assert list(ranks[1]["events/comm"]["seq"]) == [0, 1]
    directory = os.path.dirname(ranks[0].filename)
    for file in ranks.values():
        file.close()
    run("merge", directory)
    with h5py.File(os.path.join(directory, "cluster.h5")) as cluster:
        matched = cluster["collectives"][:]
        assert list(matched["complete"]) == [1, 1] and list(matched["nranks"]) == [2, 2], matched
        clock = cluster["clocks"][1]
        # Each collective allows 500 us less what rank 1 came late: the truth must be within.
        assert abs(clock["offset_ns"] + skew_us * 1000) <= clock["error_ns"], clock
        assert clock["error_ns"] <= 500000, clock
    chrome = json.loads(run("report", "--format", "chrome", directory))
    assert chrome["traceEvents"]


@case
def groups_that_are_not_named_are_inferred():
    def rank(number, left_out):
        events = steps()
        sizes = [1000, 2000, 3000, 4000]
        for i, size in enumerate(sizes):
            at = 1000 * (i // 2) + 300 * (i % 2) + 10
            events += [event("nccl:all_reduce", "user_annotation", at, 20, **{
                "Input Dims": [[size]], "Input type": ["c10::Half"]}), launch(at + 5, i + 1)]
            if i != left_out:
                events.append(kernel("ncclKernel_AllReduce_RING_LL_Sum_half(ncclDevComm*)",
                                     at + 20 + number, 200, i + 1, stream=20 + number))
        return trace(f"group{number}.rank-{number}.json", events, number, 8)
    ranks, said = imported(rank(0, 1), rank(1, 2))
    assert "inferred: 2 communicators" in said and "2-7" in said, said
    rows = [{row["sent_bytes"]: row["seq"] for row in ranks[r]["events/comm"]} for r in (0, 1)]
    assert set(rows[0]) == {2000, 6000, 8000} and set(rows[1]) == {2000, 4000, 8000}
    assert all(rows[0][size] == rows[1][size] for size in (2000, 8000)), rows
    assert rows[0][6000] not in rows[1].values() and rows[1][4000] not in rows[0].values()
    assert "inferred" in texts(ranks[0])[ranks[0]["comms"][0]["name"]]
    assert ranks[0]["comms"][0]["size"] == 2


@case
def diagnostics_say_why_groups_and_ranks_are_what_they_are():
    def without_groups(rank):
        events = data_parallel(rank)
        for one in events:
            for name in ("Process Group Name", "Process Group Ranks", "Group size"):
                one["args"].pop(name, None)
        return events

    files = [trace(f"diagnosed-rank-{rank}.json", without_groups(rank), rank) for rank in range(2)]
    plain = imported(*files)[1]
    assert "[import]" not in plain, plain
    os.environ["PROFWRAP_LOG"] = "import:2"
    said = " ".join(imported(*files, options=("--format", "kineto"))[1].split())
    del os.environ["PROFWRAP_LOG"]
    for line in (f"[import] {files[1]}: rank 1, format kineto",
                 f"{files[1]}: the rank is known as the file says, the format by --format",
                 "ranks: the trace names no group for the kernels of this stream",
                 "of 4 operations on inferred communicators 2 were matched by step, size and order; 0"):
        assert line in said, (line, said)


@case
def windows_of_a_rank_follow_each_other():
    def window(name, first, step):
        return trace(name, [event(f"ProfilerStep#{step}", "user_annotation", first, 100),
                            event("aten::mm", "cpu_op", first + 10, 20)], 0, 1)
    late, early = window("a.json", 5000, 9), window("b.json", 0, 2)
    ranks, _ = imported(late, early)
    assert list(ranks[0]["steps"]["step"]) == [2, 9]
    assert list(ranks[0]["windows"]["first_step"]) == [2, 9]
    said = refused(late, early, window("c.json", 5050, 9))
    assert "several traces at the same time" in said and "rank 0" in said, said


@case
def time_between_windows_is_not_idle():
    """Two windows of 1 ms, a minute apart; the GPU is busy in half of each."""
    def window(number, first, process=1):
        return trace(f"w{number}_rank0.json", [
            event(f"ProfilerStep#{number}", "user_annotation", first, 1000, process=process),
            launch(first, 7), kernel("gemm", first + 10, 250, 7),
            launch(first + 500, 8), kernel("gemm", first + 750, 250, 8)], 0, 1)
    ranks, _ = imported(window(1, 0), window(2, 60000000))
    directory, cluster = merged(ranks)
    with cluster:
        (row,) = cluster["gpu_ranks"][:]
        assert row["busy_ns"] == 1000000 and row["span_ns"] < 2100000, row
        assert row["span_ns"] == row["busy_ns"] + row["idle_host_ns"] + row["idle_gap_ns"] + \
            row["idle_other_ns"], row
    said = refused(window(1, 0), window(2, 60000000, process=2))
    assert "files of two processes" in said and "rank 0" in said, said


@case
def ranks_are_told_by_name_and_option():
    events = [event("aten::mm", "cpu_op", 0, 10)]
    ranks, said = imported(trace("trace_rank3.json", events, None),
                           trace("x.rank-1.json.gz", events, None))
    assert sorted(ranks) == [1, 3] and "2 of 4 ranks (0, 2)" in said, said
    ranks, _ = imported(trace("other.json", events, None), options=["--rank", "7"])
    assert sorted(ranks) == [7]
    said = refused(trace("p.json", events, None), trace("q.json", events, None))
    assert "does not say which rank" in said, said


def named(*names, options=(), status=0, rank=None):
    """Which file was taken for which rank, and what was said."""
    directory = tempfile.mkdtemp(dir=where)
    for name in names:
        shutil.move(trace("one.json", [event("aten::mm", "cpu_op", 0, 10)], rank),
                    os.path.join(directory, name))
    if status:
        return refused(directory, options=options)
    ranks, said = imported(directory, options=options)
    return sorted(ranks), said


@case
def ranks_are_told_by_one_rule_for_all_names():
    for names in (("worker0.1694128201545.pt.trace.json", "worker1.1694128201546.pt.trace.json"),
                  ("a_r0_x.json", "a_r1_x.json"), ("exp[a-1]-rank[0].json", "exp[a-1]-rank[1].json"),
                  ("local_rank_3-rank_0.json", "x-rank_1.json"),
                  ("profile-0.json", "profile-1.json"), ("0.json", "1.json")):
        ranks, said = named(*names)
        assert ranks == [0, 1] and f"rank 0     {names[0]}" in said, said
    for names in (("step_100.json", "step_200.json"), ("local_rank_0.json", "local_rank_1.json"),
                  ("node0.json", "node1.json"), ("iter0.json", "iterate.json")):
        assert "does not say which rank" in named(*names, status=1), names
    pids = ("host_a_71.1694128201545.pt.trace.json", "host_a_9.1694128201540.pt.trace.json")
    assert "does not say which rank" in named(*pids, status=1)
    ranks, said = named(*pids, options=["--rank-by-pid"])
    assert ranks == [0, 1] and f"rank 0     {pids[1]}" in said, said
    ranks, said = named("x5y.json", "x6y.json", options=["--rank-pattern", "x([0-9])y"])
    assert ranks == [5, 6] and "ranks by --rank-pattern" in said, said
    assert "finds no rank in this path" in named("x5y.json", "z.json", status=1,
                                                 options=["--rank-pattern", "x([0-9])y"])
    assert "--rank 4 is for one file, and 2" in named("p.json", "q.json", status=1,
                                                      options=["--rank", "4"])
    ranks, said = named("old-rank-1.json", rank=0)
    assert ranks == [0] and "of rank 0, as it says, and not of 1, as its name says" in said, said
    for pattern in ("x[0-9]", "(a)(b)", "("):
        run("import", "--rank-pattern", pattern, "-o", where + "/none", "x.json", status=2)


@case
def ranks_of_dumps_are_at_the_end_of_their_names():
    """PyTorch appends the rank to any prefix; words before it, and numbers of hosts, are none."""
    groups = {"0": [0, 1, 2]}
    for name in ("_dump_{}", "nccl_trace_rank_node-a02_{}", "nccl_trace_rank_10-0-0-7_{}.json",
                 "/rank3/{}"):
        directory = tempfile.mkdtemp(dir=where)
        paths = []
        for rank in range(3):
            path = flight("dump.json", flight_entries(rank)[:3], groups)
            paths.append(directory + "/" + name.format(rank).lstrip("/").replace("/", "_"))
            shutil.move(path, paths[-1])
        ranks, said = imported(*paths)
        assert sorted(ranks) == [0, 1, 2], (name, said)
        assert "by the number at the end" in said or "10-0" not in name, said
    own = flight("told_rank_1.json", flight_entries(2), rank=2)
    ranks, said = imported(own)
    assert sorted(ranks) == [2] and "as it says, and not of 1, as its name says" in said, said
    two = [flight(f"rank_{i}_attempt_{i + 1}.json", flight_entries(i)) for i in range(2)]
    assert "is it of rank 0 or of 1? Tell by --rank-pattern" in refused(*two)
    assert sorted(imported(*two, options=["--rank-pattern", "rank_([0-9]+)_"])[0]) == [0, 1]


def host_of(name, process, head=None):
    ranks, _ = imported(trace(name, [event("aten::mm", "cpu_op", 0, 10, process=process)], 0, 1, head))
    return bytes(ranks[0].attrs["hostname"])


@case
def hosts_are_told_by_the_trace():
    """A file's name has a host in it where the number behind it is the process of the events; a step
    that is named alike is none."""
    assert host_of("node7_4711.1716423322.pt.trace.json", 4711) == b"node7"
    assert host_of("node_8_4711.1716423322.pt.trace.json", 4711) == b"node_8"
    assert host_of("node7_4711.pt.trace.json", 4711) == b"node7"
    assert host_of("worker0_step_12.1694128201545.pt.trace.json", 59811) == b""
    assert host_of("node7_4711.1716423322.pt.trace.json", 4712) == b""
    assert host_of("node7.1716423322.pt.trace.json", 7) == b""
    assert host_of("rank-3.json", 3) == b""
    named = {"host_name": "c12.cluster.example"}
    assert host_of("worker0_step_12.1694128201545.pt.trace.json", 12, named) == b"c12.cluster.example"


@case
def hosts_that_are_not_known_are_not_counted_or_named():
    """Eight traces named worker0_step_12 ... are not eight hosts, nor one that is called unknown."""
    files = [trace(f"worker{rank}_step_12.1694128201545.pt.trace.json", data_parallel(rank), rank)
             for rank in (0, 1)]
    directory, cluster = merged(imported(*files)[0])
    with cluster:
        assert cluster.attrs["nhosts"] == 0, cluster.attrs["nhosts"]
    shown = run("report", "--full", directory)
    assert "worker0" not in shown.split("\n  job ")[1], shown
    assert "hosts       not known: ranks 0-1" in shown and "ran         2 ranks for" in shown, shown
    assert "unknown host" not in shown and "host unknown" not in shown


@case
def jobs_of_unknown_size_are_called_so():
    events = [event("aten::mm", "cpu_op", 0, 10)]
    ranks, said = imported(trace("alone.json", events, None))
    assert bytes(ranks[0].attrs["job_id"]) == b"import, number of ranks not told, no backend"
    assert "1 rank: 1 events" in said, said
    both = tempfile.mkdtemp(dir=where)
    for rank in "01":  # one at a time: still of one job
        run("import", "-o", both, "--rank", rank, trace(f"r{rank}.json", events, None))
    assert sorted(os.listdir(both))[-2:] == ["rank-00000.h5", "rank-00001.h5"]


@case
def directories_above_the_output_are_made():
    one = trace("one.json", [event("aten::mm", "cpu_op", 0, 10)], 0, 1)
    above = tempfile.mkdtemp(dir=where)
    run("import", "-o", f"{above}/a//b/c/", one)
    assert os.path.exists(f"{above}/a/b/c/rank-00000.h5")
    assert os.stat(f"{above}/a").st_mode & 0o777 == 0o700
    said = run("import", "-o", f"{one}/b", one, status=1)
    assert f"output directory {one}/b cannot be made: Not a directory" in said, said


@case
def steps_are_told_by_their_name_in_every_category():
    """Steps are those of the host; that on a GPU's track is when the GPU worked on the step."""
    def marks(category, at):
        return [event(f"ProfilerStep#{5 + i}", category, at + 1000 * i, 900) for i in range(3)]
    for category in ("user_annotation", "cpu_op", "Operator", "python_function", "of_2030"):
        ranks, _ = imported(trace("steps.json", marks(category, 0) +
                                  marks("gpu_user_annotation", 300), 0, 1))
        rows = ranks[0]["steps"][:]
        assert list(rows["step"]) == [5, 6, 7], (category, rows)
        assert list(rows["start"]) == [(BASE_US + 1000 * i) * 1000 for i in range(3)], category
        assert list(rows["end"] - rows["start"]) == [900000] * 3


@case
def other_files_of_a_directory_are_left_out_and_named():
    mixed = tempfile.mkdtemp(dir=where)

    def put(name, text):
        return trace(os.path.join(mixed, name), None, text=text)
    for rank in range(2):
        trace(os.path.join(mixed, f"rank-{rank}.json"), [event("aten::mm", "cpu_op", 0, 10)], rank, 2)
    put("config.json", '{"layers": 32}')
    put("events.jsonl", '{"loss": 2.5}\n{"loss": 2.0}\n')
    put("number.json", "3")
    put("null.json.gz", "null\n")
    put("timeline.json", '[{"ph": "X", "cat": "x", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]')
    put("trainer_state.json", '{"log_history": [{"loss": 2.5, "step": 1}]}')
    ranks, said = imported(mixed)
    assert sorted(ranks) == [0, 1] and "left out, because they are not of a format that is imported: " \
        "config.json, events.jsonl, null.json.gz, number.json, timeline.json, trainer_state.json\n" in said, said
    assert "config.json: has no traceEvents" in refused(os.path.join(mixed, "config.json"))
    dump = flight("dump_rank_0.json", [entry(0, "nccl:all_reduce", 0, seq=1)])
    os.rename(dump, os.path.join(mixed, "dump_rank_0.json"))
    assert "--format flight or --format kineto" in refused(mixed)
    ranks, said = imported("--format", "kineto", mixed)
    assert sorted(ranks) == [0, 1] and "not of the format kineto: config.json, dump_rank_0.json, " in said, said
    ranks, said = imported("--format", "flight", mixed)
    assert sorted(ranks) == [0] and "dump_rank_0.json" not in said.split("left out")[1], said
    put("rank-2.json", "")  # damaged, and perhaps of a rank
    said = refused(mixed)
    assert "rank-2.json: is no JSON" in said and "name the other files" in said, said
    for text in ("nul", '"a', '{"traceEvents":[{"name":"process_name","ph":"M","pid":1,"args":{"name":"python"}},{"na',
                 '{"traceEvents":[', '{"args": [{"a": 1}, {"b', '[{"ph": "M"}, {"ph'):
        put("rank-2.json", text)  # before its first event of Kineto
        said = refused(mixed)
        assert "rank-2.json: " in said and "name the other files" in said, said
    os.unlink(os.path.join(mixed, "rank-2.json"))
    for name in os.listdir(mixed):
        if "rank" in name:
            os.unlink(os.path.join(mixed, name))
    assert "config.json: has no traceEvents" in refused(mixed)
    for rank in (0, 2):
        trace(os.path.join(mixed, f"r_rank{rank}.json"), [event("aten::mm", "cpu_op", 0, 10)], rank, 3)
    put("r_rank1.json", '{"traceEvents": []}')  # of a rank, by its name
    said = refused(mixed)
    assert "r_rank1.json: has no events" in said and "a name as r_rank0.json" in said and "move it away" in said, said
    for rank in range(3):
        os.unlink(os.path.join(mixed, f"r_rank{rank}.json"))
    put("viz.json", '{"traceEvents": [], "viztracer_metadata": {}}')
    said = refused(mixed)
    assert "viz.json: no trace of PyTorch" in said and "VizTracer: record the job" in said, said
    trace(os.path.join(mixed, "rank-0.json"), [event("aten::mm", "cpu_op", 0, 10)], 0, 1)
    assert "trainer_state.json, viz.json (a trace of VizTracer)\n" in imported(mixed)[1]


@case
def traces_of_different_jobs_are_refused():
    events = [event("aten::mm", "cpu_op", 0, 10)]
    said = refused(trace("one.json", events, 0, 2), trace("two.json", events, 1, 4))
    assert "2 ranks" in said and "job of 4" in said, said
    other = {"distributedInfo": {"backend": "gloo", "rank": 1, "world_size": 2}}
    said = refused(trace("one.json", events, 0, 2), trace("two.json", events, None, head=other))
    assert "gloo" in said and "nccl" in said, said
    paths = [trace("one_rank0.json", events, None), flight("dump_rank_1.json", [])]
    for said in (refused(*paths), refused(*reversed(paths))):
        assert f"{paths[1]} and {paths[0]} are a dump of the Flight Recorder and a trace with times" in said and \
            "with --format flight or --format kineto" in said, said
    said = refused(trace("three.json", events, 5, 2))
    assert "rank beyond its job's number of ranks" in said, said


@case
def damaged_traces_are_named_and_kept_as_far_as_they_go():
    whole = json.dumps({"traceEvents": [event(f"op{i}", "cpu_op", 10 * i, 5) for i in range(50)]})
    half = whole[:len(whole) // 2]
    count = half.count('"dur"') - 1
    for name, data in (("cut.json", half.encode()),
                       ("cut.json.gz", None)):
        path = trace(name, None, text=half if data is not None else whole)
        if data is None:
            packed = gzip.compress(whole.encode())
            with open(path, "wb") as file:
                file.write(packed[:len(packed) - 20])
        ranks, said = imported(path)
        assert "cut.json" in said and "at byte" in said, said
        assert 0 < len(ranks[0]["events/range"]) <= 50
        if data is not None:
            assert abs(len(ranks[0]["events/range"]) - count) <= 1
        assert ranks[0].attrs["complete"] == 0
    for name, text, words in (
            ("empty.json", "", "is no JSON"), ("no.json", "hello", "is no JSON"),
            ("other.json", '{"a": 1}', "no traceEvents"),
            ("short.json.gz", "{", "no traceEvents")):
        said = refused(trace(name, None, text=text))
        assert words in said and name in said, (name, said)


@case
def files_of_other_tools_that_are_no_json_are_named():
    """By their first bytes or their names, also in a directory with nothing else."""
    import sqlite3
    directory = tempfile.mkdtemp(dir=where)
    for name, tables, words in (
            ("a.sqlite", "CUPTI_ACTIVITY_KIND_KERNEL", "an export of Nsight Systems; record the job"),
            ("a.db", "rocpd_kernel_dispatch", "a database of rocprof"),
            ("b.db", "other", "has neither tasks nor operations")):
        path = os.path.join(directory, name)
        with sqlite3.connect(path) as database:
            database.execute(f"CREATE TABLE {tables} (a INT)")
        database.close()
        said = refused(path)
        assert words in said or "built with SQLite" in said, said
    for name, data, words in (
            ("a.nsys-rep", b"\x00", "a report of Nsight Systems; record the job"),
            ("host.xplane.pb", b"\x0a\x00", "a profile of JAX or TensorFlow"),
            ("a.pftrace", b"\x0a\x00", "a trace of Perfetto"),
            ("a.arrow", b"ARROW1\x00\x00", "a table of Apache Arrow"),
            ("a.prv", b"#Paraver (1/1/26 at 1:1):9_ns:1(1):1:1(1:1)", "a trace of Paraver"),
            ("a.json.zst", b"\x28\xb5\x2f\xfd", "zstd -d FILE"), ("a.zip", b"PK\x03\x04", "unpack it"),
            ("a.tar.gz", gzip.compress(b"x"), "unpack it"), ("a.txt", b"hello", "import --help")):
        alone = os.path.join(tempfile.mkdtemp(dir=where), name)
        with open(alone, "wb") as file:
            file.write(data)
        said = refused(alone)
        assert words in said and name in said, said
        if name != "a.txt":
            said = refused(os.path.dirname(alone))
            assert "has nothing to import; its file" in said and words in said, said


@case
def strange_events_are_counted_by_reason():
    good = '{"ph":"X","cat":"cpu_op","name":"good","pid":1,"tid":1,"ts":%d,"dur":5,"args":{}}'
    strange = {
        '{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":NaN,"dur":5}': "possible time",
        '{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":99999999999999999999999,"dur":5}':
            "possible time",
        '{"ph":"X","cat":"cpu_op","name":"c","pid":1,"tid":1,"ts":5,"dur":-5}': "possible time",
        '{"ph":"X","cat":"cpu_op","name":"d","pid":1,"tid":1,"ts":5,"ts":6,"dur":5}': "twice",
        '{"ph":"X","cat":"cpu_op","name":"e" "pid":1}': "no JSON objects",
        '{"ph":"X","cat":"coffee","name":"f","pid":1,"tid":1,"ts":5,"dur":5}': "not known",
        '{"ph":"s","cat":"ac2g","name":"g","pid":1,"tid":1,"ts":5,"id":1}': "arrows",
        '{"ph":"X","cat":"gpu_user_annotation","name":"h","pid":0,"tid":7,"ts":5,"dur":5}':
            "annotations on GPU"}
    events = [text for i, one in enumerate(strange) for text in (good % (10 * i), one)]
    odd = ('{"ph":"X","cat":"kernel","name":"k\\u0000\\u00e9","pid":0,"tid":7,"ts":900,"dur":1,'
           '"args":{"correlation":18446744073709551615,"grid":[1e9,"x"],"warps per SM":Infinity,'
           '"device":-3,"stream":99999999999}}')
    path = trace("strange.json", None, text='{"traceEvents":[%s]}' % ",".join(events + [odd]))
    ranks, said = imported(path)
    assert len(ranks[0]["events/range"]) == len(strange), said
    assert len(ranks[0]["events/kernel"]) == 1
    wanted = collections.Counter(strange.values())
    for words, n in wanted.items():
        line = [line for line in said.splitlines() if "left out" in line and words in line]
        assert line and f"left out: {n} " in line[0], (words, said)
    offset = ('{"traceEvents":[' + ",".join(events)).index('{"ph":"X","cat":"cpu_op","name":"e"')
    assert f"at byte {offset}" in said, (offset, said)
    assert ranks[0].attrs["dropped_events"] == 5


def cluster_of(*traces):
    ranks, said = imported(*traces)
    directory, cluster = merged(ranks)
    with cluster:
        found = [int(row["count"]) for row in cluster["completeness"]
                 if row["what"] == b"impossible_times"]
        return int(cluster.attrs["end_unix_ns"] - cluster.attrs["start_unix_ns"]), found, said


@case
def what_the_profiler_took_is_as_the_trace_tells():
    """Own is total less wait in one table; and no cost is told where nothing tells it."""
    def job(*more):
        ranks, _ = imported(*(trace(f"cost_{rank}.json", data_parallel(rank, late_us=100 * rank)
                                    + list(more), rank) for rank in range(2)))
        directory, cluster = merged(ranks)
        with cluster:
            rows = cluster["step_trace"][:].reshape(-1)
            assert list(rows["own_ns"]) == list(rows["total_ns"] - rows["wait_ns"])
        return json.loads(run("report", "--format", "json", directory)), run("report", "--full", directory)
    report, text = job()
    assert report["completeness"]["overhead_ns"] is None and "cost not known" in text, text
    report, text = job(event("Activity Buffer Request", "overhead", 20, 30),
                       event("Instrumentation Overhead", "overhead", 60, 10))
    assert report["completeness"]["overhead_ns"] == 2 * 40000, report["completeness"]
    assert "profiling   cost 80.0 us" in text and "how to get it" not in text, text


@case
def a_slow_rank_is_named_without_a_common_clock():
    """Four ranks, 40 steps of 12 ms; rank 2 computes 1.5 ms longer in each, and the all-reduce of 6 ms or
    more leaves the clocks an error of that size. Equal ranks are not blamed."""
    def one(rank, late_us):
        events = steps(40, 12000)
        for i in range(40):
            at = 12000 * i
            events += [launch(at + 20, 2 * i + 1),
                       kernel("gemm", at + 50, 2000 + 30 * ((rank + i) % 3) + late_us, 2 * i + 1),
                       launch(at + 30, 2 * i + 2),
                       kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)",
                              at + 2200 + late_us, 8000 - late_us, 2 * i + 2, stream=20,
                              **{"Collective name": "allreduce", "In msg nelems": 1000,
                                 "Out msg nelems": 1000, "Group size": 4, "dtype": "Float",
                                 "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"})]
        return trace(f"clock_rank_{rank}.json", events, rank, 4)
    for late_us in (1500, 0):
        ranks, _ = imported(*(one(rank, late_us * (rank == 2)) for rank in range(4)))
        directory, cluster = merged(ranks)
        with cluster:
            assert cluster.attrs["clock_error_max_ns"] > 5000000
            named = [(int(row["rank"]), int(row["without_clocks"])) for row in cluster["stragglers"]]
            assert named == ([(2, 1)] if late_us else []), named
            if late_us:
                assert abs(int(cluster["stragglers"][0]["excess_ns"]) - 1500000) < 40000
        headline, report, text = said_of(directory)
        assert ("Rank 2 held back 40 of 40 steps by 1.5 ms each" in headline) == bool(late_us), headline
        assert "ranks compared by their time outside communication" in " ".join(text.split())
        assert "too much to compare" not in text, text


def xpu(rank, late_us=0):
    """Two steps of 1 ms on a device of Intel; an all-reduce of oneCCL ends at 900 us in both."""
    events = steps()
    for i in range(2):
        at = 1000 * i
        events += [
            event("urEnqueueKernelLaunch", "xpu_runtime", at + 80, 5, correlation=2 * i + 1),
            kernel("gemm_kernel", at + 100, 200 + late_us, 2 * i + 1),
            event("xccl:all_reduce", "user_annotation", at + 110, 30),
            event("record_param_comms", "cpu_op", at + 111, 28, **{
                "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                "Out msg nelems": 1000, "Group size": 2, "Process Group Name": "0",
                "Process Group Ranks": "[0, 1]"}),
            event("urEnqueueKernelLaunch", "xpu_runtime", at + 120, 5, correlation=2 * i + 2),
            kernel("oneccl_reduce_base<float, 2, 16, 1, 1, 2>", at + 310 + late_us,
                   590 - late_us, 2 * i + 2, stream=65)]
    return trace(f"xpu_rank_{rank}.json", events, rank)


@case
def communication_is_not_only_nccl():
    """oneCCL is matched by its group; of a kernel of vLLM and one of DeepEP only the time is known."""
    ranks, said = imported(xpu(0), xpu(1, late_us=300))
    assert "4 of them operations of oneCCL" in said and "not known" not in said, said
    _, cluster = merged(ranks)
    with cluster:
        assert [(int(row["nranks"]), int(row["seq"]), int(row["complete"]))
                for row in cluster["collectives"]] == [(2, 0, 1), (2, 1, 1)]
        source = cluster["collectives"].dtype["source"]
        assert set(cluster["collectives"]["source"]) == {h5py.check_enum_dtype(source)["oneccl"]}
        assert [int(ns) for ns in cluster["gpu_ranks"]["comm_ns"]] == [2 * 590000, 2 * 290000]
    traces = []
    for rank in range(2):
        events = steps(3)
        for i in range(3):
            events += [launch(1000 * i + 100 * k + 50, 10 * i + k + 1) for k in range(3)]
            events += [kernel("gemm", 1000 * i + 100, 100, 10 * i + 1),
                       kernel("void vllm::cross_device_reduce_2stage<half, 8>(vllm::RankData*)",
                              1000 * i + 210, 300, 10 * i + 2),
                       kernel("void deep_ep::intranode::combine<half, 8>(half*)",
                              1000 * i + 520, 200, 10 * i + 3)]
        traces.append(trace(f"device_rank_{rank}.json", events, rank))
    ranks, said = imported(*traces)
    assert "12 of them operations of kernels of communication" in said, said
    assert set(ranks[0]["events/comm"]["seq"]) == {-1} and len(ranks[0]["events/comm"]) == 6
    directory, cluster = merged(ranks)
    with cluster:
        mean = cluster["step_trace"][:].reshape(-1)
        assert set(mean["comm_ns"]) == {500000} and set(mean["wait_ns"]) == set(mean["own_ns"]) == {-1}
        assert [int(ns) for ns in cluster["gpu_ranks"]["compute_ns"]] == [300000] * 2
    headline, report, text = said_of(directory)
    assert headline.startswith("Cannot tell whether a rank held the job back: of 12 kernels of "
                               "communication is not known which ranks they are of"), headline
    assert report["job"]["reason"] == "waits_unknown", report["job"]["reason"]
    assert "Communication that no computation hides takes 50 % of a step" in " ".join(text.split())


@case
def impossible_times_of_devices_are_left_out_by_kind():
    """Of ten kernels of 500 us on stream 7, each launched 100 us before, one has another time; in the
    end all end with the steps, at 10 ms."""
    def events(change=None, more=()):
        out = steps(10)
        for i in range(10):
            out += [launch(1000 * i + 100, i + 1),
                    kernel("gemm", 1000 * i + 200, 500, i + 1)]
        if change:
            out[10 + 2 * change[0] + 1].update(change[1])
        return out + list(more)
    lasts, before, outside = "last beyond the next one", "begin before their launch", "outside the"
    for change, why in (((3, {"dur": 3400000}), lasts), ((3, {"dur": 1600}), lasts),
                        ((9, {"dur": 3400000}), outside), ((4, {"ts": 0}), before),
                        ((4, {"ts": BASE_US + 1900}), before)):
        run_ns, found, said = cluster_of(trace("impossible.json", events(change), 0, 1))
        assert run_ns == 10000000 and found == [1], (change, run_ns, found)
        assert f"left out: 1 activities of devices that {why}" in said or \
            f"left out: 1 activities of devices {why}" in said, (change, said)
    run_ns, found, said = cluster_of(trace("long.json", events((3, {"dur": 3400000})), 0, 1))
    assert "by up to 3.40 s" in said, said
    # no event of the host is beside the kernels
    alone = [kernel("gemm", 100 * i, 50, i + 1) for i in range(3)] + [{
        **kernel("gemm", 0, 50, 9), "ts": 0}]
    run_ns, found, said = cluster_of(trace("alone.json", alone, 0, 1))
    assert run_ns == 250000 and found == [1], (run_ns, found)
    # the kernel of another stream, of the same graph, and one that overlaps by 50 us
    side = [kernel("side", 1300, 5000, 1, stream=8), launch(9850, 20, "cudaGraphLaunch"),
            kernel("a", 9900, 90, 20, stream=9, **{"graph node id": 3}),
            kernel("b", 9910, 20, 20, stream=9, **{"graph node id": 4})]
    run_ns, found, said = cluster_of(trace("fine.json", events((2, {"dur": 850}), side), 0, 1))
    assert found == [] and "impossible" not in said, said
    # all kernels are 2 ms early: the clocks differ
    skewed = [{**one, "ts": one["ts"] - 2000} if one["cat"] == "kernel" else one for one in events()]
    run_ns, found, said = cluster_of(trace("skewed.json", skewed, 0, 1))
    assert found == [] and "10 activities of devices begin before their launch: the trace's clocks" \
        in said, said
    # a part of a trace: the host was 150 ms, or 5 ms, ahead of the device, whose work takes 50 ms
    for ahead_ms, far in ((150, []), (5, []), (5, [kernel("gemm", 3600e6, 500, 10)])):
        cut = [event("aten::mm", "cpu_op", 0, 5)] + [launch(100 * i, i + 1) for i in range(10)] + [
            kernel("gemm", 1000 * ahead_ms + 5000 * i, 5000, i + 1) for i in range(10 - len(far))]
        run_ns, found, said = cluster_of(trace("part.json", cut + far, 0, 1))
        assert (run_ns, found) == ((ahead_ms + 50 - 5 * len(far)) * 1000000, [1] * len(far)), run_ns
    # a call, an operator and a step at time 0, in a trace of today
    zero = [event(name, category, 0, 5) for name, category in (
        ("cudaMalloc", "cuda_runtime"), ("aten::mm", "cpu_op"), ("ProfilerStep#99", "cpu_op"))]
    for one in zero:
        one["ts"] = 0
    run_ns, found, said = cluster_of(trace("zero.json", events(more=zero), 0, 1))
    assert run_ns == 10000000 and "left out: 3 events without a possible time" in said, (run_ns, said)


@case
def traces_of_other_tools_are_refused_by_their_names():
    def process(name):
        return {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": name}}
    span = {"ph": "X", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2, "name": "f"}
    kernel = dict(span, cat="Kernel")  # PyTorch's first versions had this category, too
    for events, more, tool in (
            ([{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 0, "pid": 0}, span], {}, "Horovod"),
            ([process("/device:TPU:0"), span], {}, "JAX"),
            ([process("/job:worker/replica:0/task:0/device:CPU:0 Compute"), dict(span, cat="Op")], {},
             "a timeline of TensorFlow"),
            ([dict(span, cat="FEE")], {"viztracer_metadata": {}}, "VizTracer"),
            ([dict(span, cat="nvtx")], {}, "Nsight"),
            ([process("CPU HIP API"), span], {}, "rocprof"),
            ([dict(span, cat="Session"), kernel], {}, "ONNX"),
            ([dict(span, cat="toplevel")], {}, "Chrome"),
            ([span], {"otherData": {"job": "1", "command": "a"}}, "that profwrap exported"),
            ([span, dict(span, cat="mine")], {}, "")):
        text = json.dumps({**more, "traceEvents": events})
        said = refused(trace("foreign.json", None, text=text))
        assert f"none of its {len(events)} events has a category of Kineto" in said, said
        assert ("; it is " in said) == bool(tool) and tool in said, (tool, said)
    said = refused(trace("nsys.json", None, text='{"Type":1}\n{"Type":79,"CudaEvent":{}}\n'))
    assert "Nsight" in said, said
    assert "has no traceEvents: " in refused(trace("bracket.json", None, text="["))
    assert "has 0 events" in refused(trace("none.json", None, text='{"traceEvents":[]}'))
    ranks, _ = imported(trace("old.json", None, text=json.dumps([span, kernel])))
    assert len(ranks[0]["events/kernel"]) == 1
    ranks, _ = imported(trace("both.json", None, text=json.dumps(  # two profilers in one file
        [dict(span, cat="FEE"), dict(span, cat="cpu_op")])))
    assert len(ranks[0]["events/range"]) == 1


def lines(name, records):
    return trace(name, None, text="".join(json.dumps(one) + "\n" for one in records))


def merged(ranks):
    directory = os.path.dirname(next(iter(ranks.values())).filename)
    for file in ranks.values():
        file.close()
    run("merge", directory)
    return directory, h5py.File(os.path.join(directory, "cluster.h5"))


def data_parallel_on(host, rank, late_us=0):
    events = data_parallel(rank, late_us=late_us)
    for one in events:
        one["pid"] = 100 + rank if one["cat"] != "kernel" else 0
    return trace(f"{host}_{100 + rank}.1716423322.pt.trace.json", events, rank)


@case
def losses_that_no_rank_is_to_blame_for_are_on_the_first_screen():
    """Two steps of 1000 us on 2 ranks. Rank 1 comes 300 us late: 600 of 4000 us. Between the steps both
    GPUs have nothing to do from 840 to 1130 us: 290 of the 1710 us from the first kernel to the last.
    Each step gets a batch for 120 us."""
    files = []
    for rank in (0, 1):
        events = data_parallel(rank, late_us=300 * rank)
        for i in range(2):
            events += [event(LOADER, "user_annotation", 1000 * i + 700, 120)]
        for one in events:
            one["pid"] = 100 + rank if one["cat"] != "kernel" else 0
        files += [trace(f"node_{100 + rank}.1716423322.pt.trace.json", events, rank)]
    directory, cluster = merged(imported(*files)[0])
    cluster.close()
    lines = [
        "GPUs were idle for 17 % of the time, because their CPU processes launched the next kernel late.",
        "In collectives ranks waited 15 % of the time for each other, 100 % of it for rank 1.",
        "Waiting for data takes 12 % of a step (120 us of 1.0 ms on average)."]
    shown = " ".join(run("report", "--full", directory).split())
    by_time_lost = [lines[1], lines[0], lines[2]]
    assert shown.startswith("Only 2 steps were measured: too few to say whether a rank held the job "
                            "back. " + " ".join(by_time_lost) + " Rests on: "), shown
    job = json.loads(run("report", "--format", "json", directory))["job"]
    assert (job["verdict"], job["reason"]) == ("unknown", "few_steps"), job
    found = {one["kind"]: one for one in job["highlights"]}
    assert [one["text"] for one in job["highlights"]] == by_time_lost, job["highlights"]
    assert found["late_rank"]["rank"] == 1 and found["late_rank"]["of_rank"] == 1, found
    assert found["late_rank"]["lost_ns"] == 600000 and found["host_late"]["lost_ns"] == 580000
    assert found["data_wait"]["lost_ns"] == 480000 and found["data_wait"]["rank"] is None
    page = os.path.join(directory, "page.html")
    run("report", "--format", "html", "-o", page, directory)
    with open(page) as file:
        assert lines[0] in file.read()
    os.environ["COLUMNS"] = "60"  # of a narrow terminal
    narrow = run("report", "--full", directory)
    del os.environ["COLUMNS"]
    assert max(map(len, narrow.split("\n"))) <= 60, narrow
    assert max(map(len, run("report", "--full", directory).split("\n"))) > 60


@case
def one_of_eight_ranks_is_no_evidence():
    """Neither "No rank held the job back" nor "no rank is late regularly" may be said of the others."""
    files, said = imported(trace("rank-3.json", data_parallel(3), 3, 8))
    assert "missing: the traces of 7 of 8 ranks (0-2, 4-7)" in said, said
    directory, cluster = merged(files)
    cluster.close()
    shown = " ".join(run("report", "--full", directory).split())
    assert shown.startswith("Cannot tell whether a rank held the job back: 7 of 8 ranks left no usable "
                            "file, and the slowest may be one of them; 2 steps of 1.0 ms."), shown
    assert "ran 8 ranks (1 recorded) for" in shown, shown
    for wrong in ("No rank held", "late regularly", "Nothing: no rank"):
        assert wrong not in shown, wrong
    job = json.loads(run("report", "--format", "json", directory))["job"]
    assert (job["verdict"], job["reason"]) == ("unknown", "ranks_missing"), job
    assert "late_rank" not in {one["kind"] for one in job["highlights"]}


LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@case
def getting_a_batch_is_waiting_for_data():
    """400 of 1000 us in each step, in the categories of older and newer traces; where the program marks
    data phases (here 450 us), the loader is inside them."""
    for category, marked, wait_us in (("user_annotation", 0, 400), ("Operator", 0, 400),
                                      ("user_annotation", 1, 450)):
        events = steps(3)
        for i in range(3):
            events += [event(LOADER, category, 1000 * i + 20, 400)]
            events += [event("data", "user_annotation", 1000 * i + 10, 450)] * marked
        files, _ = imported(trace("loader.json", events, 0, 1))
        kinds = h5py.check_enum_dtype(files[0]["events/range"].dtype["kind"])
        names = texts(files[0])
        assert {row["kind"] for row in files[0]["events/range"]
                if names[row["name"]] == LOADER} == {kinds["data"]}
        _, cluster = merged(files)
        with cluster:
            assert (cluster["step_trace"]["data_wait_ns"] == wait_us * 1000).all(), category
            assert (cluster["phase_trace"]["data_ns"] == wait_us * 1000).all(), category
            assert (cluster["phase_trace"]["other_ns"] == (1000 - wait_us) * 1000).all()


@case
def waits_of_ranks_with_one_clock_are_exact():
    ranks, _ = imported(data_parallel_on("node", 0), data_parallel_on("node", 1, 300))
    directory, cluster = merged(ranks)
    with cluster:
        found = cluster["collectives"][:]
        assert list(found["wait_ns"]) == [300000, 300000], found
        assert list(found["transfer_ns"]) == [200000, 200000] and set(found["last_rank"]) == {1}
        assert all(abs(row["busbw"] / (4000 / 200e-6) - 1) < 1e-6 for row in found), found
        waits = cluster["step_trace"]["wait_ns"]
        assert (waits[:, 0] == 300000).all() and (waits[:, 1] == 0).all(), waits


@case
def partners_of_messages_are_ranks_of_their_group():
    """PyTorch writes them as ranks of the job."""
    message = {"Group size": 2, "dtype": "Float", "Process Group Name": "3",
               "Process Group Ranks": "[4, 5]", "In msg nelems": 10, "Out msg nelems": 10}
    def rank(number, collective, key, other):
        return trace(f"message.rank-{number}.json", steps(1) + [launch(10, 1), kernel(
            "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 20, 300, 1, stream=20,
            **{**message, "Collective name": collective, key: other})], number, 8)
    ranks, _ = imported(rank(4, "send", "Dst Rank", 5), rank(5, "recv", "Src Rank", 4))
    assert [int(ranks[r]["events/comm"][0]["peer"]) for r in (4, 5)] == [1, 0]
    _, cluster = merged(ranks)
    with cluster:
        pairs = cluster["p2p"][:]
        assert [(int(row["src"]), int(row["dst"])) for row in pairs] == [(4, 5)], pairs


def run_at(directory, *arguments):
    """The import's status and words, without an opinion on them."""
    done = subprocess.run([profwrap, "import", "-o", directory, *arguments], stderr=subprocess.PIPE,
                          text=True)
    return done.returncode, done.stderr


@case
def ranks_whose_reader_is_killed_are_named():
    """One of two readers is killed in the middle of a long trace: its rank is named and has no file,
    the others have theirs."""
    import signal
    import time
    directory, one = os.path.join(where, "killed"), json.dumps(event("aten::mm", "cpu_op", 0, 5))
    long = trace("long.rank-1.json.gz", None, text='{"distributedInfo": {"backend": "nccl", "rank": '
                 '1, "world_size": 3}, "traceEvents": [' + (one + ",") * 1000000 + one + "]}")
    done = subprocess.Popen([profwrap, "import", "-j", "2", "-o", directory,
                             trace("a.rank-0.json", data_parallel(0), 0, 3), long,
                             trace("c.rank-2.json", data_parallel(2), 2, 3)],
                            stderr=subprocess.PIPE, text=True)
    reader = None
    while reader is None and done.poll() is None:
        reader = next((pid for pid in children(done.pid) if reads(pid, long)), None)
    assert reader, "nobody was seen reading the trace"
    os.kill(reader, signal.SIGKILL)
    said = done.communicate(timeout=60)[1]
    assert done.returncode == 1, (done.returncode, said)
    assert "long.rank-1.json.gz was not read to its end: the process that read it was killed" in said
    assert "2 ranks: " in said, said
    for rank in (0, 2):
        with h5py.File(os.path.join(directory, f"rank-{rank:05d}.h5")) as file:
            assert file.attrs["complete"] == 1 and len(file["events/comm"]) == 2
    assert not [name for name in os.listdir(directory) if "00001" in name], os.listdir(directory)
    run("merge", directory)
    assert "2 of 3 ranks are present" in run("report", "--full", directory)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def reads(pid, path):
    try:
        return any(os.readlink(f"/proc/{pid}/fd/{fd}") == path
                   for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


@case
def processes_of_mpirun_share_the_ranks():
    if not shutil.which("mpirun"):
        skip("mpirun is not installed")
    directory = os.path.join(where, "shared")
    files = [trace(f"share.rank-{rank}.json", data_parallel(rank), rank, 5) for rank in range(5)]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(["mpirun", "-np", "2", "--oversubscribe", profwrap, "import", "-o", directory,
                           *files], stderr=subprocess.PIPE, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    counts = sorted(line.split(" ranks: ")[0].split()[-1] for line in done.stderr.splitlines()
                    if " ranks: " in line and "imported" in line)
    assert counts == ["2", "3"], done.stderr
    alone = os.path.join(where, "alone")
    run("import", "-o", alone, *files)
    found = [sorted(name for name in os.listdir(path) if name != ".job")
             for path in (directory, alone)]
    assert found[0] == found[1] == [f"rank-{rank:05d}.h5" for rank in range(5)], found
    for name in found[0]:
        with h5py.File(os.path.join(directory, name)) as one, \
                h5py.File(os.path.join(alone, name)) as other:
            for table in ("range", "kernel", "comm", "nccl"):
                assert (one["events"][table][()] == other["events"][table][()]).all(), (name, table)


@case
def progress_is_shown_on_terminals_only():
    import pty
    path = trace("bar.rank-0.json", data_parallel(0), 0, 1)
    main_end, terminal = pty.openpty()
    done = subprocess.Popen([profwrap, "import", "-o", os.path.join(where, "bar"), path],
                            stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(main_end, 4096):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(main_end)
    assert done.wait() == 0, shown
    assert b"% of 1 ranks" in shown and b"\r[" in shown and b"\r\x1b[K" in shown, shown
    _, said = run_at(os.path.join(where, "no-bar"), path)
    assert "% of" not in said and "\r" not in said, said


@case
def damaged_files_of_one_rank_leave_the_others():
    """A gzip'ed trace whose middle is damaged: its rank is what comes before, the other is whole."""
    good = trace("good.rank-0.json.gz", data_parallel(0))
    bad = trace("bad.rank-1.json.gz", data_parallel(1) * 40, 1)
    with open(bad, "r+b") as file:
        size = os.path.getsize(bad)
        file.seek(size // 2)
        file.write(b"\xff" * 40)
    ranks, said = imported(good, bad)
    assert ranks[0].attrs["complete"] == 1 and ranks[1].attrs["complete"] == 0, said
    assert "rank 1" in said and "at byte" in said and "imported" in said, said


# ---- NCCL Inspector ----

COMMUNICATORS = {"world": ("0x7f8c496ae9f661", 4), "half": ("0x1234", 2), "other": ("0x5678", 2),
                 "elsewhere": ("0x99", 4)}


def inspector(rank, communicator="world", coll="AllReduce", sn=1, size=1 << 20, start_us=0,
              length_us=100, verbose=True, asked_us=5, host=None, **more):
    """One record as the plugin's README and inspector_json.cc have it."""
    name, n = COMMUNICATORS[communicator]
    at = BASE_US + start_us
    perf = {"coll": coll, "coll_sn": sn, "coll_msg_size_bytes": size,
            "coll_exec_time_us": length_us - 4, "coll_timing_source": "kernel_gpu",
            "coll_algobw_gbs": 1.5, "coll_busbw_gbs": 2.25, **more}
    if verbose:
        perf["event_trace_ts"] = {
            "coll_start_ts": at - asked_us, "coll_stop_ts": at - asked_us + 1, "kernel_events": [
                {"channel_id": i, "kernel_start_ts": at + i, "kernel_stop_ts": at + length_us - i,
                 "kernel_record_ts": at + length_us} for i in range(2)]}
    return {"header": {"id": name, "rank": rank % n, "n_ranks": n, "nnodes": 2},
            "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "",
                         "rec_mechanism": "nccl_profiler_interface",
                         "dump_timestamp_us": at + length_us + 50,
                         "hostname": host or f"node{rank // 2}", "pid": 100 + rank},
            "coll_perf": perf}


def inspector_log(rank, late_us=0, host="node0", skew_us=0):
    """Three all-reduces of all ranks, to the second of which one may come late, and one all-gather of
    each half."""
    records = []
    for i in range(3):
        late = late_us if i == 1 else 0
        records.append(inspector(rank, sn=10 + i, start_us=1000 * i + skew_us + late,
                                 length_us=500 - late, host=host))
    records.append(inspector(rank, "half" if rank < 2 else "other", "AllGather", 4, 4096,
                             2600 + skew_us, 50, host=host))
    return lines(f"{host}-pid{100 + rank}.log", records)


@case
def inspector_logs_are_matched_by_communicator_and_number():
    ranks, said = imported(*[inspector_log(rank, late_us=300 if rank == 2 else 0)
                             for rank in range(4)])
    assert sorted(ranks) == [0, 1, 2, 3] and "16 of them NCCL operations" in said, said
    assert "inferred" not in said and "missing" not in said, said
    file = ranks[3]
    assert file.attrs["hostname"] == b"node0" and file.attrs["world_size"] == 4
    assert "kernel" not in file["events"]
    rows = file["events/comm"][:]
    assert list(rows["seq"]) == [10, 11, 12, 4], rows
    assert list(rows["sent_bytes"]) == [1 << 20] * 3 + [4096]
    assert list(rows["recv_bytes"]) == [1 << 20] * 3 + [8192]
    assert [int(end - start) for start, end in zip(rows["start"], rows["end"])] == \
        [500000] * 3 + [50000]
    nccl = file["events/nccl"][:]
    assert list(nccl["ran_ns"]) == [496000] * 3 + [46000] and set(nccl["channels"]) == {2}
    assert list(nccl["enqueue"]) == [start - 5000 for start in rows["start"]]
    assert list(file["comms"]["size"]) == [4, 2] and list(file["comms"]["my_rank"]) == [3, 1]
    _, cluster = merged(ranks)
    with cluster:
        found = cluster["collectives"][:]
        assert list(found["nranks"]) == [4, 4, 4, 2, 2] and set(found["complete"]) == {1}, found
        late = found[1]
        assert (late["last_rank"], late["wait_ns"]) == (2, 900000), late
        assert abs(late["transfer_ns"] - 200000) < 1000
        assert late["bytes"] == 1 << 20
        assert abs(late["busbw"] / (1.5 * (1 << 20) / 200e-6) - 1) < 0.01, late["busbw"]


@case
def inspector_logs_of_two_hosts_are_aligned():
    skew_us = 7000
    ranks, _ = imported(*[inspector_log(rank, host=f"node{rank // 2}", skew_us=skew_us * (rank // 2))
                          for rank in range(4)])
    _, cluster = merged(ranks)
    with cluster:
        clock = {int(row["rank"]): row for row in cluster["clocks"]}
        assert clock[1]["error_ns"] == 0 and clock[3]["error_ns"] <= 550000, clock
        assert abs(clock[3]["offset_ns"] + skew_us * 1000) <= clock[3]["error_ns"], clock
        assert set(cluster["collectives"]["complete"]) == {1}


@case
def inspector_logs_without_times_have_sizes_and_lengths_only():
    logs = [lines(f"h-pid{rank}.log", [inspector(rank, sn=sn, verbose=False, start_us=1000 * sn,
                                                 length_us=100 + 300 * (rank != 1), host="h")
                                       for sn in range(1, 9)]) for rank in range(4)]
    ranks, _ = imported(*logs)
    rows, nccl = ranks[1]["events/comm"][:], ranks[1]["events/nccl"][:]
    timed = h5py.check_enum_dtype(nccl.dtype["timed"])
    assert set(nccl["timed"]) == {timed["enqueued"]} and all(rows["flags"] & 32), rows
    assert list(rows["start"]) == list(rows["end"]) and set(nccl["ran_ns"]) == {96000}
    directory, cluster = merged(ranks)
    with cluster:
        found = cluster["collectives"][:]
        assert len(found) == 8 and set(found["nranks"]) == {4}, found
        assert set(found["transfer_ns"]) == {-1} and not found["busbw"].any()
    assert "not" in run("report", "--full", directory).splitlines()[0]


@case
def inspector_logs_of_all_versions_are_read():
    marker = {key: inspector(0)[key] for key in ("header", "metadata")}
    marker["header"]["comm_name"] = "DP group"
    records = [
        {**marker, "dump_stats": {"coll_records": 2, "coll_dropped_since_last_dump": 7,
                                  "p2p_records": 1, "p2p_dropped_since_last_dump": 2}},
        {"coll_perf": inspector(0, sn=3, coll_algo="RING", coll_proto="LL")["coll_perf"]},
        {"coll_perf": inspector(0, sn=4, start_us=500, coll_exec_time_us=61.5)["coll_perf"]},
        {"p2p_perf": {"p2p": "Send", "p2p_sn": 1, "p2p_peer": 3, "p2p_msg_size_bytes": 9000,
                      "p2p_exec_time_us": 12, "event_trace_ts": {
                          "p2p_start_ts": BASE_US + 900, "kernel_events": [
                              {"kernel_start_ts": BASE_US + 910,
                               "kernel_stop_ts": BASE_US + 930}]}}},
        {"proxy_trace": {"record_type": "proxy_op"}}]
    ranks, said = imported(lines("a-pid1.log.gz", records))
    file, names = ranks[0], texts(ranks[0])
    assert "lost: 9 operations" in said and "left out: 1 records of NCCL's proxy" in said, said
    assert file.attrs["dropped_events"] == 9
    nccl, rows = file["events/nccl"][:], file["events/comm"][:]
    assert names[nccl[0]["algorithm"]] == "RING" and names[nccl[0]["protocol"]] == "LL"
    assert nccl[1]["ran_ns"] == 61500
    assert (rows[2]["peer"], rows[2]["sent_bytes"], rows[2]["recv_bytes"], rows[2]["seq"]) == \
        (3, 9000, 0, -1), rows[2]
    assert "DP group" in names[file["comms"][0]["name"]]
    single = lines("b-pid1.log", [inspector(0)])  # a log of one record
    assert len(imported(single)[0][0]["events/comm"]) == 1


@case
def inspector_logs_that_do_not_fit_are_named():
    said = refused(lines("two-pid1.log", [inspector(0), inspector(1)]))
    assert "several ranks of one communicator" in said, said
    one = lines("one-pid1.log", [inspector(0, start_us=i * 1000, sn=i) for i in range(3)])
    said = refused(one, lines("again-pid2.log", [inspector(0, start_us=i * 1000, sn=i)
                                                 for i in range(3)]))
    assert "rank 0 is in several traces" in said, said
    said = refused(one, lines("else-pid1.log", [inspector(1, "elsewhere")]))
    assert "no communicator of all ranks" in said and "0x99" in said, said
    text = json.dumps(inspector(0)) + "\n" + json.dumps(inspector(0, sn=2, start_us=600))
    ranks, said = imported(trace("cut-pid1.log", None, text=text[:-40]))
    assert "at byte" in said and ranks[0].attrs["complete"] == 0, said
    assert len(ranks[0]["events/comm"]) == 1
    odd = [inspector(0), {"header": 3, "metadata": [], "coll_perf": "x"},
           {**inspector(0), "coll_perf": {"coll": "AllReduce", "coll_sn": -1,
                                          "coll_msg_size_bytes": 1 << 62}},
           {**inspector(0), "coll_perf": {"coll": "Coffee"}}, {"header": {"id": "0x1"}}]
    ranks, said = imported(lines("odd-pid1.log", odd))
    assert "5 events" in said and len(ranks[0]["events/comm"]) == 2, said
    assert ranks[0]["events/comm"][1]["sent_bytes"] == -1
    directory = tempfile.mkdtemp(dir=where)
    for name in ("one-pid1.log", "other.log"):
        shutil.copy(one, os.path.join(directory, name))
    assert len(imported(directory)[0]) == 1, "logs are known by their names in directories"


# ---- Gloo ----

POOL = 70  # threads of Gloo


def gloo_head(rank, groups=(("0", (0, 1)), ("1", (0, 1)))):
    """What PyTorch 2.15 writes before the events of a job on Gloo."""
    return {"host_name": "node", "distributedInfo": {
        "backend": "gloo", "rank": rank, "world_size": 4 if len(groups) > 2 else 2,
        "pg_count": len(groups),
        "pg_config": [{"pg_name": name, "pg_desc": "undefined", "pg_size": len(ranks),
                       "backend_config": "cpu:gloo,cuda:gloo", "ranks": list(ranks)}
                      for name, ranks in groups]}}


def begun(name, at, length, dims="[[[1000]], [], []]", told=None, arguments=("", "", "1", "0")):
    """The operator that begins an operation, with record_param_comms in it where `told`."""
    events = [event(f"c10d::{name}", "cpu_op", at, length, **{
        "Input Dims": json.loads(dims), "Concrete Inputs": list(arguments)})]
    if told:
        events.append(event("record_param_comms", "cpu_op", at + 1, length - 2, **told))
    return events


def worked(name, at, length, thread=POOL, count=1000):
    return event(f"gloo:{name}", "user_annotation", at, length, thread,
                 **{"Input Dims": [[count]], "Input type": ["float"]})


def gloo_parallel(rank, late_us=0, told=None):
    """Two steps, each with a backward pass of `late_us` more and one all-reduce that is waited for:
    nothing is open from 20 us after it was begun on. An operator runs beside the first part of it."""
    events = steps()
    for i in range(2):
        at = 1000 * i
        events += [event("aten::mm", "cpu_op", at + 100, 100 + late_us),
                   *begun("allreduce_", at + 210 + late_us, 10, told=told),
                   event("aten::mul", "cpu_op", at + 225 + late_us, 25),
                   worked("all_reduce", at + 215 + late_us, 385 - late_us, POOL + i),
                   event("aten::add_", "cpu_op", at + 610, 50)]
    return events


TOLD = {"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000,
        "Group size": 2, "dtype": "Float", "Process Group Name": "5", "Process Group Ranks": "[0, 1]"}


def ops_of(file):
    names = {number: name for name, number in
             h5py.check_enum_dtype(file["events/comm"].dtype["op"]).items()}
    return [names[row["op"]] for row in file["events/comm"]]


@case
def gloo_operations_are_matched_with_waits_and_transfers():
    """record_param_comms beside an annotation is the same operation."""
    for told in (None, TOLD):
        traces = [trace(f"gloo-{rank}.json", gloo_parallel(rank, 300 * rank, told), rank,
                        head=gloo_head(rank)) for rank in (0, 1)]
        ranks, said = imported(*traces)
        assert "4 of them operations of Gloo" in said and "inferred" not in said, said
        rows = ranks[0]["events/comm"][:]
        assert ops_of(ranks[0]) == ["Wait", "Allreduce"] * 2 or \
            ops_of(ranks[0]) == ["Allreduce", "Wait"] * 2, ops_of(ranks[0])
        of = rows[[op == "Allreduce" for op in ops_of(ranks[0])]]
        sources = h5py.check_enum_dtype(rows.dtype["source"])
        assert set(rows["source"]) == {sources["gloo"]} and "events/nccl" not in ranks[0]
        base = BASE_US * 1000
        assert list(of["start"]) == [base + 210000, base + 1210000], of
        assert list(of["end"]) == [base + 600000, base + 1600000]
        assert list(of["wait_start"]) == [base + 250000, base + 1250000], of["wait_start"] - base
        assert list(of["seq"]) == [0, 1] and list(of["sent_bytes"]) == [4000] * 2
        assert list(of["recv_bytes"]) == [4000] * 2 and set(of["flags"]) == {4}
        name = "process group 5" if told else "process group 0"
        assert [texts(ranks[0])[row["name"]] for row in ranks[0]["comms"]] == [name]
        assert list(ranks[1]["comm_members"]["world_rank"]) == [0, 1]
        assert list(ranks[1]["comms"]["my_rank"]) == [1]
        directory, cluster = merged(ranks)
        with cluster:
            found = cluster["collectives"][:]
            assert list(found["nranks"]) == [2, 2] and list(found["complete"]) == [1, 1]
            # Rank 1 begins 300 us later; rank 0 works for 40 us of them.
            assert list(found["wait_ns"]) == [260000] * 2 and set(found["last_rank"]) == {1}, found
            assert list(found["transfer_ns"]) == [90000] * 2, found["transfer_ns"]
            waits = cluster["step_trace"]["wait_ns"]
            assert list(waits[:, 0]) == [260000] * 2 and not waits[:, 1].any(), waits
        assert "all ranks are on one clock" in run("report", "--full", directory)


@case
def gloo_groups_that_may_be_any_are_inferred():
    """A rank in groups of different ranks: operations do not say of which they are."""
    groups = (("0", (0, 1, 2, 3)), ("1", (0, 1)), ("2", (2, 3)))
    ranks, said = imported(*[
        trace(f"any-{rank}.json", gloo_parallel(rank), rank, 4, gloo_head(rank, groups))
        for rank in range(2)])
    assert "inferred: 2 communicators" in said and "2 operations were matched" in said, said
    assert [texts(ranks[0])[row["name"]] for row in ranks[0]["comms"]] == ["inferred: Gloo"]
    _, cluster = merged(ranks)
    with cluster:
        assert list(cluster["collectives"]["nranks"]) == [2, 2]
    # What record_param_comms tells leaves nothing to infer.
    ranks, said = imported(*[
        trace(f"told-{rank}.json", gloo_parallel(rank, told=TOLD), rank, 4,
              gloo_head(rank, groups)) for rank in range(2)])
    assert "communicators" not in said, said
    assert list(ranks[0]["comms"]["size"]) == [2]


@case
def gloo_operations_of_older_traces_are_matched():
    """Without the groups in the head, and without the operators that begin them."""
    def rank(number, late_us):
        events = steps()
        for i in range(2):
            events += [event("aten::mm", "cpu_op", 1000 * i + 10, 100 + late_us),
                       worked("all_reduce", 1000 * i + 120 + late_us, 480 - late_us)]
        return trace(f"older-{number}.json", events, number, head={"host_name": "node"})
    ranks, said = imported(rank(0, 0), rank(1, 200))
    assert "inferred" in said and ops_of(ranks[0]) == ["Allreduce"] * 2, said
    _, cluster = merged(ranks)
    with cluster:
        found = cluster["collectives"][:]
        assert list(found["nranks"]) == [2, 2] and list(found["wait_ns"]) == [200000] * 2, found
        assert list(found["transfer_ns"]) == [280000] * 2


@case
def gloo_operations_of_a_pytorch_without_kineto_are_matched():
    """Debian's PyTorch 1.13 writes a list of operators, times from each rank's start, and no sizes."""
    def rank(number, late_us):
        def operator(name, at, length, thread=1):
            return {"name": name, "ph": "X", "ts": at, "dur": length, "tid": thread,
                    "pid": "CPU functions", "args": {}}
        events = []
        for i in range(2):
            at = 1000 * i + 4000 * number
            events += [operator(f"ProfilerStep#{i}", at, 1000),
                       operator("aten::mm", at + 10, 100 + late_us),
                       operator("c10d::allreduce_", at + 120 + late_us, 20),
                       operator("gloo:all_reduce", at + 130 + late_us, 470 - late_us, 2)]
        return trace(f"list-rank{number}.json", None, text=json.dumps(events))
    ranks, said = imported(rank(0, 0), rank(1, 200))
    assert "4 of them operations of Gloo" in said and "2 operations were matched" in said, said
    assert set(ranks[0]["events/comm"]["sent_bytes"]) == {-1}
    assert ops_of(ranks[1]).count("Allreduce") == 2
    _, cluster = merged(ranks)
    with cluster:
        assert list(cluster["collectives"]["nranks"]) == [2, 2]
        assert list(cluster["collectives"]["complete"]) == [1, 1]


@case
def gloo_operations_of_each_kind_have_their_sizes_and_roots():
    def rank(number):
        at = iter(range(0, 2000, 100))
        events = steps(1, 3000)
        def op(call, name, arguments=(), thread=POOL):
            start = next(at)
            events.extend(begun(call, start, 10, arguments=arguments))
            events.append(worked(name, start + 5, 60, thread))
        op("broadcast_", "broadcast", ("", "", "1", "0"))
        op("reduce_", "reduce", ("", "", "", "0", "0"))
        op("allgather_", "all_gather")
        op("_allgather_base_", "all_gather")
        op("alltoall_base_", "all_to_all")
        op("reduce_scatter_", "all_reduce")  # of which Gloo makes two, at once
        events.append(worked("all_reduce", 507, 60, POOL + 1))
        if number == 0:
            op("send", "send", ("", "", "1", "7"), 1)
        else:
            op("recv_", "recv", ("", "", "0", "7"), 1)
        return trace(f"kinds-{number}.json", events, number, head=gloo_head(number))
    ranks, _ = imported(rank(0), rank(1))
    def told(number):
        rows = ranks[number]["events/comm"][:]
        return [(op, int(row["sent_bytes"]), int(row["recv_bytes"]), bool(row["flags"] & 64),
                 int(row["peer"])) for op, row in zip(ops_of(ranks[number]), rows) if op != "Wait"]
    both = [("Allgather", 4000, 8000, False, -1)] * 2 + [("Alltoall", 4000, 4000, False, -1)] + \
        [("Allreduce", 4000, 4000, False, -1)] * 2
    assert told(0) == [("Bcast", 0, 4000, False, 1), ("Reduce", 4000, 4000, True, 0), *both,
                       ("Send", 4000, 0, False, 1)], told(0)
    assert told(1) == [("Bcast", 4000, 0, True, 1), ("Reduce", 4000, 4000, False, 0), *both,
                       ("Recv", 0, 4000, False, 0)], told(1)
    _, cluster = merged(ranks)
    with cluster:
        assert [(int(row["src"]), int(row["dst"])) for row in cluster["p2p"]] == [(0, 1)]
        assert len(cluster["collectives"]) == 7 and all(cluster["collectives"]["complete"])


# ---- Flight Recorder ----

def entry(record, name, created_us, seq=0, p2p=0, group=("0", "default_pg"), sizes=((1000,),),
          state="completed", duration_ms=None, **more):
    """As FlightRecorderDetail.hpp writes one."""
    return {"record_id": record, "pg_id": int(group[0]), "process_group": list(group),
            "collective_seq_id": seq, "p2p_seq_id": p2p, "op_id": record,
            "profiling_name": name, "time_created_ns": (BASE_US + created_us) * 1000 + 7,
            **({} if duration_ms is None else {"duration_ms": duration_ms}),
            "input_sizes": [list(one) for one in sizes], "input_dtypes": ["Float"] * len(sizes),
            "output_sizes": [list(one) for one in sizes], "output_dtypes": ["Float"] * len(sizes),
            "state": state, "time_discovered_started_ns": 0, "time_discovered_completed_ns": 0,
            "retired": state == "completed", "timeout_ms": 600000, "is_p2p": bool(p2p), **more}


def flight(name, entries, groups=None, **more):
    groups = groups or {"0": [0, 1, 2], "7": [1, 2]}
    config = {key: {"name": key, "desc": "some", "ranks": str(ranks)}
              for key, ranks in groups.items()}
    return trace(name, None, text=json.dumps({
        "comm_lib_version": "2.21.5", "entries": entries, "pg_config": config,
        "pg_status": {"0": {"last_completed_collective": "3"}}, "version": "2.10", **more}))


def flight_entries(rank):
    entries = [entry(i, "nccl:all_reduce", 1000 * i + rank, seq=5 + i, duration_ms=0.25 + rank)
               for i in range(3)]
    if rank > 0:
        entries.append(entry(3, "nccl:_all_gather_base", 4000, seq=1, group=("7", "tp"),
                             sizes=((2, 3), (4,))))
    return entries


@case
def flight_recorder_dumps_are_matched_by_group_and_number():
    hung = entry(9, "nccl:all_reduce", 9000, seq=8, state="started")
    ranks, said = imported(*[flight(f"nccl_trace_rank_{rank}.json",
                                    flight_entries(rank) + [hung] * (rank != 1))
                             for rank in range(3)])
    assert sorted(ranks) == [0, 1, 2] and "missing" not in said and "inferred" not in said, said
    assert "rank 2: 1 operation had not ended when it was written, the first of them " \
        "nccl:all_reduce, number 8" in said and "rank 1: 1 op" not in said, said
    rows, nccl = ranks[2]["events/comm"][:], ranks[2]["events/nccl"][:]
    assert list(rows["seq"]) == [5, 6, 7, 1, 8] and all(rows["flags"] & 32)
    assert list(rows["start"]) == list(rows["end"])
    assert rows[1]["start"] == (BASE_US + 1002) * 1000 + 7
    assert list(nccl["ran_ns"]) == [2250000] * 3 + [0, 0]
    assert rows[3]["sent_bytes"] == 40 and texts(ranks[2])[nccl[0]["datatype"]] == "Float"
    assert list(ranks[2]["comms"]["size"]) == [3, 2]
    assert list(ranks[2]["comms"]["my_rank"]) == [2, 1]
    assert list(ranks[2]["comm_members"]["world_rank"]) == [0, 1, 2, 1, 2]
    assert ranks[0].attrs["world_size"] == 3
    directory, cluster = merged(ranks)
    with cluster:
        found = {(int(row["seq"]), int(row["nranks"]), int(row["complete"]))
                 for row in cluster["collectives"]}
        assert found == {(5, 3, 1), (6, 3, 1), (7, 3, 1), (1, 2, 1), (8, 3, 0)}, found
    assert "1 of 5 operations were not recorded by all" in run("report", "--full", directory)


def said_of(directory):
    """The first sentence, which text, JSON and HTML agree about, and the report."""
    text = run("report", "--full", directory)
    report = json.loads(run("report", "--format", "json", directory))
    headline = report["job"]["headline"]
    assert " ".join(text.split()).startswith(headline), (headline, text)
    assert headline in run("report", "--format", "html", directory)
    return headline, report, text


@case
def the_rank_of_a_cut_dump_is_not_called_missing():
    """Of rank 1 the last operation is lacking: the file ends in it, or only pg_status has its number.
    Messages have numbers of their own, and Gloo's are not in the list."""
    groups = {"0": [0, 1, 2]}

    def dumps(name, last, told, backend="nccl"):
        for rank in range(3):
            entries = [entry(i, f"{backend}:all_reduce", 1000 * i, seq=5 + i) for i in range(3)]
            entries += [] if rank == 1 else [entry(3, f"{backend}:all_reduce", 9000, seq=8, state="scheduled")]
            status = {"0": {"last_enqueued_collective": told if rank == 1 else 8}}
            yield flight(f"{name}_rank_{rank}.json", entries + (last if rank == 1 else []), groups,
                         pg_status=status)

    not_known = ("Rank 1 has a dump that is cut, so it is not known whether it reached all_reduce 8 of "
                 "default_pg, in which ranks 0 and 2 wait.")
    missing = "Rank 1 did not reach all_reduce 8 of default_pg, in which ranks 0 and 2 wait"
    send = [entry(4, "nccl:send 1->2", 9600, p2p=9)]
    for name, last, told, backend, said in (
            ("behind", [], 8, "nccl", not_known), ("whole", [], 7, "nccl", missing),
            ("sent", send, 9, "nccl", missing), ("gloo", [], 9, "gloo", missing)):
        out, printed = imported(*dumps(name, last, told, backend))
        directory, cluster = merged(out)
        cluster.close()
        assert said_of(directory)[0].startswith(said), (name, said_of(directory)[0])
        assert ("which says that it began operation 8 of default_pg" in printed) == (said == not_known), printed
    *whole, last = dumps("cut", [], 7)
    path = next(p for p in whole if "rank_1" in p)
    text = open(path).read()
    with open(path, "w") as file:
        file.write(text[:text.rindex('{"record_id"') + 20])
    directory, cluster = merged(imported(*whole, last)[0])
    with cluster:
        assert [int(row["role"]) for row in cluster["hang"]] == [0, 6, 0]
    headline, report, text = said_of(directory)
    assert headline == not_known, headline
    assert "not known, the dump is cut: rank 1" in text, text


@case
def flight_recorder_dumps_after_a_hang_tell_who_is_missing():
    """Rank 1 sends to rank 3, which has no dump; rank 2 is not in all-reduce 8, nor in 2 of tp."""
    groups = {"0": [0, 1, 2, 3], "7": [1, 2]}
    world = [entry(i, "nccl:all_reduce", 1000 * i, seq=5 + i) for i in range(3)]
    hung = entry(8, "nccl:all_reduce", 9000, seq=8, state="scheduled")
    tp = [entry(3, "nccl:all_gather", 4000, seq=1, group=("7", "tp"))]
    late = entry(9, "nccl:all_gather", 9500, seq=2, group=("7", "tp"), state="started")
    send = entry(10, "nccl:send 1->3", 9600, p2p=1, state="scheduled")
    files = [flight(f"hang_rank_{rank}.json", entries, groups) for rank, entries in enumerate(
        (world + [hung], world + tp + [hung, late, send], world + tp))]
    directory, cluster = merged(imported(*files)[0])
    with cluster:
        assert cluster.attrs["imported"] in ("flight", b"flight") and not len(cluster["steps"])
        assert [(int(row["operation"]), int(row["rank"]), int(row["role"]), int(row["seq"]))
                for row in cluster["hang"]] == [
            (0, 0, 0, 8), (0, 1, 0, 8), (0, 2, 1, 8), (0, 3, 4, 8),
            (1, 1, 0, 2), (1, 2, 1, 2), (2, 1, 0, -1), (2, 3, 4, -1)]
    headline, report, text = said_of(directory)
    assert headline == (
        "Rank 2 did not reach all_reduce 8 of default_pg, in which ranks 0 and 1 wait; whether "
        "rank 3 did is not known, because it has no dump. Rank 2 did not reach all_gather 2 of tp "
        "7, in which rank 1 waits. Rank 3 has no dump, so it is not known whether it reached recv "
        "from rank 1 in default_pg, for which that rank waits in send."), headline
    assert report["job"]["verdict"] == "hang" and report["job"]["reason"] is None
    assert [one["rule"] for one in report["advice"]] == ["hang", "ranks_missing"], report["advice"]
    for word in ("--level", "--activities", "profwrap_step", "--clock-sync"):
        assert word not in text, word


@case
def flight_recorder_dumps_without_operations_are_named():
    groups = {"0": [0, 1]}
    full = flight("full_rank_0.json", [entry(0, "nccl:all_reduce", 0, seq=1),
                                       entry(1, "nccl:all_reduce", 2500000, seq=2,
                                             state="scheduled")], groups)
    ranks, _ = imported(full, flight("empty_rank_1.json", [], groups))
    assert ranks[1].attrs["start_unix_ns"] == ranks[1].attrs["end_unix_ns"] == -1
    bare = trace("bare_rank_1.json", None, text='{"entries": [], "version": "2.4"}')
    assert sorted(imported(full, bare)[0]) == [0, 1]
    directory, cluster = merged(ranks)
    cluster.close()
    headline, report, text = said_of(directory)
    assert headline == ("Rank 1 has no operations in the dump, so it is not known whether it "
                        "reached all_reduce 2 of default_pg, in which rank 0 waits."), headline
    assert report["job"]["run_ns"] == 2500000000 and "ran         2 ranks for 2.50 s" in text
    assert "the dump of rank 1 has no operations" in text, text


@case
def flight_recorder_dumps_say_when_who_waits_is_not_known():
    """Nobody waits in what the dumps have: one function is not known, or a rank's dump is not here."""
    groups = {"0": [0, 1]}
    def dump(rank, name):
        return flight(f"known_rank_{rank}.json", [
            entry(0, "nccl:all_reduce", rank, seq=1),
            entry(1, name, 1000 + rank, seq=2, state="scheduled", group=("0", "default_pg"))][:2 - rank],
            groups)
    for name, said in (
            ("gloo:sparse_all_reduce", "Rank 1 did not reach all_reduce 2 of default_pg, in which rank 0"),
            ("nccl:all_reduce_barrier", "Rank 1 did not reach barrier 2 of default_pg, in which rank 0"),
            ("nccl:new_function", "Whether a rank waits is not known: the operations that the dumps of 2 "
             "of 2 ranks have had ended when they were written, and 1 entry could not be read.")):
        ranks, _ = imported(dump(0, name), dump(1, name))
        directory, cluster = merged(ranks)
        cluster.close()
        headline, report, _ = said_of(directory)
        assert headline.startswith(said), headline
        assert report["job"]["verdict"] == ("unknown" if "Whether" in said else "hang"), report["job"]
    ranks, _ = imported(dump(1, "nccl:all_reduce"))
    directory, cluster = merged(ranks)
    cluster.close()
    headline, report, text = said_of(directory)
    assert headline == ("Whether a rank waits is not known: the operations that the dumps of 1 of 2 ranks "
                        "have had ended when they were written, and 1 rank has no dump."), headline
    assert report["advice"][0]["rule"] == "dumps", report["advice"]


def gloo_entries(rank, groups):
    """As PyTorch 2.15 records Gloo: no times but the begin, never a state but this one."""
    def one(number, name, group, seq, sizes=((1000,),), retired=True):
        return entry(number, f"gloo:{name}", 100 * number + rank, seq, group=group, sizes=sizes,
                     state="scheduled", retired=retired, thread_id="140426883459968",
                     thread_name="python", time_discovered_started_ns=None,
                     time_discovered_completed_ns=None)
    world = ("0", "default_pg")
    entries = [one(0, "all_reduce", world, 1), one(1, "broadcast", world, 2), one(
        2, "all_gather", world, 3), one(3, "all_reduce", world, 4, retired=rank == 1)]
    return entries + [one(4, "reduce", ("1", "undefined"), 1)] * groups


def gloo_dump(rank, members, groups=0):
    return {"version": "2.10", "comm_lib_version": "", "entries": gloo_entries(rank, groups),
            "pg_config": {"": {"name": "", "desc": "", "ranks": str(members)}},
            "pg_status": {str(i): {"last_enqueued_collective": 4, "last_started_collective": -1,
                                   "last_completed_collective": 4} for i in range(1 + groups)}}


@case
def flight_recorder_dumps_of_gloo_are_matched():
    """By their new name; a rank's list of members is of the group that it made last."""
    import pickle
    python = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python")
    dumps = tempfile.mkdtemp(dir=where)
    for rank, members in enumerate(([0, 1], [0])):
        document = gloo_dump(rank, members, groups=1)
        for one in document["entries"]:
            one["process_group"] = tuple(one["process_group"])
        with open(os.path.join(dumps, f"comm_lib_trace_rank_{rank}"), "wb") as file:
            pickle.dump(document, file, 2)
    said = refused(dumps)
    assert "has only pickles" in said and "python3 -m profwrap.flight" in said, said
    names = [os.path.join(dumps, name) for name in sorted(os.listdir(dumps))]
    subprocess.run([sys.executable, "-m", "profwrap.flight", *names], check=True,
                   env={**os.environ, "PYTHONPATH": python})
    ranks, said = imported(dumps)
    assert sorted(ranks) == [0, 1] and "10 of them operations of Gloo" in said, said
    assert "rank 0: 1 operation had not ended when it was written, the first of them " \
        "gloo:all_reduce, number 4" in said and "rank 1: " not in said, said
    rows = ranks[1]["events/comm"][:]
    assert list(rows["seq"]) == [1, 2, 3, 4, 1] and set(rows["flags"]) == {32}, rows
    assert set(rows["source"]) == {h5py.check_enum_dtype(rows.dtype["source"])["gloo"]}
    assert list(rows["sent_bytes"]) == [4000] * 5 and "events/nccl" not in ranks[1]
    directory, cluster = merged(ranks)
    with cluster:
        assert sorted((int(row["seq"]), int(row["nranks"]), int(row["complete"]))
                      for row in cluster["collectives"]) == [(i, 2, 1) for i in (1, 1, 2, 3, 4)]
    assert "gloo_untimed (5 each)" in run("report", "--full", directory)
    assert json.loads(run("report", "--format", "json", directory))["job"]["verdict"] == "unknown"


@case
def a_gloo_dump_tells_how_large_the_job_is():
    """So that the rank after the last dump is one that has none."""
    ranks, _ = imported(trace("large_rank_0.json", None, text=json.dumps(gloo_dump(0, [0, 1]))))
    directory, cluster = merged(ranks)
    cluster.close()
    job = json.loads(run("report", "--format", "json", directory))["job"]
    assert job["headline"].startswith(
        "Rank 1 has no dump, so it is not known whether it reached all_reduce 4 of default_pg, in "
        "which rank 0 waits."), job["headline"]


def gloo_job(*ranks, **more):
    """Dumps of ranks with operations of the groups named, beside those of the default group."""
    files = []
    for rank, groups in enumerate(ranks):
        document = gloo_dump(rank, [0])
        for name in groups:
            one = dict(document["entries"][1], process_group=[name, "undefined"],
                       pg_id=int(name), collective_seq_id=1,
                       record_id=len(document["entries"]), **more)
            document["entries"].append(one)
        files.append(trace(f"sub{len(ranks)}_rank_{rank}.json", None, text=json.dumps(document)))
    return files


@case
def flight_recorder_groups_without_ranks_have_those_that_used_them():
    """1 is of ranks 0 and 1, 2 of 2 and 3. What is not sure is not matched, and no time is 0."""
    ranks, _ = imported(*gloo_job("1", "1", "2", "2"))
    assert [list(ranks[rank]["comm_members"]["world_rank"][4:]) for rank in range(4)] == [
        [0, 1], [0, 1], [2, 3], [2, 3]]
    _, cluster = merged(ranks)
    with cluster:
        found = sorted((int(row["seq"]), int(row["nranks"]), int(row["complete"]))
                       for row in cluster["collectives"])
        assert found == [(1, 2, 1), (1, 2, 1), (1, 4, 1), (2, 4, 1), (3, 4, 1), (4, 4, 1)], found
    for ones, left_out, more in (
            (("1", "1", "", ""), 2, {}),  # one dump is missing
            (("1", "", "", ""), None, {}),  # nobody else came
            (("1", "1", "", ""), None, {"is_p2p": True, "profiling_name": "gloo:send 0->1"})):
        files = gloo_job(*ones, **more)
        ranks, _ = imported(*(file for rank, file in enumerate(files) if rank != left_out))
        assert sorted(ranks[0]["events/comm"]["seq"]) == [-1, 1, 2, 3, 4]
        assert len(ranks[0]["comm_members"]) <= 4
        directory, cluster = merged(ranks)
        with cluster:
            assert len(cluster["collectives"]) == 4
        lines = [line for line in run("report", "--section", "collectives,p2p", directory).split("\n")
                 if " 0 ns" in line]
        assert not lines, lines


@case
def flight_recorder_hooks_do_not_tell_when_an_operation_ended():
    """In NCCL, what is retired and not completed timed out; for other backends it is not known."""
    names = ("ucc:all_reduce", "nccl:all_reduce")
    for name, unfinished in zip(names, (False, True)):
        entries = [entry(0, name, 0, seq=1, state="scheduled", retired=True)]
        _, said = imported(flight("hook_rank_0.json", entries))
        assert ("had not ended" in said) == unfinished, (name, said)


@case
def flight_recorder_groups_of_operations_are_one_launch():
    group = dict(seq=6, p2p=0, state="scheduled")
    entries = [
        entry(0, "nccl:all_reduce", 0, seq=5),
        entry(1, "nccl:all_gather", 10, sizes=((8,),), **group),
        entry(2, "nccl:all_gather", 11, sizes=((9,),), **group),
        entry(3, "nccl:coalesced", 12, seq=6, sizes=()),
        entry(4, "nccl:send 0->2", 20, p2p=1, seq=6, state="scheduled"),
        entry(5, "nccl:recv 0<-1", 21, p2p=1, seq=6, state="scheduled"),
        entry(6, "nccl:coalesced", 22, p2p=1, seq=6, sizes=(), state="started")]
    ranks, said = imported(flight("nccl_trace_rank_0.json", entries))
    rows = ranks[0]["events/comm"][:]
    assert list(rows["seq"]) == [5, 6, -1, -1, -1] and list(rows["peer"]) == [-1] * 3 + [2, 1], rows
    assert "left out: 2 records of groups" in said, said
    assert "rank 0: 2 operations had not ended" in said and "nccl:send 0->2" in said, said


@case
def flight_recorder_dumps_that_do_not_fit_are_named():
    import pickle
    one = flight("trace_rank_1.json", flight_entries(1))
    twice = flight("again_rank_1.json", flight_entries(1))
    assert "rank 1 is in several traces" in refused(one, twice)
    assert "does not say which rank" in refused(flight("a.json", flight_entries(1)),
                                                flight("b.json", flight_entries(2)))
    other = flight("trace_rank_2.json", flight_entries(2), {"0": [0, 1, 2, 3]})
    assert "job of 3 ranks" in refused(one, other)
    dump = pickle.dumps({"entries": [], "version": "2.4"}, 2)
    said = refused(trace("nccl_trace_rank_0", None, text=dump))
    assert "is a pickle; python3 -m profwrap.flight" in said, said
    with open(one) as file:
        text = file.read()
    cut = trace("cut_rank_1.json", None, text=text[:text.index('"record_id": 3') + 30])
    ranks, said = imported(cut)
    assert "at byte" in said and len(ranks[1]["events/comm"]) == 3, said
    odd = [entry(0, "nccl:all_reduce", 0, seq=1), 7, {"profiling_name": 3}, {},
           entry(1, "nccl:tea", 1, seq=2), entry(2, "nccl:all_reduce", 2, group=("0", "x"), seq=1)]
    odd[5]["time_created_ns"] = float("nan")
    ranks, said = imported(flight("odd_rank_1.json", odd))
    assert "6 events" in said and "1 imported" in said, said
    no_config = {"version": "2.0", "entries": flight_entries(0)}
    ranks, said = imported(trace("old_rank_0.json", None, text=json.dumps(no_config)))
    assert set(ranks[0]["events/comm"]["seq"]) == {-1} and "inferred: 1" in said, said


@case
def flight_recorder_pickles_become_json_without_running_them():
    import pickle
    python = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python")

    def convert(path, status=0):
        done = subprocess.run([sys.executable, "-m", "profwrap.flight", path], text=True,
                              env={**os.environ, "PYTHONPATH": python}, stderr=subprocess.PIPE)
        assert done.returncode == status, done.stderr
        return done.stderr
    document = {"version": "2.4", "pg_config": {"0": {"name": "0", "desc": "default_pg",
                                                      "ranks": "[0, 1]"}},
                "entries": [{**one, "process_group": tuple(one["process_group"]),
                             "time_discovered_started_ns": None} for one in flight_entries(0)]}
    path = trace("nccl_trace_rank_0", None, text=pickle.dumps(document, 2))
    convert(path)
    ranks, _ = imported(path + ".json")
    assert list(ranks[0]["events/comm"]["seq"]) == [5, 6, 7]
    assert list(ranks[0]["comms"]["size"]) == [2]

    class Evil:
        def __reduce__(self):
            return os.mkdir, (os.path.join(where, "run-by-a-pickle"),)
    said = convert(trace("evil_rank_0", None, text=pickle.dumps({"entries": [Evil()]}, 2)), 1)
    assert "evil_rank_0" in said and "mkdir" in said and "Traceback" not in said, said
    assert not os.path.exists(os.path.join(where, "run-by-a-pickle"))
    assert not os.path.exists(os.path.join(where, "evil_rank_0.json"))
    assert "no pickle" in convert(trace("text_rank_0", None, text="hello"), 1)
    assert "cannot be read" in convert(os.path.join(where, "nowhere"), 1)


@case
def flight_recorder_dumps_of_older_pytorch_are_read():
    """2.2 writes a list without groups, 2.3 version 1.4, whose groups are numbers of the process. Rank 2 is
    missing in the fourth operation of all; in the group of ranks 2 and 3, 3 waits for 2.
    """
    import pickle
    python = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python")

    def entries(rank, is_first):
        """A message of ranks 0 and 1 takes a number of all."""
        pair = 1 if rank < 2 else 4
        names = [(0, "nccl:all_reduce"), (pair, "nccl:all_gather"), (0, "nccl:all_reduce")] + \
            [(0, "nccl:send 0->1" if rank == 0 else "nccl:recv 1<-0")] * (rank < 2) + \
            [(0, "nccl:all_reduce")] + [(pair, "nccl:all_gather")] * (rank != 2) + \
            [(0, "nccl:all_reduce")] * (rank != 2)
        counted, out = {}, []
        for number, (group, name) in enumerate(names):
            counted[group] = counted.get(group, 0) + 1
            waits = number >= len(names) - (1 if rank < 2 else 2) and rank != 2
            one = {"pg_id": group, "seq_id": counted[group], "profiling_name": name,
                   "input_sizes": [[1000]], "output_sizes": [[1000]], "frames": [], "retired": not waits,
                   "state": "scheduled" if waits else "completed"}
            created = BASE_US + 10 * number + rank
            out.append({**one, "time_created_us": created} if is_first else
                       {**one, "record_id": number, "op_id": counted[group],
                        "time_created_ns": 1000 * created, "time_discovered_started_ns": None})
        return out

    def write(folder, rank, document):
        os.makedirs(os.path.join(where, folder), exist_ok=True)
        path = trace(os.path.join(folder, f"nccl_trace_rank_{rank}"), None, text=pickle.dumps(document, 2))
        subprocess.run([sys.executable, "-m", "profwrap.flight", path], check=True,
                       env={**os.environ, "PYTHONPATH": python})
        return path + ".json"
    for version, said in (
            ("2.3", "Rank 2 did not reach all_reduce 4 of default_pg, in which ranks 0, 1 and 3 wait. Rank 2 "
             "did not reach all_gather 2 of process group [2, 3], in which rank 3 waits."),
            ("2.2", "Rank 2 did not reach all_reduce 4 of default_pg, in which ranks 0, 1 and 3 wait. Rank 3 "
             "waits in all_gather of process group 4 of nccl_trace_rank_3, whose members or number the "
             "dumps do not have.")):
        ranks, _ = imported(*(write(version, rank, entries(rank, True) if version == "2.2" else {
            "version": "1.4", "nccl_comm_state": {}, "entries": entries(rank, False),
            "pg_config": {0: [0, 1, 2, 3], **({1: [0, 1]} if rank < 2 else {4: [2, 3]})}})
            for rank in range(4)))
        directory, cluster = merged(ranks)
        cluster.close()
        assert said_of(directory)[0] == said, (version, said_of(directory)[0])


CATEGORIES = {"cpu_op": "events/range", "user_annotation": "events/range",
              "kernel": "events/kernel", "gpu_memcpy": "events/memcpy",
              "gpu_memset": "events/memset", "cuda_runtime": "events/cuda_api"}


@case
def real_traces_lose_no_event():
    for name in ("nccl_data.json.gz", "sampled_rank-0.json.gz", "sampled_rank-1.json.gz"):
        with gzip.open(shared(name), "rt") as file:
            events = json.load(file)["traceEvents"]
        ranks, said = imported(shared(name), options=["--cuda-calls"])
        (file,) = ranks.values()
        wanted = collections.Counter(CATEGORIES[one["cat"]] for one in events
                                     if one.get("cat") in CATEGORIES)
        found = {table: len(file[table]) for table in wanted}
        assert found == dict(wanted), (name, found, wanted)
        total = int(said.split(" events")[0].split()[-1])
        taken = int(said.split(" imported")[0].split()[-1])
        left = sum(int(line.split("left out: ")[1].split()[0]) for line in said.splitlines()
                   if "left out" in line)
        assert total == len(events) == taken + left, (name, total, taken, left)
        nccl = [one for one in events if one.get("cat") == "kernel" and "nccl" in one["name"]]
        assert len(file["events/comm"]) == len(file["events/nccl"]) == len(nccl)


@case
def real_kernels_have_the_sums_of_their_trace():
    for name in ("nccl_data.json.gz", "sampled_rank-0.json.gz", "sampled_rank-1.json.gz"):
        with gzip.open(shared(name), "rt") as file:
            events = json.load(file, parse_float=decimal.Decimal)["traceEvents"]
        wanted, launched = collections.Counter(), 0
        calls = {one["args"]["correlation"] for one in events if one.get("cat") == "cuda_runtime"}
        for one in events:
            if one.get("cat") == "kernel":
                wanted[one["name"]] += int(decimal.Decimal(one["dur"]) * 1000)
                launched += one["args"]["correlation"] in calls
        (file,) = imported(shared(name))[0].values()
        names, found = texts(file), collections.Counter()
        rows = file["events/kernel"][:]
        for row in rows:
            found[names[row["name"]]] += int(row["end"] - row["start"])
        assert found == wanted, name
        assert sum(rows["launch"] >= 0) == launched
        assert all(rows["launch"][rows["launch"] >= 0] <= rows["start"][rows["launch"] >= 0])


def union(spans):
    total, behind = 0, None
    for start, end in sorted(spans):
        start = start if behind is None else max(start, behind)
        total += max(0, end - start)
        behind = end if behind is None else max(behind, end)
    return total


def spans_of(file, as_hta):
    """(start, end, is NCCL's) of the kernels, and those of copies, in us. HTA makes whole
    microseconds of times first: starts are rounded up and ends down, so that each event is shorter
    by 1 us in the mean, and 0 at least."""
    def span(row):
        start, end = int(row["start"]), int(row["end"])
        return (-(-start // 1000), max(-(-start // 1000), end // 1000)) if as_hta else (
            decimal.Decimal(start) / 1000, decimal.Decimal(end) / 1000)
    text = texts(file)
    kernels = [(*span(row), "nccl" in text[row["name"]]) for row in file["events/kernel"]]
    copies = [span(row) for table in ("memcpy", "memset") for row in file["events/" + table]]
    return kernels, copies


def break_down(file, as_hta):
    """Idle, computing, other, first start to last end; and the % of NCCL that kernels hide."""
    kernels, copies = spans_of(file, as_hta)
    computing = [(start, end) for start, end, is_nccl in kernels if not is_nccl]
    talking = [(start, end) for start, end, is_nccl in kernels if is_nccl]
    everything = computing + talking + copies
    span = max(end for _, end in everything) - min(start for start, _ in everything)
    busy = union(everything)
    both = union(talking) + union(computing) - union(talking + computing)
    return ([span - busy, union(computing), busy - union(computing), span],
            float(100 * both / union(talking)))


@case
def real_traces_break_down_as_hta_says():
    """Compares all steps, from what is in the rank files."""
    with open(shared("hta_results.json")) as file:
        hta = json.load(file)
    for key, names in (
            ("pair_sampled128_incl_last", ["sampled_rank-0.json.gz", "sampled_rank-1.json.gz"]),
            ("nccl_meta_rank0of2_incl_last", ["nccl_data.json.gz"])):
        ranks, _ = imported(*[shared(name) for name in names])
        overlap = {row[0]: row[1] for row in hta[key]["comm_comp_overlap"]["value"]["rows"]}
        for row in hta[key]["temporal_breakdown"]["value"]["rows"]:
            times, percent = break_down(ranks[row[0]], True)
            assert times == row[1:5], (key, times, row)
            assert abs(percent - overlap[row[0]]) <= 0.01, (key, percent, overlap)
            exact, _ = break_down(ranks[row[0]], False)
            print(f"{key}, rank {row[0]}: idle, computing, other, all: HTA {row[1:5]} us, "
                  f"unrounded {[float(x) for x in exact]} us")
            if key.startswith("pair"):
                assert exact == times  # whole microseconds already


@case
def example_prints_what_comes_out():
    names = [f"sampled_rank-{rank}.json.gz" for rank in (0, 1)]
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    for name in names:
        os.symlink(shared(name), os.path.join(where, name))
    with open(os.path.join(root, "docs", "import.md")) as file:
        section = file.read().split("## An example: two ranks of a PyTorch job\n")[1].split("\n## ")[0]
    shown = [line[4:] for line in section.splitlines() if line.startswith("    ") or not line]
    text, commands = "\n".join(shown), [line[2:] for line in shown if line.startswith("$ ")]
    assert [line.split()[1] for line in commands] == ["import", "merge", "report"], commands
    answers = text.split("$ profwrap ")[1:]
    for command, answer in zip(commands, answers):
        done = subprocess.run([profwrap, *command.split()[1:]], cwd=where, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout
        assert done.stdout.split() == answer.split("\n", 1)[1].split(), (command, done.stdout)


@case
def real_operators_are_as_pytorch_counts_them():
    try:
        import torch
    except ImportError:
        skip("PyTorch is not installed (scripts/setup --torch)")
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
    with torch.profiler.profile(record_shapes=True, profile_memory=True) as prof:
        for _ in range(3):
            model(torch.randn(16, 64)).sum().backward()
    path = os.path.join(where, "torch.json")
    prof.export_chrome_trace(path)
    (file,) = imported(path)[0].values()
    names, calls, total = texts(file), collections.Counter(), collections.Counter()
    kinds = h5py.check_enum_dtype(file["events/range"].dtype["kind"])
    for row in file["events/range"]:
        if row["kind"] == kinds["operator"]:
            calls[names[row["name"]]] += 1
            total[names[row["name"]]] += int(row["end"] - row["start"])
    wanted = {one.key: one for one in prof.key_averages()
              if one.key != "[memory]" and not one.key.startswith("ProfilerStep")}
    assert set(calls) == set(wanted), set(calls) ^ set(wanted)
    for name, one in wanted.items():
        assert calls[name] == one.count, (name, calls[name], one.count)
        # PyTorch without Kineto writes whole microseconds.
        assert abs(total[name] - one.cpu_time_total * 1000) <= 1000 * one.count, (name, total[name])
    directory = os.path.dirname(file.filename)
    file.close()
    run("merge", directory)
    with h5py.File(os.path.join(directory, "cluster.h5")) as cluster:
        for row in cluster["operators"]:
            name = row["name"].split(b"\0")[0].decode()
            one = wanted[name]
            assert row["calls"] == one.count
            inside = sum(other.count for other in wanted.values())
            assert abs(row["self_ns"] - one.self_cpu_time_total * 1000) <= 1000 * inside, name


TRAINING = """
import json, sys, torch
rank, path = int(sys.argv[1]), sys.argv[2]
if torch.distributed.is_available():
    torch.distributed.init_process_group("gloo", init_method="file://" + path + ".store", rank=rank,
                                         world_size=2)
model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
with torch.profiler.profile(record_shapes=True) as prof:
    for _ in range(3 + rank):
        model(torch.randn(16, 64)).sum().backward()
    if torch.distributed.is_available():
        torch.distributed.all_reduce(model[0].weight.grad)
prof.export_chrome_trace(f"{path}.rank-{rank}.json")
with open(f"{path}.truth-{rank}", "w") as file:
    json.dump({one.key: (one.count, one.cpu_time_total * 1000, one.self_cpu_time_total * 1000)
               for one in prof.key_averages()}, file)
"""


@case
def real_operators_of_two_ranks_add_up_to_pytorchs():
    if subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
        skip("PyTorch is not installed (scripts/setup --torch)")
    path = os.path.join(where, "two")
    ranks = [subprocess.Popen([sys.executable, "-c", TRAINING, str(rank), path],
                              stderr=subprocess.DEVNULL) for rank in (0, 1)]
    assert [one.wait(timeout=120) for one in ranks] == [0, 0]
    truth = []
    for rank in (0, 1):
        with open(f"{path}.truth-{rank}") as file:
            truth.append(json.load(file))
    files, _ = imported(*[f"{path}.rank-{rank}.json" for rank in (0, 1)])
    for rank, file in files.items():
        names, calls = texts(file), collections.Counter()
        kinds = h5py.check_enum_dtype(file["events/range"].dtype["kind"])
        for row in file["events/range"]:
            if row["kind"] == kinds["operator"]:
                calls[names[row["name"]]] += 1
        assert calls == {key: one[0] for key, one in truth[rank].items() if key in calls}, rank
        assert {key for key in truth[rank] if key.startswith("aten::")} <= set(calls), rank
    _, cluster = merged(files)
    with cluster:
        rows = {row["name"].split(b"\0")[0].decode(): row for row in cluster["operators"]}
        for name in set(truth[0]) & set(rows):
            both = [one[name] for one in truth]
            count = sum(one[0] for one in both)
            assert rows[name]["calls"] == count, name
            # PyTorch without Kineto writes whole microseconds.
            assert abs(rows[name]["total_ns"] - sum(one[1] for one in both)) <= 1000 * count, name
        assert "aten::addmm" in rows and rows["aten::addmm"]["calls"] == 2 * (3 + 4)


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
    where = tempfile.mkdtemp(prefix="profwrap-import-")
    try:
        CASES[sys.argv[2]]()
        stored.compare_below(profwrap, where)
    finally:
        shutil.rmtree(where)


main()
