"""Every way in which a program, its collector and its guard can end: all calls that had returned are
in the rank's file, and the file says how the program ended."""

import atexit
import errno
import os
import random
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

import harness as h
from ending import children, count, is_collector, recorded, state_of, stop, wait_for
from shortage import ControlGroup

CALLS = 3000


def start(*arguments, out="out", options=("--on-full", "wait"), where=(), **more):
    """The program waits for the collector, because on a busy machine the collector may not run for
    long."""
    command = [*where, *h.profwrap("-o", out, "--no-merge", *options), h.program("tally"), "count",
               *map(str, arguments)]
    return subprocess.Popen(command, env=h.environment(), stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, **more)


def finish(process, timeout=h.PATIENCE_S):
    try:
        return process.communicate(timeout=timeout)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        h.check(False, "still running after", timeout, "s")


def collector_and_program(guard):
    """Returns the pids of the collector and the program, once the program has made calls."""
    wait_for(lambda: os.path.exists("count") and os.path.getsize("count") == 8 and count() > 100,
             "calls")
    collector = children(guard)[0]
    return collector, children(collector)[0]


def check_file(code, sig, complete=1, out="out"):
    """The file has all calls that had returned, and at most one more: the call that was open."""
    least, most, attributes = recorded(out)
    h.check(count() <= least <= most <= count() + 1, count(), "calls returned;", least, "to", most,
            "are in the file")
    found = {name: int(attributes[name]) for name in ("exit_code", "exit_signal", "complete",
                                                      "dropped_events")}
    h.equal(found, {"exit_code": code, "exit_signal": sig, "complete": complete,
                    "dropped_events": 0}, "attributes")
    left = [name for name in os.listdir(out) if not name.endswith(".h5") and name != ".job"]
    h.equal(left, [], "files left behind")


def ends(how, status):
    """The program ends by itself, and the launcher sees the same end as without profwrap."""
    process = start(CALLS, *how.split())
    finish(process)
    h.equal(process.returncode, status, f"status after {how}")
    check_file(*((-1, -status) if status < 0 else (status, 0)))


@h.case
def returns():
    ends("return 0", 0)
    h.equal(count(), CALLS, "calls")


@h.case
def exits_with_a_status():
    ends("return 5", 5)


@h.case
def exits_before_finalize():
    ends("exit 3", 3)


@h.case
def leaves_at_once():
    ends("_exit 4", 4)


@h.case
def aborts():
    ends("abort", -signal.SIGABRT)


@h.case
def crashes():
    ends("segv", -signal.SIGSEGV)


@h.case
def kills_itself():
    ends("kill", -signal.SIGKILL)


@h.case
def mpi_abort():
    process = start(CALLS, "mpi_abort", 7)
    finish(process)
    h.equal(process.returncode, 7, "status")
    check_file(7, 0)


def ending(out="out"):
    """The row of /ending."""
    with h.open_rank(out) as file:
        rows, samples = file["ending"][:], file["samples/process"]["time"][:]
        h.equal(len(rows), 1, "rows of /ending")
        h.check(all(samples <= rows["time"][0]), "ended at", rows, "sampled at", samples)
        return rows[0]


@h.case
def code_of_mpi_abort():
    """The call does not return: it is among the open ones."""
    finish(start(3, "mpi_abort", 7))
    ending()
    with h.open_rank("out") as file:
        calls = file["events/open"]
        h.equal((h.enum_names(calls, "op"), list(calls["tag"]), min(calls["comm"]) >= 0),
                (["Abort"], [7], True), "open calls")


@h.case
def end_that_a_second_collector_saw():
    """The collector is killed, and another one takes over: the rank file has the end's time."""
    process = start(0, "stay")
    collector, program = collector_and_program(process.pid)
    os.kill(collector, signal.SIGKILL)
    wait_for(lambda: any(is_collector(pid) for pid in children(process.pid) if pid != collector),
             "another collector")
    os.kill(program, signal.SIGKILL)
    finish(process)
    ending()


