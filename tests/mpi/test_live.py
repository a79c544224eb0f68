"""`profwrap report --watch` and `profwrap ctl metrics` on a job that runs."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import urllib.request

import harness as h

N = 3
WORST = 1


@contextlib.contextmanager
def running(steps=400):
    """A training whose rank 1 is slow; ended, should it still run."""
    command = h.mpirun(N, *h.profwrap("-o", "out", "--no-merge"), h.place("TRAIN"),
                       "--steps", steps, "--inject", f"rank={WORST},phase=backward,ms=25")
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=h.environment())
    try:
        await_steps(job)
        yield job
    finally:
        if job.poll() is None:
            job.terminate()
        job.communicate(timeout=h.PATIENCE_S)


def metrics():
    return h.run(h.profwrap("ctl", "metrics", "out")).stdout.decode()


def await_steps(job):
    until = time.monotonic() + 40
    while True:
        with contextlib.suppress(AssertionError):
            found = values(metrics())
            if all(found.get(("profwrap_steps_total", rank), 0) > 8 for rank in range(N)):
                return
        h.check(job.poll() is None and time.monotonic() < until, "the job did not get as far")
        time.sleep(0.2)


def values(text):
    """{(name, rank): value}; of samples that have no other label."""
    found = re.findall(r'^(\w+)\{rank="(\d+)"\} (\S+)$', text, re.MULTILINE)
    return {(name, int(rank)): float(value) for name, rank, value in found}


def inside_mpi(file, until):
    """Seconds inside the calls that had ended by then; of nonblocking operations only the call that
    began them, for that which completed them has a row of its own."""
    rows = file["events/comm"][:]
    rows = rows[rows["end"] <= until]
    waited = (rows["end"] - rows["wait_start"]) * (rows["wait_start"] > 0)
    nonblocking = (rows["flags"] & 4) != 0
    return float((rows["inside_ns"] - waited * nonblocking).sum()) / 1e9


@h.case
def metrics_agree_with_the_files():
    """Steps are equal, and so is the time inside MPI, by 5 %."""
    with running() as job:
        text = metrics()
        job.communicate(timeout=h.PATIENCE_S)
    found = values(text)
    for rank in range(N):
        file = h.open_complete("out", rank)
        steps, now = file["steps"][:], int(found["profwrap_current_step", rank])
        before = steps[steps["step"] < now]
        h.equal(found["profwrap_steps_total", rank], float(len(before)), "steps")
        seconds = float((before["end"] - before["start"]).sum()) / 1e9
        told = found["profwrap_steps_seconds_total", rank]
        h.check(abs(told - seconds) < 0.01 * seconds, told, "seconds in steps, not", seconds)
        mean = float((before["end"] - before["start"])[-32:].mean()) / 1e9
        told = found["profwrap_step_mean_seconds", rank]
        h.check(abs(told - mean) < 0.01 * mean, "mean", told, "not", mean)
        step = steps[steps["step"] == now][0]
        least, most = inside_mpi(file, step["start"]), inside_mpi(file, step["end"])
        told = found["profwrap_mpi_seconds_total", rank]
        h.check(0.95 * least <= told <= 1.05 * most, told, "seconds in MPI, not", least, "to", most)
        h.equal(found["profwrap_recording", rank], 1.0, "recording")
        h.equal(found["profwrap_mpi_unrecorded", rank], 0.0, "MPI that is not recorded")
        h.equal(found["profwrap_dropped_events_total", rank], 0.0, "dropped events")
    share = [found["profwrap_step_mpi_seconds", r] / found["profwrap_step_mean_seconds", r]
             for r in range(N)]
    h.equal(share.index(min(share)), WORST, "the rank that waits least")


@h.case
def metrics_are_openmetrics():
    """Read by the parser of those who know."""
    try:
        from prometheus_client.openmetrics import parser
    except ImportError:
        raise h.Skipped("this Python has no prometheus_client") from None
    with running(steps=150):
        families = {f.name: f for f in parser.text_string_to_metric_families(metrics())}
    h.equal(families["profwrap_mpi_seconds"].unit, "seconds", "unit")
    h.equal(families["profwrap_steps"].type, "counter", "type")
    h.equal([s.labels["rank"] for s in families["profwrap_rank"].samples],
            [str(r) for r in range(N)], "ranks")
    h.check(len(families) == 14, list(families))


def serve(at):
    """The server, and what it says of where it is."""
    server = subprocess.Popen(h.profwrap("ctl", "metrics", "--listen", at, "out"),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return server, server.stdout.readline().decode().strip()


def talk(address, request, finish=False):
    """All that is answered to these bytes."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(30)
        client.connect(address)
        with contextlib.suppress(OSError):
            client.sendall(request)
            if finish:
                client.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := client.recv(65536):
                answer += piece
        return answer


