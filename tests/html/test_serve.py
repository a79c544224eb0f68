"""`profwrap report --serve`: what it sends, what it refuses, and the served page in a real browser.
test_serve.py CASE...   test_serve.py --list"""
import base64
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
import zlib

import browser as b
import harness as h
from sockets import connect, is_open, receive, talk

NONBLOCKING, ROUNDING_NS = 4, 32  # of tables.h and of the clock


def need_server():
    if not os.path.exists(os.path.join(os.path.dirname(h.place("PROFWRAP")), "..", "libexec",
                                       "profwrap", "profwrap-serve")):
        raise h.Skipped("built without libmicrohttpd")


def state_of(pid):
    """What the kernel says of a process that should have ended."""
    said = [f"process {pid}"]
    for name in ("wchan", "syscall"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}") as file:
            said.append(f"{name} {file.read().strip()}")
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
        said += re.findall(r"^(?:State|PPid|SigPnd|ShdPnd|SigBlk|SigCgt):.*", file.read(), re.M)
    return ", ".join(said)


class Server:
    """A server of a run. url ends with "/"."""

    def __init__(self, process):
        self.process = process
        self.url = process.stdout.readline().decode().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", self.url)
        h.check(found, "the server printed", repr(self.url), process.poll())
        self.at, self.token = ("127.0.0.1", int(found[1])), found[2]

    def get(self, what):
        with urllib.request.urlopen(self.url + what, timeout=h.PATIENCE_S) as answer:
            return answer.read()

    def timeline(self, first, last=None, rank=-1):
        """The object of a step, and its trace."""
        one = json.loads(self.get(f"step/{first}/{first if last is None else last}/{rank}"))
        return one, json.loads(zlib.decompress(base64.b64decode(one["packed"])))

    def status(self, path, host="127.0.0.1", method="GET", more=""):
        """Sends a request for a path as it is. Returns the status and the whole answer."""
        lines = [f"{method} {path} HTTP/1.1"] + [f"Host: {host}"] * (host is not None)
        answer = talk(self.at, ("\r\n".join(lines) + "\r\n" + more + "\r\n").encode())
        return int(answer[9:12] or 0), answer

    def check_status(self, wanted, *arguments, **more):
        found, answer = self.status(*arguments, **more)
        h.equal(found, wanted, f"status of {arguments} {more}: {answer[:300]}")
        return answer

    def children(self):
        with contextlib.suppress(FileNotFoundError), \
                open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            return [int(pid) for pid in file.read().split()]
        return []

    def end(self, number=signal.SIGINT):
        """Returns the exit status and what was printed after the address."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            more, errors = self.process.communicate(timeout=h.PATIENCE_S)
        except subprocess.TimeoutExpired:
            for pid in (self.process.pid, *self.children()):
                print(f"goes on after {number!r}:", state_of(pid))
            raise
        return self.process.returncode, more, errors


@contextlib.contextmanager
def serving(folder, *options):
    need_server()
    server = Server(subprocess.Popen(h.profwrap("report", "--serve", *options, folder),
                                     env=h.environment(), stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE))
    try:
        yield server
    finally:
        server.end()


def copy_of(name):
    """A run of this test, which it may damage."""
    return shutil.copytree(b.run(name), os.path.abspath("copy"))


# ---- the rank files, read without profwrap ----


def to_cluster(knots, local):
    """The cluster time of a local time: between two knots the offset is interpolated."""
    before = [knot for knot in knots if knot[0] <= local] or knots[:1]
    if not before:
        return local
    at, offset = before[-1]
    later = [knot for knot in knots if knot[0] > local]
    if not later or local < at:
        return local + offset
    share = float(local - at) / float(later[0][0] - at)
    return local + offset + int(share * float(later[0][1] - offset))


def call_slices(row, local):
    """What a call is in a timeline: a slice; a nonblocking operation also an event from its begin to its
    end. local: the function from the rank's times to the cluster's."""
    start, end, waited = int(row["start"]), int(row["end"]), int(row["wait_start"])
    begun = min(max(int(row["inside_ns"]) - (end - waited if waited else 0), 0), end - start)
    if row["flags"] & NONBLOCKING and (waited or begun < end - start - ROUNDING_NS):
        yield "call", local(start), local(start) + begun
        yield "operation", local(start), local(end)
    else:
        yield "call", local(start), local(end)


def rows_of(folder, rank, begin, end):
    """(name, start, end) of every range, call and step of a rank that touches this time; calls are named
    "call"."""
    with h.h5py().File(f"{folder}/cluster.h5") as file:
        domain = {int(row["rank"]): int(row["domain"]) for row in file["clocks"][()]}[rank]
        knots = [(int(row["local_ns"]), int(row["offset_ns"])) for row in file["clock_knots"][()]
                 if row["domain"] == domain]

    def local(time):
        return to_cluster(knots, int(time))
    with h.h5py().File(f"{folder}/rank-{rank:05d}.h5") as file:
        texts = [text.decode() for text in file["strings"][()]]
        rows = [(texts[row["name"]], local(row["start"]), local(row["end"]))
                for row in file["events/range"][()]]
        rows += [(f"step {row['step']}", local(row["start"]), local(row["end"]))
                 for row in file["steps"][()]]
        for row in file["events/comm"][()]:
            if local(row["start"]) < end and local(row["end"]) >= begin:
                yield from call_slices(row, local)
    yield from (row for row in rows if row[1] < end and row[2] >= begin)


def rows_of_trace(trace, base, ranks):
    """The same of a served trace, by rank."""
    found, begun = {rank: [] for rank in ranks}, {}
    for event in trace["traceEvents"]:
        rank, time = event["pid"], base + round(1000 * event.get("ts", 0))
        if event["ph"] == "X":
            name = "call" if event["cat"] == "mpi" else event["name"]
            found[rank].append((name, time, time + round(1000 * event["dur"])))
        elif event["ph"] == "b":
            begun[rank, event["id"]] = time
        elif event["ph"] == "e":
            found[rank].append(("operation", begun[rank, event["id"]], time))
    return found


def step_times(folder, step):
    with h.h5py().File(f"{folder}/cluster.h5") as file:
        return next((int(row["start"]), int(row["end"])) for row in file["steps"][()]
                    if row["step"] == step)


def check_timeline(folder, one, trace, ranks):
    """Every row of the files in this step is in the trace, with its times, and nothing else is."""
    begin, end = step_times(folder, one["step"])
    base = begin - one["start_ns"]
    h.equal(one["end_ns"] - one["start_ns"], end - begin, "length of the step")
    found = rows_of_trace(trace, base, ranks)
    for rank in ranks:
        wanted = sorted(rows_of(folder, rank, begin, end))
        h.check(len(wanted) > 4, "rank", rank, "has only", wanted)
        h.equal(sorted(found[rank]), wanted, f"slices of rank {rank} in step {one['step']}")


@h.case
def every_number_is_that_of_the_rank_files():
    """Of two hosts, whose clocks differ; also of a step that no straggler, median or maximum is."""
    folder = b.run("readme")
    with serving(folder) as server:
        for step in (3, 57, 119):
            one, trace = server.timeline(step, rank=2)
            h.equal((one["step"], one["rank"], one["why"], one["share"], one["unread"]),
                    (step, 2, "asked", 1, 0), "the object")
            check_timeline(folder, one, trace, range(12))
        with h.h5py().File(f"{folder}/cluster.h5") as file:
            own = dict(zip(file["steps"]["step"].tolist(), file["step_trace"][:, 7]["own_ns"].tolist()))
        one, _ = server.timeline(30, 60, 7)
        h.equal(one["step"], max(range(30, 61), key=own.get), "the worst step of rank 7 in 30 to 60")


@h.case
def window_for_perfetto_has_all_ranks():
    """The window is half of a step; its slices are those of the JSON that begin in it."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sim"))
    import test_perfetto as perfetto
    folder = b.run("readme")
    with serving(folder) as server:
        one, trace = server.timeline(57)
        half = (one["end_ns"] - one["start_ns"]) // 2
        with open("window.pftrace", "wb") as file:
            file.write(server.get(f"perfetto/57/0/{half}"))
        read = perfetto.Trace("window.pftrace")
        found = sorted((rank, duration, name) for rank, _, _, duration, name, *_ in read.slices)
        wanted, begun = [], {}
        for event in trace["traceEvents"]:
            rank, time = event["pid"], round(1000 * event.get("ts", 0))
            if event["ph"] == "b":
                begun[rank, event["id"]] = time
            elif event["ph"] in "Xe":
                start = time if event["ph"] == "X" else begun[rank, event["id"]]
                end = time + round(1000 * event.get("dur", 0))
                if start - one["start_ns"] < half:
                    wanted.append((rank, end - start, event["name"]))
        h.equal(len({rank for rank, *_ in found}), 12, "ranks")
        h.check(sorted(wanted) == found, len(found), "slices instead of", len(wanted))
        server.check_status(404, f"/{server.token}/perfetto/57/{half}/{half}")
        server.check_status(404, f"/{server.token}/perfetto/5700/0/{half}")


