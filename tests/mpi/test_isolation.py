"""Only the owner of a run can read or change its files, shared memory and sockets."""

import glob
import os
import re
import socket
import stat
import subprocess
import sys
import time

import harness as h
from ending import children

NOBODY = 65534
OUTPUTS = ("cluster.h5", "report.txt", "report.json")


def check_private(path):
    """The file is ours, and no other user can read it. The modes of links mean nothing."""
    status = os.lstat(path)
    h.equal(status.st_uid, os.geteuid(), f"owner of {path}")
    if not stat.S_ISLNK(status.st_mode):
        h.equal(stat.S_IMODE(status.st_mode) & 0o077, 0, f"what others may do with {path}")


def check_tree(folder):
    for name in os.listdir(folder):
        check_private(os.path.join(folder, name))
    return set(os.listdir(folder))


def segment(guard):
    """The path of the shared memory of this guard's run, from the mappings of its collector."""
    collector, = children(guard)
    with open(f"/proc/{collector}/maps") as file:
        found = {line.split()[-1] for line in file if "/dev/shm/profwrap-" in line}
    h.equal(len(found), 1, "shared-memory objects")
    return found.pop()


def wait_until(what, condition):
    limit = time.monotonic() + h.PATIENCE_S
    while not condition():
        h.check(time.monotonic() < limit, "waited in vain for", what)
        time.sleep(0.01)


def start(*command, **more):
    return subprocess.Popen(list(map(str, command)), env=h.environment(), text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            **more)


def say(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    h.equal(process.stdout.readline(), "done\n", f"answer to {line}")


def end(process):
    _, errors = process.communicate(timeout=h.PATIENCE_S)
    h.equal(process.returncode, 0, "status: " + errors)


def need_root():
    if os.geteuid() != 0:
        raise h.Skipped("only root can make another user's files")


@h.case
def files_and_shared_memory_are_private():
    """The umask of the program allows access to everybody, and profwrap does not change it."""
    process = start(*h.profwrap("-o", "out", "sh", "-c", 'umask; exec "$0"', h.program("flood")),
                    umask=0)
    h.equal(process.stdout.readline().strip(), "0000", "umask of the program")
    say(process, "calls 100")
    h.equal(stat.S_IMODE(os.stat("out").st_mode), 0o700, "mode of the directory")
    h.check("rank-00000.h5.part" in check_tree("out"), "no rank file during the run")
    path = segment(process.pid)
    check_private(path)
    h.check(re.fullmatch(r"/dev/shm/profwrap-0-[0-9a-f]{32}", path), "a name to be guessed:", path)
    end(process)
    h.check(not os.path.exists(path), "shared memory left behind")
    h.check({"rank-00000.h5", *OUTPUTS} <= check_tree("out"), "missing in", os.listdir("out"))


@h.case
def names_of_shared_memory_differ():
    """Names have 128 random bits. Two names have few digits in common at the same place."""
    names = []
    for k in range(4):
        process = start(*h.profwrap("--no-merge", "-o", f"out{k}", h.program("flood")))
        say(process, "calls 1")
        names.append(segment(process.pid).rsplit("-", 1)[1])
        end(process)
    for a in range(4):
        for b in range(a):
            alike = sum(x == y for x, y in zip(names[a], names[b]))
            h.check(alike < 16, names[a], "and", names[b], "have", alike, "digits in common")


@h.case
def an_open_directory():
    """Others may write to the directory, and it is trusted. Its files are still ours and
    private."""
    os.mkdir("out")
    os.chmod("out", 0o777)
    h.run(h.mpirun(2, *h.profwrap("--trust-directory", "-q", "-o", "out"), h.place("TRAIN"),
                   "--steps", 3), umask=0)
    h.check({"rank-00000.h5", "rank-00001.h5", *OUTPUTS} <= check_tree("out"), os.listdir("out"))


def plant(names, make):
    """Starts a run in a directory to which others can write. Before the collector writes its
    results, `make` makes something under every name."""
    os.mkdir("out")
    os.chmod("out", 0o777)
    process = start(*h.profwrap("--trust-directory", "-o", "out", h.program("flood")))
    say(process, "calls 100")
    for name in names:
        make(os.path.join("out", name))
    end(process)
    for name in set(os.listdir("out")) - set(names):
        check_private(os.path.join("out", name))
    for name in OUTPUTS:
        path = os.path.join("out", name)
        h.check(stat.S_ISREG(os.lstat(path).st_mode), name, "is no file")
        h.check(os.path.getsize(path) > 100, name, "is empty")
    h.equal(h.operations(h.open_complete("out")).count("Allreduce"), 100, "calls")


PARTS = [name + ".part" for name in OUTPUTS]


@h.case
def planted_links_are_not_followed():
    with open("victim", "w") as file:
        file.write("precious")
    plant(PARTS, lambda path: os.symlink("../victim", path))
    with open("victim") as file:
        h.equal(file.read(), "precious", "what a planted link pointed to")


@h.case
def planted_files_are_not_used():
    need_root()

    def make(path):
        with open(path, "w") as file:
            os.fchmod(file.fileno(), 0o666)
            os.fchown(file.fileno(), NOBODY, NOBODY)

    plant(PARTS, make)


@h.case
def a_planted_rank_file_is_refused():
    """A link is in the place of rank 1's file while rank 0 is running. profwrap reports it, and
    does not write to its target."""
    with open("victim", "w") as file:
        file.write("precious")
    job = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0",
           "OMPI_MCA_ess_base_jobid": "77", "PMIX_NAMESPACE": "77"}
    env = {**h.environment(), **job}
    for rank, name, status in ((0, None, 0), (1, "rank-00001.h5.part", 1)):
        if name:
            os.symlink("../victim", os.path.join("out", name))
        done = subprocess.run(h.profwrap("--no-merge", "-o", "out", "/bin/true"),
                              env={**env, "OMPI_COMM_WORLD_RANK": str(rank)}, capture_output=True)
        h.equal(done.returncode, status, f"status of rank {rank}: {done.stderr}")
    h.equal(len(done.stderr.splitlines()), 1, f"sentences said: {done.stderr}")
    with open("victim") as file:
        h.equal(file.read(), "precious", "what a planted link pointed to")


