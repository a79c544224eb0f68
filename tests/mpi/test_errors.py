"""Messages that end a command: each says what to do next. messages.py collects all of them from the source;
those that COMMANDS provokes are matched with it.   test_errors.py CASE...   test_errors.py --list"""
import contextlib
import fcntl
import os
import re
import shutil
import sys

import harness as h
import messages
import stored

# What to do next, what a value may be, or which command helps.
NEXT = re.compile(
    r"profwrap [a-z<-]|--[a-z]|\b(?:give|choose|check|try|run|raise|free|remove|move|use|install|ask|see|allow|build|"
    r"start|put|takes|expects|needs|must be|belongs after|usage|set|read it|dump one|did you mean|make|merge again|"
    r"are|name|link|leave)\b")

# The kind of each message, its command, its exit status and what it must say. $run is a merged run of two
# ranks, $copy its cluster file without the rank files, and so on (see make_places).
COMMANDS = [
    ("typing", "", 2, "no program given; usage"),
    ("typing", "repot run", 127, "did you mean 'profwrap report'"),
    ("typing", "help repport", 2, "did you mean 'report'"),
    ("typing", "--outptu x true", 2, "did you mean '--output'"),
    ("typing", "--section steps report run", 2, "belongs after 'profwrap report'"),
    ("typing", "--quiet=1 true", 2, "takes no value"),
    ("typing", "-o", 2, "needs a value"),
    ("typing", "--compress zip true", 2, "takes none or deflate:1"),
    ("typing", "--activities disk true", 2, "is not one of mpi,"),
    ("typing", "--activities= true", 2, "names nothing of mpi,"),
    ("typing", "--schedule active=x true", 2, "it takes skip_first=N"),
    ("typing", "--schedule active=0 true", 2, "active must be at least 1"),
    ("typing", "worker true", 2, "see profwrap help run"),
    ("typing", "report --fomat json run", 2, "did you mean '--format'"),
    ("typing", "report --version run", 2, "'profwrap help report' lists them"),
    ("typing", "report --section stps run", 2, "sections are job, "),
    ("typing", "report run --full", 2, "options come before it"),
    ("typing", "report", 2, "needs the output directory"),
    ("typing", "report --steps x run", 2, "takes A-B or A-B,C-D"),
    ("typing", "report --steps 800-900 run", 2, "its steps are 0 to 11"),
    ("typing", "report --epoch x run", 2, "expects a number"),
    ("typing", "report --epoch 7 run", 2, "there is no epoch 7"),
    ("typing", "report --port 1 run", 2, "--port is for --serve"),
    ("typing", "report --alerts run", 2, "--alerts and --on-alert are for --watch and for"),
    ("typing", "--false-alarms often true", 2, "such as 0.01/day"),
    ("typing", "report --watch --false-alarms often run", 2, "such as 0.01/day"),
    ("typing", "report --watch --format json run", 2, "no --format or -o with it"),
    ("typing", "report --serve --format json run", 2, "no other --format"),
    ("typing", "report --format chrome --ranks 7 run", 1, "takes ranks 0 to 1"),
    ("typing", "report --format html --d3 nosuch -o page.html run", 1, "--d3 takes"),
    ("typing", "report --format html --d3 script.py -o page.html run", 1, "which --d3 takes"),
    ("typing", "report --format html --d3 old.js -o page.html run", 1, "HTML needs D3"),
    ("typing", "compare run", 2, "two directories"),
    ("typing", "compare --version", 2, "'profwrap help compare' lists them"),
    ("typing", "compare --threshold x run run", 2, "expects percent"),
    ("typing", "compare --runs 2 -- true -- true", 2, "takes 5 or more"),
    ("typing", "compare --runs 5 -- true -- true -- true", 2, "put them into scripts"),
    ("typing", "compare --runs 5 -- true", 2, "takes two commands"),
    ("typing", "compare run run -- run", 2, "takes as many runs"),
    ("typing", "ask --format xml run", 2, "takes text|json"),
    ("typing", "ask --version run", 2, "'profwrap help ask' lists them"),
    ("typing", "ask --format json", 2, "needs the output directory"),
    ("typing", "ask run verdit", 2, "did you mean 'verdict'"),
    ("typing", "ask run nothing-like-it", 2, "'profwrap ask' lists them"),
    ("typing", "ask run verdict loud", 2, "'profwrap ask' lists the arguments"),
    ("typing", "ask run evidence id=\udcff", 2, "must be valid UTF-8"),
    ("typing", "ask run verdict rank=1", 1, "see its arguments"),
    ("typing", "ask run rank", 1, "needs the argument 'rank'"),
    ("typing", "ask run rank rank=x", 1, "must be an integer"),
    ("typing", "mcp", 2, "usage: profwrap mcp DIR"),
    ("typing", "dump", 2, "usage: profwrap dump FILE"),
    ("typing", "doctor now", 2, "usage: profwrap doctor"),
    ("typing", "sweep all", 2, "usage: profwrap sweep"),
    ("typing", "recover", 2, "usage: profwrap recover"),
    ("typing", "merge", 2, "usage: profwrap merge"),
    ("typing", "ctl stats run", 2, "usage: profwrap ctl status|"),
    ("typing", "import", 2, "usage: profwrap import"),
    ("typing", "import trace.json", 2, "profwrap import -o DIR FILE"),
    ("typing", "import --rank x -o new trace.json", 2, "takes a number of a rank"),
    ("typing", "import --rank-pattern ( -o new trace.json", 2, "--rank-pattern '('"),
    ("typing", "import --compress zip -o new trace.json", 2, "takes none or deflate:1"),
    ("wrong place", "report nosuch", 1, "give the output directory of a run"),
    ("wrong place", "report empty", 1, "give the output directory of a run"),
    ("wrong place", "report script.py", 1, "'profwrap merge DIR' makes one"),
    ("wrong place", "report " + "long" * 1100, 2, "choose a shorter path"),
    ("wrong place", "report --format chrome copy", 1, "put them beside cluster.h5"),
    ("wrong place", "-o " + "long" * 1100 + " true", 2, "choose a shorter path"),
    ("wrong place", "report --format html --d3 " + "long" * 1100 + " -o page.html run", 1, "choose a shorter path"),
    ("wrong place", "compare run locked", 1, "run 'profwrap merge locked' first"),
    ("wrong place", "compare --runs 5 --directory empty -- true -- true", 1, "--directory names another"),
    ("wrong place", "-o used true", 2, "choose another with -o, or remove it"),
    ("wrong place", "report --steps 1-2 used", 2, "leave it out"),
    ("wrong place", "compare run nosuch", 1, "give the output directory of a run"),
    ("wrong place", "merge empty", 1, "give the output directory of a run"),
    ("wrong place", "merge nosuch", 1, "check the path"),
    ("wrong place", "merge damaged", 1, "'profwrap dump FILE' shows"),
    ("wrong place", "recover nosuch", 1, "check the path"),
    ("wrong place", "dump run", 1, "dump one of its files, as run/cluster.h5 or run/rank-00000.h5"),
    ("wrong place", "dump empty", 1, "give a file of a run"),
    ("wrong place", "dump script.py", 1, "give one of a run"),
    ("wrong place", "dump other.h5", 1, "give one of a run"),
    ("wrong place", "dump nosuch", 1, "check the path"),
    ("wrong place", "-o run true", 2, "choose another with -o"),
    ("wrong place", "-o empty/file/new true", 1, "check the path; --unprofiled-on-error runs"),
    ("wrong place", "report --format json -o nosuch/x run", 1, "check the path"),
    ("wrong place", "report --format json -o empty run", 1, "give the name of a file"),
    ("not running", "report --watch run", 1, "'profwrap report run' shows one that has ended"),
    ("not running", "ctl status run", 1, "'profwrap report run' shows one that has ended"),
    ("not running", "ctl status nosuch", 1, "check the path"),
    ("not finished", "report going", 1, "its report is made when they have ended"),
    ("not finished", "merge --wait 0 locked", 1, "try again when it has ended"),
    ("another version", "report newer/cluster.h5", 1, "read it with that version"),
    ("another version", "dump newer/cluster.h5", 1, "read it with that version"),
    ("another version", "recover begun", 1, "recover it with that version"),
    ("permission", "-o /sys/profile true", 1, "--unprofiled-on-error runs the program all the same"),
    ("permission", "report --format json -o /proc/version/x run", 1, "check the path"),
    ("permission", "-o shared true", 0, "trust it (--trust-directory"),
    ("space", "report --format json -o /dev/full run", 1, "free some there, or choose another place"),
    ("space", "compare -o /dev/full run run", 1, "free some there, or choose another place"),
    ("program", "nosuch", 127, "check its name and PATH"),
    ("program", "./script.py", 126, "'chmod +x ./script.py', or run 'profwrap python3 ./script.py'"),
    ("program", "./data", 126, "allow it by 'chmod +x ./data'"),
    ("program", "./empty", 126, "it is a directory; give a program"),
    ("launcher", "mpirunn -np 2 true", 127, "check its name and PATH"),
    ("launcher", "./torchrun train.py", 127, "check its name and PATH"),
]

