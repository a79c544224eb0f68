"""`profwrap report --watch` and `profwrap ctl metrics` on a running job."""

import contextlib
import fcntl
import json
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "accuracy"))
import harness as h  # noqa: E402
import mcpclient  # noqa: E402
from sockets import connect, is_open, receive, talk  # noqa: E402

N = 3
WORST = 1


@contextlib.contextmanager
def running(steps=400, delay="ms=25", ranks=N, of_launcher=()):
    """Starts a training job whose rank 1 is slow: with options of `profwrap LAUNCHER`, by that. Ends the job
    with the block."""
    program = [h.place("TRAIN"), "--steps", steps, "--inject", f"rank={WORST},phase=backward,{delay}"]
    profwrap = h.profwrap("-o", "out", "--no-merge", *of_launcher)
    command = profwrap + h.mpirun(ranks, *program) if of_launcher else h.mpirun(ranks, *profwrap, *program)
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=h.environment())
    try:
        await_steps(job, ranks)
        yield job
    finally:
        if job.poll() is None:
            job.terminate()
        job.communicate(timeout=h.PATIENCE_S)


def metrics():
    return h.run(h.profwrap("ctl", "metrics", "out")).stdout.decode()


def await_steps(job, ranks):
    until = time.monotonic() + h.PATIENCE_S
    while True:
        with contextlib.suppress(AssertionError):
            found = values(metrics())
            if all(found.get(("profwrap_steps_total", rank), 0) > 8 for rank in range(ranks)):
                return
        h.check(job.poll() is None and time.monotonic() < until, "the job did not get as far")
        time.sleep(0.2)


def values(text):
    """{(name, rank): value} of the samples that have no other label."""
    found = re.findall(r'^(\w+)\{rank="(\d+)"\} (\S+)$', text, re.MULTILINE)
    return {(name, int(rank)): float(value) for name, rank, value in found}


def inside_mpi(file, until):
    """Seconds inside the calls that had ended by then. Of a nonblocking operation, only the call
    that started it counts, because the call that completed it has its own row."""
    rows = file["events/comm"][:]
    rows = rows[rows["end"] <= until]
    waited = (rows["end"] - rows["wait_start"]) * (rows["wait_start"] > 0)
    nonblocking = (rows["flags"] & 4) != 0
    return float((rows["inside_ns"] - waited * nonblocking).sum()) / 1e9


@h.case
def metrics_agree_with_the_files():
    """Steps are equal, and the time inside MPI differs by at most 5 %."""
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
    """The parser of prometheus_client reads the metrics."""
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
    h.check(len(families) == 15, list(families))


@h.case
def a_running_job_is_asked():
    """The answer is of the live figures; when the job has ended, a server that was there before merges and
    answers."""
    profwrap = h.profwrap()[0]
    with running(steps=150) as job:
        server = mcpclient.Server(profwrap, "out", env=h.environment())
        told = server.call("verdict")
        asked = json.loads(h.run(h.profwrap("ask", "--format", "json", "out", "rank", "rank=0")).stdout)
        for answer in (told, asked):
            h.check(answer["is_running"] and "still runs" in answer["answer"], answer)
            h.equal({row["rank"] for row in answer["rows"]}, set(range(N)), "ranks")
            h.equal(answer["rows"][0]["rank"], WORST, "the rank with most time outside MPI")
            h.check(25e6 < answer["rows"][0]["step_mean_ns"], "a step is longer than its delay", answer)
        h.check(not os.path.exists("out/.ctl-request"), "a request is left")
        job.communicate(timeout=h.PATIENCE_S)
    ended = server.call("verdict")
    h.check("is_running" not in ended and f"Rank {WORST} " in ended["answer"], ended)
    server.end()


def names(text):
    """Of what both the server and the command know."""
    return {name for name in values(text.decode()) if "slow_rank" not in name[0] and "compared" not in name[0]}


def need_server():
    path = os.path.join(os.path.dirname(h.place("PROFWRAP")), "..", "libexec", "profwrap",
                        "profwrap-metrics")
    if not os.path.exists(path):
        raise h.Skipped("built without libmicrohttpd")