@h.case
def out_of_memory():
    """The kernel kills the program at the limit of its cgroup; all three processes are in it."""
    group = ControlGroup("memory", ("memory.limit_in_bytes", "memory.max"), 256 << 20)
    if group.lacking():
        raise h.Skipped(group.lacking())
    group.create()
    try:
        join = ["sh", "-c", f'echo $$ > {group.path}/cgroup.procs && exec "$@"', "sh"]
        process = start(CALLS, "memory", where=join)
        finish(process)
        h.equal(process.returncode, -signal.SIGKILL, "status")
        check_file(-1, signal.SIGKILL)
        h.equal(int(ending()["oom_kills"]), 1, "processes that the kernel killed")
    finally:
        group.remove()


@h.case
def killed_at_random():
    draw = random.Random(7)
    for i in range(8):
        process = start(0, "stay", out=f"out{i}")
        _, program = collector_and_program(process.pid)
        time.sleep(draw.random() * 0.2)
        os.kill(program, signal.SIGKILL)
        finish(process)
        h.equal(process.returncode, -signal.SIGKILL, "status")
        check_file(-1, signal.SIGKILL, out=f"out{i}")
        os.unlink("count")


@h.case
def terminated_by_a_time_limit():
    process = start(0, "stay", where=["timeout", "-k", "5", "1.5"])
    finish(process)
    check_file(-1, signal.SIGTERM)


def start_and_stop_collector(out):
    """Starts a run and stops its collector before the collector has started the program. Returns
    None when it was too late."""
    process = start(0, "stay", out=out)
    wait_for(lambda: children(process.pid), "collector")
    collector = children(process.pid)[0]
    stop(collector)
    programs = children(collector)
    if not programs:
        return process, collector
    for program in programs:
        os.kill(program, signal.SIGKILL)  # it would outlive the guard, and hold the pipe that finish() reads
    os.kill(collector, signal.SIGCONT)
    process.kill()
    finish(process)
    return None


