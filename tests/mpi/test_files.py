"""Files that another user puts where profwrap writes or reads. No command blocks on them, and no part of
the profile goes into them. profwrap writes into a directory that others can write to only if the user
asks for that."""

import json
import os
import shutil
import stat
import struct
import subprocess
import sys

import harness as h
from flood import Flood

NOBODY = 65534
RUN = "/bin/true"


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def make(path, bits):
    os.mkdir(path)
    os.chmod(path, bits)
    return path


def lines(done):
    return done.stderr.decode().splitlines()


def refused(done):
    """Checks for one line, which says that others can write to the directory and how to trust
    it."""
    h.equal(len(lines(done)), 1, f"sentences said: {done.stderr}")
    h.check("can be written by others" in lines(done)[0], lines(done))
    h.check("--trust-directory" in lines(done)[0], lines(done))


def sim(folder="run", *more):
    h.run(h.profwrap("sim", "--ranks", 2, "--steps", 5, *more, folder))
    return folder


def merged(folder="run"):
    sim(folder)
    h.run(h.profwrap("merge", "-q", folder))
    return folder


@h.case
def directories_of_everybody_are_refused():
    for bits in (0o777, 0o1777, 0o703):
        make("out", bits)
        done = h.run(h.profwrap("-o", "out", "sh", "-c", "echo ran; exit 3"), 3)
        h.equal(done.stdout, b"ran\n", "output of the program")
        refused(done)
        h.equal(os.listdir("out"), [], "files in a refused directory")
        os.rmdir("out")


@h.case
def a_refused_job_runs_on_all_ranks():
    make("out", 0o777)
    done = h.run(h.mpirun(2, *h.profwrap("-o", "out"), h.place("TRAIN"), "--steps", 3))
    h.equal(sum("can be written by others" in line for line in lines(done)), 1, "refusals")
    h.equal(os.listdir("out"), [], "files in a refused directory")


@h.case
def a_directory_that_is_trusted():
    for option, env in ((["--trust-directory"], {}), ([], {"PROFWRAP_TRUST_DIRECTORY": "1"})):
        make("out", 0o777)
        done = h.run(h.profwrap(*option, "-q", "-o", "out", RUN), env=env)
        h.equal(done.stderr, b"", "what was said")
        h.check({"rank-00000.h5", "cluster.h5", "report.txt"} <= set(os.listdir("out")),
                os.listdir("out"))
        shutil.rmtree("out")
    make("out", 0o777)
    refused(h.run(h.profwrap("-o", "out", RUN), env={"PROFWRAP_TRUST_DIRECTORY": "0"}))


def as_user(uid, gid, command, files):
    """Runs a command as another user, with these files in place of /etc/passwd and /etc/group."""
    words = ["unshare", "-m", "sh", "-c",
             'mount --bind "$1" /etc/passwd && mount --bind "$2" /etc/group && shift 2 && '
             f'exec setpriv --reuid {uid} --regid {gid} --clear-groups "$@"', "sh", *files, *command]
    return subprocess.run(list(map(str, words)), capture_output=True, timeout=h.PATIENCE_S,
                          env=h.environment(PATH=os.environ["PATH"]))


@h.case
def a_directory_of_a_group():
    """The mode is 0775, which a umask of 002 gives. A directory of the user's private group is
    accepted; one of a shared group is refused."""
    if os.geteuid() != 0:
        raise h.Skipped("only root can be another user")
    uid, others, shared = 12345, 12346, 12347
    with open("/etc/passwd") as file:
        known = file.read()
    with open("passwd", "w") as file:
        file.write(known + f"ada:x:{uid}:{uid}::/:/bin/sh\nbob:x:{others}:{shared}::/:/bin/sh\n")
    os.chmod(".", 0o755)
    bare = subprocess.run(["unshare", "-m", "true"], capture_output=True)
    if bare.returncode:
        raise h.Skipped("no mount namespaces here")
    for gid, members, accepted in ((uid, "", True), (uid, "ada", True), (uid, "ada,bob", False),
                                   (shared, "ada", False)):
        with open("/etc/group") as file:
            known = file.read()
        with open("group", "w") as file:
            file.write(known + f"ada:x:{uid}:{members}\nproject:x:{shared}:ada\n")
        make("out", 0o775)
        os.chown("out", uid, gid)
        done = as_user(uid, uid, h.profwrap("--no-merge", "-o", os.path.abspath("out"), RUN),
                       ("passwd", "group"))
        h.equal(done.returncode, 0, f"status: {done.stderr}")
        what = f"group {gid} with members '{members}'"
        if accepted:
            h.check("rank-00000.h5" in os.listdir("out"), what, done.stderr)
        else:
            refused(done)
        shutil.rmtree("out")


