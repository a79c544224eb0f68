"""What is printed when a run has ended, and by `profwrap report`: the summary, on terminals and elsewhere."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time

import harness as h

ROWS, COLUMNS = 24, 80
TABLES = "Steps: where each rank's time goes"


def words(text):
    return " ".join(text.split())


def report(*arguments, **more):
    return h.run(h.profwrap("report", *arguments), **more).stdout.decode()


def simulate(*options):
    h.run(h.profwrap("sim", "--ranks", 4, "--steps", 20, *options, "run"))


def on_terminal(*arguments, **environment):
    """The output of `profwrap report` on a terminal of 24 x 80."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    env = h.environment(**{"TERM": "xterm", "NO_COLOR": "", "PAGER": "cat", **environment})
    env.pop("COLUMNS", None)
    process = subprocess.Popen(h.profwrap("report", *arguments), stdin=slave, stdout=slave, stderr=slave,
                               env=env, start_new_session=True)
    os.close(slave)
    text, until = b"", time.monotonic() + h.PATIENCE_S
    while time.monotonic() < until:
        try:
            piece = os.read(master, 65536)
        except OSError:  # every process has closed it
            break
        text += piece
    os.close(master)
    h.equal(process.wait(h.PATIENCE_S), 0, "exit status")
    return text.decode().replace("\r\n", "\n")


class Shown:
    """What a command writes to a terminal, as it is written."""

    def __init__(self, command):
        self.master, slave = pty.openpty()
        env = h.environment(TERM="xterm", NO_COLOR="")
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env,
                                        start_new_session=True)
        os.close(slave)
        self.text = ""

    def read(self):
        """False when every process has closed the terminal."""
        try:
            self.text += os.read(self.master, 65536).decode()
        except OSError:
            return False
        return True


def check_screen(text, width=COLUMNS):
    lines = text.splitlines()
    h.check(len(lines) < ROWS - 1, len(lines), "lines:", text)
    h.check(max(map(len, lines)) <= width, "too wide:", text)


@h.case
def report_of_one_screen():
    """A file of all ranks is made first, if there is none; --full has the tables; without a terminal there
    are neither colours nor links."""
    simulate("--faults", "slow_rank:rank=2,steps=5-14,phase=backward,ms=6")
    done = h.run(h.profwrap("report", "run"))
    h.one_line(done, "'run' was not merged yet")
    text = done.stdout.decode()
    check_screen(text)
    h.check("\x1b" not in text, text)
    summary = json.loads(report("--format", "json", "run"))["summary"]
    h.check(words(text).startswith(words(summary["headline"])), text)
    h.check(text.startswith("Rank 2 on "), text)
    h.equal((summary["time"]["rank"], summary["time"]["held_back"], summary["ended_badly"]), (2, True, False),
            "summary")
    h.check(" mean " in text and " rank 2 " in text and "profwrap report --full run" in text, text)
    whole = report("--full", "run")
    h.check(TABLES in whole and "\nWhat to do\n" in whole and whole.count("\n") > 60, whole)
    h.check(TABLES in report("--section", "steps", "run"), "no section")
    h.check("\nWhat to do\n" in report("--top", 3, "run"), "no tables with --top")
    h.check(TABLES not in text and TABLES not in report("--steps", "5-9", "run"), "tables")
    report("-o", "all.txt", "run")
    with open("all.txt") as file:
        h.equal(file.read(), whole, "a file, as --full prints it")
    making = re.search(r"profwrap (report --format html -o run/report.html run)\n", text)
    h.check(making, text)
    if h.run(h.profwrap(*making.group(1).split()), status=None).returncode == 0:  # D3 is there
        h.check(f"The rest:  file://{os.path.realpath('run')}/report.html\n" in report("run"), "no link")


@h.case
def report_on_a_terminal():
    simulate()
    h.run(h.profwrap("merge", "-q", "run"))
    plain = report("run")
    with open("run/report.html", "w") as file:
        file.write("a page")
    link = f"\x1b]8;;file://{os.uname().nodename}{os.path.realpath('run')}/report.html\x1b\\"
    shown = on_terminal("run")
    h.check(link in shown and "\x1b[1mNo rank held the job back" in shown, shown)
    check_screen(re.sub(r"\x1b\]8;;[^\x1b]*\x1b\\|\x1b\[[0-9;]*m|file://\S*", "", shown))
    shown = on_terminal("run", NO_COLOR="1")
    h.check(link in shown and "\x1b[" not in shown, shown)
    shown = on_terminal("run", TERM="dumb")
    h.check("\x1b" not in shown and shown.split("\nThe rest:")[0] == plain.split("\nThe rest:")[0], shown)


