"""Imported profiles of MindSpore and of Ascend's devices: what is in the rank files is what they say,
sums are those of the profilers' own files and of msprof-analyze, and bad profiles are named.

    test_ascend.py PROFWRAP CASE        test_ascend.py --list
"""
import base64
import collections
import csv
import decimal
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zlib

import ascend_profiles
from ascend_profiles import (Job, group_number, step_rows, us, write_analysis, write_analysis_db, write_db,
                             write_job, write_profile)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))
import stored  # noqa: E402

CASES = {}
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "profwrap")

# A loop of MindSpore under its own profiler, as in its documentation.
MINDSPORE_LOOP = """
import sys
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
from mindspore.profiler import profile, ProfilerActivity, tensorboard_trace_handler
ms.set_context(mode=ms.GRAPH_MODE if sys.argv[2] == "graph" else ms.PYNATIVE_MODE)
ms.set_device("CPU")
net = nn.SequentialCell(nn.Dense(16, 32), nn.ReLU(), nn.Dense(32, 4))
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()),
                           nn.SGD(net.trainable_params(), 0.01))
x, y = Tensor(np.ones((8, 16), np.float32)), Tensor(np.ones((8, 4), np.float32))
step(x, y)
with profile(activities=[ProfilerActivity.CPU],
             on_trace_ready=tensorboard_trace_handler(sys.argv[1])) as p:
    for i in range(10):
        step(x, y)
        p.step()
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


def imported(*paths, options=()):
    """The rank files by rank, what was said, and their directory."""
    directory = new()
    said = run("import", *options, "-o", directory, *paths)
    ranks = {int(name[5:10]): h5py.File(os.path.join(directory, name))
             for name in os.listdir(directory) if name.endswith(".h5")}
    check_all_events_are_told(said)
    return ranks, said, directory


def refused(*paths, options=()):
    directory = new()
    said = run("import", *options, "-o", directory, *paths, status=1)
    assert not [name for name in os.listdir(directory) if name.startswith("rank")], said
    assert len(said.splitlines()) == 1, said
    return said


def check_all_events_are_told(said):
    """Events that were taken and those that were left out, by reason, are all events."""
    events, taken = map(int, re.search(r"(\d+) events \(.*\), (\d+) imported", said).groups())
    left_out = sum(int(n) for n in re.findall(r"left out: (\d+) ", said))
    assert events == taken + left_out, said


def merged(directory):
    run("merge", directory)
    return h5py.File(os.path.join(directory, "cluster.h5"))


def texts(file):
    return [text.decode() for text in file["strings"][()]]


def environment(name, program):
    path = os.path.join(CACHE, name, "bin", program)
    if not os.path.exists(path):
        skip(f"{path} is not there")
    return path


# ---- MindSpore's own profiler on a CPU ----

def half_unit(text):
    """Half a unit of the last of the six digits that C++ prints."""
    number = decimal.Decimal(text)
    return decimal.Decimal(1).scaleb(max(number.adjusted() - 5, -9)) / 2 if number else 0


def check_mindspore(mode):
    python = environment("mindspore", "python")
    if subprocess.run([python, "-c", "import mindspore"], capture_output=True).returncode:
        skip("mindspore does not start there")
    script, profiles = os.path.join(where, "loop.py"), new("profiles")
    open(script, "w").write(MINDSPORE_LOOP)
    subprocess.run([python, script, profiles, mode], check=True, cwd=where, stdout=subprocess.DEVNULL,
                   env={**os.environ, "OMP_NUM_THREADS": "1"})
    ranks, said, _ = imported(profiles)
    assert list(ranks) == [0] and "not known" not in said, said
    names = texts(ranks[0])
    ours = collections.defaultdict(list)
    kinds = collections.defaultdict(list)
    for row in ranks[0]["events/range"]:
        ours[names[row["name"]]].append(int(row["end"] - row["start"]))
        kinds[names[row["category"]]].append(int(row["end"] - row["start"]))
    for file, key, total, count, found in (
            ("cpu_op_detail_info_0.csv", "full_op_name", "op_total_time(ms)", "op_occurrences", ours),
            ("cpu_op_type_info_0.csv", "op_type", "total_compute_time", "type_occurrences", kinds)):
        path, = glob.glob(os.path.join(profiles, "*_ascend_ms", "FRAMEWORK", file))
        rows = list(csv.DictReader(open(path)))
        assert rows
        for row in rows:
            times = found.pop(row[key])
            assert len(times) == int(row[count]), row
            # MindSpore prints each time and each sum with six digits: that is what may differ.
            sum_ms = decimal.Decimal(sum(times)).scaleb(-6)
            allowed = half_unit(row[total]) + sum(
                half_unit(str(decimal.Decimal(t).scaleb(-6))) for t in times)
            difference = abs(sum_ms - decimal.Decimal(row[total]))
            assert difference <= allowed, (row, sum_ms)
            if all(t < 1_000_000 for t in times):  # all digits of its times are there
                assert f"{float(sum_ms):.6g}" == f"{float(row[total]):.6g}" or \
                    difference <= half_unit(row[total]), (row, sum_ms)
        assert not found, found


@case
def mindspore_operators_in_graph_mode():
    check_mindspore("graph")


@case
def mindspore_operators_in_pynative_mode():
    check_mindspore("pynative")


# ---- a job that is known ----

def write(job, **options):
    directory = new("job")
    write_job(job, directory, **options)
    return directory


def check_rank(job, rank, file, names):
    at = lambda ns: job.time(rank, ns)
    kernels = sorted((int(k["start"]), int(k["end"]), names[k["name"]], int(k["stream"]))
                     for k in file["events/kernel"])
    expected = [(at(s), at(e), name, stream) for name, _, _, s, e, stream, _ in job.kernels[rank]]
    expected += [(at(o["start"]), at(o["end"]), "hcom_allReduce", 0) for o in job.operations[rank]]
    assert kernels == sorted(expected)
    assert {names[k["launched_by"]] for k in file["events/kernel"]} <= {"aten::mm", "ProfilerStep#4"}
    assert set(file["events/kernel"]["device"]) == {rank % 4}
    copies = [(int(c["start"]), int(c["end"]), int(c["bytes"])) for c in file["events/memcpy"]]
    assert copies == [(at(s), at(e), size) for s, e, _, size in job.copies[rank]]
    events = file["events/comm"][()]
    assert [(int(e["start"]), int(e["end"]), int(e["seq"]), int(e["sent_bytes"])) for e in events] \
        == [(at(o["start"]), at(o["end"]), i, o["bytes"])
            for i, o in enumerate(job.operations[rank])]
    assert set(events["source"]) == {3} and set(events["comm"]) == {0}
    assert all(names[row["datatype"]] == "FP32" and names[row["algorithm"]] == "RING-RING" and
               row["count"] == ascend_profiles.COUNT and row["enqueue"] > 0
               for row in file["events/nccl"])
    assert [(int(s["step"]), int(s["start"]), int(s["end"])) for s in file["steps"]] == \
        [(n, at(a), at(b)) for n, a, b in job.step_times[rank]]


def check_job(maker):
    job = Job(ranks=8, skews={"node1": 7_000_000})
    ranks, said, directory = imported(write(job, maker=maker))
    assert sorted(ranks) == list(range(8)) and "48 of them operations of HCCL" in said, said
    assert "72 tasks of devices that are no kernels" in said and "EVENT_RECORD" in said, said
    for rank, file in ranks.items():
        check_rank(job, rank, file, texts(file))
        assert file["comms"]["size"][0] == 8 and file["comms"]["my_rank"][0] == rank
        assert list(file["comm_members"]["world_rank"]) == list(range(8))
    cluster = merged(directory)
    collectives = cluster["collectives"][()]
    assert len(collectives) == 2 * job.steps and set(collectives["nranks"]) == {8}
    assert all(collectives["complete"])
    # the clocks of the hosts differ by 7 ms, and no event says so but the collectives
    assert {host.decode() for host in cluster["ranks"]["hostname"]} == {"node0", "node1"}
    check_steps(job, cluster)


def check_steps(job, cluster):
    """The profilers' step trace, where it means the same."""
    trace = cluster["gpu_trace"][()]
    for rank in range(job.ranks):
        for i, row in enumerate(step_rows(job, rank)):
            ours = trace[i][rank]
            assert us(int(ours["compute_ns"])) == row["Computing"], (rank, row, ours)
            assert us(int(ours["comm_ns"])) == row["Communication"], (rank, row, ours)
            assert us(int(ours["comm_exposed_ns"])) == row["Communication(Not Overlapped)"]
            if 0 < i < job.steps - 1:  # theirs ends at the first and at the last task of all
                free = ours["span_ns"] - ours["busy_ns"] + ours["copy_ns"]
                assert us(int(free)) == row["Free"], (rank, row, ours)