@h.case
def strangers_get_nothing():
    with serving(b.run("data8")) as server:
        page, token = f"/{server.token}/", server.token
        answer = server.check_status(200, page)
        h.check(b"Referrer-Policy: no-referrer" in answer and b"no-store" in answer
                and b"connect-src 'self'" in answer, answer[:1000])
        for host, wanted in (("127.0.0.1", 200), (f"127.0.0.1:{server.at[1]}", 200),
                             ("localhost:8888", 200), ("[::1]:80", 200), ("evil.example", 421),
                             ("localhost.evil.example", 421), ("127.0.0.1.evil", 421), ("[::1", 421),
                             ("", 421), (None, 400)):
            server.check_status(wanted, page, host=host)
        wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
        for path in ("/", f"/{wrong}/", f"/{token[:-1]}/", f"/{token}0/", f"/{token.upper()}x/", "//",
                     f"/{wrong}/step/3/3/0", f"/../{token}/", f"/{token}", "/favicon.ico", "*",
                     "/" + "x" * 5000, f"/{token[:-1]}%00/"):
            answer = server.check_status(403, path)
            h.check(token.encode() not in answer and b"<script" not in answer, answer)
        for path in ("../cluster.h5", "..%2fcluster.h5", "step/../../cluster.h5", "cluster.h5", "step",
                     "step/", "step/3", "step/3/3", "step/3/3/0/", "step/3/3/x", "step/3/3/--1",
                     "step/3/3/%2e%2e", "step/1e3/3/0", "step/+3/3/0", "step/ 3/3/0".replace(" ", "%20"),
                     "step/3/3/" + "9" * 19, "perfetto/3/0", "rank-00000.h5", "/etc/passwd", "x" * 5000,
                     "step/5000/5000/-1", "step/-1/-1/0", "step/3/3/8", "step/9/3/0"):
            answer = server.check_status(404, page + path)
            h.check(b"HDF" not in answer and b"root:" not in answer, answer)
        for method in ("POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"):
            answer = server.check_status(405, page, method=method, more="Content-Length: 0\r\n")
            h.check(b"Allow: GET" in answer and b"<script" not in answer, answer)
        server.check_status(405, page, method="POST", more="Content-Length: 99999999999\r\n")
        for odd in (b"nonsense\r\n\r\n", b"\0" * 100, b"GET\r\n\r\n", b"\r\n" * 9000,
                    f"GET {page} HTTP/1.1\r\n".encode() + b"X: y\r\n" * 9000,
                    f"GET {page} HTTP/1.1\r\nX: {'x' * 99999}\r\n\r\n".encode()):
            h.check(b"<script" not in talk(server.at, odd), odd[:40])
        server.check_status(200, page)
        server.check_status(200, f"{page}?x=1")
        h.equal(server.end()[0], 0, "exit status")


