"""Checks that the rank file has the activity of AMD GPUs. The tests use stand-ins for ROCm's libraries
(programs/standin), which follow the sources of rocprofiler-sdk 1.0.0 and 1.1.0 and of
rocprofiler-register in ROCm 7.0. This code has never run on an AMD GPU."""

import json
import os
import shutil
import sys

import harness as h

VERSIONS = {"1.0": 10000, "1.1": 10100}


def standin(name):
    return h.program(os.path.join("standin", name))


def bring_gpu(folder="root"):
    os.makedirs(os.path.join(folder, "dev"), exist_ok=True)
    open(os.path.join(folder, "dev", "kfd"), "w").close()
    return os.path.abspath(folder)


def run(*arguments, version="1.0", options=(), status=0, env=None, merges=False,
        program="rocmactor"):
    """Runs the program with the stand-in for this version of rocprofiler-sdk; with None there is no
    rocprofiler-sdk."""
    library = standin(os.path.join("rocm-" + version, "librocprofiler-sdk.so.1")) if version else ""
    env = {"STANDIN_HIP": standin("libamdhip64.so.7"), "STANDIN_ROCPROFILER": library,
           "PROFWRAP_ROCPROFILER": library, "STANDIN_ROCTOOL": standin("libroctool.so"),
           "PROFWRAP_FSROOT": bring_gpu(), **(env or {})}
    done = h.run([*h.profwrap(*([] if merges else ["--no-merge"]), "-o", "out", *options),
                  h.program(program), *arguments], status=status, env=env)
    h.equal([line for line in h.lines(done.stderr) if "profwrap" not in line], [], "messages")
    return done


def count(file, table):
    return len(file[table]) if table in file else 0


KERNELS = [("void kernel<3>(float*)", 0, 0, "inner"), ("second_kernel", 1, 5, "outer"),
           ("ncclDevKernel_Generic(Args)", 0, 0, "")]


def check_kernels(file):
    h.equal(h.rows(file, "events/kernel", "name", "device", "stream", "launched_by"), KERNELS, "kernels")
    for launch, start, end, thread in h.rows(file, "events/kernel", "launch", "start", "end", "thread"):
        h.check(0 < launch <= start <= end < launch + 10**9 and thread == 0, launch, start, end)


@h.case
def kernels():
    for version, number in VERSIONS.items():
        done = run("all", version=version, options=("-o", version))
        h.check("registered 0" in h.lines(done.stdout), done.stdout)
        file = h.open_complete(version)
        check_kernels(file)
        shape = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",
                 "static_shared_bytes", "dynamic_shared_bytes", "registers", "graph_node")
        h.equal(h.rows(file, "events/kernel", *shape)[:2],
                [(7, 5, 3, 256, 2, 1, 1024, 2048, -1, 0), (7, 5, 3, 256, 2, 1, 0, 3072, -1, 0)],
                "shapes")
        h.equal(h.overhead(file)["rocprofiler_version"], number, "version")
        h.equal(h.overhead(file)["rocprofiler_result"], 0, "result")
        h.check("never_launched" not in h.texts(file), "names that nobody needs")


@h.case
def in_the_clock_of_the_rank():
    """rocprofiler uses another clock than profwrap. After conversion, kernels are inside the ranges
    in which they ran."""
    run("all")
    file = h.open_complete("out")
    ranges = {name: (start, end)
              for name, start, end in h.rows(file, "events/range", "name", "start", "end")}
    first, second, last = h.rows(file, "events/kernel", "launch", "start", "end")
    h.check(ranges["inner"][0] <= first[0] < first[1] < first[2] <= ranges["inner"][1] + 1000, "inner")
    h.check(ranges["inner"][1] <= second[0] < second[2] <= ranges["outer"][1], "outer")
    h.check(last[0] >= ranges["outer"][1], "after it")


@h.case
def devices():
    """Devices have the program's numbers. HIP hides the first GPU from the program, so the second
    GPU is device 0."""
    for version in VERSIONS:
        run("all", version=version, options=("-o", version))
        table = h.open_complete(version)["devices"][:]
        h.equal([(int(d["device"]), d["name"].decode(), d["uuid"].decode(), d["bus_id"].decode(),
                  int(d["multiprocessors"]), int(d["capability"])) for d in table],
                [(0, "AMD Instinct MI300X", "GPU-5e000000000000a2", "0000:c1:02.0", 304, 0),
                 (1, "AMD Instinct MI300X", "GPU-5e000000000000a3", "0000:c1:03.0", 304, 0)],
                "devices of " + version)