# Messages of states that a test of this size does not bring about, or of programs that are built or not.
# Tests of their subject do, where there is one.
UNPROVOKED = {
    "memory": ("cannot merge", "cannot compare", "not all of", "cannot profile the ranks", "a merge takes",
               "cannot look at shared memory", "cannot serve the report", "cannot answer", "no alerts", "no more alerts"),
    "damaged files, or disks": (
        "%s is damaged", "the rank files in %s are of", "cannot read '%s'", "cannot be read back", "cannot write the answer",
        "cannot write '%s/%s'", "the communicators cannot be", "the traces cannot be read", "%.200s was not read"),
    "a killed or crashing part of profwrap": (
        "the collectors of rank", "no collector of rank", "the file of rank", "cannot write the file of rank",
        "libprofwrap_probe.so", "the path ", "the merge failed", "cannot continue the interrupted merge",
        "no snapshot of rank", "the HTML template is missing", "rank %d is one of", "%s already holds rank"),
    "a running job": (
        "another command is asking", "no rank of %s answered", "cannot ask the ranks", "too many earlier changes",
        "%zu ranks did not answer", "the ranks were always past", "the job in %s belongs", "cannot show the job",
        "cannot write the status", "cannot write the metrics", "cannot write the result",
        "%s; the report cannot be written", "--listen takes",
        "the argument '%s' must be one of", "cannot listen", "no token in", "cannot serve metrics", "cannot make %s"),
    "how profwrap or the program was built": (
        "this profwrap was built without", "an OTF2 archive", "'%s' has several OTF2", "no run is given",
        "HTML needs D3, which", "usage: profwrap-manual", "is statically linked", "is a program for another",
        "'%.250s'", "'%.400s'", "cannot make the directory '%.400s'", "there are no rank files in '%.400s'",
        "cannot write '%.300s'"),
    "another user": ("belongs to another user", "--output must be an absolute path"),
    "a directory whose path is as long as a path can be": ("the name of the directory is too long: '%.60s…'",),
    "steps without times": ("the run has no steps whose times",),
    "a terminal": ("HTML is not for a terminal",),
    "a part that is started alone": ("this is a part of profwrap",),
}