@h.case
def terminated_before_the_program_starts():
    """The program ends by the signal, as it does without profwrap when the signal reaches it."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM):
        for attempt in range(100):
            found = start_and_stop_collector(f"out{number:d}-{attempt}")
            if found:
                break
        else:
            raise h.Skipped("no collector was stopped early enough")
        process, collector = found
        os.kill(process.pid, number)
        time.sleep(0.05)
        os.kill(collector, signal.SIGCONT)
        wait_for(lambda: state_of(collector) is None or children(collector), "the program's start")
        program = (children(collector) or [None])[0]
        try:
            wait_for(lambda: process.poll() is not None, "end of a program that was to end")
        finally:
            if process.poll() is None:
                os.kill(program, signal.SIGKILL)
        finish(process)
        h.equal(process.returncode, -number, "status")
        with h.open_rank(f"out{number:d}-{attempt}") as file:
            h.equal(int(file.attrs["exit_signal"]), number, "exit_signal")


@h.case
def whole_group_killed():
    """Launchers finally send SIGKILL to the rank's process group, which does not include the
    collector."""
    process = start(0, "stay", start_new_session=True)
    collector, _ = collector_and_program(process.pid)
    os.killpg(process.pid, signal.SIGKILL)
    finish(process)
    wait_for(lambda: not os.path.exists(f"/proc/{collector}"), "end of the collector")
    check_file(-1, signal.SIGKILL)


@h.case
def mpirun_terminated():
    """SIGTERM to mpirun: it terminates the ranks, and kills them a second later."""
    command = h.mpirun(2, *h.profwrap("-o", "out", "--on-full", "wait"), h.program("tally"), "-",
                       0, "stay")
    process = subprocess.Popen(list(map(str, command)), env=h.environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for rank in (0, 1):  # 8 bytes or so a record, two records a call
        journal = f"out/rank-{rank:05d}.journal"
        wait_for(lambda: os.path.exists(journal) and os.path.getsize(journal) > 60000,
                 f"calls in {journal}", 60)
    process.terminate()
    process.wait(timeout=h.PATIENCE_S)
    for rank in (0, 1):
        wait_for(lambda: os.path.exists(h.rank_path("out", rank)), f"file of rank {rank}")
        least, most, attributes = recorded("out", rank)
        h.check(least > 1000 and most <= least + 1, "calls", least, most)
        h.equal(int(attributes["complete"]), 1, "complete")
        h.check(int(attributes["exit_signal"]) in (signal.SIGTERM, signal.SIGKILL), attributes)
    h.run(h.profwrap("merge", "out"))
    h.run(h.profwrap("report", "out"))


@h.case
def collector_killed():
    """Another collector continues, however often a collector is killed."""
    process = start(0, "stay")
    program = None
    for kill in range(5):
        collector, program = collector_and_program(process.pid) if not program else (0, program)
        if not collector:
            wait_for(lambda: [c for c in children(process.pid) if c != program], "new collector")
            collector = [c for c in children(process.pid) if c != program][0]
        os.kill(collector, signal.SIGKILL)
        wait_for(lambda: collector not in children(process.pid), "end of the collector")
        time.sleep(0.05 * kill)
    time.sleep(0.3)
    os.kill(program, signal.SIGTERM)
    errors = finish(process)
    h.equal(process.returncode, -signal.SIGTERM, "status")
    h.check("the collector of rank 0 was killed; another one continues its work" in errors, errors)
    check_file(-1, signal.SIGTERM, complete=2)
    h.run(h.profwrap("merge", "out"))
    h.run(h.profwrap("report", "out"))


@h.case
def collector_terminated():
    """The collector ends when the program ends, not before."""
    process = start(0, "stay")
    collector, program = collector_and_program(process.pid)
    for which in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        os.kill(collector, which)
    time.sleep(0.3)
    os.kill(program, signal.SIGKILL)
    finish(process)
    check_file(-1, signal.SIGKILL)


@h.case
def collector_stopped():
    """The program continues. Records that do not fit into the rings meanwhile are counted."""
    process = start(0, "stay", options=["--ring-size", "1M"])
    collector, program = collector_and_program(process.pid)
    stop(collector)
    before = count()
    wait_for(lambda: count() > before + 20000, "calls while the collector stands still")
    os.kill(collector, signal.SIGCONT)
    time.sleep(0.2)
    os.kill(program, signal.SIGKILL)
    finish(process)
    with h.open_rank("out") as file:
        lost, rows = int(file.attrs["dropped_events"]), len(file["events/gap"])
        found = len(file["events/comm"]) + len(file["events/range"])
        h.check(lost > 0 and rows > 0, "nothing is counted as lost")
        h.check(found + lost >= 2 * count(), found, "found,", lost, "lost,", count(), "calls")


@h.case
def collector_stopped_in_mpi_init():
    """With two ranks, the guard answers in place of the collector, and the job continues."""
    command = h.mpirun(2, *h.profwrap("-o", "out", "--no-merge"), h.program("tally"), "-", 200,
                       "return", 0)
    process = subprocess.Popen(list(map(str, command)), env=h.environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stopped = []

    def stop_one():
        for pid in filter(is_collector, map(int, filter(str.isdigit, os.listdir("/proc")))):
            if children(pid):
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)
                return True
        return False

    wait_for(stop_one, "collector")
    wait_for(lambda: all(state_of(pid) in ("Z", None) for pid in children(stopped[0])),
             "end of the program beside a collector that stands still", 30)
    os.kill(stopped[0], signal.SIGCONT)
    h.equal(process.wait(timeout=h.PATIENCE_S), 0, "status")


@h.case
def guard_killed():
    process = start(0, "stay")
    collector, program = collector_and_program(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.3)
    os.kill(program, signal.SIGTERM)
    wait_for(lambda: not os.path.exists(f"/proc/{collector}"), "end of the collector")
    check_file(-1, signal.SIGTERM)


@h.case
def launcher_does_not_wait_for_a_stopped_collector():
    process = start(0, "stay")
    collector, program = collector_and_program(process.pid)
    stop(collector)
    os.kill(program, signal.SIGKILL)
    try:
        finish(process)
        h.equal(process.returncode, -signal.SIGKILL, "status")
        h.equal(state_of(collector), "T", "state of the collector")
    finally:
        os.kill(collector, signal.SIGCONT)
    wait_for(lambda: not os.path.exists(f"/proc/{collector}"), "end of the collector")
    check_file(-1, signal.SIGKILL)


def start_job(ranks, *arguments, out="out"):
    """A job that is merged. Returns its mpirun when each rank has made calls."""
    command = h.mpirun(ranks, *h.profwrap("-o", out, "--on-full", "wait"), h.program("tally"), "-",
                       *arguments)
    process = subprocess.Popen(list(map(str, command)), env=h.environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    atexit.register(process.terminate)  # after a failure; mpirun then ends the ranks
    for rank in range(ranks):
        journal = f"{out}/rank-{rank:05d}.journal"
        wait_for(lambda: process.poll() is not None or
                 os.path.exists(journal) and os.path.getsize(journal) > 60000, f"calls in {journal}", 60)
    h.check(process.poll() is None, "the job ended", process.returncode)
    return process


def processes_of(out):
    """Pids by the kind of the process: program, report (it stands by), profwrap (the others)."""
    found = {"program": [], "report": [], "profwrap": []}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            image, here = os.readlink(f"/proc/{pid}/exe"), os.readlink(f"/proc/{pid}/cwd")
            with open(f"/proc/{pid}/comm") as file:
                name = file.read().strip()
        except OSError:
            continue
        if here != os.getcwd() or int(pid) == os.getpid():
            continue
        if image == os.path.realpath(h.program("tally")):
            found["program"].append(int(pid))
        elif image == os.path.realpath(h.place("PROFWRAP")):
            found["report" if name == "profwrap-report" else "profwrap"].append(int(pid))
    return found


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def rank_of(program):
    with open(f"/proc/{program}/environ", "rb") as file:
        return int(dict(pair.partition(b"=")[::2] for pair in file.read().split(b"\0"))[b"OMPI_COMM_WORLD_RANK"])


@h.case
def launcher_learns_at_once_that_rank_0_died():
    """The other ranks run on until mpirun, which waits for the guard of rank 0, ends them. The report is
    made without mpirun, also when the guard of rank 0 is killed by SIGKILL."""
    for victim in ("program", "guard"):
        process = start_job(3, 0, "stay", out=victim)
        program = [pid for pid in processes_of(victim)["program"] if rank_of(pid) == 0][0]
        os.kill(program if victim == "program" else parent_of(parent_of(program)), signal.SIGKILL)
        errors = finish(process)
        h.equal(process.returncode, 128 + signal.SIGKILL, "status of mpirun")
        if victim == "program":
            h.equal(errors.count("report on this job is being made"), 1, "lines that tell of the report")
        h.wait_for_report(victim)
        wait_for(lambda: not any(processes_of(victim).values()), "end of all processes")
        for rank in range(3):
            _, _, attributes = recorded(victim, rank)
            h.equal(int(attributes["complete"]), 1, "complete")


@h.case
def launcher_learns_of_rank_0_after_its_collector_has_ended():
    """As when the guard gets no processor until then."""
    process = start_job(3, 0, "stay")
    program = [pid for pid in processes_of("out")["program"] if rank_of(pid) == 0][0]
    collector = parent_of(program)
    guard = parent_of(collector)
    h.check(stop(guard), "the guard ended")
    os.kill(program, signal.SIGKILL)
    wait_for(lambda: state_of(collector) == "Z", "end of the collector", 60)
    os.kill(guard, signal.SIGCONT)
    finish(process)
    h.equal(process.returncode, 128 + signal.SIGKILL, "status of mpirun")
    h.wait_for_report("out")


@h.case
def collector_killed_just_before_the_program():
    """The launcher need not wait, and yet another collector makes the rank's file, with the program's end."""
    for i in range(6):
        out = f"out{i}"
        process = start_job(2, 0, "stay", out=out)
        program = [pid for pid in processes_of(out)["program"] if rank_of(pid) == 1][0]
        collector = parent_of(program)
        os.kill(collector, signal.SIGKILL)
        os.kill(program, signal.SIGSEGV)
        finish(process)
        h.wait_for_report(out)
        _, _, attributes = recorded(out, 1)
        h.equal((int(attributes["complete"]), int(attributes["exit_signal"])), (2, signal.SIGSEGV),
                "complete, and the signal")


@h.case
def launcher_learns_of_a_ranks_end_by_its_socket_first():
    """As without profwrap where the socket has the highest number. The launcher waits for the ends of a socket and
    of two pipes, which the rank has twice each, as with MPICH's launcher. epoll tells of them in the order in
    which they came."""
    for command, status in (("exit 3", 3), ("kill -9 $$", -signal.SIGKILL)):
        mine, ranks = socket.socketpair()
        pipes = [os.pipe(), os.pipe()]
        writers = [writer for _, writer in pipes]
        h.check(ranks.fileno() < min(writers), "the socket's number is above those of the pipes")
        process = subprocess.Popen(h.profwrap("-q", "-o", f"out{status}", "--no-merge", "sh", "-c", command),
                                   env=h.environment(), pass_fds=[ranks.fileno(), *writers], stdout=writers[0],
                                   stderr=writers[1])
        ranks.close()
        for writer in writers:
            os.close(writer)
        readers = [mine.fileno(), *(reader for reader, _ in pipes)]
        ended = []
        with select.epoll() as ends:
            for reader in readers:
                ends.register(reader, select.EPOLLHUP)
            while len(ended) < len(readers):
                for reader, _ in ends.poll():
                    ended.append(reader)
                    ends.unregister(reader)
        h.equal(process.wait(), status, "status")
        h.equal(ended[0], mine.fileno(), f"what ended first, of {readers}")
        mine.close()
        for reader, _ in pipes:
            os.close(reader)


@h.case
def report_on_a_job_of_which_all_processes_were_killed():
    """`profwrap report` refuses while the job runs, and recovers and merges afterwards."""
    process = start_job(2, 0, "stay")
    done = h.run(h.profwrap("report", "out"), status=1)
    h.check(b"still run" in done.stderr, done.stderr)
    while any(found := processes_of("out").values()):
        for pid in sum(found, []):
            try:
                os.kill(pid, signal.SIGSTOP)  # so that none sees the others' end
            except ProcessLookupError:
                pass
        for pid in sum(processes_of("out").values(), []):
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: all(state_of(pid) in ("Z", None) for pid in sum(found, [])), "end of the processes")
    finish(process)
    h.check(not os.path.exists("out/cluster.h5"), "the job was merged")
    done = h.run(h.profwrap("report", "out"))
    h.check(b"2 ranks" in done.stdout, done.stdout[:1000])
    h.equal(h.rank_path("out", 0).split("/")[-1] in os.listdir("out"), True, "a rank file")


@h.case
def report_awaits_a_collector_that_is_late():
    """A user asks for the report as soon as the launcher has returned."""
    process = start(0, "stay")
    collector, program = collector_and_program(process.pid)
    stop(collector)
    os.kill(program, signal.SIGKILL)
    finish(process)
    asked = subprocess.Popen(list(map(str, h.profwrap("report", "out"))), env=h.environment(),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        time.sleep(0.5)
        h.equal(asked.poll(), None, "status of the report")
    finally:
        os.kill(collector, signal.SIGCONT)
    said, error = asked.communicate(timeout=h.PATIENCE_S)
    h.equal(asked.returncode, 0, error)
    h.check(b"killed by signal 9" in said, said[:300])


@h.case
def all_killed_and_recovered():
    """Guard, collector and program are killed at once. Recovery makes the file from the journal and
    the shared memory, however often it is tried; no process knows the program's exit status."""
    draw = random.Random(3)
    for i in range(4):
        process = start(0, "stay", out=f"out{i}")
        collector, program = collector_and_program(process.pid)
        time.sleep(draw.random() * 0.2)
        for pid in (process.pid, collector):
            os.kill(pid, signal.SIGKILL)
        process.wait()
        done = h.run(h.profwrap("recover", f"out{i}"))
        h.check(b"0 recovered, 1 still running" in done.stdout, done.stdout)
        time.sleep(draw.random() * 0.05)
        os.kill(program, signal.SIGKILL)
        wait_for(lambda: not os.path.exists(f"/proc/{program}"), "end of the program")
        done = h.run(h.profwrap("recover", f"out{i}"))
        h.check(b"1 recovered, 0 still running" in done.stdout, done.stdout)
        check_file(-1, 0, complete=2, out=f"out{i}")
        with open(h.rank_path(f"out{i}", 0), "rb") as file:
            before = file.read()
        done = h.run(h.profwrap("recover", f"out{i}"))
        h.check(b"0 recovered, 0 still running" in done.stdout, done.stdout)
        with open(h.rank_path(f"out{i}", 0), "rb") as file:
            h.check(file.read() == before, "a good file was changed")
        h.run(h.profwrap("merge", f"out{i}"))
        os.unlink("count")