@h.case
def listen():
    """To scrapers, good and bad, until the job ends."""
    with running(steps=500) as job:
        server, url = serve("0")
        h.check(url.startswith("http://127.0.0.1:"), url)
        port = int(re.search(r":(\d+)/", url).group(1))
        with urllib.request.urlopen(url, timeout=30) as answer:
            h.check("openmetrics-text" in answer.headers["Content-Type"], answer.headers)
            h.equal(len(values(answer.read().decode())) // N, 11, "metrics")
        for request, wanted in ((b"POST /metrics HTTP/1.1\r\n\r\n", b"405"),
                                (b"GET / HTTP/1.1\r\n\r\n", b"404"),
                                (b"GET /metricsx HTTP/1.1\r\n\r\n", b"404"),
                                (b"nonsense\r\n\r\n", b"400"),
                                (b"GET /metrics\r\nX: HTTP/1.1\r\n\r\n", b"400"),
                                (b"GET /\0 HTTP/1.1\r\n\r\n", b"400"),
                                (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 20000, b"431"),
                                (b"GET /metrics HTTP/1.1\r\n", b"408")):  # and then nothing
            h.equal(talk(("127.0.0.1", port), request)[9:12], wanted, request[:40])
        talk(("127.0.0.1", port), b"GET /met", finish=True)
        h.check(b"# EOF\n" in talk(("127.0.0.1", port), b"GET /metrics HTTP/1.0\r\n\r\n"), "gone")
        other, place = serve("unix:socket")
        h.equal((place, os.stat("socket").st_mode & 0o777), ("unix:socket", 0o600), "socket")
        h.check(b"# EOF\n" in talk("socket", b"GET /metrics HTTP/1.1\r\n\r\n"), "not served")
        other.send_signal(signal.SIGINT)
        h.equal((other.wait(10), os.path.exists("socket")), (0, False), "after Ctrl-C")
        taken = h.run(h.profwrap("ctl", "metrics", "--listen", port, "out"), status=1)
        h.check(b"Address already in use" in taken.stderr, taken.stderr)
        for at in ("", ":80", "host:80", "1.2.3.4", "65536", "-1", "::1:80", "unix:", "1.2.3.4:x"):
            if at:
                h.run(h.profwrap("ctl", "metrics", "--listen", at, "out"), status=2)
        job.communicate(timeout=h.PATIENCE_S)
        h.equal(server.wait(20), 0, "exit status when the job has ended")


@h.case
def watch_in_a_file():
    """A block each second, without escapes, until the job ends."""
    with running(steps=250) as job:
        done = h.run(h.profwrap("report", "--watch", "out"))
        h.equal(job.wait(20), 0, "exit status of the job")
    text = done.stdout.decode()
    blocks = text.split("\n\n")
    h.check(len(blocks) > 2 and "\033" not in text, text[:2000])
    for block in blocks[:-1]:
        h.check(block.startswith("out: 3 ranks, step"), block)
        h.check(re.search(r"^step time +\S+ m?s mean of the last 32, \S+ m?s the last$", block,
                          re.MULTILINE), block)
    h.check(f"rank {WORST} works" in blocks[1], blocks[1])
    h.check(text.endswith("The job has ended.\n"), text[-500:])
    again = h.run(h.profwrap("report", "--watch", "out"), status=1)
    h.equal(h.lines(again.stderr), ["profwrap: no job runs in out: 'profwrap report out' shows one "
                                    "that has ended"], "of a job that has ended")


def read_some(fd, seconds):
    text, until = b"", time.monotonic() + seconds
    os.set_blocking(fd, False)
    while time.monotonic() < until:
        with contextlib.suppress(BlockingIOError, OSError):
            text += os.read(fd, 65536)
        time.sleep(0.05)
    return text


@h.case
def watch_on_a_terminal():
    """In its place, no wider than it; Ctrl-C leaves it as it was."""
    with running():
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        before = termios.tcgetattr(slave)
        watch = subprocess.Popen(h.profwrap("report", "--watch", "out"), stdin=slave, stdout=slave,
                                 stderr=slave, start_new_session=True,
                                 env=h.environment(TERM="xterm", NO_COLOR=""))
        text = read_some(master, 4)
        watch.send_signal(signal.SIGINT)
        h.equal(watch.wait(10), 0, "exit status")
        text += read_some(master, 0.5)
        h.equal(termios.tcgetattr(slave), before, "settings of the terminal")
    h.check(text.startswith(b"\033[?1049h\033[?25l\033[H"), text[:200])
    shown, rest = text.split(b"\033[?25h\033[?1049l")
    h.check(shown.count(b"\033[H") >= 3 and b"\033[31m" in shown, shown)
    h.check(b"\033[?" not in rest and b"out: 3 ranks" in rest, rest)
    for line in re.sub(rb"\033\[[0-9;?]*[a-zA-Z]", b"", shown + rest).split(b"\n"):
        h.check(len(line.rstrip(b"\r")) <= 60, line)


@h.case
def refusals():
    """Nobody to ask; what does not go together."""
    os.mkdir("empty")
    for command in (("ctl", "metrics", "empty"), ("report", "--watch", "empty"),
                    ("report", "--watch", "nowhere")):
        done = h.run(h.profwrap(*command), status=1)
        h.equal(len(h.lines(done.stderr)), 1, f"lines of {command}: {done.stderr}")
    h.run(h.profwrap("report", "--watch", "--format", "json", "empty"), status=2)
    h.run(h.profwrap("report", "--watch", "-o", "file", "empty"), status=2)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
