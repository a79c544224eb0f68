"""Checks that the rank files have what NCCL reports to its profiler plugin, with every version of the
plugin interface, and that jobs without MPI are merged. NCCL itself needs a GPU, so programs/ncclhost.c
stands in for it."""

import ctypes.util
import json
import os
import shutil
import subprocess
import sys

import harness as h
from smallshm import in_namespace

HASH = 0x1234567890ABCDEF


def start(rank, scenario, version, size, options, env):
    return subprocess.Popen(
        [*h.profwrap("-o", "out", *options), h.program("ncclplay"), scenario, str(version)],
        env=h.environment(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank),
                          TORCHELASTIC_RUN_ID="job", **env),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def play(scenario, version=6, size=1, options=("--no-merge",), rank=None, env=None):
    """Starts ranks as torchrun does: without MPI, with rank and size in the environment. Returns
    the standard output and error of the first one."""
    ranks = range(size) if rank is None else [rank]
    running = [start(r, scenario, version, size if rank is None else 2, options, env or {})
               for r in ranks]
    done = [p.communicate(timeout=h.PATIENCE_S) for p in running]
    for p, (out, err) in zip(running, done):
        h.check(p.returncode == 0, "status", p.returncode, out, err)
    return done[0]


def events(file):
    """Rows of /events/comm, each with the fields that NCCL adds in /events/nccl."""
    strings = h.texts(file)
    table, more = file["events/comm"], file["events/nccl"]
    names, timed = h.enum_names(table, "op"), h.enum_names(more, "timed")
    rows = table[:]
    found = []
    for extra, time in zip(more[:], timed):
        row = rows[extra["comm_row"]]
        one = {f: int(row[f]) for f in ("seq", "sent_bytes", "recv_bytes", "peer", "flags", "comm",
                                        "start", "end")}
        one.update({f: strings[extra[f]] for f in ("datatype", "algorithm", "protocol")})
        one.update(op=names[extra["comm_row"]], timed=time, count=int(extra["count"]),
                   channels=int(extra["channels"]), operation=int(extra["operation"]))
        found.append(one)
    return found


def load_report(folder):
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
        return json.load(file)


def overview(found, *fields):
    return [tuple(one[f] for f in fields) for one in found]


def expected(version):
    """The operations of ncclplay's scenario `all` on rank 0 of 2: op, seq, sent and received bytes,
    peer, count, datatype."""
    size_told = version >= 4
    calls_told = version >= 5
    int8 = "ncclInt8"
    rows = [
        ("Allreduce", 0, 4000, 4000, -1, 1000, "ncclFloat32"),
        ("Allgather", 1, 400, 800 if size_told else 400, -1,
         *((100, "ncclFloat32") if calls_told else (400, int8))),
        ("Reduce_scatter_block", 2, 400 if size_told else 200, 200, -1, 100, "ncclBfloat16"),
        ("Bcast", 3, 0, 40, 1, *((10, "ncclFloat32") if calls_told else (40, int8))),
        ("Reduce", 4, 40, 0, 1, 10, "ncclFloat32"),
        ("Send", -1, 28, 0, 1, 7, "ncclFloat32"),
        ("Recv", -1, 0, 28, 1, 7, "ncclFloat32"),
        ("Allreduce", 5, 4, 4, -1, 1, "ncclFloat32"),
        ("Allreduce", 6, 8, 8, -1, 2, "ncclFloat32"),
    ]
    return rows


def check_version(version):
    out, _ = play("all", version, rank=0)
    h.check(f"version {version} " in out, "the plugin lacks the version:", out)
    file = h.open_rank("out")
    found = events(file)
    h.equal(overview(found, "op", "seq", "sent_bytes", "recv_bytes", "peer", "count", "datatype"),
            expected(version), f"operations of version {version}")
    h.equal({(e["algorithm"], e["protocol"], e["channels"]) for e in found
             if e["seq"] >= 0}, {("RING", "SIMPLE", 4)}, "how")
    h.check(all(e["timed"] == "enqueued" and e["flags"] & 32 for e in found), "times", found)
    comms = file["comms"][:]
    h.equal([(int(c["uid"]), int(c["size"]), int(c["my_rank"])) for c in comms],
            [(HASH, 2 if version >= 4 else 0, 0)], "communicators")
    h.equal(h.enum_names(file["comms"], "source"), ["nccl"], "source")
    h.equal(h.texts(file)[comms[0]["name"]], "world", "its name")
    h.equal(int(comms[0]["collectives"]), 7, "collectives")
    dumped = h.run([*h.profwrap("dump", "out/rank-00000.h5")]).stdout.decode()
    h.equal(dumped.count("/events/nccl "), len(found), "rows that dump prints")


