"""What cannot work: one clear line on standard error and the status that a shell would give, or the
program runs all the same."""

import errno
import os
import re
import shutil
import subprocess
import sys

import harness as h


def said(done):
    return [line for line in h.lines(done.stderr) if line.startswith("profwrap")]


def refused(status, words, *arguments, **more):
    done = h.run(h.profwrap(*arguments), status, **more)
    h.one_line(done, *words)
    h.equal(done.stdout, b"", "standard output")


@h.case
def options():
    refused(2, ["--nonsense"], "--nonsense", "true")
    refused(2, ["no program"])
    refused(2, ["--level"], "--level", "7", "true")
    refused(2, ["--ring-size"], "--ring-size", "1", "true")
    refused(2, ["--activities", "nothing-such"], "--activities", "nothing-such", "true")
    refused(2, ["--compress"], "--compress", "zip", "true")
    refused(2, ["--output"], "--output")
    refused(1, ["made: .*; choose another with -o; --unprofiled-on-error "
                "runs the program all the same$"], "-o", "/proc/out", "true")
    h.equal(os.listdir("."), [], "files left by refused commands")


@h.case
def commands_that_are_close():
    """A word that is nearly a command, an option or one of its values."""
    refused(127, ["cannot run reprot: no such program; did you mean 'profwrap report'?"], "reprot", "x")
    refused(2, ["'reprot'; did you mean 'report'[?] "], "help", "reprot")
    refused(2, ["did you mean '--output'?"], "--outptu", "x", "true")
    refused(2, ["did you mean 'html'?"], "report", "--format", "htm", "x")
    whole = h.run(h.profwrap("--help")).stdout
    h.equal(h.run(h.profwrap("help")).stdout, whole, "help")
    h.check(len(h.lines(whole)) <= 24 and max(map(len, h.lines(whole))) <= 80, "not one screen:", whole)
    everything = h.run(h.profwrap("help", "all")).stdout
    h.equal(h.run(h.profwrap("--help=all")).stdout, everything, "--help=all")
    for name in re.findall(rb" --[\w-]+", whole):
        h.check(name in everything, name)
    h.equal(h.run(h.profwrap("version")).stdout, h.run(h.profwrap("--version")).stdout, "version")
    h.equal(h.run(h.profwrap("help", "report")).stdout,
            h.run(h.profwrap("report", "--help")).stdout, "help of a command")
    h.equal(os.listdir("."), [], "files left by refused commands")


@h.case
def steps_that_the_run_has_not():
    h.run(h.profwrap("sim", "--ranks", "2", "--steps", "12", "out"))
    h.run(h.profwrap("merge", "out"))
    refused(2, ["--steps is '900-1000'", "its steps are 0 to 11"], "report", "--steps", "900-1000", "out")
    h.run(h.profwrap("report", "--steps", "10-1000", "out"))
    refused(1, ["'out' is a directory", "out/cluster.h5 or out/rank-00000.h5 .there are 2 rank files"],
            "dump", "out")
    os.mkdir("empty")
    refused(1, ["'empty' is a directory, without files of profwrap"], "dump", "empty")


@h.case
def programs_that_cannot_run():
    os.mkdir("folder")
    with open("data", "w") as file:
        file.write("not executable")
    with open("garbage", "w") as file:
        file.write("\x7fELF and nothing")
    os.chmod("garbage", 0o755)
    with open("lost", "w") as file:
        file.write("#!/no/such/interpreter\n")
    os.chmod("lost", 0o755)
    refused(127, ["no-such-program"], "-o", "out", "no-such-program")
    refused(127, ["./absent"], "-o", "out", "./absent")
    refused(126, ["./folder"], "-o", "out", "./folder")
    refused(126, ["./data"], "-o", "out", "./data")
    h.check(not os.path.exists("out"), "an output directory for a program that cannot run")
    for k, name in enumerate(("./garbage", "./lost")):
        done = h.run(h.profwrap("-o", f"out{k}", "--no-merge", name), None)
        h.check(done.returncode in (126, 127), name, "ended with", done.returncode)
        h.check(done.stderr, "nothing was said about", name)


@h.case
def said_once_per_host():
    done = h.run(h.mpirun(4, *h.profwrap("no-such-program")), None)
    h.equal(len(said(done)), 1, f"lines said: {h.lines(done.stderr)}")
    h.check(done.returncode != 0, "mpirun ended with 0")


