#!/usr/bin/env python3
"""The readers in Python: profwrap.load(), and profwrap.flight, which reads pickles.

    fuzz_python.py load|pickle SECONDS MUTATE FOUND

runs inputs that the program MUTATE makes of the corpus, in child processes with the memory that an
input may take, and saves in FOUND/new what ended in anything but FileError, and in FOUND/library what
made load() crash: it is plain Python, and calls libhdf5 in the same process. Pickles are read without
that library, so that their crashes are new, too. The last line is JSON: executions, findings and the
most memory above what the process had. The status is 1 when there are new findings, or no executions.
"""
import io
import json
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "python"))
sys.path.insert(0, HERE)
import seeds  # noqa: E402

BATCH, PATIENCE_S, MORE_BYTES, MOST_BYTES = 32, 20, 512 << 20, 1 << 18
CRASHES = (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE)
CALLS_HDF5 = ("load",)
OPCODES = [bytes([code]) for code in b"()]}lt0120NabdeghijpqrsuFGIJKLMPQRSTUVX"]
OPCODES += [bytes([code]) for code in range(0x80, 0x99)]


def mutate_pickle(data, random):
    """Changes, inserts, removes or repeats bytes and operations."""
    for _ in range(random.randrange(1, 5)):
        at, n = random.randrange(len(data) + 1), random.randrange(1, 9)
        put = random.choice([random.choice(OPCODES), random.randbytes(n), data[at : at + n * 8],
                             random.choice(OPCODES) + b"\xff\xff\xff\x7f", b""])
        data = data[:at] + put + data[at + random.choice((0, 0, 1, n)) :]
    return data[:MOST_BYTES] or b"."


def make_inputs(reader, mutate, seed, random, folder):
    if reader == "load":
        command = [mutate, str(random.getrandbits(48)), str(BATCH), folder, seed]
        subprocess.run(command, stderr=subprocess.DEVNULL)  # HDF5 can crash here, too
        return sorted(os.path.join(folder, name) for name in os.listdir(folder))
    try:
        with open(seed, encoding="utf-8") as file:
            plain = json.load(file)
    except ValueError:
        plain = {"version": "2.5", "entries": [{"frames": [], "process_group": ("0", "default")}] * 3}
    paths = []
    for i in range(BATCH):
        whole = pickle.dumps(plain, protocol=random.randrange(6))
        paths.append(os.path.join(folder, str(i)))
        with open(paths[-1], "wb") as file:
            file.write(mutate_pickle(whole, random))
    return paths


def read_run(path, folder, kind):
    import reading

    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    good = {"rank": "halo-1", "cluster": "halo"}
    names = {"rank": "rank-00001.h5", "cluster": "cluster.h5"}
    for each, name in names.items():
        source = path if each == kind else os.path.join(seeds.CORPUS, each, good[each])
        shutil.copy(source, os.path.join(folder, name))
    return reading.read_everything(folder)


def read_pickle(path, folder, _):
    from profwrap import flight

    copy = os.path.join(folder, "dump")
    shutil.copy(path, copy)
    said, sys.stderr = sys.stderr, io.StringIO()
    try:
        status = flight.main([copy])
    except BaseException as problem:
        return [f"{type(problem).__name__}: {problem}"]
    finally:
        text, sys.stderr = sys.stderr.getvalue(), said
    # Python 3.11's own pickle says this of its own accord.
    lines = [line for line in text.splitlines() if not line.startswith("SystemError: dealloc")]
    fits = (status, len(lines)) in ((0, 0), (1, 1)) and all("dump" in line for line in lines)
    return [] if fits else [f"status {status} after {lines}"]


def own_memory():
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return {name: int(fields[name].split()[0]) << 10 for name in ("VmSize", "VmRSS", "VmHWM")}