@h.case
def slow_clients_delay_nobody():
    """There are more of them than the server accepts at a time. It closes them after some seconds."""
    with serving(b.run("data8")) as server:
        slow = [connect(server.at) for _ in range(300)]
        for number, client in enumerate(slow[:200]):
            client.sendall(f"GET /{server.token}/ HTTP/1.1\r\nHost: localhost".encode()[:1 + number])
        h.check(len(server.get("step/3/3/0")) > 1000, "no answer")
        h.check(any(is_open(client) for client in slow), "it waited for the end of the slow ones")
        for client in slow:
            h.check(b"<script" not in receive(client), "a slow client got the page")
            client.close()
        server.check_status(200, f"/{server.token}/")


@contextlib.contextmanager
def stopped_answers(server, clients):
    """Asks again and again until two processes that answer are stopped, so that the others wait."""
    stopped = set()
    while len(stopped) < 2:
        client = connect(server.at)
        client.sendall(f"GET /{server.token}/step/3/3/0 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        clients.append(client)
        for pid in server.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        for pid in server.children():
            # It may have answered and ended: before it is opened, or before it is read.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "T":
                    stopped.add(pid)
    try:
        yield
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@h.case
def answers_end_with_their_clients():
    clients = []
    with serving(b.run("data8")) as server, stopped_answers(server, clients):
        h.equal(len(server.children()), 2, "processes that answer at a time")
        server.check_status(200, f"/{server.token}/")  # the page does not wait for them
        for client in clients:
            client.close()
        b.wait_for(lambda: not server.children(), "the end of the processes")
        h.check(len(server.get("step/4/4/0")) > 1000, "no answer")


@h.case
def ctrl_c_ends_it_whatever_it_does():
    for number in (signal.SIGINT, signal.SIGTERM):
        clients = []
        with serving(b.run("data8")) as server, stopped_answers(server, clients):
            children = server.children()
            status, more, errors = server.end(number)
            h.equal((status, more), (0, b""), f"status and output: {errors}")
            h.equal(len(h.lines(errors)), 1, f"lines on standard error: {errors}")
            for pid in children:
                h.check(not os.path.exists(f"/proc/{pid}"), "a process was left")
        for client in clients:
            client.close()


@h.case
def missing_and_damaged_files_are_said():
    folder = copy_of("data8")
    with serving(folder) as server:
        os.remove(f"{folder}/rank-00003.h5")
        os.truncate(f"{folder}/rank-00006.h5", 3000)
        one, trace = server.timeline(50)
        h.equal(one["unread"], 2, "files that cannot be read")
        check_timeline(folder, one, trace, [0, 1, 2, 4, 5, 7])
        for path in glob.glob(f"{folder}/rank-*.h5"):
            os.remove(path)
        answer = server.check_status(404, f"/{server.token}/step/50/50/0")
        h.check(f"no rank file can be read in {folder}".encode() in answer, answer)
        os.mkfifo(f"{folder}/rank-00000.h5")  # nobody writes into it
        server.check_status(404, f"/{server.token}/step/50/50/0")
        server.check_status(200, f"/{server.token}/")


@h.case
def what_cannot_be_served_is_one_sentence():
    need_server()
    folder = b.run("data8")
    with serving(folder) as server:
        port = str(server.at[1])
        done = h.run(h.profwrap("report", "--serve", "--port", port, folder), status=1)
        h.one_line(done, f"port {port}", "Address already in use")
    with serving(folder, "--port", port) as server:  # at once after the other
        h.equal(server.at[1], int(port), "the port")
    for options in (["--port", "65536"], ["--port", "x"], ["-o", "page.html"], ["--format", "json"],
                    ["--watch"], ["--steps", "900"]):
        h.one_line(h.run(h.profwrap("report", "--serve", *options, folder), status=2))
    h.one_line(h.run(h.profwrap("report", "--port", "80", folder), status=2), "--serve")
    os.mkdir("empty")
    for place in ("nowhere", "empty"):
        h.one_line(h.run(h.profwrap("report", "--serve", place), status=1), place)
    h.one_line(h.run(h.profwrap("report", "--serve", "--d3", "/dev/null", folder), status=1), "D3")


# ---- in a browser ----


def click_cell(browser, row, column, rows=8, columns=100):
    """Clicks the heatmap where a person would."""
    from selenium.webdriver.common.action_chains import ActionChains
    canvas = browser.find_element("id", "heatmap")
    browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", canvas)
    width, height = canvas.size["width"], canvas.size["height"]
    x, y = (column + 0.5) * width / columns - width / 2, (row + 0.5) * height / rows - height / 2
    ActionChains(browser).move_to_element_with_offset(canvas, round(x), round(y)).click().perform()


def open_served(browser, server, address):
    browser.get("about:blank")
    browser.get(f"{server.url}#{address}")
    b.await_page(browser, address)


@h.case
def click_on_any_cell_shows_that_step():
    folder = b.run("data8")
    with open(b.page_of(folder, "page"), encoding="utf-8") as file:
        known = [one["step"] for one in json.loads(re.search(r'id="timelines">([^<]*)<', file.read())[1])]
    step = next(step for step in (77, 78, 79, 80, 81, 82) if step not in known)
    with serving(folder) as server, b.chromium() as browser:
        open_served(browser, server, "stragglers")
        click_cell(browser, 4, step)
        address = f"timeline/{step}/rank/4"
        b.await_page(browser, address)
        h.equal(b.text(browser, "#page-timeline h3"), f"Step {step}", "the title")
        begin, end = step_times(folder, step)
        found = [(row[0], row[1], row[4]) for row in b.shown_boxes(browser)]
        for rank in (0, 4):
            for name, start, until in rows_of(folder, rank, begin, end):
                if name not in ("call", "operation"):
                    cell = (str(rank), name, b.shown_ns(until - start))
                    h.check(cell in found, cell, "is not in", found)
        b.check_quiet(browser, address)
        b.shoot(browser, "timeline-served")
        b.find(browser, "#page-timeline button")[1].click()  # Later
        b.await_page(browser, f"timeline/{step + 1}/rank/4")
        h.equal(b.text(browser, "#page-timeline h3"), f"Step {step + 1}", "the title")
        b.go(browser, f"timeline/{known[0]}")
        h.equal(b.text(browser, "#page-timeline h3"), f"Step {known[0]}: the worst of rank 5", "the title")
        b.go(browser, "timeline/5000")
        h.check("no such step" in b.text(browser, "#page-timeline [role=alert]"), b.text(browser, "main"))
        server.end()
        b.go(browser, "timeline/41")
        h.check("does not answer" in b.text(browser, "#page-timeline [role=alert]"), b.text(browser, "main"))


@h.case
def window_is_saved_for_perfetto():
    folder = b.run("data8")
    downloads = os.path.abspath("downloads")
    with serving(folder) as server, b.chromium() as browser:
        browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow",
                                                                "downloadPath": downloads})
        open_served(browser, server, "timeline/33")
        save = next(one for one in b.find(browser, "button") if one.text == "Save for Perfetto")
        save.click()
        b.wait_for(lambda: os.path.exists(f"{downloads}/step-33.pftrace"), "the file")
        begin, end = step_times(folder, 33)
        with open(f"{downloads}/step-33.pftrace", "rb") as file:
            saved = file.read()
        wanted = server.get(f"perfetto/33/0/{end - begin}")
        h.check(len(saved) > 500 and abs(len(saved) - len(wanted)) < len(wanted) / 10,
                "the file has", len(saved), "bytes, the step", len(wanted))
        b.check_quiet(browser, "timeline/33")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