@h.case
def copies_waits_and_memory():
    for version in VERSIONS:
        run("all", version=version, options=("-o", version))
        file = h.open_complete(version)
        h.equal(h.copies(file, "bytes", "device", "src_device", "dst_device", "stream"),
                [("h2d", 4096, 1, -1, -1, 4), ("d2h", 8192, 1, -1, -1, 4),
                 ("d2d", 5, 0, -1, -1, 4), ("p2p", 5 << 30, 1, 1, 0, 4)], "copies")
        waits = file["events/cuda_sync"]
        h.equal(list(zip(h.enum_names(waits, "kind"), waits["stream"].tolist())),
                [("stream", 5), ("context", -1)], "waits")
        memory = [(int(r["device"]), int(r["delta_bytes"]), int(r["total_bytes"]))
                  for r in file["samples/memory"][:]]
        h.equal(memory, [(0, 1 << 20, 1 << 20), (0, 1 << 10, (1 << 20) + (1 << 10)),
                         (0, -(1 << 20), 1 << 10), (1, 100, 100), (1, -100, 0), (1, 200, 200),
                         (0, -(1 << 10), 0)], "memory")


@h.case
def calls_by_level():
    """Level 0 records no calls. Level 1 records calls that launch or wait, but not as rows. Level 2
    records all calls but the smallest of HSA."""
    for level, calls in {"0": [], "1": []}.items():
        run("all", options=("--level", level, "-o", level))
        file = h.open_complete(level)
        h.equal(count(file, "events/cuda_api"), 0, "calls at level " + level)
    file = h.open_complete("0")
    h.equal((count(file, "events/kernel"), count(file, "events/memcpy"),
             count(file, "events/cuda_sync"), count(file, "samples/memory")), (3, 4, 0, 0), "level 0")
    h.equal({r for r in h.rows(file, "events/kernel", "launch", "thread")}, {(-1, -1)}, "launches")
    run("all", options=("--level", "2"))
    file = h.open_complete("out")
    check_kernels(file)
    names = [name for (name,) in h.rows(file, "events/cuda_api", "name")]
    h.equal(names, ["hipLaunchKernel"] * 2 + ["hipMemcpyAsync"] * 5 +
            ["hipStreamSynchronize", "hipDeviceSynchronize", "hipLaunchKernel", "hipMalloc",
             "hsa_queue_create", "scratch memory allocated"], "calls")
    calls = {c: n for n, c in h.rows(file, "events/cuda_api", "name", "correlation")}
    h.equal([calls[c] for (c,) in h.rows(file, "events/kernel", "correlation")],
            ["hipLaunchKernel"] * 3, "who launched")


@h.case
def told_of_out_of_order():
    run("unordered")
    h.equal(h.rows(h.open_complete("out"), "events/kernel", "name", "stream", "launched_by"),
            [("ncclDevKernel_Generic(Args)", 2, "third"), ("second_kernel", 1, "second"),
             ("void kernel<3>(float*)", 0, "first")], "kernels")


@h.case
def kernels_without_times():
    run("untimed")
    file = h.open_rank("out", 0)
    h.equal(count(file, "events/kernel"), 1, "kernels")
    h.equal(sum(lost for reason, _, lost in h.gaps(file) if reason == "rocprofiler_untimed"), 2, "lost")
    h.equal(int(file.attrs["dropped_events"]), 2, "dropped events")
    h.run(h.profwrap("merge", "out"))
    data = json.loads(h.run(h.profwrap("report", "--format", "json", "out")).stdout)
    h.check("2 records of GPUs for which rocprofiler had no times" in json.dumps(data), data)


@h.case
def many_threads():
    """The threads make more records than the buffers hold at a time. A thread that fills them
    waits, and no record is lost."""
    done = run("threads", "8", "2000")
    h.check("faults 0" in h.lines(done.stdout), done.stdout)
    file = h.open_complete("out")
    h.equal(count(file, "events/kernel"), 16000, "kernels")
    h.equal(len({c for (c,) in h.rows(file, "events/kernel", "correlation")}), 16000, "different")


@h.case
def paused():
    run("pause")
    h.equal([name for (name,) in h.rows(h.open_complete("out"), "events/kernel", "name")],
            ["void kernel<3>(float*)", "ncclDevKernel_Generic(Args)"], "kernels")


@h.case
def forked():
    done = run("fork")
    h.check("child 0" in h.lines(done.stdout), done.stdout)
    h.equal(count(h.open_complete("out"), "events/kernel"), 2, "kernels")


@h.case
def a_child_that_uses_the_gpu():
    """The child process is counted, and the report says so."""
    done = run("child")
    h.check("child 0" in h.lines(done.stdout), done.stdout)
    h.run(h.profwrap("merge", "out"))
    file = h.open_complete("out")
    h.equal(count(file, "events/kernel"), 1, "kernels")
    h.equal(h.overhead(file)["gpu_processes"], 1, "in /overhead")
    text = " ".join(h.run(h.profwrap("report", "--full", "out")).stdout.decode().split())
    h.check("GPUs were used by 1 child process that was not recorded" in text, text)