def limit_memory(path):
    """Limits the memory for one input. Memory that the process already has does not count for the
    input."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak begins anew
    except OSError:
        pass
    most = own_memory()["VmSize"] + os.path.getsize(path) + MORE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


def read_inputs(reader, paths, folder, kind, tell):
    """Runs in the child. Writes a line of JSON at the begin and at the end of each input."""
    read = {"load": read_run, "pickle": read_pickle}[reader]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for path in paths:
        tell.write(json.dumps({"path": path}) + "\n")
        tell.flush()
        before = own_memory()["VmRSS"]
        limit_memory(path)
        signal.alarm(PATIENCE_S)
        wrong = read(path, folder, kind)
        signal.alarm(0)
        taken = own_memory()["VmHWM"] - before
        if taken > os.path.getsize(path) + MORE_BYTES:
            wrong.append(f"{taken >> 20} MiB of memory")
        tell.write(json.dumps({"path": path, "wrong": wrong, "bytes": taken}) + "\n")
        tell.flush()


def run_child(reader, paths, folder, kind):
    """The lines that the child wrote, and its exit status."""
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ends[0])
        sys.stderr = open(os.devnull, "w")
        with os.fdopen(ends[1], "w") as tell:
            try:
                read_inputs(reader, paths, folder, kind, tell)
            finally:
                tell.flush()
                os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0]) as told:
        lines = [json.loads(line) for line in told]
    return lines, os.waitpid(pid, 0)[1]


class Sums:
    def __init__(self, reader, found):
        self.reader, self.found, self.executions, self.peak = reader, found, 0, 0
        self.counts = {"new": 0, "library": 0}

    def save(self, kind, path, why):
        folder = os.path.join(self.found, kind)
        os.makedirs(folder, exist_ok=True)
        self.counts[kind] += 1
        name = f"{os.getpid()}-{int(time.time())}-{self.executions}"
        shutil.copy(path, os.path.join(folder, name))
        print(f"  {kind}: {name}: {why}", flush=True)

    def count(self, lines, status, first):
        """Counts the inputs of a child from the lines that it wrote and its exit status. Its first
        input was to be `first`."""
        ended = {line["path"]: line for line in lines if "wrong" in line}
        self.executions += len({line["path"] for line in lines})
        for line in ended.values():
            self.peak = max(self.peak, line["bytes"])
            if line["wrong"]:
                self.save("new", line["path"], "; ".join(line["wrong"])[:300])
        code = os.waitstatus_to_exitcode(status)
        if not lines:
            self.save("new", first, f"ended with {code} before it was read")
        elif lines[-1]["path"] not in ended:
            self.save(self.kind_of(code), lines[-1]["path"],
                      "more than 20 s" if code == -signal.SIGALRM else f"ended with {code}")

    def kind_of(self, code):
        return "library" if self.reader in CALLS_HDF5 and code in CRASHES else "new"

    def status(self):
        return 1 if self.counts["new"] or not self.executions else 0


def main(reader, seconds, mutate, found):
    import profwrap  # once, for all children

    if reader == "load":
        profwrap._tables.h5py_module()
    corpus = [path for kind in seeds.KINDS[reader] for path in seeds.files_of(kind)]
    sums, until, dice = Sums(reader, found), time.monotonic() + seconds, random.Random()
    while time.monotonic() < until:
        seed = dice.choice(corpus)
        with tempfile.TemporaryDirectory() as inputs, tempfile.TemporaryDirectory() as folder:
            paths = make_inputs(reader, mutate, seed, dice, inputs)
            kind = os.path.basename(os.path.dirname(seed))
            while paths and time.monotonic() < until:
                lines, status = run_child(reader, paths, folder, kind)
                sums.count(lines, status, paths[0])
                last = lines[-1]["path"] if lines else paths[0]
                paths = paths[paths.index(last) + 1 :]
    print(json.dumps({"executions": sums.executions, "peak": sums.peak, **sums.counts}))
    return sums.status()


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in seeds.IN_PYTHON:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], float(sys.argv[2]), *sys.argv[3:]))