@h.case
def recovered_once_the_disk_has_room():
    """Records for which the journal has no room stay in the rings for a later recovery."""
    for name, after in (("journal", 0), ("journal", 2000), ("rank-", 0)):
        out = f"out{after}{name[0]}"  # without the name: writes to all files in it would fail
        process = start(0, "stay", out=out)
        collector, program = collector_and_program(process.pid)
        os.kill(collector, signal.SIGSTOP)
        unread = count() + 2000
        wait_for(lambda: count() > unread, "calls beside a collector that stands still")
        for pid in (process.pid, collector, program):
            os.kill(pid, signal.SIGKILL)
        process.wait()
        wait_for(lambda: not os.path.exists(f"/proc/{program}"), "end of the program")
        full = {"LD_PRELOAD": h.program("libfailwrite.so"),
                "FAILWRITE": f"{errno.ENOSPC}:{after}:{name}"}
        for _ in range(2):
            done = h.run(h.profwrap("recover", out), 1, env=full)
            h.check(b"No space" in done.stderr, done.stderr)
        h.run(h.profwrap("recover", out))
        check_file(-1, 0, complete=2, out=out)
        os.unlink("count")


@h.case
def not_recovered_while_other_threads_run():
    """When the main thread has ended and other threads run, the program looks as if it had
    ended."""
    process = start(0, "leave")
    collector, program = collector_and_program(process.pid)
    for pid in (process.pid, collector):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    wait_for(lambda: not os.path.exists(f"/proc/{collector}"), "end of the collector")
    why = {"PROFWRAP_LOG": "recover:2"}
    done = h.run(h.profwrap("recover", "out"), env=why)
    h.check(b"0 recovered, 1 still running" in done.stdout, done.stdout)
    h.check(b"runs, so that its rings are left alone" in done.stderr, done.stderr)
    os.kill(program, signal.SIGKILL)
    wait_for(lambda: not os.path.exists(f"/proc/{program}"), "end of the program")
    done = h.run(h.profwrap("recover", "out"), env=why)
    h.check(b"1 recovered, 0 still running" in done.stdout, done.stdout)
    h.check(b"has ended, its rings are read" in done.stderr, done.stderr)
    h.check(b"rank 0: its file is whole" in done.stderr, done.stderr)
    check_file(-1, 0, complete=2)