@h.case
def in_wsl():
    """In WSL the driver is /dev/dxg. Missing recordings are reported as with /dev/kfd."""
    os.makedirs("wsl/dev")
    open("wsl/dev/dxg", "w").close()
    check_not_recorded("no librocprofiler-sdk was found", "all", version=None,
                       env={"PROFWRAP_FSROOT": os.path.abspath("wsl")})


@h.case
def unloaded():
    """The program closes HIP and rocprofiler. The libraries stay loaded, and no record is lost."""
    run("unload")
    check_kernels(h.open_complete("out"))


@h.case
def another_tool():
    """Another tool of rocprofiler still gets all its records beside profwrap."""
    for what in ("tool", "tool-forced"):
        done = run(what, options=("-o", what))
        h.check("the other tool 3" in h.lines(done.stdout), done.stdout)
        if what == "tool-forced":
            h.check("forced 0" in h.lines(done.stdout), done.stdout)
        check_kernels(h.open_complete(what))


@h.case
def without_a_gpu():
    """The program uses ROCm's runtime, and there is no driver. profwrap loads nothing and reports
    nothing."""
    done = run("all", env={"PROFWRAP_FSROOT": os.path.abspath("none")})
    h.equal(h.lines(done.stdout), ["registered 1", "rocprofiler 0"], "what was loaded")
    h.equal(h.lines(done.stderr), [], "messages")
    file = h.open_complete("out")
    h.check(not [key for key in h.overhead(file) if "roc" in key], h.overhead(file))
    h.equal(count(file, "events/kernel"), 0, "kernels")


@h.case
def not_asked_for():
    done = run("all", options=("--activities", "mpi,annotations,cuda"))
    h.equal(h.lines(done.stdout), ["registered 1", "rocprofiler 0"], "what was loaded")
    done = run("all", options=("--activities", "rocm,annotations", "-o", "rocm"))
    h.equal(count(h.open_complete("rocm"), "events/kernel"), 3, "kernels")


@h.case
def without_rocm():
    done = run("nothing")
    h.equal(h.lines(done.stderr), [], "messages")
    file = h.open_complete("out")
    h.check(not [key for key in h.overhead(file) if "roc" in key], h.overhead(file))


def check_not_recorded(words, *arguments, **more):
    """The program runs as without profwrap, and the first lines of each report say why its GPUs
    were not recorded."""
    done = run(*arguments, **more)
    h.run(h.profwrap("merge", "out"))
    data = json.loads(h.run(h.profwrap("report", "--format", "json", "out")).stdout)
    said = data["job"]["incomplete"]
    h.check(said.startswith("GPU activity of 1 rank was not recorded: ") and words in said, said)
    text = " ".join(h.run(h.profwrap("report", "--full", "out")).stdout.decode().split())
    h.check(0 <= text.find("Incomplete: GPU activity of 1 rank was not recorded") < 400, text)
    shutil.rmtree("out")
    return done


@h.case
def what_is_refused_is_said():
    """The reports say why rocprofiler is missing or what it refused. rocprofiler-register aborts a
    program that names a tool while rocprofiler is missing, so profwrap then names none."""
    done = check_not_recorded("no librocprofiler-sdk was found", "all", version=None)
    h.equal(h.lines(done.stdout), ["registered 1", "rocprofiler 0"], "what was loaded")
    for version, words in {"0.6": "rocprofiler-sdk 0.6.0 is of another version",
                           "2.0": "rocprofiler-sdk 2.0.0 is of another version"}.items():
        done = check_not_recorded(words, "all", version=version)
        h.equal(h.lines(done.stdout)[0], "registered 1", "what HIP is told")
    for function, error in {"create_context": 1, "buffer_tracing": 19, "start_context": 11}.items():
        check_not_recorded(f"refused with error {error}", "all",
                           env={"STANDIN_ROCP_REFUSES": f"{function}:{error}"})
    check_not_recorded("did not ask its tools", "all", env={"STANDIN_ROCP_SILENT": "1"})


@h.case
def threads_of_which_the_program_takes_the_stack():
    """The program's thread-local storage takes much of each thread's stack. If no thread can be
    started, nothing is recorded, and the report says why."""
    run("all", program="rocmtls1024")
    check_kernels(h.open_complete("out"))
    shutil.rmtree("out")
    check_not_recorded("no thread could be started", "all", program="rocmtls1024",
                       env={"STANDIN_NO_THREADS": "1"})


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
