"""What the tests of this folder share: running programs under profwrap, reading files, and cases.

A test script is a set of functions marked @case. `SCRIPT --list` names them, `SCRIPT NAME...` runs
some, `SCRIPT` all; exit 0, 1, or 77 when all that was asked for was skipped. Where things are comes
from the environment: MPITEST_PROFWRAP, MPITEST_TRAIN, MPITEST_PROGRAMS, MPITEST_MPIEXEC.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import stored

SKIP = 77
PATIENCE_S = 300
CASES = {}


class Skipped(Exception):
    pass


def case(function):
    CASES[function.__name__.replace("_", "-")] = function
    return function


def check(truth, *what):
    if not truth:
        raise AssertionError(" ".join(str(part) for part in what))


def equal(found, wanted, what):
    check(found == wanted, what, "is\n ", repr(found), "\nbut should be\n ", repr(wanted))


def is_root(what):
    """Returns whether this process is root. If not, prints which part of the case is not run."""
    if os.geteuid() == 0:
        return True
    print(f"partly skipped: only root can be {what}")
    return False


def own_mounts():
    """Skips the case if file systems cannot be mounted in a separate namespace."""
    if os.geteuid() != 0:
        raise Skipped("mounting file systems takes root")
    try:
        probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"],
                               capture_output=True)
    except FileNotFoundError:
        raise Skipped("there is no unshare") from None
    if probe.returncode != 0:
        raise Skipped("no mount namespaces: " + probe.stderr.decode().strip())


def place(name):
    value = os.environ.get("MPITEST_" + name)
    if not value:
        sys.exit(f"MPITEST_{name} is not set; run this through ctest")
    return value


def program(name):
    path = os.path.join(place("PROGRAMS"), name)
    if not os.path.exists(path):
        raise Skipped(f"{name} was not built")
    return path


def mpi_library():
    """The path of the MPI library that the test programs are linked with; an Open MPI."""
    for line in lines(run(["ldd", program("blind")]).stdout):
        if line.split()[0].startswith("libmpi.so"):
            return line.split()[2]
    raise Skipped("the test programs are not linked with a libmpi.so")


def profwrap(*arguments):
    return [place("PROFWRAP"), *arguments]


def mpirun(n, *command):
    return [place("MPIEXEC"), "-np", str(n), *map(str, command)]


def environment(**more):
    """The environment of this process, without variables that would change what is tested, and with
    those that Open MPI needs on small machines."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("PROFWRAP_", "OMPI_COMM_")) and k not in ("COLUMNS", "NO_COLOR")}
    env["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    if os.geteuid() == 0:
        env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    env.update(more)
    return env


def run(command, status=0, timeout=PATIENCE_S, env=None, **more):
    """Runs the command to its end. Fails when the exit status is not `status`; None accepts any."""
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        timeout=timeout,
        env=environment(**(env or {})),
        **more,
    )
    if status is not None and done.returncode != status:
        print("command:", *command)
        print("stdout:", done.stdout.decode(errors="replace")[-4000:])
        print("stderr:", done.stderr.decode(errors="replace")[-4000:])
        check(False, "exit status", done.returncode, "instead of", status)
    return done


def lines(output):
    return output.decode(errors="replace").splitlines()


def one_line(done, *patterns):
    """profwrap prints exactly one line on standard error, which contains all of these words."""
    found = lines(done.stderr)
    equal(len(found), 1, f"lines on standard error: {found}")
    check(found[0].startswith("profwrap"), repr(found[0]), "is not profwrap's")
    for pattern in patterns:
        check(re.search(pattern, found[0]), repr(found[0]), "has no", repr(pattern))


def h5py():
    try:
        import h5py as module
    except ImportError:
        raise Skipped("this Python has no h5py") from None
    return module


def rank_path(folder, rank):
    return os.path.join(folder, f"rank-{rank:05d}.h5")


def open_rank(folder, rank=0):
    """Waits while the rank's collector may still write: after a failure the launcher does not wait for it."""
    path = rank_path(folder, rank)
    end = time.monotonic() + PATIENCE_S
    while os.path.exists(path + ".part") and not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.02)
    check(os.path.exists(path), "no", path, "among", os.listdir(folder))
    return h5py().File(path, "r")


def open_complete(folder, rank=0):
    """A rank file that its collector closed in order, and that lost nothing."""
    file = open_rank(folder, rank)
    equal(int(file.attrs["complete"]), 1, "complete")
    equal(int(file.attrs["dropped_events"]), 0, "dropped_events")
    return file


def accused(report, share=0.05):
    """The ranks that are named with an excess of at least this share of a step. Smaller excesses
    may be real: cores differ in speed and run other programs."""
    least = share * report["steps"]["mean_ns"]
    return [row for row in report["stragglers"] if row["excess_ns"] >= least]