@h.case
def recovered_from_a_copy():
    """Another machine does not have the run's shared memory, so the file is made from the journal
    alone."""
    process = start(0, "stay")
    collector, program = collector_and_program(process.pid)
    # The journal begins with 4 KiB about the rank; on a busy machine rings are emptied each second.
    wait_for(lambda: os.path.getsize("out/rank-00000.journal") > 20000, "calls in the journal")
    for pid in (process.pid, collector, program):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    subprocess.run(["cp", "-a", "out", "copy"], check=True)
    with open("copy/rank-00000.journal", "r+b") as file:
        data = file.read()
        at = data.index(b"/profwrap-0-")
        h.check(at > 0, "no name of a segment in the journal")
    segment = data[at:data.index(b"\0", at)].decode()
    os.unlink(f"/dev/shm{segment}")
    os.rename("copy/rank-00000.journal", "copy/rank-00007.journal")
    done = h.run(h.profwrap("recover", "copy"), status=1)
    h.check(b"rank 7 in copy cannot be recovered: its journal is another rank's" in done.stderr,
            done.stderr)
    h.equal(os.listdir("copy").count("rank-00007.journal"), 1, "journals of the wrong name")
    os.rename("copy/rank-00007.journal", "copy/rank-00000.journal")
    h.run(h.profwrap("recover", "copy"))
    least, most, attributes = recorded("copy")
    h.check(0 < least <= count(), "calls", least, "of", count())
    h.check(most <= least + 1, least, most)
    h.equal(int(attributes["complete"]), 2, "complete")