def make_places():
    """The directories and files of COMMANDS."""
    h.run(h.profwrap("sim", "-p", "data", "-r", "2", "-s", "12", "run"))
    h.run(h.profwrap("merge", "-q", "run"))
    h.run(h.profwrap("--no-merge", "-q", "-o", "used", "true"))
    os.mkdir("shared")
    os.chmod("shared", 0o777)
    for name in ("empty", "copy", "damaged", "begun", "going", "locked", "newer"):
        os.mkdir(name)
    for name in ("copy", "newer"):
        shutil.copy("run/cluster.h5", name)
    shutil.copy("run/rank-00000.h5", "locked")
    for path, text in (("script.py", "print(1)\n"), ("data", "1\n"), ("trace.json", "{}"), ("empty/file", ""),
                       ("damaged/rank-00000.h5", "no HDF5"), ("begun/rank-00000.journal", "no journal"),
                       ("old.js", "// https://d3js.org v3.5.17 Copyright\n")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    h5py = h.h5py()
    with h5py.File("other.h5", "w") as file:
        file["x"] = 1
    with h5py.File("newer/cluster.h5", "r+") as file:
        file.attrs["format_version"] = 10**6
    stored.edited("newer/cluster.h5")


@contextlib.contextmanager
def locked(*paths):
    """Other processes seem to write these files."""
    with contextlib.ExitStack() as stack:
        for path in paths:
            fcntl.flock(stack.enter_context(open(path, "w", encoding="utf-8")), fcntl.LOCK_EX)
        yield


@h.case
def every_message_says_what_to_do():
    """Also of those that no test provokes. Behind a reason of the system, remedy.c says it."""
    mute = [one for one in messages.collect() if not NEXT.search(one) and not re.search(r"%\w*s$|: $|:$", one)]
    h.equal(mute, ["%s; running %s unprofiled"], "messages that leave a person alone")


def said_by(command, status, wanted):
    """The last line that a command prints; those before it tell what it does."""
    done = h.run(h.profwrap(*command.split()), None)
    lines = h.lines(done.stderr)
    h.equal(done.returncode, status, f"exit status of '{command[:60]}', which says {lines}")
    h.check(lines and all(one.startswith("profwrap: ") for one in lines), command, "says", lines)
    h.check(wanted in lines[-1], f"'{wanted}' is not in", lines)
    h.check(NEXT.search(lines[-1]), "not said what to do:", lines[-1])
    return lines[-1].removeprefix("profwrap: ")


@h.case
def messages_are_provoked():
    make_places()
    patterns = {one: messages.pattern(one) for one in messages.collect()}
    provoked, kinds = set(), set()
    with locked("locked/cluster.h5.lock", "going/rank-00000.journal"):
        for kind, command, status, wanted in COMMANDS:
            line = said_by(command, status, wanted)
            found = {one for one in patterns if patterns[one].search(line)}
            h.check(found, "not collected from the source:", line)
            provoked |= found
            kinds.add(kind)
    left = [one for one in patterns if one not in provoked and
            not any(one.startswith(begin) for row in UNPROVOKED.values() for begin in row)]
    print(f"provoked {len(provoked)} of {len(patterns)} messages by {len(COMMANDS)} commands, of {len(kinds)} kinds;"
          f" not: {left}")
    h.check(not left, "neither provoked nor listed with a reason:", left)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