# Causes that counters of the kernel show: a machine may take CPUs away from a rank.
SEEN_BY_THE_KERNEL = ("cpu_contention", "blocked_off_cpu", "stopped", "host_frozen", "page_faults")


def is_short_of_cpus(report, least_percent=25):
    """Whether the report says that ranks had no CPU for at least this share of their steps. Then other
    programs ran, and a rank that is named may be one that really was late. 8 ranks on two CPUs lack
    them for 18 to 19 % on a machine where nothing else runs, which is no reason to miss a rank."""
    found = [re.match(r"hosts overloaded: ranks without a CPU for ([0-9.]+) %", row["text"])
             for row in report["job"]["basis"]]
    return any(match and float(match[1]) >= least_percent for match in found)


def used_ns(path):
    """The CPU time of a rank's process in the run, and of the whole host."""
    with h5py().File(path, "r") as file:
        own, host = file["samples/process"][:], file["samples/host"]["busy_ns"]
        return int(own["cpu_user_ns"][-1] + own["cpu_sys_ns"][-1]), int(host[-1] - host[0])


def skip_on_a_busy_machine(out="out"):
    """Skips when other processes used most of a CPU. Ranks that wait spin, and who sends to a rank without
    a CPU works longer: own work and waits are the machine's then."""
    used = [used_ns(path) for path in glob.glob(os.path.join(out, "rank-*.h5"))]
    host = max(host for _, host in used)
    others = host - sum(own for own, _ in used)
    if others > 0.4 * host:
        raise Skipped(f"other processes used {100 * others / host:.0f} % of the machine's CPU time")


def attribute(file, name):
    value = file.attrs[name]
    return value.decode() if isinstance(value, bytes) else value


def enum_names(dataset, field):
    """The names of this field's values in all rows."""
    names = {v: k for k, v in h5py().check_enum_dtype(dataset.dtype[field]).items()}
    return [names[int(value)] for value in dataset[field]]


def texts(file):
    return [t.decode() if isinstance(t, bytes) else t for t in file["strings"][:]]


def operations(file):
    return enum_names(file["events/comm"], "op")


def range_names(file):
    names = texts(file)
    return [names[int(i)] for i in file["events/range"]["name"]]


def rows(file, table, *fields):
    """The fields of each row of a table of GPU work, in order of start, with readable texts."""
    strings, dataset = texts(file), file[table] if table in file else []
    found = []
    for row in sorted(dataset[:], key=lambda r: tuple(int(r[f]) for f in ("start", "end"))):
        found.append(tuple(strings[row[f]] if f in ("name", "launched_by") else int(row[f])
                           for f in fields))
    return found


def copies(file, *fields):
    """The kind and the fields of each copy by a GPU."""
    table = file["events/memcpy"]
    return list(zip(enum_names(table, "kind"), *(table[f].tolist() for f in fields)))


def gaps(file):
    """Rows of /events/gap: reason, kind, lost."""
    table = file["events/gap"]
    return list(zip(enum_names(table, "reason"), enum_names(table, "kind"),
                    (int(n) for n in table["lost"])))


def overhead(file):
    """What profwrap cost and lost, by name."""
    return {row["name"].decode(): float(row["value"]) for row in file["overhead"][:]}


def wait_for_report(folder, seconds=PATIENCE_S):
    """Waits for the report that another process makes after the launcher has ended."""
    end = time.monotonic() + seconds
    while not os.path.exists(os.path.join(folder, "report.txt")) or \
            os.path.lexists(os.path.join(folder, ".report-later")):
        check(time.monotonic() < end, "no report in", folder, sorted(os.listdir(folder)))
        time.sleep(0.02)


def wait_until_gone(pattern, seconds=PATIENCE_S):
    """Returns when no file matches, or after `seconds`. If files still match, the next check
    fails."""
    until = time.monotonic() + seconds
    while glob.glob(pattern) and time.monotonic() < until:
        time.sleep(0.1)


def run_case(name):
    folder = tempfile.mkdtemp(prefix="pwtest-")
    before = os.getcwd()
    os.chdir(folder)
    try:
        CASES[name]()
        if os.environ.get("MPITEST_PROFWRAP"):  # the tests of the GPU script have none
            stored.compare_below(place("PROFWRAP"), folder)
        print(f"{name}: passed")
        return 0
    except Skipped as reason:
        print(f"{name}: skipped: {reason}")
        return SKIP
    except Exception:
        traceback.print_exc(file=sys.stdout)
        print(f"{name}: FAILED")
        return 1
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments):
    if arguments == ["--list"]:
        print(*CASES, sep="\n")
        return 0
    results = [run_case(name) for name in arguments or CASES]
    return 1 if 1 in results else SKIP if set(results) == {SKIP} else 0