for _version in range(1, 8):
    def _case(version=_version):
        check_version(version)
    _case.__name__ = f"version_{_version}"
    h.case(_case)


@h.case
def parts_at_level_2():
    for version in (3, 4, 6):
        play("proxies", version, rank=0, options=("--no-merge", "--level", "2", "-o", f"o{version}"))
        file = h.open_rank(f"o{version}")
        (found,) = events(file)
        h.equal(found["timed"], "channels", "times")
        if version > 3:  # 4 ms by the GPU's timer
            h.check(abs(found["end"] - found["start"] - 4_000_000) < 300_000, "took", found)
        h.equal(found["flags"] & 32, 0, "enqueued")
        net = file["events/nccl_net"][:]
        h.equal([(int(n["operation"]), int(n["sends"]), int(n["steps"]), int(n["peer"])) for n in net],
                [(found["operation"], 1, 3, 1), (found["operation"], 0, 2, 1), (0, 1, 1, 1)],
                "proxies; the last is another process's")
        h.check(net[0]["gpu_wait_ns"] >= 6_000_000 and net[0]["network_wait_ns"] >= 3_000_000,
                "waits of the sender", net[0])
        h.check(net[1]["network_wait_ns"] >= 4_000_000 and net[1]["flush_wait_ns"] >= 2_000_000,
                "waits of the receiver", net[1])


@h.case
def channels_where_cupti_is_refused():
    """Without CUPTI only NCCL knows when its kernels ran, so the plugin asks for the events of
    channels at every level. It does not ask where /dev/shm is small, because NCCL would crash
    (NVIDIA/nccl#2326)."""
    cuda = {"NCCLPLAY_CUDA": "1", "PROFWRAP_CUPTI": "/nonexistent/libcupti.so"}
    for version, level, env, timed in ((6, 1, cuda, "channels"), (4, 0, cuda, "channels"),
                                       (6, 1, {}, "enqueued")):
        out = f"o{version}{level}{timed}"
        play("proxies", version, rank=0, env=env,
             options=("--no-merge", "--level", str(level), "-o", out))
        file = h.open_rank(out)
        (found,) = events(file)
        h.equal(found["timed"], timed, "times")
        h.check("events/nccl_net" not in file, "steps of proxies are of level 2")


@h.case
def channels_where_cupti_is_held():
    """Another tool, or a profiler of the program, holds CUPTI, perhaps until the end."""
    cupti = h.program(os.path.join("standin", "libcupti.so.13"))
    for held, env in {"tool": {"STANDIN_HELD": "nsys"}, "profiler": {
            "NCCLPLAY_LOADED": shutil.copy(h.program(os.path.join("standin", "libprofiler.so")),
                                           os.path.abspath("libproton.so"))}}.items():
        play("proxies", 6, rank=0, options=("--no-merge", "-o", held),
             env={"NCCLPLAY_CUDA": "1", "STANDIN_CUPTI": cupti, "PROFWRAP_CUPTI": cupti, **env})
        (found,) = events(h.open_rank(held))
        h.equal(found["timed"], "channels", "times beside a " + held)
    play("proxies", 6, rank=0, options=("--no-merge", "-o", "injected"),
         env={"CUDA_INJECTION64_PATH": "/opt/other/tool.so"})
    (found,) = events(h.open_rank("injected"))
    h.equal(found["timed"], "channels", "times where another tool is injected")


@h.case
def no_channels_in_a_small_dev_shm():
    for size, wants in ((128, False), (1024, True)):
        command = [*in_namespace(size), *h.profwrap("--no-merge", "--level", "2", "-o", f"o{size}"),
                   h.program("ncclplay"), "proxies", "6"]
        done = h.run(command, env={"RANK": "0", "WORLD_SIZE": "2"})
        mask = int(done.stdout.decode().split("mask ")[1].split()[0])
        h.equal(mask & 64 != 0, wants, f"channels with {size} MiB")