@h.case
def pager():
    """Only of all sections, and only on a terminal. What a pager that cannot run would show is not lost."""
    simulate()
    h.run(h.profwrap("merge", "-q", "run"))
    whole = on_terminal("--full", "run")
    h.check(TABLES in whole and "P:" not in whole, whole)
    h.equal(on_terminal("--full", "run", PAGER="sed s/^/P:/"), re.sub("^", "P:", whole[:-1], flags=re.M) + "\n",
            "what the pager shows")
    h.equal(on_terminal("--full", "run", PAGER="head -n 1"), whole.split("\n")[0] + "\n",
            "what a pager shows that is left early")
    shown = on_terminal("--full", "run", PAGER="nosuchpager")
    h.check(shown.endswith(whole) and "nosuchpager" in shown, shown)
    h.equal(on_terminal("--full", "run", PAGER="sed s/^/P:/", TERM="dumb"), whole, "what a dumb terminal shows")
    h.check("P:" not in report("--full", "run", env={"PAGER": "sed s/^/P:/"}), "a pager without a terminal")
    h.check("P:" not in on_terminal("run", PAGER="sed s/^/P:/"), "a pager of the summary")


@h.case
def waits_on_a_terminal():
    """While a rank runs on, the terminal shows that the end of the job waits for it. The line is cleared, and
    nothing of it is in a file."""
    shown = Shown(h.mpirun(2, *h.profwrap("-o", "out"), "sh", "-c",
                           "[ $OMPI_COMM_WORLD_RANK = 0 ] || until [ -e go ]; do sleep 0.02; done"))
    while "waiting for rank 1, whose file is not closed yet" not in shown.text:
        h.check(shown.read(), "no word of rank 1:", shown.text)
    h.check("\rclosing files: 1 of 2" in shown.text, shown.text)
    with open("go", "w"):
        pass
    while shown.read():
        pass
    h.equal(shown.process.wait(h.PATIENCE_S), 0, "exit status")
    last = shown.text.rsplit("closing files", 1)[1]
    h.check(re.search(r"\r {78}\r", last) and "The rest:" in last, repr(last))
    for name in filter(os.path.isfile, (os.path.join("out", name) for name in os.listdir("out"))):
        with open(name, "rb") as file:
            h.check(b"closing files" not in file.read(), "in", name)


@h.case
def end_of_a_run():
    """--report, and the older spellings."""
    made = {}
    for name, options, env in (("summary", (), {}), ("full", ("--report", "full"), {}),
                               ("line", ("--report=line",), {}), ("none", ("--report", "none"), {}),
                               ("no-report", ("--no-report",), {}), ("quiet", ("-q", "--report", "full"), {}),
                               ("old-line", ("--summary",), {}), ("variable", (), {"PROFWRAP_REPORT": "line"}),
                               ("over", ("--report", "full"), {"PROFWRAP_SUMMARY": "1", "PROFWRAP_NO_REPORT": "1"})):
        done = h.run(h.profwrap(*options, "-o", name, "sh", "-c", "true"), env=env)
        made[name] = done.stderr.decode()
        h.check("closing files" not in made[name], made[name])
        h.check(os.path.exists(name + "/report.txt"), "no report of", name)
    for name in ("none", "no-report", "quiet"):
        h.equal(made[name], "", f"what is printed with {name}")
    for name in ("line", "old-line", "variable"):
        h.check(re.fullmatch(rf"profwrap: [^\n]* See {name}/report.txt\n", made[name]), made[name])
    for name in ("full", "over"):
        with open(name + "/report.txt") as file:
            h.equal(made[name], file.read(), f"what is printed with {name}")
    check_screen(re.sub(r"file://\S*", "", made["summary"]))
    h.check(made["summary"].startswith("There is only one rank"), made["summary"])
    h.check("profwrap report --full summary" in made["summary"], made["summary"])
    h.one_line(h.run(h.profwrap("--report", "all", "true"), status=2), "full.summary.line.none")


@h.case
def where_an_option_belongs():
    for arguments, after in ((("--section", "steps", "report", "run"), "report"),
                             (("report", "--sample-hz", "3", "run"), "run"), (("merge", "--full", "run"), "report")):
        done = h.run(h.profwrap(*arguments), status=2)
        h.one_line(done, f"it belongs after 'profwrap {after}'")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