@case
def torch_npu_profiles():
    check_job("pt")


@case
def mindspore_profiles():
    check_job("ms")


@case
def slow_rank():
    job = Job(ranks=8, steps=12, slow_rank=5)
    job.host = lambda rank: "node0"
    _, _, directory = imported(write(job))
    cluster = merged(directory)
    assert list(cluster["stragglers"]["rank"]) == [5], cluster["stragglers"][()]
    assert cluster["stragglers"]["steps_hit"][0] == 12


@case
def nobody_is_slow():
    job = Job(ranks=8, steps=12, slow_rank=-1)
    job.host = lambda rank: "node0"
    _, _, directory = imported(write(job))
    assert len(merged(directory)["stragglers"]) == 0


@case
def ranks_of_a_group_are_those_that_have_it():
    job = Job(ranks=4)
    directory = write(job)
    for path in glob.glob(os.path.join(directory, "*")):
        os.remove(os.path.join(path, "profiler_metadata.json"))
    ranks, _, _ = imported(directory)
    for rank, file in ranks.items():
        assert list(file["comm_members"]["world_rank"]) == [0, 1, 2, 3]
        assert file["comms"]["my_rank"][0] == rank
        assert group_number(ascend_profiles.WORLD) in texts(file)[file["comms"]["name"][0]]


@case
def traces_without_their_directory():
    job = Job(ranks=2)
    path = os.path.join(where, "trace_view_rank1.json")
    trace = os.path.join(write_profile(job, 1, new()), "ASCEND_PROFILER_OUTPUT", "trace_view.json")
    shutil.copy(trace, path)
    ranks, said, _ = imported(path)
    assert list(ranks) == [1] and "6 of them operations of HCCL" in said, said
    ranks, _, _ = imported(os.path.dirname(trace))
    assert list(ranks) == [1]
    ranks, _, _ = imported(trace)
    assert list(ranks) == [1]


# ---- msprof-analyze ----