@h.case
def output_directories():
    os.mkdir("foreign")
    with open("foreign/file", "w") as file:
        file.write("somebody's")
    refused(2, ["foreign", "not empty"], "-o", "foreign", "true")
    h.run(h.profwrap("--no-merge", "-o", "taken", "true"))
    refused(2, ["taken", "another job"], "-o", "taken", "true")
    with open("file", "w") as file:
        file.write("")
    refused(1, ["file"], "-o", "file/out", "true")
    done = h.run(h.profwrap("--no-merge", "-o", "absent/a/out", "true"))
    h.check(os.path.exists("absent/a/out/rank-00000.h5"), "directories above are made")
    refused(2, ["-o|output"], "-o", "x" * 5000, "true")


def mounted(where, size, *command, status=0):
    """Runs this case in a mount namespace of its own, with a small tmpfs."""
    script = f'mount -t tmpfs -o size={size} none "{where}" && exec "$@"'
    return h.run(["unshare", "-m", "sh", "-c", script, "sh", *command], status)


@h.case
def read_only_output_directory():
    os.mkdir("locked")
    if os.geteuid() == 0:
        h.own_mounts()
        script = 'mount -t tmpfs none locked && mount -o remount,ro locked && exec "$@"'
        command = ["unshare", "-m", "sh", "-c", script, "sh"]
    else:
        os.chmod("locked", 0o500)
        command = []
    done = h.run(command + h.profwrap("-o", "locked/out", "true"), 1)
    h.one_line(done, "locked/out", "ead-only|ermission")


@h.case
def full_output_directory():
    h.own_mounts()
    os.mkdir("full")
    script = "mount -t tmpfs -o size=64k none full && dd if=/dev/zero of=full/fill 2>/dev/null;"
    command = ["unshare", "-m", "sh", "-c", script + ' exec "$@"', "sh"]
    plain = h.program("plain")
    done = h.run(command + h.profwrap("-o", "full/out", "--no-merge", plain, "exit", "3"), 3)
    h.check(said(done), "nothing was said:", h.lines(done.stderr))
    h.check(len(h.lines(done.stderr)) <= 2, "too much was said:", h.lines(done.stderr))
    h.check("No space" in said(done)[0] or "full" in said(done)[0], said(done))


@h.case
def output_directory_fills_up():
    """The program continues to its end. Records that were lost are counted, and the others can be
    recovered once there is room again."""
    h.own_mounts()
    os.mkdir("small")
    script = ('mount -t tmpfs -o size=160k none small; profwrap=$1; shift; "$profwrap" "$@"; '
              'status=$?; ls small/out >&2; mount -o remount,size=64m small; '
              '"$profwrap" recover small/out >&2; cp small/out/rank-00000.h5 .; exit $status')
    command = ["unshare", "-m", "sh", "-c", script, "sh"]
    quietly = ("-o", "small/out", "--no-merge", "--compress", "none")
    done = h.run(command + h.profwrap(*quietly, h.program("plain"), "ranges", "40000"), 5)
    problems = [line for line in said(done) if "could not be completed" in line]
    h.check(len(problems) == 1 and "No space" in problems[0] and "recover" in problems[0],
            "said:", h.lines(done.stderr))
    h.check("rank-00000.journal" in h.lines(done.stderr), "files:", h.lines(done.stderr))
    h.check("rank-00000.h5.part" not in h.lines(done.stderr), "files:", h.lines(done.stderr))
    with h.open_rank(".") as file:
        found, lost = len(file["events/range"]), int(file.attrs["dropped_events"])
        h.equal((int(file.attrs["exit_code"]), int(file.attrs["complete"])), (5, 2), "end")
        h.check(found > 1000 and lost > 1000, found, "ranges,", lost, "lost")
        h.check(40000 <= found + lost <= 40100, found + lost, "in all")


def with_failing_writes(error, after, name, count=40000):
    """A run whose writes to files with `name` in their path fail after so many bytes."""
    env = {"LD_PRELOAD": h.program("libfailwrite.so"), "FAILWRITE": f"{error}:{after}:{name}"}
    done = h.run(h.profwrap("-o", "out", "--no-merge", "--compress", "none", h.program("plain"),
                            "ranges", count), 5, env=env)
    return [line for line in said(done) if "could not be completed" in line]


