"""Invalid values of options, on the command line and in the environment."""

import os
import re
import shutil
import sys

import harness as h

VALUES = ("-1", "", "x\x1b[31m", "9" * 5000)
PROGRAM = ("--", "sh", "-c", "echo ran")


def options(title):
    """(name, takes a value) of each option that `profwrap help all` lists under a title."""
    text = h.run(h.profwrap("help", "all")).stdout.decode()
    part = re.search(rf"^{title}[^\n]*\n(.*?)\n\n", text, re.M | re.S).group(1)
    found = re.findall(r"^  (?:-\w,)? +--([\w-]+) (\S*)", part, re.M)
    h.check(found, "no options under", title)
    return [(name, bool(meta)) for name, meta in found]


def variable(name):
    return "PROFWRAP_" + name.upper().replace("-", "_")


def check_lines(done, most, what):
    lines = h.lines(done.stderr)
    h.check(len(lines) <= most, what, "said", done.stderr[-2000:])
    h.check(b"\x1b" not in done.stderr, what, "let an escape through:", done.stderr)
    return lines


def check_run(name, value, words, env, statuses):
    what = f"{name} = {value[:20]!r}"
    done = h.run(h.profwrap("--no-merge", "-o", "out", *words, *PROGRAM), None, env=env)
    h.check(done.returncode in statuses, what, "ended with", done.returncode, done.stderr[-2000:])
    h.equal(done.stdout, b"ran\n" if done.returncode == 0 else b"", f"output with {what}")
    lines = check_lines(done, 1, what)
    if done.returncode:
        h.equal(len(lines), 1, f"lines with {what}")
    shutil.rmtree("out", ignore_errors=True)
    return lines


@h.case
def on_the_command_line():
    refused = 0
    for name, takes_value in options("Options of run"):
        for value in VALUES if takes_value and name != "output" else ():
            refused += len(check_run(name, value, [f"--{name}={value}"], {}, (0, 2)))
    h.check(refused > 30, "only", refused, "values were refused")


@h.case
def in_the_environment():
    """The program must run, whatever the value. A bad value leaves an option without its text, on
    which profwrap must not crash."""
    refused = 0
    for name, takes_value in options("Options of run"):
        for value in VALUES if name != "output" else ():
            refused += len(check_run(name, value, [], {variable(name): value}, (0,)))
    h.check(refused > 25, "only", refused, "values were refused")
    for name in ("HOSTNAME", "FSROOT", "CUPTI", "TEST_CLOCK", "LOG"):
        for value in VALUES:
            check_run(name, value, [], {"PROFWRAP_" + name: value}, (0,))


@h.case
def ranges_in_the_environment():
    for name, value, takes in (("LEVEL", "9", "0|1|2"), ("RING_SIZE", "1", "64K to 1G"),
                               ("ON_FULL", "x", "drop|wait"), ("SAMPLE_HZ", "1001", "0 to 1000"),
                               ("CLOCK_INTERVAL", "86401", "0 to 86400"),
                               ("TEST_CLOCK", "x", "offset_ns"), ("COMPRESS", "x", "none or"),
                               ("SCHEDULE", "x", "it takes"), ("ACTIVITIES", "x", "is not one of")):
        lines = check_run(name, value, [], {"PROFWRAP_" + name: value}, (0,))
        h.equal(len(lines), 1, f"lines with {name}")
        h.check(f"PROFWRAP_{name}" in lines[0] and takes in lines[0], name, lines)
        h.check("running sh unprofiled" in lines[0], lines)
    h.equal(check_run("LEVEL", "9", ["--level=2"], {"PROFWRAP_LEVEL": "9"}, (0,)), [],
            "what was said of a variable that the command line replaces")


@h.case
def directories_in_the_environment():
    """--output must be a directory. A bad value ends profwrap if it is on the command line. In the
    environment it never stops the program."""
    os.mkdir("full")
    open("full/file", "w").close()
    for value in ("full/file/out", "full", "full/file", "9" * 5000):
        what = f"output {value[:20]}"
        done = h.run(h.profwrap("--no-merge", f"--output={value}", *PROGRAM), None)
        h.check(done.returncode in (1, 2), what, done.returncode)
        h.equal(len(check_lines(done, 1, what)), 1, f"lines with {what}")
        done = h.run(h.profwrap("--no-merge", *PROGRAM), env={"PROFWRAP_OUTPUT": value})
        h.equal(done.stdout, b"ran\n", f"output with {what}")
        h.check("unprofiled" in check_lines(done, 1, what)[0], done.stderr)


# Options of other commands that take any text, and those for which no text is the default (all, or the last).
TEXTS = ("d3", "directory", "ranks", "search", "listen", "token")
FOR_ANOTHER = ("on-alert",)  # takes any text, but is refused without the other option
DEFAULT_IF_EMPTY = ("section", "steps", "epoch")


def check_other(command, name, value, env, without):
    """A bad value is refused with status 2 and one line that names the option. Otherwise the
    command behaves as without the option. Returns whether it was refused."""
    what = f"{command} {env}"[:200]
    done = h.run(h.profwrap(*command), None, env=env)
    lines = check_lines(done, 1, what)
    if name in TEXTS or name in FOR_ANOTHER and env or not value and (env or name in DEFAULT_IF_EMPTY):
        h.equal((done.returncode, done.stderr), (without.returncode, without.stderr), what)
        return False
    h.equal((done.returncode, len(lines)), (2, 1), f"status and lines of {what}")
    h.check(name in lines[0] or variable(name) in lines[0] or any(v in lines[0] for v in env), what,
            "does not name", name, lines)
    h.equal(done.stdout, b"", f"output of {what}")
    return True


@h.case
def other_commands():
    """The other commands refuse what run refuses, and read only their own variables."""
    h.run(h.profwrap("sim", "--ranks", 2, "--steps", 3, "run"))
    h.run(h.profwrap("merge", "-q", "run"))
    for title, command, arguments in (("Options of report", ["report"], ["run"]),
                                      ("Options of compare", ["compare"], ["run", "run"]),
                                      ("Options of ctl", ["ctl", "status"], ["run"])):
        own = "" if command == ["report"] else command[0].upper() + "_"
        without, refused = h.run(h.profwrap(*command, *arguments), None), 0
        for name, takes_value in options(title):
            for value in VALUES if takes_value and name != "output" else ():
                environment = {"PROFWRAP_" + own + variable(name)[len("PROFWRAP_"):]: value}
                refused += check_other([*command, f"--{name}={value}", *arguments], name, value, {},
                                       without)
                refused += check_other([*command, *arguments], name, value, environment, without)
        h.check(refused >= 7, "only", refused, "values were refused by", command)
    done = h.run(h.profwrap("report", "--format", "line", "run"), env={"PROFWRAP_LEVEL": "9"})
    h.equal(done.stderr, b"", "what report said of a variable of run")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