def analyse(directory, mode):
    program = environment("msprof", "msprof-analyze")
    out = new("msprof")
    done = subprocess.run([program, "cluster", "-d", directory, "-m", mode, "-o", out, "--force"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return os.path.join(out, "cluster_analysis_output")


@case
def step_trace_is_that_of_msprof_analyze():
    job = Job(ranks=4, slow_rank=2, slow_link=(1, 2))
    directory = write(job)
    _, _, ours = imported(directory)
    cluster = merged(ours)
    path = os.path.join(analyse(directory, "all"), "cluster_step_trace_time.csv")
    seen = 0
    for row in csv.DictReader(open(path)):
        if row["Type"] != "rank":
            continue
        trace = cluster["gpu_trace"][int(row["Step"]) - job.first_step][int(row["Index"])]
        for column, field in (("Computing", "compute_ns"), ("Communication", "comm_ns"),
                              ("Communication(Not Overlapped)", "comm_exposed_ns")):
            assert decimal.Decimal(row[column]) == decimal.Decimal(int(trace[field])) / 1000, row
        hidden = int(trace["comm_ns"] - trace["comm_exposed_ns"])
        assert decimal.Decimal(row["Overlapped"]) == decimal.Decimal(hidden) / 1000, row
        seen += 1
    assert seen == 4 * job.steps


@case
def communication_is_that_of_msprof_analyze():
    job = Job(ranks=4, slow_rank=2, slow_link=(1, 2))
    directory = write(job)
    _, _, ours = imported(directory)
    cluster = merged(ours)
    out = analyse(directory, "all")
    groups, = json.load(open(os.path.join(out, "cluster_communication.json"))).values()
    ranks = {int(row["rank"]): row for row in cluster["hccl_ranks"]}
    for rank in range(4):
        for key, field in (("Elapse", "elapsed_ns"), ("Transit", "transfer_ns"), ("Wait", "wait_ns"),
                           ("Synchronization", "sync_ns"), ("Idle", "idle_ns")):
            theirs = sum(operations[name][str(rank)]["Communication Time Info"][f"{key} Time(ms)"]
                         for operations in groups.values() for name in operations
                         if name.startswith("Total Op Info"))
            assert round(theirs * 1e6) == int(ranks[rank][field]), (rank, key, theirs, ranks[rank])
    links = {(int(row["src"]), int(row["dst"])): row for row in cluster["hccl_links"]}
    matrix, = json.load(open(os.path.join(out, "cluster_communication_matrix.json"))).values()
    theirs = collections.defaultdict(lambda: [0, 0])
    for operations in matrix.values():
        for name in operations:
            if name.startswith("Total Op Info"):
                for link, info in operations[name].items():
                    pair = tuple(map(int, link.split("-")))
                    theirs[pair][0] += info["Transit Size(MB)"]
                    theirs[pair][1] += info["Transit Time(ms)"]
                    assert abs(info["Bandwidth(GB/s)"] - links[pair]["bandwidth"] / 1e9) < 1e-4 * \
                        info["Bandwidth(GB/s)"], (link, info, links[pair])
    assert sorted(theirs) == sorted(links)
    for pair, (size, time) in theirs.items():
        assert round(size * 1e6) == int(links[pair]["bytes"]), pair
        assert round(time * 1e6) == int(links[pair]["transfer_ns"]), pair
    slowest = min((pair for pair in theirs if pair[0] != pair[1]),
                  key=lambda pair: theirs[pair][0] / theirs[pair][1])
    between = [row for row in cluster["hccl_links"] if row["src"] != row["dst"]]
    ours_slowest = max(between, key=lambda row: row["usual_bandwidth"] / row["bandwidth"])
    assert slowest == (int(ours_slowest["src"]), int(ours_slowest["dst"])) == job.slow_link
    assert "1   2  HCCS" in re.sub(r"^ +", "", run("report", "--section", "hccl", ours),
                                   flags=re.M)


def late_key(page, name):
    """Unpacks a value that the HTML report unpacks when one of its pages is shown."""
    packed = re.search(rf'<script type="text/plain" id="late-{name}">([^<]*)</script>', page)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


@case
def reports_say_the_same_of_hccl():
    job = Job(ranks=4, slow_rank=2, slow_link=(1, 2))
    _, _, directory = imported(write(job))
    cluster = merged(directory)
    hccl = json.loads(run("report", "--format", "json", directory))["hccl"]
    names = cluster["hccl_ranks"].dtype.names
    assert [[row[name] for name in names if name != "comm_uid"] for row in hccl["ranks"]] == \
        [[int(row[name]) for name in names if name != "comm_uid"] for row in cluster["hccl_ranks"]]
    # the slow link first, by what the links' own bytes and times are
    slow = hccl["links"][0]
    assert (slow["src"], slow["dst"]) == (1, 2), slow
    sent = [o for o in job.operations[1] if o["to"] == 2]
    rate = sum(o["bytes"] for o in sent) / sum(o["transfer"] for o in sent)
    others = [sum(o["bytes"] for o in ops) / sum(o["transfer"] for o in ops)
              for rank, ops in job.operations.items() if rank != 1]
    assert abs(slow["bandwidth_bytes_per_s"] / 1e9 / rate - 1) < 1e-9, (slow, rate)
    assert abs(slow["slowness"] / (sorted(others)[1] / rate) - 1) < 1e-9, (slow, others)
    assert slow["bytes"] == sum(o["bytes"] for o in sent)
    assert hccl["links_total"] == len(hccl["links"]) == len(cluster["hccl_links"]) == 8
    shown = late_key(run("report", "--format", "html", directory), "hccl")
    assert shown["ranks"] == hccl["ranks"]
    assert [(row["src"], row["dst"], row["bytes"], row["transfer_ns"]) for row in shown["links"]] == \
        [(row["src"], row["dst"], row["bytes"], row["transfer_ns"]) for row in hccl["links"]]
    text = run("report", "--section", "hccl", "--top", "0", directory)
    order = re.findall(r"^ +([0-3])  +([0-3])  (?:HCCS|LOCAL)", text, flags=re.M)
    assert [(int(a), int(b)) for a, b in order] == \
        [(row["src"], row["dst"]) for row in hccl["links"]], text


@case
def files_beside_the_trace():
    job = Job(ranks=2)
    directory = write(job)
    ranks, said, _ = imported(directory)
    assert "not read: kernel_details.csv, op_statistic.csv, step_trace_time.csv in" in said, said
    for rank, file in ranks.items():
        names = texts(file)
        assert len(file["hccl/times"]) == 2 * job.steps
        for row, o in zip(file["hccl/times"], job.operations[rank]):
            assert (names[row["name"]], int(row["step"]), int(row["comm"])) == \
                (o["name"], o["step"], 0)
            assert (int(row["elapsed_ns"]), int(row["transfer_ns"]), int(row["wait_ns"])) == \
                (o["end"] - o["start"], o["transfer"], o["wait"])
            assert row["seq"] == file["events/comm"]["seq"][job.operations[rank].index(o)]
        links = [row for row in file["hccl/links"] if row["src"] != row["dst"]]
        assert {(int(row["src"]), int(row["dst"])) for row in links} == {(rank, 1 - rank)}
        assert {names[row["transport"]] for row in links} == {"HCCS"}
        # allocated and released again, in the order of time
        memory = file["samples/memory"][()]
        assert list(memory["delta_bytes"]) == [x for i in range(job.steps)
                                               for x in (524288 * (i + 1), -524288 * (i + 1))]
        assert list(memory["total_bytes"][:2]) == [1572864, 1048576]
        assert set(memory["device"]) == {rank}


@case
def damaged_files_beside_the_trace_are_named():
    job = Job(ranks=1)
    path = os.path.join(write_profile(job, 0, new()), "ASCEND_PROFILER_OUTPUT")
    file = os.path.join(path, "communication.json")
    data = open(file).read()
    open(file, "w").write(data[:len(data) // 2])
    ranks, said, _ = imported(path)
    assert "its communication.json ends early" in said, said
    assert "hccl/times" not in ranks[0] or len(ranks[0]["hccl/times"]) == 0
    assert len(ranks[0]["events/comm"]) == 2 * job.steps
    open(file, "w").write(json.dumps({"step4": {"collective": {"x@1": {}, "y": 7, "z@2": {
        "Communication Time Info": {"Elapse Time(ms)": -1}}}, "p2p": 5}, "step": []}))
    matrix = os.path.join(path, "communication_matrix.json")
    open(matrix, "w").write(json.dumps({"step4": {"collective": {"x@1": {
        "0-999": {}, "a": {"Transit Size(MB)": "1"}, "0-0": {"Transit Size(MB)": 1e300,
                                                             "Transit Time(ms)": 1}}}}}))
    open(os.path.join(path, "operator_memory.csv"), "w").write(
        'Name,Size(KB),Allocation Time(us)\n"a\nb",x,1\n,1e99,\n' + "c," * 500 + "\n")
    _, said, _ = imported(path)
    assert "9 events without the fields" in said, said


# ---- databases ----

def write_dbs(job, **options):
    directory = new("db")
    for rank in range(job.ranks):
        write_db(job, rank, directory, **options)
    return directory


def need_sqlite(job):
    probe = write_db(job, 0, new())
    if "was built with SQLite" in subprocess.run(
            [profwrap, "import", "-o", new(), probe], capture_output=True, text=True).stderr:
        skip("this profwrap was built without SQLite")


@case
def databases_of_torch_npu():
    job = Job(ranks=4)
    need_sqlite(job)
    ranks, said, ours = imported(write_dbs(job))
    assert sorted(ranks) == [0, 1, 2, 3] and "24 of them operations of HCCL" in said, said
    assert "4 tasks of devices that are no kernels" in said, said
    for rank, file in ranks.items():
        check_rank(job, rank, file, texts(file))
        assert list(file["comm_members"]["world_rank"]) == [0, 1, 2, 3]
    check_steps(job, merged(ours))


@case
def slow_rank_is_that_of_msprof_analyze():
    environment("msprof", "msprof-analyze")
    job = Job(ranks=8, steps=12, slow_rank=5)
    job.host = lambda rank: "node0"
    directory = write_dbs(job)
    out = analyse(directory, "slow_rank")
    db = sqlite3.connect(os.path.join(out, "cluster_analysis.db"))
    votes = db.execute("SELECT rankId, slowAffectCount FROM SlowRank ORDER BY 2 DESC").fetchall()
    assert votes[0][0] == 5 and votes[0][1] >= 12, votes
    ranks, said, ours = imported(directory)
    assert list(merged(ours)["stragglers"]["rank"]) == [5]


@case
def a_database_stands_for_a_damaged_trace():
    job = Job(ranks=2)
    need_sqlite(job)
    text = open(os.path.join(write_profile(job, 1, new()), "ASCEND_PROFILER_OUTPUT",
                             "trace_view.json")).read()
    for content, words in (("", "is empty"), (text[:len(text) // 2], "is half written"),
                           (" \n", "is empty"), ("hello, world", "is no JSON")):
        directory = write_dbs(job)
        path, = glob.glob(os.path.join(directory, "*_9001_*", "ASCEND_PROFILER_OUTPUT"))
        open(os.path.join(path, "trace_view.json"), "w").write(content)
        ranks, said, _ = imported(directory)
        lines = [line for line in said.splitlines() if "trace_view.json" in line]
        assert len(lines) == 1 and f"trace_view.json {words}: its ascend_pytorch_profiler_1.db is" in \
            lines[0], said
        for rank, file in ranks.items():
            check_rank(job, rank, file, texts(file))
            assert file.attrs["complete"], said


@case
def a_trace_stands_for_a_damaged_database():
    job = Job(ranks=2)
    data = open(*glob.glob(os.path.join(write_db(job, 1, new()), "*", "*.db")), "rb").read()
    for content, words in ((data[:len(data) // 2], "is half written"), (b"", "is empty"),
                           (b"hello, world", "is half written"), (data, "")):
        directory = write(job)
        path, = glob.glob(os.path.join(directory, "*_9001_*", "ASCEND_PROFILER_OUTPUT"))
        open(os.path.join(path, "ascend_pytorch_profiler_1.db"), "wb").write(content)
        ranks, said, _ = imported(directory)
        assert (f"profiler_1.db {words}: its trace_view.json is read instead" in said) == \
            bool(words), said
        assert bool(words) == ("profiler_1.db" in said), said
        for rank, file in ranks.items():
            check_rank(job, rank, file, texts(file))
            assert file.attrs["complete"], said


@case
def damaged_databases_are_named():
    job = Job(ranks=1)
    path = write_db(job, 0, new())
    file, = glob.glob(os.path.join(path, "ASCEND_PROFILER_OUTPUT", "*.db"))
    data = open(file, "rb").read()
    db = sqlite3.connect(file)
    db.execute("ALTER TABLE CANN_API RENAME COLUMN globalTid TO thread")
    db.execute("DROP TABLE STEP_TIME")
    db.execute("UPDATE COMMUNICATION_OP SET endNs = startNs - 5 WHERE opId = 0")
    db.execute("UPDATE TASK SET startNs = 'x' WHERE taskId = 0")
    db.commit()
    db.close()
    if "was built with SQLite" in subprocess.run(
            [profwrap, "import", "-o", new(), path], capture_output=True, text=True).stderr:
        skip("this profwrap was built without SQLite")
    ranks, said, _ = imported(path)
    assert "its table CANN_API is damaged, or of another version" in said, said
    assert "2 events without a possible time" in said, said
    assert len(ranks[0]["events/comm"]) == 2 * job.steps - 1
    open(file, "wb").write(data[:len(data) // 2])
    done = subprocess.run([profwrap, "import", "-o", new(), path], capture_output=True, text=True)
    assert "damaged" in done.stderr or "has neither tasks" in done.stderr, done.stderr
    db = sqlite3.connect(os.path.join(where, "ascend_pytorch_profiler_0.db"))
    db.execute("CREATE TABLE other (x)")
    db.close()
    assert "no profile of Ascend" in refused(os.path.join(where, "ascend_pytorch_profiler_0.db"))


@case
def tasks_of_one_number_do_not_multiply():
    """A join of such tables would have the product of their rows."""
    job = Job(ranks=1)
    path = write_db(job, 0, new())
    file, = glob.glob(os.path.join(path, "ASCEND_PROFILER_OUTPUT", "*.db"))
    db = sqlite3.connect(file)
    kernels, = db.execute("SELECT count(*) FROM COMPUTE_TASK_INFO").fetchone()
    for _ in range(10 * kernels):
        db.execute("INSERT INTO TASK SELECT * FROM TASK WHERE globalTaskId = 0 LIMIT 1")
    db.commit()
    db.close()
    done = subprocess.run([profwrap, "import", "-o", new(), path], capture_output=True, text=True)
    if "was built with SQLite" in done.stderr:
        skip("this profwrap was built without SQLite")
    assert "its table COMPUTE_TASK_INFO is not read to its end" in done.stderr, done.stderr


# ---- tables of text alone ----

def only_kernels(job, rank, where, step_of=lambda row: row["Step Id"]):
    """Writes a profile without its trace, whose kernels have steps, and HCCL's operations among them.
    Returns the path of its output."""
    path = os.path.join(write_profile(job, rank, where), "ASCEND_PROFILER_OUTPUT")
    os.remove(os.path.join(path, "trace_view.json"))
    table = os.path.join(path, "kernel_details.csv")
    rows = list(csv.DictReader(open(table)))
    for o in job.operations[rank]:
        rows.append({**rows[0], "Name": o["name"], "Type": "hcom_allReduce_",
                     "Accelerator Core": "COMMUNICATION", "Stream ID": 8,
                     "Start Time(us)": us(job.time(rank, o["start"])) + "\t",
                     "Duration(us)": us(o["end"] - o["start"])})
    ends = [end for _, _, end in job.step_times[rank]]
    for row in rows:
        at = decimal.Decimal(row["Start Time(us)"].strip()) * 1000
        row["Step Id"] = next(n for (n, _, _), end in zip(job.step_times[rank], ends)
                              if at < job.time(rank, end))
        row["Device_id"] = rank % 4
        row["Step Id"] = step_of(row)
    ascend_profiles.write_csv(table, rows)
    return path


@case
def kernels_without_a_trace():
    job = Job(ranks=2)
    directory = new()
    for rank in range(2):
        only_kernels(job, rank, directory)
    ranks, said, out = imported(directory)
    assert "12 of them operations of HCCL" in said and "not read: op_statistic.csv" in said, said
    for rank, file in ranks.items():
        at = lambda ns: job.time(rank, ns)
        names = texts(file)
        expected = [(at(s), at(e), name, stream) for name, _, _, s, e, stream, _ in job.kernels[rank]]
        expected += [(at(o["start"]), at(o["end"]), "hcom_allReduce", 0)
                     for o in job.operations[rank]]
        assert sorted((int(k["start"]), int(k["end"]), names[k["name"]], int(k["stream"]))
                      for k in file["events/kernel"]) == sorted(expected)
        assert set(file["events/kernel"]["device"]) == {rank % 4}
        assert [int(e["seq"]) for e in file["events/comm"]] == list(range(2 * job.steps))
        # a step is from its first kernel to that of the next, the last to its last kernel's end
        first = {}
        for start, end, _, _ in sorted(expected):
            number = next(n for n, _, e in job.step_times[rank] if start < at(e))
            first.setdefault(number, start)
        numbers = sorted(first)
        ends = [first[n] for n in numbers[1:]] + [max(end for _, end, _, _ in expected)]
        assert [(int(s["step"]), int(s["start"]), int(s["end"])) for s in file["steps"]] == \
            [(n, first[n], end) for n, end in zip(numbers, ends)]
        # the group is that of the metadata, as in the files beside it
        assert list(file["comm_members"]["world_rank"]) == [0, 1] and len(file["comms"]) == 1
        assert len(file["hccl/times"]) == 2 * job.steps
    cluster = merged(out)
    assert len(cluster["collectives"]) == 2 * job.steps and all(cluster["collectives"]["complete"])
    trace = cluster["gpu_trace"][()]
    for rank in range(2):
        for i, row in enumerate(step_rows(job, rank)):
            assert us(int(trace[i][rank]["compute_ns"])) == row["Computing"], (rank, row)
            assert us(int(trace[i][rank]["comm_ns"])) == row["Communication"], (rank, row)


@case
def kernels_of_mindspore():
    """MindSpore's table has other names: of the steps' column, and of the operator before a kernel's."""
    job = Job(ranks=2)
    directories = {False: new(), True: new()}
    for is_mindspore, directory in directories.items():
        for rank in range(2):
            table = os.path.join(only_kernels(job, rank, directory), "kernel_details.csv")
            if is_mindspore:
                rows = list(csv.DictReader(open(table)))
                for row in rows:
                    row["Step ID"] = row.pop("Step Id")
                    row["Name"] = "KernelLaunch::" + row["Type"] + "/" + row["Name"]
                ascend_profiles.write_csv(table, rows)
    theirs, _, _ = imported(directories[False])
    ours, said, _ = imported(directories[True])
    assert "12 of them operations of HCCL" in said, said
    for rank, file in ours.items():
        assert list(file["steps"]) == list(theirs[rank]["steps"])
        assert list(file["events/comm"]) == list(theirs[rank]["events/comm"])
        names = texts(file)
        assert {names[k["name"]] for k in file["events/kernel"]} == \
            {"hcom_allReduce"} | {f"KernelLaunch::{kind}/{name}" for name, kind, *_ in job.kernels[rank]}


@case
def kernels_without_steps_or_metadata():
    job = Job(ranks=2)
    directory = new()
    for rank in range(2):
        only_kernels(job, rank, directory, lambda row: "")
    for path in glob.glob(os.path.join(directory, "*")):
        os.remove(os.path.join(path, "profiler_metadata.json"))
        os.remove(os.path.join(path, "ASCEND_PROFILER_OUTPUT", "communication.json"))
        os.remove(os.path.join(path, "ASCEND_PROFILER_OUTPUT", "communication_matrix.json"))
    ranks, _, out = imported(directory)
    for file in ranks.values():
        assert len(file["steps"]) == 0
        assert list(file["comm_members"]["world_rank"]) == [0, 1] and len(file["comms"]) == 1
    assert all(merged(out)["collectives"]["complete"])


@case
def damaged_kernels_are_named():
    job = Job(ranks=1)
    path = only_kernels(job, 0, new())
    table = os.path.join(path, "kernel_details.csv")
    data = open(table).read()
    rows = len(data.splitlines()) - 1
    lines = data.splitlines()
    cut = ",".join(lines[-1].split(",")[:5])  # as far as its name
    open(table, "w").write("\n".join([*lines[:-1], cut, ",,x", "7," * 9000, ""]))
    ranks, said, _ = imported(path)
    assert "2 events without a possible time" in said, said
    assert "1 tasks of devices that are no kernels" in said, said
    assert len(ranks[0]["events/kernel"]) == rows - 1, said
    open(table, "w").write(data.splitlines()[0] + "\n")
    ranks, said, _ = imported(path)
    assert "has no kernel: it is empty, or half written" in said, said
    assert not ranks[0].attrs["complete"]
    open(table, "w").close()
    assert "has an empty kernel_details.csv, and no trace_view.json" in refused(path)
    os.remove(table)
    assert "no database and no kernel_details.csv" in refused(path)


# ---- what msprof-analyze made of them ----

ANALYSIS = ("cluster_step_trace_time.csv", "cluster_communication.json",
            "cluster_communication_matrix.json")


def small_job():
    return Job(ranks=4, slow_rank=2, slow_link=(1, 2))


def compared(said):
    """What the import says of msprof-analyze's figures."""
    line, = [line for line in said.splitlines() if "cluster_analysis_output: " in line]
    return line.split("cluster_analysis_output: ")[1]


AGREES = "agrees with the profiles in 48 times of steps and 48 sums of communication and 16 sums of links"
OTHERS = "; Free, Stage, Bubble and Preparing are defined otherwise here, and not compared"


@case
def analysis_has_the_form_of_msprof_analyze():
    """The files that write_analysis() writes are those of msprof-analyze itself."""
    job = small_job()
    theirs, ours = analyse(write(job), "all"), write_analysis(job, new())
    key = lambda row: (row["Type"], row["Step"], row["Index"])
    steps = [sorted(csv.DictReader(open(os.path.join(path, ANALYSIS[0]))), key=key)
             for path in (theirs, ours)]
    # it has rows of stages only where there are several
    steps = [[row for row in rows if row["Type"] == "rank"] for rows in steps]
    assert len(steps[0]) == len(steps[1]) == 12
    for one, other in zip(*steps):
        assert key(one) == key(other), (one, other)
        for name in ascend_profiles.STEP_COLUMNS:
            assert float(one[name]) == float(other[name]), (name, one, other)
    for name in ANALYSIS[1:]:
        one, other = (json.load(open(os.path.join(path, name))) for path in (theirs, ours))
        assert list(one) == list(other)
        for ranks in one:
            for step, operations in one[ranks].items():
                for operation, parts in operations.items():
                    if operation.startswith("Total"):
                        continue
                    mine = other[ranks][step][operation]
                    assert sorted(mine) == sorted(parts)
                    for part, value in parts.items():
                        value.pop("Op Name", None)
                        times = "Communication Time Info"
                        assert value.get(times, value) == mine[part].get(times, mine[part])


@case
def profiles_agree_with_msprof_analyze():
    job = small_job()
    directory = write(job)
    shutil.move(analyse(directory, "all"), directory)
    _, said, _ = imported(directory)
    assert compared(said) == AGREES + OTHERS, said


@case
def analysis_beside_profiles_is_compared():
    job = small_job()
    directory = write(job)
    path = write_analysis(job, directory)
    ranks, said, out = imported(directory)
    assert compared(said) == AGREES + OTHERS, said
    # it is not mixed with what is computed from the profiles
    assert sorted(ranks) == [0, 1, 2, 3] and "msprof/steps" not in ranks[0], list(ranks[0])
    assert len(merged(out)["msprof_steps"]) == 0
    # given by itself, in any order
    elsewhere = write_analysis(job, new())
    shutil.rmtree(path)
    for given in ((directory, elsewhere), (elsewhere, directory),
                  (os.path.join(elsewhere, ANALYSIS[0]), directory)):
        assert compared(imported(*given)[1]) == AGREES + OTHERS
    # what differs, and by how much
    table = os.path.join(elsewhere, ANALYSIS[0])
    rows = ascend_profiles.analysed_steps(job)
    row, = [row for row in rows if (row["Step"], row["Type"], row["Index"]) == (5, "rank", 2)]
    was = row["Computing"]
    row["Computing"] = was + 30
    row["Overlapped"] += 0.002
    ascend_profiles.write_csv(table, rows)
    said = compared(imported(directory, elsewhere)[1])
    assert said == (
        f"of 48 times of steps and 48 sums of communication and 16 sums of links, 2 differ from the "
        f"profiles; most: Computing of rank 2 in step 5 is {was + 30:.3f} us there and {was:.3f} us in "
        f"the profiles, 30.000 us apart" + OTHERS), said
    links = ascend_profiles.analysed(job, ascend_profiles.matrix)
    operations = links[ascend_profiles.all_ranks(job)]["step4"]
    operations[next(iter(operations))]["1-2"]["Transit Size(MB)"] += 500
    json.dump(links, open(os.path.join(elsewhere, ANALYSIS[2]), "w"))
    said = compared(imported(directory, elsewhere)[1])
    assert "3 differ" in said and "most: Transit Size of rank 1 to rank 2 is" in said, said
    assert "500.000000 MB apart" in said, said


@case
def steps_that_tasks_cross_are_not_compared():
    job = small_job()
    border = job.step_times[1][0][2]
    name, kind, core, start, _, stream, number = job.kernels[1][-2]
    job.kernels[1].append(("aclnnMul_Mul", "Mul", "AI_CORE", border - 50_000, border + 60_000, 2, number))
    job.kernels[1].sort(key=lambda kernel: kernel[3])
    directory = write(job)
    write_analysis(job, directory)
    said = compared(imported(directory)[1])
    # two steps of one rank have four times each
    assert said.startswith("agrees with the profiles in 40 times of steps"), said
    assert "; 2 steps whose tasks cross a border are not compared" in said, said


@case
def analysis_of_other_ranks_and_steps_is_told():
    job = small_job()
    directory = write(job)
    write_analysis(Job(ranks=4, slow_rank=2, slow_link=(1, 2), first_step=40), directory)
    said = compared(imported(directory)[1])
    # links have no steps
    assert said.startswith("agrees with the profiles in 16 sums of links"), said
    assert "; 24 of its steps, sums and links are not in the profiles" in said, said


def check_analysis(job, ranks, has_hosts=False):
    steps = ascend_profiles.analysed_steps(job)
    ns = lambda ms: round(ms * 1e6)
    for rank, file in ranks.items():
        names = texts(file)
        assert len(file["steps"]) == 0 and len(file["events/comm"]) == 0  # nobody knows when
        assert [[int(value) for value in row] for row in file["msprof/steps"]] == \
            [[row["Step"], *(round(row[name] * 1000) for name in (
                "Computing", "Communication", "Communication(Not Overlapped)", "Overlapped", "Free",
                "Stage", "Bubble", "Communication(Not Overlapped and Exclude Receive)", "Preparing"))]
             for row in steps if row["Type"] == "rank" and row["Index"] == rank]
        assert [(names[row["name"]], int(row["step"]), int(row["seq"]), int(row["elapsed_ns"]),
                 int(row["transfer_ns"]), int(row["wait_ns"]), int(row["sync_ns"]))
                for row in file["hccl/times"]] == \
            [(o["name"], o["step"], i, o["end"] - o["start"], o["transfer"], o["wait"], o["wait"])
             for i, o in enumerate(job.operations[rank])]
        to = job.links(rank)[0]
        assert sorted((int(row["dst"]), names[row["transport"]], int(row["bytes"]), int(row["step"]))
                      for row in file["hccl/links"]) == \
            sorted((dst, by, o["bytes"], o["step"]) for o in job.operations[rank]
                   for dst, by in ((rank, "LOCAL"), (to, "HCCS")))
        assert list(file["comm_members"]["world_rank"]) == list(range(job.ranks))
        assert file.attrs["hostname"].decode() == (job.host(rank) if has_hosts else ""), file.attrs


def check_analysis_report(job, out):
    cluster = merged(out)
    assert len(cluster["msprof_steps"]) == job.ranks * job.steps
    text = run("report", "--section", "msprof", out)
    assert "All numbers of this section are msprof-analyze's" in text, text
    computing = {rank: sum(float(row["Computing"]) for row in step_rows(job, rank)) / job.steps
                 for rank in range(job.ranks)}
    others = sorted(time for rank, time in computing.items() if rank != job.slow_rank)
    assert re.search(rf"Rank {job.slow_rank} computes longest in {job.steps} of {job.steps} steps, by "
                     rf"5\d\.?\d* % of the median", text), text
    report = json.loads(run("report", "--format", "json", out))
    msprof = report["msprof"]
    assert msprof["longest_rank"] == job.slow_rank and msprof["longest_in_steps"] == job.steps
    assert len(msprof["steps"]) == job.ranks * job.steps
    for row, (step, _, _) in zip(msprof["longest"], job.step_times[0]):
        times = {rank: next(float(r["Computing"]) for r in step_rows(job, rank) if r["Step"] == step)
                 for rank in range(job.ranks)}
        rest = sorted(round(1000 * time) for rank, time in times.items() if rank != job.slow_rank)
        assert (row["step"], row["rank"], row["computing_ns"], row["others_median_ns"]) == \
            (step, job.slow_rank, round(1000 * times[job.slow_rank]), rest[len(rest) // 2]), row
    assert others
    # what is not known is not said to be healthy
    whole = run("report", "--full", out)
    assert "No rank held the job back" not in whole, whole
    assert "msprof_steps" in run("report", "--format", "csv", "--section", "msprof", out) or \
        "computing_ns" in run("report", "--format", "csv", "--section", "msprof", out)
    run("report", "--format", "html", out)


@case
def analysis_alone():
    job = small_job()
    top = new()
    path = write_analysis(job, top)
    for given in (path, top, os.path.join(path, ANALYSIS[1])):
        ranks, said, out = imported(given)
        assert "are msprof-analyze's own sums, without events" in said, said
        assert sorted(ranks) == [0, 1, 2, 3] and "84 imported" in said, said
        check_analysis(job, ranks)
    check_analysis_report(job, out)


@case
def analysis_alone_of_msprof_analyze():
    job = small_job()
    ranks, said, out = imported(analyse(write(job), "all"))
    check_analysis(job, ranks)
    check_analysis_report(job, out)


@case
def analysis_alone_as_a_database():
    job = Job(ranks=8, slow_rank=5)
    need_sqlite(job)
    ranks, said, out = imported(write_analysis_db(job, new()))
    assert "its cluster_analysis.db are msprof-analyze's own" in said, said
    check_analysis(job, ranks, has_hosts=True)
    check_analysis_report(job, out)


@case
def damaged_analyses_are_named():
    job = small_job()
    texts_of = lambda path: {name: open(os.path.join(path, name)).read() for name in ANALYSIS}
    for name in ANALYSIS:
        path = write_analysis(job, new())
        whole = texts_of(path)[name]
        for content in ("", whole[:len(whole) // 2], "hello, world\n1,2\n"):
            open(os.path.join(path, name), "w").write(content)
            ranks, said, _ = imported(path)
            assert sorted(ranks) == [0, 1, 2, 3] and f": {name} " in said, said
            assert not ranks[0].attrs["complete"], said
            # beside profiles, the rest is compared
            said = imported(write(job), path)[1]
            assert f"{name} " in said and compared_any(said), said
    # rows that cannot be
    path = write_analysis(job, new())
    rows = ascend_profiles.analysed_steps(job)
    rows += [{**rows[0], "Index": index, "Type": kind, "Computing": time} for index, kind, time in (
        ("x", "rank", 1), (-1, "rank", 1), (99999999999, "rank", 1), (0, "?", 1), (0, "rank", "nan"),
        (0, "rank", ""), (0, "rank", 1e300), ("\u4e2d\u6587", "rank", 1))]
    ascend_profiles.write_csv(os.path.join(path, ANALYSIS[0]), rows)
    open(os.path.join(path, ANALYSIS[1]), "w").write(json.dumps(
        {"(0, 1)": {"step\u4e2d": {"\u64cd\u4f5c@g": {"0": {}, "x": {}, "1": {"Communication Time Info": {
            "Elapse Time(ms)": 1}}}, "y": 7}, "step4": []}, "p2p": 5, "": {"": {"": {"": {}}}}}))
    open(os.path.join(path, ANALYSIS[2]), "w").write(json.dumps(
        {"(0, 1)": {"step": {"x@g": {"0-1": {"Transit Size(MB)": 1, "Transit Time(ms)": 1}, "a": {},
                                     "0-99999999": {}, "1-0": {"Transit Size(MB)": -1}}}}}))
    ranks, said, out = imported(path)
    assert "14 of its rows are left out" in said, said
    assert len(ranks[1]["hccl/times"]) == 1 and len(ranks[0]["hccl/links"]) == 1
    assert "\u64cd\u4f5c" in texts(ranks[1])
    run("report", "--section", "hccl,msprof", out) if merged(out) else None
    # nothing, and two of them
    for name in ANALYSIS:
        os.remove(os.path.join(path, name))
    assert "has neither cluster_step_trace_time.csv" in refused(path)
    assert "neither --rank nor --format" in refused(write_analysis(job, new()), options=("--rank", "3"))
    assert "one job at a time" in refused(write_analysis(job, new()), write_analysis(job, new()))


def compared_any(said):
    return [line for line in said.splitlines() if "cluster_analysis_output: " in line
            and "with the profiles" in line]


@case
def analyses_as_databases_are_compared():
    job = small_job()
    need_sqlite(job)
    assert compared(imported(write(job), write_analysis_db(job, new()))[1]) == AGREES + OTHERS


@case
def damaged_analyses_as_databases_are_named():
    job = small_job()
    need_sqlite(job)
    path = write_analysis_db(job, new())
    file = os.path.join(path, "cluster_analysis.db")
    data = open(file, "rb").read()
    db = sqlite3.connect(file)
    db.execute("ALTER TABLE ClusterCommAnalyzerTime RENAME COLUMN wait_time TO waited")
    db.execute("DROP TABLE ClusterCommAnalyzerMatrix")
    db.execute("UPDATE ClusterBaseInfo SET value = 'no JSON'")
    db.execute("UPDATE ClusterStepTraceTime SET computing = 'x' WHERE \"index\" = '1'")
    db.commit()
    db.close()
    ranks, said, _ = imported(path)
    assert sorted(ranks) == [0, 2, 3], said
    assert "its table ClusterCommAnalyzerTime in cluster_analysis.db is damaged, or of another" in said
    assert "3 of its rows are left out" in said, said
    for content in (b"", b"no database", data[:len(data) // 2]):
        open(file, "wb").write(content)
        assert "cluster_analysis.db is no database, or half written" in refused(path)


# ---- bad profiles ----

@case
def half_written_profiles_are_named_and_the_others_taken():
    job = Job(ranks=4)
    directory = write(job)
    paths = sorted(glob.glob(os.path.join(directory, "*")))
    shutil.rmtree(os.path.join(paths[0], "ASCEND_PROFILER_OUTPUT"))
    open(os.path.join(paths[1], "ASCEND_PROFILER_OUTPUT", "trace_view.json"), "w").close()
    trace = os.path.join(paths[2], "ASCEND_PROFILER_OUTPUT", "trace_view.json")
    data = open(trace).read()
    open(trace, "w").write(data[:len(data) // 2])
    ranks, said, _ = imported(directory)
    assert sorted(ranks) == [2, 3], said
    assert "has no ASCEND_PROFILER_OUTPUT" in said and "has an empty trace_view.json" in said, said
    assert "rank 2: the trace ends" in said or "rank 2: " in said and "at byte" in said, said
    assert not ranks[2].attrs["complete"] and ranks[3].attrs["complete"]
    shutil.rmtree(paths[2])
    shutil.rmtree(paths[3])
    assert "it is half written" in refused(directory)


@case
def damaged_profiles_are_named_and_the_others_taken():
    job = Job(ranks=3)
    directory = write(job)
    outputs = sorted(glob.glob(os.path.join(directory, "*", "ASCEND_PROFILER_OUTPUT")))
    open(os.path.join(outputs[0], "trace_view.json"), "w").write("hello, world")
    os.remove(os.path.join(outputs[2], "trace_view.json"))
    open(os.path.join(outputs[2], "ascend_pytorch_profiler_2.db"), "w").close()
    ranks, said, _ = imported(directory)
    assert list(ranks) == [1] and len(ranks[1]["events/comm"]) == 2 * job.steps, said
    assert re.search(r"trace_view\.json: is no JSON: it is not imported", said), said
    assert re.search(r"profiler_2\.db: is no database: .*: it is not imported", said), said
    assert "missing: the traces of 2 of 3 ranks (0, 2)" in said, said
    open(os.path.join(outputs[1], "trace_view.json"), "w").write("hello, world")
    assert re.search("is no JSON|is no database", refused(directory))


@case
def tables_that_are_cut_or_have_other_columns_are_named():
    job = Job(ranks=1)
    path = os.path.join(write_profile(job, 0, new()), "ASCEND_PROFILER_OUTPUT")
    table = os.path.join(path, "operator_memory.csv")
    text = open(table).read()
    whole, _, _ = imported(path)
    # cut within the last number, which would be another one
    for content, words, rows in (("", "is empty, or ends", 0), ("hello, world\n1,2\n", "other columns", 0),
                                 (text.rstrip()[:-1], "ends in the middle of a row", -2)):
        open(table, "w").write(content)
        ranks, said, _ = imported(path)
        assert "its operator_memory.csv " in said and words in said, said
        assert len(ranks[0]["samples/memory"]) if rows else "samples/memory" not in ranks[0], said
        if rows:
            assert len(ranks[0]["samples/memory"]) == len(whole[0]["samples/memory"]) + rows, said


@case
def profiles_of_two_jobs_are_refused():
    for options, words in (
            (dict(pid=4444, start_time="20261125220000000"), "are of two jobs"),
            (dict(world="10.0.0.9%eth0_60000_0_1795640499999999"), "communicator of all ranks"),
            (dict(maker="ms"), "with backend")):
        job = Job(ranks=2)
        directory = new()
        write_profile(job, 0, directory)
        write_profile(job, 0 if "pid" in options else 1, directory, **options)
        said = refused(directory)
        assert words in said, said
    job, other = Job(ranks=2), Job(ranks=4)
    directory = new()
    write_profile(job, 0, directory)
    write_profile(other, 1, directory)
    assert "2 ranks" in refused(directory)


@case
def windows_of_one_process_follow_each_other():
    first, second = Job(ranks=2), Job(ranks=2, first_step=20)
    second.skews = {"node0": 10_000_000_000}
    directory = new()
    for rank in range(2):
        write_profile(first, rank, directory)
        write_profile(second, rank, directory, start_time="20261125210042198")
    ranks, said, _ = imported(directory)
    assert list(ranks[0]["steps"]["step"]) == [4, 5, 6, 20, 21, 22], said
    assert len(ranks[0]["windows"]) == 2


@case
def mixed_versions_are_told():
    job = Job(ranks=2)
    directory = new()
    write_profile(job, 0, directory)
    write_profile(job, 1, directory, version="2.1.0")
    ranks, said, _ = imported(directory)
    assert sorted(ranks) == [0, 1]
    assert "torch_npu 2.1.0" in said and "torch_npu 2.6.0" in said, said


@case
def damaged_profiles_lose_nothing_silently():
    job = Job(ranks=1)
    path = write_profile(job, 0, new())
    open(os.path.join(path, "profiler_info_0.json"), "w").write('{"rank_id": ')
    open(os.path.join(path, "profiler_metadata.json"), "w").write("[1, 2")
    trace = os.path.join(path, "ASCEND_PROFILER_OUTPUT", "trace_view.json")
    for name in ("communication.json", "communication_matrix.json", "operator_memory.csv"):
        os.remove(os.path.join(path, "ASCEND_PROFILER_OUTPUT", name))
    events = json.load(open(trace))
    nrows = len(events)
    device, hccl = ascend_profiles.DEVICE, ascend_profiles.HCCL
    events += [{"ph": "X", "pid": device, "tid": 2, "ts": "nan", "dur": 1, "name": "Add",
                "args": {"Task Type": "AI_CORE"}},
               {"ph": "X", "pid": hccl, "tid": 0, "ts": "1795640432000000.5", "dur": "2",
                "args": {"count": -4}},
               {"ph": "X", "pid": 99, "tid": 0, "ts": "1", "dur": "2", "name": "?"},
               {"ph": "Q"}, {"name": "process_name", "ph": "M", "pid": 98,
                             "args": {"name": "Stars, Soc"}}, 7]
    json.dump(events, open(trace, "w"))
    ranks, said, _ = imported(path)
    assert f"{nrows + 6} events" in said, said
    assert "the profile's profiler_metadata.json is no JSON, or half written: groups" in said, said
    for words in ("1 events without a possible time", "1 events without the fields",
                  "1 events of layers", "1 events of categories", "1 events that are no JSON"):
        assert words in said, said
    assert len(ranks[0]["events/comm"]) == 2 * job.steps


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
    where = tempfile.mkdtemp(prefix="profwrap-ascend-")
    try:
        CASES[sys.argv[2]]()
        stored.compare_below(profwrap, where)
    finally:
        shutil.rmtree(where)


main()