@h.case
def unrequested_types():
    """NCCL starts events that the plugin did not ask for. They get no handle, and their end does no
    harm."""
    for version, handles in ((1, 1), (6, 2)):  # a plan; and a launch
        out, _ = play("types", version, rank=0, options=("--no-merge", "-o", f"o{version}"))
        h.check(f"handles {handles}\n" in out, version, out)
        h.check("events/nccl" not in h.open_rank(f"o{version}"), "something recorded")


@h.case
def one_mask_for_all_communicators():
    """NCCL has one activation mask, which is read by threads that start collectives. The
    initialisation of another communicator must not change it, not even for a moment."""
    for version in range(1, 8):
        play("second", version, rank=0, options=("--no-merge", "-o", f"o{version}"))
        h.equal(overview(events(h.open_rank(f"o{version}")), "op", "seq"), [("Allreduce", 0)],
                "operations")


@h.case
def one_rank_is_not_seen():
    play("alone", rank=0)
    h.check("events/nccl" not in h.open_rank("out"), "an operation of one rank")


@h.case
def graphs():
    """A captured operation runs later, and NCCL reports replays only on ranks with proxies. The
    captured operation gets no row; the other operations keep their numbers."""
    for rank in (0, 1):
        play("graph", rank=rank, options=("--no-merge", "-o", f"o{rank}"))
        file = h.open_rank(f"o{rank}", rank)
        h.equal(overview(events(file), "op", "seq", "count"),
                [("Allreduce", 0, 1), ("Allreduce", 2, 2)], "what ran once")
        h.equal((h.overhead(file)["nccl_captured"], h.overhead(file)["nccl_replayed"]), (1, 3 + rank),
                "captured and replayed")


@h.case
def replays_of_graphs():
    """NCCL reports no replay. The kernels of a replay become rows of the captured operations, on
    their communicator, and the report names the rank that the others waited for."""
    cupti = h.program(os.path.join("standin", "libcupti.so.13"))
    play("replays", 6, size=2, options=(), env={"NCCLPLAY_MEET": os.path.abspath("meet"),
         "NCCLPLAY_CUDA": "1", "STANDIN_CUPTI": cupti, "PROFWRAP_CUPTI": cupti})
    for rank in (0, 1):
        file = h.open_rank("out", rank)
        found = events(file)
        h.equal(overview(found, "op", "seq", "sent_bytes", "recv_bytes"),
                [row for i in range(12) for row in (("Allreduce", 2 * i, 4000, 4000),
                                                    ("Allgather", 2 * i + 1, 2000, 4000))],
                "operations")
        h.equal({e["timed"] for e in found}, {"kernel"}, "times")
        h.equal(h.overhead(file)["nccl_replay_kernels"], 24, "kernels that have an operation")
        comm = file["comms"][:][found[0]["comm"]]
        h.check(int(comm["uid"]) != HASH and int(comm["size"]) == 2, comm)
    report = load_report("out")
    h.equal(report["stragglers"][0]["rank"], 1, "the straggler")
    rows = {c["op"]: c for c in report["collectives"] if c["source"] == "nccl"}
    h.equal({op: (c["nranks"], c["count"]) for op, c in rows.items()},
            {"Allreduce": (2, 12), "Allgather": (2, 12)}, "collectives")
    h.check(rows["Allreduce"]["wait_p50_ns"] > 5e6, "half of them wait 20 ms", rows["Allreduce"])


@h.case
def copy_engines():
    play("copies", 6, rank=0, options=("--no-merge", "-o", "o6"))
    h.equal(overview(events(h.open_rank("o6")), "op", "algorithm", "recv_bytes"),
            [("Allgather", "CE", 800)], "by copy engines")
    play("symmetric", 5, rank=0, options=("--no-merge", "-o", "o5"))
    h.equal(overview(events(h.open_rank("o5")), "op", "algorithm", "recv_bytes"),
            [("Allgather", "", 800)], "where only its call is told")


@h.case
def end_with_open_events():
    out, _ = play("early", rank=0)
    h.check("after the end: nothing" in out, out)
    h.equal(overview(events(h.open_rank("out")), "op", "seq"),
            [("Allreduce", 0), ("Allreduce", 1)], "operations")