@h.case
def disk_fails():
    """With any error of the disk, at any place, the program continues, and the journal is
    sufficient."""
    for error, after, words in ((errno.EIO, 300000, "Input/output"), (errno.EDQUOT, 50000, "quota"),
                                (errno.ENOSPC, 1000000, "No space")):
        problems = with_failing_writes(error, after, ".h5")
        h.check(len(problems) == 1 and words in problems[0] and "recover" in problems[0], problems)
        h.run(h.profwrap("recover", "out"))
        with h.open_rank("out") as file:
            h.equal(len(file["events/range"]), 40000, "ranges")
            h.equal(int(file.attrs["dropped_events"]), 0, "dropped")
        shutil.rmtree("out")


@h.case
def disk_fails_for_good():
    """Neither the file nor the journal can be written until the end. One line says how many records
    are lost, and the recovered file has this number."""
    problems = with_failing_writes(errno.EIO, 60000, "rank-")
    h.equal(len(problems), 1, f"lines {problems}")
    lacking = int(re.search(r"which lacks (\d+) records", problems[0]).group(1))
    h.run(h.profwrap("recover", "out"))
    with h.open_rank("out") as file:
        reasons = h.enum_names(file["events/gap"], "reason")
        lost = sum(int(row["lost"]) for row, why in zip(file["events/gap"][:], reasons)
                   if why == "disk")
        h.equal(lost, lacking, "lost, by the file and by the line")
        h.check(0 <= len(file["events/range"]) + lost - 40000 < 100, lost, "and",
                len(file["events/range"]))
        h.equal(int(file.attrs["dropped_events"]), lost, "dropped")


@h.case
def journal_fails():
    """The rank file is not affected."""
    h.equal(with_failing_writes(errno.EIO, 30000, ".journal"), [], "said")
    with h.open_complete("out") as file:
        h.equal(len(file["events/range"]), 40000, "ranges")
    h.equal(sorted(os.listdir("out")), [".job", "rank-00000.h5"], "files")


@h.case
def no_journal_at_all():
    """profwrap says so, and the run is merged and reported like any other."""
    env = {"LD_PRELOAD": h.program("libfailwrite.so"), "FAILWRITE": f"{errno.EIO}:0:.journal"}
    done = h.run(h.profwrap("-o", "out", h.program("plain"), "annotate"), env=env)
    h.check(any("no journal of rank 0" in line for line in said(done)), said(done))
    h.check(os.path.exists("out/cluster.h5") and os.path.exists("out/report.txt"), "no report")


@h.case
def file_as_large_as_it_may_be():
    """Later records are counted. The limit also holds for a collector that takes over."""
    h.run(h.profwrap("-o", "out", "--no-merge", "--on-full", "wait", "--max-file-size", "1M",
                     h.program("plain"), "ranges", 1000000), 5)
    h.check(os.path.getsize("out/rank-00000.h5") < 1100000, os.path.getsize("out/rank-00000.h5"))
    with h.open_rank("out") as file:
        found, gaps = len(file["events/range"]), file["events/gap"][:]
        reasons, kinds = h.enum_names(file["events/gap"], "reason"), h.enum_names(
            file["events/gap"], "kind")
        lost = sum(int(row["lost"]) for row, why, kind in zip(gaps, reasons, kinds)
                   if (why, kind) == ("limit", "range"))
        h.check(found > 50000 and lost > 50000, found, "ranges,", lost, "lost")
        h.equal(found + lost, 1000000, "ranges in all")
        h.equal(int(file.attrs["dropped_events"]), sum(int(row["lost"]) for row in gaps), "dropped")
    refused(2, "1M or more", "--max-file-size", "1K", "true")
    refused(2, "1M or more", "--max-memory", "0", "true")


@h.case
def output_directory_vanishes():
    """Somebody removes the directory during the run. The program does not notice it, and one line
    says what is lost."""
    script = "sleep 0.4; rm -rf out; sleep 0.4; exit 7"
    done = h.run(h.profwrap("-o", "out", "--no-merge", "sh", "-c", script), 7)
    h.equal(len(said(done)), 1, "lines")
    h.check("No such file" in said(done)[0], said(done))