@h.case
def a_directory_of_another_user():
    need_root()
    os.mkdir("out")
    os.chown("out", NOBODY, NOBODY)
    done = h.run(h.profwrap("-o", "out", "/bin/true"), 2)
    h.check(b"belongs to another user" in done.stderr, done.stderr)
    h.equal(os.listdir("out"), [], "files in it")


@h.case
def a_segment_of_another_user():
    """The probe checks the segment that the environment names. It refuses a segment of another
    user, one that others may write, a link, and a short one. The program then runs as if there were
    no profwrap."""
    library = os.path.join(os.path.dirname(h.place("PROFWRAP")), "..", "libexec", "profwrap",
                           "libprofwrap_probe.so")
    name = f"profwrap-planted-{os.getpid()}"
    path = "/dev/shm/" + name

    def check(what):
        done = h.run([h.program("processes"), "child"], 7,
                     env={"LD_PRELOAD": library, "PROFWRAP_SEGMENT": "/" + name})
        h.equal((done.stdout, done.stderr), (b"", b""), f"output with {what}")

    process = start(*h.profwrap("--no-merge", "-o", "out", h.program("flood")))
    try:
        say(process, "calls 1")
        mine = segment(process.pid)
        os.symlink(mine, path)
        check("a link")
        os.unlink(path)
        with open(mine, "rb") as source, open(path, "wb") as copy:
            copy.write(source.read(1 << 16))
        os.chmod(path, 0o666)
        check("one that others may write")
        os.chmod(path, 0o600)
        os.truncate(path, 100)
        check("a short one")
        if h.is_root("another user, whose segment is not mapped"):
            os.chown(path, NOBODY, NOBODY)
            check("another user's")
    finally:
        end(process)
        os.unlink(path)


# ---- sockets ----