@h.case
def children_record_nothing():
    play("forks", rank=0)
    h.equal(overview(events(h.open_rank("out")), "count"), [(1,), (3,)], "counts")


@h.case
def more_than_wait_for_kernels():
    play("many", rank=0)
    found = events(h.open_rank("out"))
    h.equal(overview(found, "seq", "count"), [(i, i) for i in range(20000)], "operations")


@h.case
def another_plugin():
    done = h.run([*h.profwrap("--no-merge", "-o", "out"), h.program("ncclplay"), "none"],
                 env={"NCCL_PROFILER_PLUGIN": "/no/such/plugin.so"})
    h.check("NCCL_PROFILER_PLUGIN names another plugin" in done.stderr.decode(), done.stderr)


@h.case
def plugin_of_the_program():
    """The program's own image contains a plugin, which STATIC_PLUGIN makes NCCL use (PyTorch's
    CUPTI monitor). The probe comes before it in symbol order, and must not take its events away.
    The wrappers record."""
    library = h.program(os.path.join("standin", "libownplugin.so"))
    for version in (6, 7):
        file = use(0, version, 1, ("parts", library))
        h.check("plugin 1 3 3 1 1\n" in file.printed, version, file.printed)
        h.equal(overview(events(file), *FIELDS), parts_of(0), "operations by the wrappers")
    file = use(0, 6, 1, ("parts",), NCCL_PROFILER_PLUGIN="STATIC_PLUGIN")
    h.equal(overview(events(file), *FIELDS), parts_of(0), "where the program has none")
    h.equal(events(file)[0]["algorithm"], "RING", "the probe is NCCL's plugin")


@h.case
def not_asked_for():
    done = h.run([*h.profwrap("--no-merge", "--activities", "mpi,annotations", "-o", "out"),
                  h.program("ncclplay"), "none"])
    h.equal((done.stdout, done.stderr), (b"no plugin\n", b""), "output")


@h.case
def job_without_mpi():
    """Two processes with RANK and WORLD_SIZE are merged, and the report names the late one."""
    play("steps", size=2, options=("--level", "2"), env={"NCCLPLAY_MEET": os.path.abspath("meet")})
    report = load_report("out")
    worst = report["stragglers"][0]
    h.equal((worst["rank"], worst["kind"]), (1, "persistent"), "the straggler")
    rows = [c for c in report["collectives"] if c["source"] == "nccl"]
    h.equal([(c["op"], c["nranks"], c["count"]) for c in rows], [("Allreduce", 2, 20)], "collectives")
    wait, transfer = rows[0]["wait_p50_ns"], rows[0]["transfer_p50_ns"]
    h.check(8e6 < wait < 40e6, "each rank waits 20 ms or nothing:", wait)
    h.check(1.5e6 < transfer < 15e6, "the transfer takes 2 ms:", transfer)


@h.case
def enqueued_only():
    """At level 1 without CUPTI, the duration of an operation is unknown, so the report gives no
    bandwidth. The headline says so, too, when a rank held the job back before its first step: so
    it may be on a busy machine."""
    play("steps", size=2, options=(), env={"NCCLPLAY_MEET": os.path.abspath("meet")})
    report = load_report("out")
    headline = report["job"]["headline"]
    h.check("No rank held" not in headline and "of 40 NCCL operations" in headline and
            "--level 2" in headline, "headline", headline)
    h.check("nccl_untimed" in [a["rule"] for a in report["advice"]], "advice", report["advice"])
    rows = [c for c in report["collectives"] if c["source"] == "nccl"]
    h.equal([(c["op"], c["count"], c["transfer_p50_ns"], c["busbw_p50_bytes_per_s"],
              c["busbw_with_wait_p50_bytes_per_s"]) for c in rows],
            [("Allreduce", 20, None, None, None)], "collectives")
    with h.h5py().File("out/cluster.h5") as cluster:
        notes = {(r["what"].decode(), int(r["rank"])): int(r["count"])
                 for r in cluster["completeness"][:]}
    h.equal((notes[("nccl_untimed", 0)], notes[("nccl_untimed", 1)]), (20, 20), "what is said of it")