@h.case
def little_shared_memory():
    h.own_mounts()
    plain = h.program("plain")
    done = mounted("/dev/shm", "400k", *h.profwrap("-o", "out", "--no-merge", plain, "annotate"))
    h.one_line(done, "shared memory is short", "KiB")
    h.equal(h.range_names(h.open_complete("out")).count("marked"), 3, "ranges")


@h.case
def no_shared_memory():
    h.own_mounts()
    command = h.profwrap("-o", "out", "--no-merge", h.program("plain"), "ranges", "40")
    done = mounted("/dev/shm", "64k", *command, status=5)
    h.one_line(done, "shared memory is full", "not recorded")
    file = h.open_rank("out")
    h.equal(len(file["events/range"]), 0, "ranges")
    h.equal(h.enum_names(file["events/gap"], "reason"), ["no_ring"], "reasons for gaps")
    h.equal(int(file["events/gap"][0]["lost"]), 80, "begins and ends of ranges, lost")


@h.case
def shared_memory_runs_out_in_an_mpi_program():
    """Some ranks are profiled, others are not, and no rank waits for another one's profiling."""
    h.own_mounts()
    command = h.mpirun(4, *h.profwrap("-o", "out", "--no-merge", "--ring-size", "1M"),
                       h.program("actor"), "exit", "0")
    env = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_osc": "^sm"}
    script = 'mount -t tmpfs -o size=2200k none /dev/shm && exec "$@"'
    done = h.run(["unshare", "-m", "sh", "-c", script, "sh", *command], None, timeout=40, env=env)
    h.equal(done.returncode, 0, f"status; {h.lines(done.stderr)}")
    h.check(said(done), "nothing was said of the ranks without memory")


@h.case
def static_programs():
    done = h.run(h.profwrap("-o", "out", h.program("hello_static")), 3)
    h.equal(done.stdout, b"hello\n", "output")
    h.one_line(done, "statically linked")


@h.case
def another_mpi():
    other = h.program("useother")
    alone = h.run([other])
    done = h.run(h.profwrap("-o", "out", "--no-merge", other))
    h.equal(done.stdout, alone.stdout, "output")
    h.check(b"the other MPI began" in done.stdout, "output", done.stdout)
    h.one_line(done, "ABI of the program's MPI library is not known")


@h.case
def another_mpi_behind_a_script():
    other = h.program("useother")
    done = h.run(h.profwrap("-o", "out", "--no-merge", "sh", "-c", f"{other}; exit 5"), 5)
    h.equal(done.stdout, h.run([other]).stdout, "output")
    h.one_line(done, "ABI of the program's MPI library is not known")


@h.case
def doctor():
    done = h.run(h.profwrap("doctor"))
    rows = [line.split(None, 2) for line in h.lines(done.stdout)]
    h.equal([row[0] for row in rows if row[0] not in ("ok", "note")], [], "failed checks")
    h.check(any(row[1] == "MPI" and "Open MPI" in row[2] for row in rows), "no Open MPI in", rows)
    os.makedirs("root/proc")  # of a machine about whose clock nothing is known
    done = h.run(h.profwrap("doctor"), env={"PROFWRAP_FSROOT": os.path.abspath("root")})
    h.check(any(line.startswith("note  clock ") and "clock_gettime" in line
                for line in h.lines(done.stdout)), done.stdout)
    h.run(h.profwrap("doctor", "all"), status=2)


@h.case
def clock_that_is_read():
    root = os.path.abspath("root")
    os.makedirs("root/proc")
    h.run(h.mpirun(1, *h.profwrap("--no-merge", "-o", "raw"), "true"),
          env={"PROFWRAP_FSROOT": root})
    h.run(h.mpirun(1, *h.profwrap("--no-merge", "-o", "out"), "true"))
    with h.open_complete("raw") as raw, h.open_complete("out") as file:
        h.equal(h.attribute(raw, "tick_source"), "clock_gettime", "clock of an unknown machine")
        chosen = h.attribute(file, "tick_source")
    said = h.run(h.profwrap("doctor")).stdout.decode()
    h.equal(chosen != "clock_gettime", f"counter ({chosen})" in said, f"the file says {chosen}; doctor")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