def with_descriptors(number, command, env=None):
    """Runs the command with at most this number of open files. Returns what it printed and its status."""
    done = h.run(command, status=None, env=env,
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (number, number)))
    return done.stdout, done.returncode, done.stderr.decode(errors="replace")


@h.case
def runs_with_few_descriptors():
    """The program has its own output and status also where profwrap cannot open what it needs, and one
    that cannot be executed is said to be so. The loader needs the fourth descriptor."""
    for number in range(4, 10):
        profiled = h.profwrap("-o", f"out{number}", "--no-merge")
        found = with_descriptors(number, [*profiled, "/bin/sh", "-c", "echo here; exit 3"])
        h.equal(found[:2], (b"here\n", 3), f"with {number} descriptors, saying {found[2]}")
    with open("script", "w") as file:
        file.write("#!/no/interpreter\n")
    os.chmod("script", 0o755)
    for number in (4, 40):
        done = with_descriptors(number, h.profwrap("-o", f"none{number}", "--no-merge", "./script"))
        h.equal(done[1], 127, f"status with {number} descriptors")
        h.check("profwrap: cannot run ./script: No such file" in done[2], done[2])


@h.case
def a_rank_with_few_descriptors_is_of_its_job():
    """Without a number of the job, a rank looks whether the others run. It takes them for ranks of its job
    when it cannot look."""
    job = {"WORLD_SIZE": "2", "LOCAL_RANK": "0"}
    for number in range(4, 10):
        out = f"out{number}"
        other = subprocess.Popen(h.profwrap("-o", out, "--no-merge", "/bin/sh", "-c", "echo up; read line"),
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 env=h.environment(**job, RANK="0"))
        h.equal(other.stdout.readline(), b"up\n", "the other rank")
        found = with_descriptors(number, h.profwrap("-o", out, "--no-merge", "/bin/sh", "-c", "exit 3"),
                                 env={**job, "RANK": "1"})
        other.communicate(b"\n", timeout=h.PATIENCE_S)
        h.equal(found[1], 3, f"status with {number} descriptors, saying {found[2]}")