@h.case
def enqueued_only_and_late_before():
    """Rank 1 is late before its first step, which is known, and in each step, which is not: the
    headline says both."""
    play("late_steps", size=2, options=(), env={"NCCLPLAY_MEET": os.path.abspath("meet")})
    headline = load_report("out")["job"]["headline"]
    h.check("Rank 1" in headline and "before its first step" in headline and
            "also have held" in headline and "of 40 NCCL operations" in headline and
            "--level 2" in headline, "headline", headline)


def use(rank=0, version=None, level=1, arguments=(), **env):
    """Runs nccluser with the stand-in for NCCL: one without a plugin interface (version None), or
    one with this version of it."""
    if version:
        env["NCCLSTAND_VERSION"] = str(version)
    folder = f"u{rank}-{version}-{level}-{len(env)}"
    done = h.run([*h.profwrap("--no-merge", "--level", str(level), "-o", folder), h.program("nccluser"),
           *arguments],
          env=dict(RANK=str(rank), WORLD_SIZE="2", **env))
    file = h.open_rank(folder, rank)
    file.printed = done.stdout.decode()
    return file


SEEN = [("Allreduce", 0, 32, 32, -1), ("Bcast", 1, 0, 32, 1), ("Send", -1, 16, 0, 1)]
FIELDS = ("op", "seq", "sent_bytes", "recv_bytes", "peer")


@h.case
def wrappers():
    """A library without a plugin interface is recorded by wrappers of its functions. Each call is
    recorded once, although one function calls the other."""
    files = [use(0), use(1)]
    found = events(files[0])
    h.equal(overview(found, *FIELDS), SEEN + [("Allreduce", 0, 8, 8, -1)], "of rank 0")
    h.equal([e["comm"] for e in found], [0, 0, 0, 1], "communicators")
    comms = [[(int(c["uid"]), int(c["size"]), int(c["my_rank"])) for c in f["comms"][:]]
             for f in files]
    h.equal([[c[1:] for c in rows] for rows in comms], [[(2, 0)] * 2, [(2, 1)] * 2], "sizes, ranks")
    h.equal([c[0] for c in comms[0]], [c[0] for c in comms[1]], "what the ranks agree on")
    h.check(comms[0][0][0] != comms[0][1][0], "two communicators with one uid", comms)


@h.case
def nothing_twice():
    """Wrappers and plugin see the same calls. Only the plugin's are recorded; where our plugin is
    refused, the wrappers' are."""
    for version in (1, 4, 6):
        found = events(use(0, version))
        h.equal(overview(found, *FIELDS)[:3], SEEN, f"of version {version}")
        h.check(all(e["algorithm"] == "RING" for e in found[:2]), "not by the plugin", found)
    found = events(use(0, NCCL_PROFILER_PLUGIN="none"))
    h.equal(overview(found, *FIELDS)[:3], SEEN, "without our plugin")


def parts_of(rank):
    """The operations of nccluser with `parts`: op, seq, sent and received bytes, root."""
    return [("Allreduce", 0, 4, 4, -1), ("Alltoall", 1, 24, 24, -1),
            ("Gather", 2, 16, 32 if rank == 1 else 0, 1),
            ("Scatter", 3, 40 if rank == 0 else 0, 20, 0),
            ("Allgather", 4, 8, 16, -1), ("Allreduce", 5, 8, 8, -1)]


@h.case
def collectives_made_of_messages():
    """From 2.28.3 on, NCCL reports the messages of AlltoAll, Gather and Scatter, but not the
    collectives. The wrappers know the collective, which is recorded as one operation at every
    level."""
    for version, level, rank in ((5, 1, 0), (6, 0, 0), (6, 1, 1), (7, 0, 1), (7, 2, 0)):
        file = use(rank, version, level, ("parts",))
        found = events(file)
        h.equal(overview(found, *FIELDS), parts_of(rank), f"of version {version}, level {level}")
        h.equal({e["timed"] for e in found}, {"enqueued"}, "times")
        h.equal([(int(c["size"]), int(c["my_rank"]), int(c["collectives"]))
                 for c in file["comms"][:]], [(2, rank, 6)], "communicators")
        h.check("nccl_refused" not in h.overhead(file), h.overhead(file))


