"""validate.sh runs to its end without a GPU, with stand-ins for CUDA, PyTorch and NCCL (standin/).
Such a run does not test a GPU. It tests that validate.sh counts, compares, keeps its time limits
and writes its record. STANDIN_FAULT breaks one thing, and the script must then fail."""
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mpi"))
import harness as h  # noqa: E402  pylint: disable=wrong-import-position

SCRIPT = os.path.join(HERE, "validate.sh")
STANDIN = os.environ["VALIDATETEST_STANDIN"]
TITLE = "# A run with stand-ins, without a GPU: this validates nothing but the script"


def validate(*arguments, status=0, standin=True, **env):
    command = [SCRIPT, "--build", h.place("BUILD"), *arguments]
    if standin:
        if not os.path.exists(os.path.join(STANDIN, "libstandin_torch.so")):
            raise h.Skipped("no NVTX headers: the stand-in for PyTorch was not built")
        command += ["--standin", STANDIN]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=280,
                          check=False, env=h.environment(PROFWRAP_VALIDATE_PYTHON=sys.executable,
                                                         **env))
    h.check(done.returncode == status, "status", done.returncode, "instead of", status, "\n",
            done.stdout, done.stderr)
    return done


def verdicts(path):
    """[(check, verdict)] of a record, without the figures."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return re.findall(r"^\| ([A-D] [^|]*?) \| (\w+) \|", text, re.M), text


def passes(part, *names):
    validate("--record", "record.md", "--overhead", 1000, part)
    found, text = verdicts("record.md")
    h.equal([name for name, _ in found], [f"{part} {name}" for name in names], "checks")
    # For want of rights, of ptxas, of h5py.
    allowed = {f"{part} {name}" for name in ("without root", "ptx is valid", "h5py")}
    for name, verdict in found:
        h.check(verdict == "passed" or (verdict == "skipped" and name in allowed), text)
    h.check(text.startswith(TITLE + "\n"), text)
    h.check("GPU and driver: a stand-in" in text, text)
    return text


@h.case
def kernels():
    text = passes("A", "ptx is valid", "injection and return codes", "kernels inside their ranges",
                  "overhead", "launch cost", "graph replay", "copies and memsets", "kill recovery",
                  "without root", "pool exhaustion", "many threads", "a million replays",
                  "cuda 12")
    h.check("CUPTI 130001 answers 0" in text and "1000 of 1000" in text, text)
    h.check("kernels by CUPTI 18" in text, text)


@h.case
def beside_a_profiler():
    text = passes("B", "yields and comes back", "toggled and stopped twice",
                  "the same without pytorch")
    h.check("theirs 101; ours 101 before and 101 after the gap, none in it" in text, text)
    for said in ("| 101 before, 101 between, 101 after |",
                 "| theirs 50; 50 before, 50 between, 50 after |"):
        h.check(said in text, text)


@h.case
def two_nccl_ranks():
    text = passes("C", "collectives match", "every collective", "late rank is named",
                  "ddp at level 2")
    h.check("100 collectives with the same communicator and number" in text, text)
    h.check("30 steps, 30 allreduces" in text, text)
    h.check("15 collectives of 6 kinds, and a message" in text, text)


@h.case
def nvml_and_the_whole_way():
    text = passes("D", "nvml cost", "whole way", "h5py")
    h.check("1980 MHz, 651 W at most" in text, text)


def breaks(fault, part, *names, only=""):
    """With this fault, these checks fail if they are run, and so does the script."""
    validate("--record", f"{fault}.md", "--keep", "kept", "--overhead", 1000, "--only", only, part,
             status=1, STANDIN_FAULT=fault)
    found, text = verdicts(f"{fault}.md")
    failed = {name for name, verdict in found if verdict == "FAILED"}
    h.equal(failed, {f"{part} {name}" for name in names}, "failed checks\n" + text)
    with open("kept/failed.log", encoding="utf-8") as file:
        log = file.read()
    for name in failed:
        h.check(f"==== {name}\n" in log, name, "is not in the log", log)


@h.case
def lost_kernels_are_found():
    breaks("lose", "A", "kernels inside their ranges", "graph replay", "kill recovery",
           "pool exhaustion", "many threads", "a million replays", "cuda 12",
           only="kernels|graph|copies|kill|pool|threads|million|12")
    kept = os.listdir("kept")
    h.equal(len(kept), 8, kept)
    h.check("A-graph-replay-graph-rank-00000.h5" in kept, kept)
    with open("kept/failed.log", encoding="utf-8") as file:
        h.check("is not kept: there are 8 files" in file.read(), "what is left out is not said")


@h.case
def kernels_outside_their_ranges_are_found():
    breaks("early", "A", "kernels inside their ranges", only="ranges|graph|codes")


@h.case
def memory_that_grows_is_found():
    breaks("hoard", "A", "a million replays", only="replay")


@h.case
def missing_cuda_records_are_found():
    breaks("deaf", "D", "nvml cost", "whole way", "h5py")


@h.case
def why_cupti_refused_is_said():
    os.makedirs("root/dev")
    with open("root/dev/nvidia0", "wb"):
        pass
    validate("--record", "refused.md", "--only", "codes", "A", status=1, STANDIN_REFUSES="0:15",
             PROFWRAP_FSROOT=os.path.abspath("root"))
    found, text = verdicts("refused.md")
    h.equal(found, [("A injection and return codes", "FAILED")], text)
    h.check("CUPTI answered 15" in text and "driver" in text.split("InitializeInjection")[1], text)


@h.case
def a_profiler_that_stays_is_found():
    breaks("greedy", "B", "yields and comes back", only="yields")


@h.case
def a_second_stop_that_ends_ours_is_found():
    breaks("rude", "B", "toggled and stopped twice", only="toggled")


@h.case
def ranks_that_do_not_match_are_found():
    breaks("apart", "C", "collectives match", "ddp at level 2", only="match|ddp")


@h.case
def what_is_not_recorded_of_nccl_is_found():
    """Either the kernels of NCCL's operations or the operations themselves are not recorded. The
    checks must fail."""
    for activities, name, why in (
            ("nccl,note,nvtx", "collectives match", "have the times of their kernels"),
            ("cuda,note", "every collective", "of rank 0 there are {}")):
        validate("--record", f"{activities}.md", "--only", name, "C", status=1,
                 PROFWRAP_ACTIVITIES=activities)
        found, text = verdicts(f"{activities}.md")
        h.equal(found, [(f"C {name}", "FAILED")], text)
        h.check(why in text, text)


@h.case
def a_job_without_a_late_rank_is_found():
    breaks("even", "C", "late rank is named", only="match|late")


@h.case
def cost_over_its_limit_is_found():
    validate("--record", "cost.md", "--overhead", -1000, "--only", "overhead", "A", status=1)
    found, text = verdicts("cost.md")
    h.equal(found, [("A overhead", "FAILED")], text)


@h.case
def what_is_kept_is_bounded():
    """At most 8 files of 16 MiB each are kept, including the log."""
    sys.path.insert(0, HERE)
    import kept  # pylint: disable=import-outside-toplevel
    keeper = kept.Kept("kept")
    os.mkdir("run")
    for rank in range(10):
        with open(f"run/rank-{rank:05d}.h5", "wb") as file:
            file.truncate((17 << 20) if rank == 0 else 1000)
    keeper.failed("A first one", ["said " * (8 << 20)], [])
    keeper.failed("A second one", ["more"], ["run/rank-00001.h5"])
    sizes = {name: os.path.getsize(os.path.join("kept", name)) for name in os.listdir("kept")}
    h.equal(len(sizes), 8, sizes)
    h.equal(max(sizes.values()), 16 << 20, "the largest")
    h.check("A-first-one-run-rank-00000.h5" not in sizes and "failed.log" in sizes, sizes)


@h.case
def hanging_programs_are_ended():
    """Each check and the part itself end at their time limits, and the record has all checks."""
    begin = time.monotonic()
    validate("--record", "hang.md", "--patience", 2, "--limit", 33, "A", "D", status=1,
             STANDIN_FAULT="hang")
    h.check(time.monotonic() - begin < 60, "took", time.monotonic() - begin, "s")
    found, text = verdicts("hang.md")
    h.equal(len(found), 16, "rows\n" + text)
    h.check("did not end within 2 s" in text and "not run: the part's time was up" in text, text)
    left = subprocess.run(["pgrep", "-f", os.path.join(h.place("BUILD"), "tests/gpu/gpukernels")],
                          capture_output=True, text=True, check=False).stdout
    h.equal(left, "", "programs that were left")


@h.case
def without_torch():
    """Parts that need PyTorch report that it is missing, and do not count as passed."""
    folder = os.path.abspath("no-torch")
    os.mkdir(folder)
    with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
        file.write("raise ImportError('libcudnn.so.9: cannot open shared object file: "
                   "No such file or directory')\n")
    copy = os.path.abspath("copy")
    shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("__pycache__", "torch"))
    shutil.copy(os.path.join(folder, "torch.py"), os.path.join(copy, "standin", "python"))
    done = subprocess.run([os.path.join(copy, "validate.sh"), "--build", h.place("BUILD"),
                           "--standin", STANDIN, "--only", "match|late|ddp|yields|toggled", "B",
                           "C"],
                          capture_output=True, text=True, timeout=100, check=False,
                          env=h.environment(PROFWRAP_VALIDATE_PYTHON=sys.executable))
    h.equal(done.returncode, 77, "status\n" + done.stdout + done.stderr)
    h.equal(done.stdout.count("no Python with a PyTorch that has CUDA: libcudnn.so.9"), 5,
            done.stdout)


@h.case
def a_missing_library_is_a_skip():
    """The checks are skipped, and the name of the library is printed. The pack may be on a machine
    without this library."""
    os.makedirs("build/tests/gpu")
    os.makedirs("build/bin")
    shutil.copy(os.path.join(h.place("BUILD"), "tests/gpu/gpukernels"), "build/tests/gpu")
    with open("build/bin/profwrap", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho 'profwrap: error while loading shared libraries: libjansson.so.4:"
                   " cannot open shared object file: No such file or directory' >&2\nexit 127\n")
    os.chmod("build/bin/profwrap", 0o755)
    done = validate("--build", os.path.abspath("build"), "--only", "codes|ranges|threads", "A",
                    status=77)
    h.equal(done.stdout.count("has no libjansson.so.4 here"), 3, done.stdout)


@h.case
def without_a_toolkit_pytorchs_cupti_is_used():
    os.makedirs("site/nvidia/cu13/lib")
    path = os.path.abspath("site/nvidia/cu13/lib/libcupti.so.13")
    with open(path, "wb"):
        pass
    program = ("import os, libraries; libraries.TOOLKITS = ('/nonexistent', '/nonexistent'); "
               "print(libraries.cupti(), os.environ['PROFWRAP_CUPTI'])")
    done = h.run([sys.executable, "-B", "-c", program],
                 env={"PYTHONPATH": f"{HERE}:{os.path.abspath('site')}"})
    h.equal(h.lines(done.stdout), [f"{path} {path}"], "libcupti")


@h.case
def no_gpu_is_no_validation():
    if os.path.exists("/dev/nvidiactl"):
        raise h.Skipped("there is a GPU")
    done = validate("--record", "none.md", "A", "D", status=77, standin=False)
    h.check("no CUDA driver" in done.stdout and "FAILED" not in done.stdout, done.stdout)
    h.check(not os.path.exists("none.md"), "there is a record of a machine without a GPU")


@h.case
def records_are_not_mixed():
    """A run with stand-ins is never a validation: it is not written into the folder or the file of
    one."""
    kept = os.path.realpath(os.path.join(HERE, "..", "..", "docs", "validation", "gpu-test.md"))
    done = validate("--record", kept, "D", status=2)
    h.check("not written into docs/validation" in done.stderr, done.stderr)
    h.check(not os.path.exists(kept), "it was written")
    with open("real.md", "w", encoding="utf-8") as file:
        file.write("# Validation on a GPU\n")
    done = validate("--record", "real.md", "D", status=2)
    h.check("is not a record of such a run" in done.stderr, done.stderr)
    os.mkdir("records")
    validate("--record", "records", "--only", "way", "D")
    h.equal([re.sub(r"\d", "0", name) for name in os.listdir("records")], ["gpu-0000-00-00.md"],
            "records")
    folder = os.path.dirname(kept)
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            h.check("stand-in" not in file.readline(), name, "was written by stand-ins")


@h.case
def wrong_command_lines():
    for arguments in (["--nonsense"], ["E"], ["--record"]):
        done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)
        h.equal(done.returncode, 2, arguments)
        h.check(done.stderr, "no message for", arguments)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