@h.case
def recover_takes_all_epochs():
    """The ranks of a job were killed before and after a restart. The directory of an epoch may be
    given, too."""
    process = start(0, "stay")
    collector, program = collector_and_program(process.pid)
    for pid in (process.pid, collector, program):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    for pid in (collector, program):
        wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "end of a killed process")
    subprocess.run(["cp", "-a", "out", "job"], check=True)
    subprocess.run(["cp", "-a", "out", "job/epoch-2"], check=True)
    shutil.copytree("job/epoch-2", "one/epoch-2", symlinks=True)
    shutil.copy("job/rank-00000.journal", "one")
    done = h.run(h.profwrap("recover", "one/epoch-2"))
    h.equal(done.stdout.decode(), "1 recovered, 0 still running, 0 failed\n", "one epoch")
    h.check("rank-00000.h5" in os.listdir("one/epoch-2"), "epoch 2 alone", os.listdir("one/epoch-2"))
    h.check("rank-00000.h5" not in os.listdir("one"), "another epoch", os.listdir("one"))
    done = h.run(h.profwrap("recover", "job"))
    h.equal(done.stdout.decode(), "2 recovered, 0 still running, 0 failed\n", "both epochs")
    for directory in ("job", "job/epoch-2"):
        names = os.listdir(directory)
        h.check("rank-00000.h5" in names and "rank-00000.journal" not in names, directory, names)


@h.case
def recover_takes_as_long_as_there_are_epochs():
    """And not as long as their numbers are large: these differ by all that an int can hold."""
    os.makedirs("job/epoch-3")
    os.mkdir("job/epoch-2147483647")
    shutil.copytree("job/epoch-3", "job/epoch-2147483648")  # no number of ours
    with open("job/epoch-2147483647/rank-00000.journal", "wb") as file:
        file.write(b"no journal")
    done = h.run(h.profwrap("recover", "job"), status=1)
    h.equal(done.stdout.decode(), "0 recovered, 0 still running, 1 failed\n", "the last epoch")


@h.case
def recover_tells_what_it_cannot():
    os.mkdir("bad")
    with open("bad/rank-00003.journal", "wb") as file:
        file.write(b"no journal")
    done = h.run(h.profwrap("recover", "bad"), status=1)
    h.check(b"rank 3 in bad cannot be recovered" in done.stderr, done.stderr)
    h.equal(len(h.lines(done.stderr)), 1, "lines")
    h.check(os.path.exists("bad/rank-00003.journal"), "the journal is gone")
    done = h.run(h.profwrap("recover", "nowhere"), status=1)
    h.check(b"nowhere" in done.stderr, done.stderr)
    h.run(h.profwrap("recover"), status=2)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