@h.case
def messages_of_unwrapped_collectives():
    """Where the program bypasses the wrappers, only the messages are known. They are recorded as
    messages."""
    for version in (5, 6, 7):
        play("alltoall", version, rank=0, options=("--no-merge", "-o", f"o{version}"))
        h.equal(overview(events(h.open_rank(f"o{version}")), *FIELDS),
                [("Allreduce", 0, 4, 4, -1), ("Send", -1, 20, 0, 0), ("Recv", -1, 0, 20, 0),
                 ("Send", -1, 20, 0, 1), ("Recv", -1, 0, 20, 1), ("Allreduce", 1, 8, 8, -1)],
                f"of version {version}")

    seen = overview(events(h.open_rank("o7")), *FIELDS)
    for level, env in ((0, {}), (0, {"NCCLPLAY_WHOLE_NAMES": "1"}), (1, {"NCCLPLAY_WHOLE_NAMES": "1"})):
        out = f"l{level}-{len(env)}"
        play("alltoall", 6, rank=0, env=env,
             options=("--no-merge", "--level", str(level), "-o", out))
        h.equal(overview(events(h.open_rank(out)), *FIELDS), seen, f"at level {level}, {env}")
    found = events(use(0, 6, 0))
    h.equal([e["op"] for e in found if e["op"] in ("Send", "Recv")], [],
            "messages of the program's own at level 0, which the wrappers see")


@h.case
def unreported_copy_engines():
    """NCCL 2.28 does not report operations by copy engines. The wrapper records the call, on the
    communicator that the plugin knows."""
    for version in (5, 6):
        file = use(0, version, 1, ("parts",), NCCLSTAND_CE="1")
        found = events(file)
        h.equal(overview(found, *FIELDS), parts_of(0), f"of version {version}")
        h.equal(found[4]["algorithm"], "CE" if version > 5 else "", "algorithm")
        h.equal(len(file["comms"]), 1, "communicators")


@h.case
def by_nvtx():
    """Runs the real NCCL, through dlsym and without our plugin. The calls are recorded from NCCL's
    NVTX ranges. This needs no GPU: the communicator is a fake, and the calls fail."""
    library = ctypes.util.find_library("nccl") or "/usr/local/cuda/lib64/libnccl.so.2"
    if os.path.isabs(library) and not os.path.exists(library):
        raise h.Skipped("there is no libnccl.so.2")
    done = h.run([*h.profwrap("--no-merge", "-o", "out"), h.program("ncclcalls"), library],
                 status=None, env={"RANK": "0", "WORLD_SIZE": "1"})
    if done.returncode == 77:
        raise h.Skipped(done.stdout.decode().strip())
    fake = int(done.stdout.decode().split("communicator ")[1].split()[0])
    file = h.open_rank("out")
    found = events(file)
    h.equal(overview(found, *FIELDS, "timed", "datatype"),
            [("Allreduce", 0, 256, 256, -1, "enqueued", ""),
             ("Allreduce", 1, 256, 256, -1, "enqueued", ""),
             ("Send", -1, 128, 0, 3, "enqueued", "")], "operations; those without communicator")
    comms = file["comms"][:]
    h.equal([(int(c["uid"]), int(c["my_rank"]), int(c["collectives"])) for c in comms],
            [(fake, -1, 2)], "communicators")
    h.equal(h.overhead(file)["nccl_by_nvtx"], 3, "operations by NVTX")


@h.case
def messages():
    """In the rank file the peer is a rank of the communicator; after the merge it is a rank of the
    job."""
    for version in (1, 6):
        play("all", version, size=2, options=("-o", f"o{version}"))
        with h.h5py().File(f"o{version}/cluster.h5") as cluster:
            found = [(int(r["src"]), int(r["dst"]), int(r["messages"]), int(r["bytes"]))
                     for r in cluster["p2p"][:]]
            h.equal(sorted(found), [(0, 1, 1, 28), (1, 0, 1, 28)], "messages")
            rows = cluster["collectives"][:]
            h.equal([int(r["nranks"]) for r in rows], [2] * len(rows), "sizes")
            h.check(all(r["complete"] for r in rows), "incomplete", rows)
            h.equal(sorted(int(r["bytes"]) for r in rows)[-2:], [800, 4000], "bytes of all")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