@h.case
def a_directory_with_an_access_list():
    """The access list has an entry for another user, in the kernel's binary form."""
    user, group = 0x01, 0x04
    named, mask, other, none = 0x02, 0x10, 0x20, 0xFFFFFFFF

    def set_list(path, permissions, masked):
        entries = ((user, 7, none), (named, permissions, NOBODY), (group, 0, none),
                   (mask, masked, none), (other, 0, none))
        try:
            os.setxattr(path, "system.posix_acl_access",
                        struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
        except OSError as error:
            raise h.Skipped(f"no access lists here: {error}") from None

    for permissions, masked, accepted in ((7, 7, False), (5, 7, True), (7, 5, True)):
        make("out", 0o700)
        set_list("out", permissions, masked)
        done = h.run(h.profwrap("--no-merge", "-o", "out", RUN))
        if accepted:
            h.check("rank-00000.h5" in os.listdir("out"), permissions, masked, done.stderr)
        else:
            refused(done)
        shutil.rmtree("out")


@h.case
def other_commands_refuse_too():
    """merge, recover, sim and import refuse such a directory, unless PROFWRAP_TRUST_DIRECTORY is
    set."""
    merged()
    os.chmod("run", 0o777)
    with open("trace.json", "w") as file:
        json.dump({"traceEvents": [], "distributedInfo": {"rank": 0, "world_size": 1}}, file)
    make("imported", 0o777)
    for command in (["merge", "-q", "run"], ["recover", "run"], ["sim", "run"],
                    ["import", "-o", "imported", "trace.json"]):
        done = h.run(h.profwrap(*command), 1)
        refused(done)
    h.run(h.profwrap("merge", "-q", "run"), env={"PROFWRAP_TRUST_DIRECTORY": "1"})


@h.case
def a_running_job_is_not_asked_there():
    """ctl puts files into the directory and reads answers from it, so it refuses such a
    directory."""
    flood = Flood("--no-merge")
    os.chmod("out", 0o777)
    for words in (["status"], ["start"], ["snapshot"], ["metrics"], ["metrics", "--serve"]):
        refused(h.run(h.profwrap("ctl", *words, "out"), 1))
    os.chmod("out", 0o700)
    h.run(h.profwrap("ctl", "status", "out"))
    flood.end()


def plant_and_end(names, plant):
    """Starts a run in a directory to which others can write. During the run, `plant` makes
    something under every name. The run ends and makes its reports."""
    make("out", 0o777)
    flood = Flood("--trust-directory", calls=100)
    for name in names:
        plant(os.path.join("out", name))
    flood.end()


@h.case
def pipes_in_the_place_of_reports():
    """No process reads the pipes, so opening one for writing would block for ever."""
    names = [name + end for name in ("report.txt", "report.json", "report.html")
             for end in ("", ".part")]
    plant_and_end(names, os.mkfifo)
    for name in ("report.txt", "report.json"):
        path = os.path.join("out", name)
        h.check(stat.S_ISREG(os.lstat(path).st_mode), name, "is no file")
        h.equal(mode(path), 0o600, f"mode of {name}")
        h.check(os.path.getsize(path) > 100, name, "is empty")


@h.case
def pipes_in_the_place_of_what_is_read():
    """Each command ends with status 1 and one line, which says what it cannot read."""
    merged()
    os.mkfifo("pipe")
    os.mkfifo("pipe.json")
    os.mkdir("journal")
    os.mkfifo("journal/rank-00000.journal")
    os.mkdir("cluster")
    os.mkfifo("cluster/cluster.h5")
    for command in (["dump", "pipe"], ["report", "pipe"], ["report", "cluster"],
                    ["ask", "pipe"], ["ask", "cluster"], ["compare", "run", "pipe"], ["report", "--format", "html", "--d3", "pipe",
                                                 "-o", "r.html", "run"],
                    ["import", "-o", "a", "pipe.json"], ["import", "-f", "flight", "-o", "a", "pipe"],
                    ["import", "-f", "kineto", "-o", "a", "pipe.json"]):
        done = h.run(h.profwrap(*command), 1)
        h.equal(len(lines(done)), 1, f"lines of {command}: {done.stderr}")
    done = h.run(h.profwrap("recover", "journal"), 1)
    h.check(b"no regular file" in done.stderr, done.stderr)
    os.rename("run/rank-00001.h5", "rank")
    os.mkfifo("run/rank-00001.h5")
    h.run(h.profwrap("merge", "-q", "run"))
    done = h.run(h.profwrap("report", "--format", "json", "run"))
    h.equal(json.loads(done.stdout)["completeness"]["ranks_present"], 1, "ranks that were read")


@h.case
def pipes_in_the_place_of_hidden_files():
    """Pipes replace the hidden files through which ranks agree on the clock synchronisation or find
    each other."""
    plant = "for f in .sync-00000 .sync-00001 .clock-key; do mkfifo out/$f; done; "
    h.run(h.mpirun(2, *h.profwrap("-q", "--no-merge", "-o", "out"), "sh", "-c",
                   plant + 'exec "$0" --steps 3', h.place("TRAIN")))
    for rank in range(2):
        h.open_complete("out", rank)


@h.case
def a_report_goes_to_pipes_of_ones_own_only():
    merged()
    os.mkfifo("mine")
    reader = subprocess.Popen(["cat", "mine"], stdout=subprocess.PIPE)
    h.run(h.profwrap("report", "-o", "mine", "run"))
    h.check(len(reader.communicate(timeout=h.PATIENCE_S)[0]) > 100, "nothing came through the pipe")
    h.check(h.run(h.profwrap("report", "-o", "/dev/stdout", "run")).stdout, "nothing on stdout")
    if not h.is_root("another user, whose pipe is not written to"):
        return
    os.chown("mine", NOBODY, NOBODY)
    for command in (["report", "-o", "mine", "run"], ["compare", "-o", "mine", "run", "run"]):
        done = h.run(h.profwrap(*command), 1)
        h.equal(len(lines(done)), 1, f"lines: {done.stderr}")


def report_and_comparison(path):
    return ["report", "-o", path, "run"], ["compare", "-o", path, "run", "run"]


@h.case
def reports_to_the_standard_output_of_a_file():
    """The report is appended to the file that is the standard output, and the link in /dev
    stays."""
    merged()
    before = os.readlink("/dev/stdout")
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        for command in report_and_comparison(name):
            h.run(["sh", "-c", '{ echo first; "$@"; echo last; } > out', "sh",
                   *h.profwrap(*command)])
            with open("out") as file:
                text = file.read()
            if not os.path.islink("/dev/stdout"):
                os.unlink("/dev/stdout")
                os.symlink(before, "/dev/stdout")
                raise AssertionError("/dev/stdout was replaced")
            h.check(text.startswith("first\n") and text.endswith("last\n") and len(text) > 200,
                    f"{name}: {text[:80]!r}")


@h.case
def links_in_the_place_of_reports():
    """A link of the user's own is followed, as by the shell's >. A link of another user is
    replaced."""
    merged()
    root = h.is_root("another user, whose links are replaced")
    for owner in (os.geteuid(), NOBODY) if root else (os.geteuid(),):
        for command in report_and_comparison("link"):
            with open("victim", "w") as file:
                file.write("precious" * 10000)
            os.symlink("victim", "link")
            os.lchown("link", owner, -1)
            # A run of few steps compared with itself: "cannot tell".
            h.run(h.profwrap(*command), status=4 if "compare" in command else 0)
            own = owner == os.geteuid()
            h.equal(os.path.islink("link"), own, f"the link of user {owner} stays")
            h.equal("precious" in open("victim").read(), not own, "what the link points to")
            h.check(os.path.getsize("link") > 100, "no report")
            os.unlink("link")


def private(folder):
    h.equal(mode(folder), 0o700, f"mode of {folder}")
    for name in set(os.listdir(folder)) - {".job"}:  # a link
        h.equal(mode(os.path.join(folder, name)), 0o600, f"mode of {name}")


@h.case
def sim_and_import_write_private_files():
    """The files are private, whatever the umask."""
    kineto = {"traceEvents": [{"ph": "X", "name": "aten::add", "cat": "cpu_op", "pid": 1, "tid": 1,
                               "ts": 1, "dur": 2}],
              "distributedInfo": {"rank": 0, "world_size": 1}}
    with open("rank-0.json", "w") as file:
        json.dump(kineto, file)
    h.run(h.profwrap("sim", "--ranks", 2, "--steps", 3, "run"), umask=0)
    private("run")
    h.run(h.profwrap("import", "-o", "imported", "rank-0.json"), umask=0)
    private("imported")
    h.run(h.profwrap("merge", "-q", "run"), umask=0)
    private("run")


@h.case
def recover_writes_private_files():
    flood = Flood("--no-merge", calls=100, start_new_session=True)
    shutil.copytree("out", "copy", symlinks=True)
    flood.end()
    os.chmod("copy", 0o700)
    os.unlink("copy/rank-00000.h5.part")
    h.run(h.profwrap("recover", "copy"), umask=0)
    h.equal(mode("copy/rank-00000.h5"), 0o600, "mode of the recovered file")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
