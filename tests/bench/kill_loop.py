"""SIGKILL at random moments: is every file readable, is every call there that had returned?

    kill_loop.py PROFWRAP TALLY WORK_DIR [APPLICATIONS COLLECTORS] [--jobs N]

APPLICATIONS (2000) runs whose application is killed at a random moment, from before its start to
long after; COLLECTORS (1000) whose collector is, the guard with it in every fourth, so that `profwrap
recover` has to make the file. The application counts the calls that have returned in a file of its
own: what the rank file lacks of these, and of nothing else, is missing. Every eighth run is an MPI
program, the others record ranges, which takes less time. After each kill the run is merged and
reported. Prints the counts beside their budgets, and a line for every run that is not right.
"""
import argparse
import concurrent.futures
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

import h5py

from measure import report

CALLS = 4000
parser = argparse.ArgumentParser()
parser.add_argument("profwrap")
parser.add_argument("tally")
parser.add_argument("work")
parser.add_argument("applications", nargs="?", type=int, default=2000)
parser.add_argument("collectors", nargs="?", type=int, default=1000)
parser.add_argument("--jobs", type=int, default=os.cpu_count())
options = parser.parse_args()


def environment(with_mpi):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PROFWRAP_")}
    env["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    if os.geteuid() == 0:
        env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    if not with_mpi:
        env["TALLY_WITHOUT_MPI"] = "1"
    return env


def child_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            words = file.read().split()
    except OSError:
        return None
    return int(words[0]) if words else None


def descendant(pid, generations, process):
    """The child's child's ..., as soon as there is one; None when the run has ended first."""
    while True:
        found = pid
        for _ in range(generations):
            found = child_of(found) if found else None
        if found:
            return found
        if process.poll() is not None:
            return None
        time.sleep(0.0005)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except (OSError, TypeError):
        pass


def wait_until_gone(pid):
    while pid:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    return
        except OSError:
            return
        time.sleep(0.002)


def returned(folder):
    try:
        with open(os.path.join(folder, "count"), "rb") as file:
            return struct.unpack("=q", file.read(8).ljust(8, b"\0"))[0]
    except FileNotFoundError:
        return 0


def recorded(path):
    """Calls, counted as ranges, and dropped events. OSError when the file cannot be read."""
    with h5py.File(path, "r") as file:
        table, names = file["events/range"], [bytes(text) for text in file["strings"][:]]
        rows = table["name"][:]
        calls = sum(1 for row in rows if names[row] == b"call")
        return calls, int(file.attrs["dropped_events"])


def merged_and_reported(out, env):
    for command in (["merge", out], ["report", out]):
        done = subprocess.run([options.profwrap, *command], env=env, capture_output=True)
        if done.returncode < 0 or done.returncode > 1 or b"Traceback" in done.stderr:
            return f"{command[0]} ended with {done.returncode}"
    return None


def judge(folder, out, env):
    """None when all is right, else ("unreadable" | "missing" | "crashed", words)."""
    path = os.path.join(out, "rank-00000.h5")
    calls = returned(folder)
    try:
        found, dropped = recorded(path)
    except (OSError, KeyError) as problem:
        if calls == 0 and not os.path.exists(path):
            return None  # killed before anything was there
        return "unreadable", f"{calls} calls, {problem}, files {sorted(os.listdir(out))}"
    if not calls <= found + dropped <= calls + 1 or dropped:
        return "missing", f"{calls} calls returned, {found} in the file, {dropped} dropped"
    problem = merged_and_reported(out, env)
    return ("crashed", problem) if problem else None


def recover(out, env):
    """Until no program runs any more: one that was just starting may have been overlooked."""
    for _ in range(100):
        done = subprocess.run([options.profwrap, "recover", out], env=env, capture_output=True)
        if b" 0 still running" in done.stdout or done.returncode:
            return
        time.sleep(0.1)


def one_run(number, of_application):
    draw = random.Random(number + 1000000 * of_application)
    with_mpi = number % 8 == 0
    folder = os.path.join(options.work, f"kill-{of_application:d}-{number}")
    out, env = os.path.join(folder, "out"), environment(with_mpi)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    how = ["0", "stay"] if of_application else [str(CALLS * draw.randrange(1, 20)), "return", "0"]
    process = subprocess.Popen([options.profwrap, "-q", "-o", out, "--no-merge", "--ring-size", "64M",
                                options.tally,
                                os.path.join(folder, "count"), *how], env=env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    victim = descendant(process.pid, 1 + of_application, process)
    time.sleep(draw.random() ** 2 * (0.5 if with_mpi else 0.12))
    if of_application:
        kill(victim)
    else:
        program = child_of(victim) if victim else None
        with_guard = number % 4 == 3
        if with_guard:
            kill(process.pid)
        kill(victim)
        if with_guard:
            process.wait()
            wait_until_gone(program)
    process.wait()
    if not of_application:
        recover(out, env)
    verdict = judge(folder, out, env)
    if verdict is None:
        shutil.rmtree(folder)
    return verdict


def main():
    os.makedirs(options.work, exist_ok=True)
    runs = ([(i, True) for i in range(options.applications)]
            + [(i, False) for i in range(options.collectors)])
    wrong = {"unreadable": 0, "missing": 0, "crashed": 0}
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (number, of_application), verdict in zip(runs, pool.map(lambda r: one_run(*r), runs)):
            if verdict:
                wrong[verdict[0]] += 1
                print(f"{'application' if of_application else 'collector'} {number}: {verdict[0]}: "
                      f"{verdict[1]}", flush=True)
    print(f"{options.applications} applications and {options.collectors} collectors killed in "
          f"{time.monotonic() - start:.0f} s")
    ok = report("files that cannot be read", wrong["unreadable"], 0)
    ok &= report("runs that lack calls which had returned", wrong["missing"], 0)
    ok &= report("merges or reports that crashed", wrong["crashed"], 0)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