def is_collector(pid, folder):
    """Whether the process is a collector that runs in the folder."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            program = file.read().split(b"\0")[0]
        return program.endswith(b"profwrap") and os.readlink(f"/proc/{pid}/cwd") == folder
    except OSError:
        return False


def collectors(folder):
    """The process IDs of the collectors that run in the folder."""
    return [int(pid) for pid in filter(str.isdigit, os.listdir("/proc"))
            if is_collector(pid, folder)]


def sockets(pid):
    """The lines of /proc/net about the process's own sockets, with their protocol."""
    try:
        links = [os.readlink(path) for path in glob.glob(f"/proc/{pid}/fd/*")]
    except OSError:
        return []
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    lines = []
    for kind in ("tcp", "tcp6", "udp", "udp6", "unix", "raw", "packet"):
        with open(f"/proc/net/{kind}") as file:
            for line in file.readlines()[1:]:
                if inodes & set(line.split()):
                    lines.append((kind, line.split()))
    for inode in inodes - {word for _, words in lines for word in words}:
        # It may have been closed since.
        now = [os.readlink(path) for path in glob.glob(f"/proc/{pid}/fd/*") if os.path.islink(path)]
        h.check(f"socket:[{inode}]" not in now, "a socket of a kind not looked at:", links)
    return lines


def load(*clocks):
    """Starts mpirun with one rank for each clock, for some seconds."""
    words = [h.place("MPIEXEC")]
    program = os.path.join(h.place("BUILD"), "tests", "bench", "clockload")
    for i, clock in enumerate(clocks):
        words += [":"] * (i > 0) + ["-np", "1", "-x", f"PROFWRAP_TEST_CLOCK={clock}"]
        words += [*h.profwrap("--no-merge", "--clock-interval", "1", "-o", "out"), program,
                  str(10**9), "4", "1000"]
    return start(*words)


@h.case
def one_host_has_no_sockets():
    process = load("", "")
    wait_until("the journals", lambda: len(glob.glob("out/rank-*.journal")) == 2)
    seen = 0  # looks at a collector
    while process.poll() is None and time.monotonic():
        for pid in collectors(os.getcwd()):
            found = sockets(pid)
            if is_collector(pid, os.getcwd()):  # and has not become the merge's mpirun meanwhile
                h.equal(found, [], f"sockets of collector {pid}")
                seen += 1
        time.sleep(0.1)
    end(process)
    h.check(seen >= 4, "collectors were looked at only", seen, "times")


def strangers_packets():
    """Packets without the job's authentication code; some are as large as a probe."""
    return [b"", b"\0" * 40, os.urandom(40), os.urandom(39), os.urandom(41), os.urandom(1400)]


def all_sockets():
    return [line for pid in collectors(os.getcwd()) for line in sockets(pid)]


def listening_in(found):
    """The addresses on which sockets take packets from everyone."""
    return [words[1] for _, words in found if words[2].endswith(":0000")]


@h.case
def several_hosts_answer_to_the_token_only():
    process = load("", "5000000:50:1")
    wait_until("the service", lambda: os.path.islink("out/.clock-service"))
    # The port of the agreement is closed a second after the decision.
    wait_until("the decision", lambda: os.path.islink("out/.sync-decision"))
    wait_until("one port", lambda: len(all_sockets()) == 2 and len(listening_in(all_sockets())) == 1)
    check_tree("out")
    key = os.lstat("out/.clock-key")
    h.check(stat.S_ISREG(key.st_mode) and key.st_size >= 16, "no token of 16 bytes")
    address, port = os.readlink("out/.clock-service").split(":")
    found = all_sockets()
    h.check(found and all(kind == "udp" for kind, _ in found), "sockets:", found)
    listening = listening_in(found)
    h.equal([int(word.split(":")[1], 16) for word in listening], [int(port)], "listening ports")
    h.check(not listening[0].startswith("00000000:"), "listens on every address")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.settimeout(0.5)
        for packet in strangers_packets():
            stranger.sendto(packet, (address, int(port)))
            try:
                answer = stranger.recv(100)
            except OSError:
                continue
            h.check(False, "a stranger was answered", answer)
    end(process)
    file = h.open_complete("out", 1)
    h.check(len(file["clock"]) >= 3, "who has the token was not answered:", len(file["clock"]))


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