@contextlib.contextmanager
def serving(*options):
    """Starts the server. Gives the process and the place that it prints."""
    server = subprocess.Popen(h.profwrap("ctl", "metrics", *options, "out"), env=h.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        where = server.stdout.readline().decode().strip()
        h.check(where, "the server said nothing:", server.poll())
        yield server, where
    finally:
        if server.poll() is None:
            server.terminate()
        server.communicate(timeout=h.PATIENCE_S)


def request(line="GET /metrics HTTP/1.1", host="localhost", token=None, more=""):
    lines = [line] + [f"Host: {host}"] * (host is not None)
    lines += [f"Authorization: Bearer {token}"] * (token is not None)
    return ("\r\n".join(lines) + "\r\n" + more + "\r\n").encode()


def check_status(address, wanted, *arguments, **more):
    answer = talk(address, request(*arguments, **more))
    h.equal(answer[9:12].decode(), str(wanted), f"status of {arguments} {more}: {answer[:300]}")
    return answer


def read_token(path="out/metrics.token"):
    status = os.stat(path)
    h.equal(status.st_mode & 0o777, 0o600, "mode of the token")
    with open(path) as file:
        return file.read().strip()


@h.case
def metrics_by_a_socket():
    """The server makes a socket in the run's directory. Only the owner can use it, and it lasts
    until the job ends."""
    need_server()
    with running(steps=100000) as job, serving("--serve") as (server, where):
        h.equal(where, "unix:out/metrics.sock", "place")
        h.equal(os.stat("out/metrics.sock").st_mode & 0o777, 0o600, "mode of the socket")
        h.equal(names(check_status("out/metrics.sock", 200)), names(metrics().encode()), "metrics")
        check_status("out/metrics.sock", 200, host="any.name")  # no browser gets here
        with serving("--listen", "unix:other") as (other, place):
            h.equal(place, "unix:other", "place")
            check_status("other", 200)
            other.send_signal(signal.SIGINT)
            h.equal((other.wait(20), os.path.exists("other")), (0, False), "after Ctrl-C")
        if h.is_root("another user, who is refused"):
            os.chmod(".", 0o755)
            os.chmod("out", 0o755)
            os.chmod("out/metrics.sock", 0o777)
            code = ("import socket; s = socket.socket(socket.AF_UNIX); s.connect('out/metrics.sock');"
                    " s.sendall(b'GET /metrics HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n');"
                    " print(s.recv(99))")
            done = h.run([sys.executable, "-c", code], user=65534, group=65534, extra_groups=[])
            h.check(b" 403 " in done.stdout, "another user", done.stdout)
        job.terminate()
        job.communicate(timeout=h.PATIENCE_S)
        h.equal(server.wait(h.PATIENCE_S), 0, "exit status when the job has ended")
        h.check(not os.path.exists("out/metrics.sock"), "the socket is still there")


@h.case
def a_slow_rank_is_a_metric():
    need_server()
    with running(steps=100000, ranks=4), serving("--serve"):
        until, slow = time.monotonic() + h.PATIENCE_S, None
        while slow is None:
            h.check(time.monotonic() < until, "the rank is not slow in the metrics")
            time.sleep(1)
            text = talk("out/metrics.sock", request()).decode()
            slow = re.search(r'^profwrap_slow_rank_info\{rank="(\d+)",phase="(\w+)",cause="\w+"\} 1$', text,
                             re.MULTILINE)
            if slow and slow.group(2) == "none":  # the phase is not known yet
                slow = None
    h.equal((int(slow.group(1)), slow.group(2)), (WORST, "backward"), "rank and phase")
    excess = re.search(rf'^profwrap_slow_rank_excess_seconds\{{rank="{WORST}"\}} (\S+)$', text, re.MULTILINE)
    h.check(0.01 < float(excess.group(1)), "the rank sleeps 25 ms, while the others work", text)
    h.check("\nprofwrap_slow_ranks 1\n" in text, text)
    steps = int(re.search(r"^profwrap_compared_steps_total (\d+)$", text, re.MULTILINE).group(1))
    h.check(steps > 0, "no step was compared", text)


@h.case
def metrics_of_a_directory_with_a_long_path():
    """The path is longer than the address of a socket can be."""
    need_server()
    folder = os.path.abspath("/".join(["d" * 60] * 3))
    os.makedirs(folder)
    with running(steps=100000):
        long = os.path.join(folder, "job")
        os.symlink(os.path.abspath("out"), long)
        server = subprocess.Popen(h.profwrap("ctl", "metrics", "--serve", long),
                                  env=h.environment(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        where = server.stdout.readline().decode().strip()
        h.equal(where, f"unix:{long}/metrics.sock", server.poll())
        check_status("out/metrics.sock", 200)
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=h.PATIENCE_S)
        h.equal((server.returncode, os.path.exists("out/metrics.sock")), (0, False), "Ctrl-C")
        name = "x" * 100
        done = h.run(h.profwrap("ctl", "metrics", "--listen", f"unix:{folder}/{name}", "out"), 2)
        h.check(b"name of at most 80 bytes" in done.stderr, done.stderr)


@h.case
def metrics_by_tcp():
    """A client must send the token, and a Host header with a name or an address of this machine."""
    need_server()
    with running(steps=100000), serving("--listen", "0") as (server, url):
        h.check(url.startswith("http://127.0.0.1:"), url)
        port = int(re.search(r":(\d+)/", url).group(1))
        h.equal(server.stdout.readline(), b"token in out/metrics.token\n", "where the token is")
        token, at = read_token(), ("127.0.0.1", port)
        asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=h.PATIENCE_S) as answer:
            h.check("openmetrics-text" in answer.headers["Content-Type"], answer.headers)
            h.equal(names(answer.read()), names(metrics().encode()), "metrics")
        for wrong in (None, "", "x", token[:-1], token + "0", token[::-1], "\x01" + token):
            answer = check_status(at, 401, token=wrong)
            h.check(b"profwrap_" not in answer and b"WWW-Authenticate: Bearer" in answer, answer)
        for host, wanted in (("127.0.0.1", 200), (f"127.0.0.1:{port}", 200), ("LOCALHOST:1", 200),
                             ("[::1]:80", 200), (socket.gethostname(), 200), ("evil.example", 421),
                             ("localhost.evil.example", 421), ("[::1", 421), ("127.0.0.1.evil", 421),
                             ("", 421), (None, 400)):
            check_status(at, wanted, host=host, token=token)
        check_status(at, 401, host="localhost")
        check_status(at, 405, "POST /metrics HTTP/1.1", token=token, more="Content-Length: 0\r\n")
        check_status(at, 404, "GET / HTTP/1.1", token=token)
        check_status(at, 404, "GET /metricsx HTTP/1.1", token=token)
        check_status(at, 200, "GET /metrics?x=1 HTTP/1.1", token=token)
        for odd in (b"nonsense\r\n\r\n", b"\0" * 100, b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 99999):
            h.check(b"profwrap_" not in talk(at, odd), odd[:40])
        taken = h.run(h.profwrap("ctl", "metrics", "--listen", port, "out"), status=1)
        h.check(b"Address already in use" in taken.stderr, taken.stderr)


@h.case
def metrics_options():
    need_server()
    with running(steps=100000):
        for at in (":80", "host:80", "1.2.3.4", "65536", "-1", "::1:80", "unix:", "1.2.3.4:x"):
            done = h.run(h.profwrap("ctl", "metrics", "--listen", at, "out"), status=2)
            h.equal(len(h.lines(done.stderr)), 1, f"lines with {at}: {done.stderr}")
        with open("token", "w") as file:
            file.write("a-token-of-mine-1234\n")
        os.mkfifo("pipe", 0o600)
        os.chmod("token", 0o644)
        for name in ("token", "pipe", "nowhere", "/dev/null"):
            done = h.run(h.profwrap("ctl", "metrics", "--listen", "0", "--token", name, "out"), 1)
            h.equal(len(h.lines(done.stderr)), 1, f"lines with {name}: {done.stderr}")
        os.chmod("token", 0o600)
        with serving("--listen", "0", "--token", "token") as (_, url):
            at = ("127.0.0.1", int(re.search(r":(\d+)/", url).group(1)))
            check_status(at, 200, token="a-token-of-mine-1234")


@h.case
def slow_connections_delay_no_scrape():
    """64 clients send a byte now and then, or nothing. Other clients get answers meanwhile, and the
    server closes the slow connections after some seconds."""
    need_server()
    with running(steps=100000), serving("--listen", "0") as (_, url):
        at = ("127.0.0.1", int(re.search(r":(\d+)/", url).group(1)))
        token = read_token()
        slow = [connect(at) for _ in range(64)]
        for number, client in enumerate(slow[:48]):
            client.sendall(request(token=token)[: 1 + number])
        check_status(at, 200, token=token)
        h.check(any(is_open(client) for client in slow), "it waited for the end of the slow ones")
        for client in slow:
            receive(client)
            client.close()
        check_status(at, 200, token=token)


@h.case
def watch_in_a_file():
    """The output has a block each second, without escape sequences, until the job ends. The order of three ranks
    needs up to a hundred steps for an alarm; a watch of a busy machine saw none of the first 94."""
    with running(steps=500) as job:
        done = h.run(h.profwrap("report", "--watch", "out"))
        h.equal(job.wait(h.PATIENCE_S), 0, "exit status of the job")
    text = done.stdout.decode()
    blocks = text.split("\n\n")
    h.check(len(blocks) > 2 and "\033" not in text, text[:2000])
    for block in blocks[:-1]:
        h.check(block.startswith("out: 3 ranks, step"), block)
        h.check(re.search(r"^step time +\S+ m?s mean of the last 32, \S+ m?s the last$", block,
                          re.MULTILINE), block)
        h.check(re.search(r"^slow rank", block, re.MULTILINE), block)
    # The rank sleeps 25 ms more in each step, so the alarm does not depend on the load of the machine.
    slow = re.findall(r"^slow rank +\S+ rank (\d+) on \S+ is slow in (\w+) since step \d+$", text, re.MULTILINE)
    h.check((str(WORST), "backward") in slow, text[-3000:])
    h.check("false alarms: at most 0.01 a day" in text, text[-3000:])
    h.check(text.endswith("The job has ended.\n"), text[-500:])
    again = h.run(h.profwrap("report", "--watch", "out"), status=1)
    h.equal(h.lines(again.stderr), ["profwrap: no job runs in out: 'profwrap report out' shows one "
                                    "that has ended"], "of a job that has ended")


@h.case
def an_alarm_is_taken_back():
    """A rank that is slow for a part of the run is named while it is, and over afterwards: in the view, by lines,
    and by commands, whatever these do. The order of four ranks needs some 20 steps for it; that of three, up to
    a hundred."""
    options = ["--alerts", "--on-alert", "cat >> alerts; exit 3"]
    with running(steps=700, delay="ms=150,steps=60-170", ranks=4, of_launcher=options) as job:
        text = h.run(h.profwrap("report", "--watch", "out")).stdout.decode()
        said = h.lines(job.communicate(timeout=h.PATIENCE_S)[1])
        h.equal(job.returncode, 0, "exit status of the job")
    over = re.findall(r"^over +\S+ rank (\d+) on \S+ was slow in (\w+) in steps (\d+)-(\d+)$", text, re.MULTILINE)
    check_alarm([(int(rank), phase, int(first), int(last)) for rank, phase, first, last in over])
    lines = [line.removeprefix("profwrap: ") for line in said if re.match(r"profwrap: \d\d:", line)]
    with open("alerts", encoding="utf-8") as file:
        alerts = [json.loads(line) for line in file]
    h.equal(sorted(alert["text"] for alert in alerts), sorted(lines), "texts of the commands' inputs, and lines")
    alarms = [alert for alert in alerts if alert.get("rank") == WORST]
    h.equal({alarm["event"] for alarm in alarms}, {"slow_rank", "over"}, "events")
    check_alarm([(WORST, alarm["phase"], alarm["first_step"], alarm["last_step"]) for alarm in alarms
                 if alarm["event"] == "over"])
    # 110 steps of 150 ms more, among as many as the alarm has.
    h.check(any(alarm["excess_ns"] * (alarm["last_step"] - alarm["first_step"] + 1) > 100 * 120e6
                and alarm["directory"] == os.path.abspath("out") for alarm in alarms), alarms)
    h.equal({line for line in said if "alert" in line}, {"profwrap: the command of --on-alert ended with status 3"},
            "said of the commands")


def check_alarm(alarms):
    """The slow steps are 60 to 170. When it began is an estimate: other work of the machine's, too, slows ranks,
    and may hide that this one is slow."""
    if not any((rank, phase) == (WORST, "backward") and 24 <= first <= 110 and 165 <= last
               for rank, phase, first, last in alarms):
        h.skip_on_a_busy_machine()
        h.check(False, alarms)


def read_some(fd, seconds, is_enough=lambda text: False):
    text, until = b"", time.monotonic() + seconds
    os.set_blocking(fd, False)
    while time.monotonic() < until and not is_enough(text):
        with contextlib.suppress(BlockingIOError, OSError):
            text += os.read(fd, 65536)
        time.sleep(0.05)
    return text


@h.case
def watch_on_a_terminal():
    """Each block replaces the one before, and no line is wider than the terminal. Ctrl-C restores
    the terminal."""
    with running():
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        before = termios.tcgetattr(slave)
        watch = subprocess.Popen(h.profwrap("report", "--watch", "out"), stdin=slave, stdout=slave,
                                 stderr=slave, start_new_session=True,
                                 env=h.environment(TERM="xterm", NO_COLOR=""))
        text = read_some(master, h.PATIENCE_S, lambda text: text.count(b"\033[H") >= 3 and b"\033[31m" in text)
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
    """A directory without a running job, and options that exclude each other, are refused."""
    os.mkdir("empty")
    for command in (("ctl", "metrics", "empty"), ("report", "--watch", "empty"),
                    ("report", "--watch", "nowhere")):
        done = h.run(h.profwrap(*command), status=1)
        h.equal(len(h.lines(done.stderr)), 1, f"lines of {command}: {done.stderr}")
    h.run(h.profwrap("report", "--watch", "--format", "json", "empty"), status=2)
    h.run(h.profwrap("report", "--watch", "-o", "file", "empty"), status=2)
    for rate in ("", "1", "0/day", "-1/day", "1/fortnight", "nan/day", "1e9/day"):
        h.run(h.profwrap("report", "--watch", "--false-alarms", rate, "empty"), status=2)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
