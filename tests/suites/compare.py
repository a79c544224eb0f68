"""Runs a program without profwrap, with it, and with it and the counting library of counter.py.
Prints where the three runs differ. The suites (mpich.py, mpi4py_tests.py, commands.py) provide the
programs, and the rule by which a run has passed."""

import collections
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import counter

PRELOAD = 'LD_PRELOAD=$PROFWRAP_COUNTER:$LD_PRELOAD; export LD_PRELOAD; exec "$@"'
# Calls that leave no record of their own: names and types are only noted, a freed or started request
# is recorded with what it carries, and nothing is written after MPI_Abort.
WITHOUT_RECORD = {"Abort", "Comm_set_name", "Win_set_name", "Type_free", "Request_free", "Start",
                  "Startall", "Pcontrol"}
RECORDS_PER_CALL = {"Sendrecv": 2, "Sendrecv_replace": 2}

Run = collections.namedtuple("Run", "status output seconds")
Outcome = collections.namedtuple("Outcome", "name np plain wrapped counted verdicts recorded notes")


class Tools:
    """The paths of the programs that every run needs."""

    def __init__(self, profwrap, mpiexec, workdir, patience_s=60, probes=("libprofwrap_probe.so",)):
        self.profwrap, self.mpiexec, self.patience_s = profwrap, mpiexec, patience_s
        self.workdir = os.path.abspath(workdir)
        os.makedirs(self.workdir, exist_ok=True)
        private = os.path.realpath(os.path.join(os.path.dirname(profwrap), "../libexec/profwrap"))
        libraries = [os.path.join(private, name) for name in probes]
        is_counted = not os.environ.get("SUITES_UNCOUNTED")
        self.counter, self.symbols = counter.build(libraries, self.workdir) \
            if is_counted else (None, [])

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PROFWRAP_", "OMPI_COMM_"))}
        env["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
        if os.geteuid() == 0:
            env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        return {**env, **more}

    def run(self, np, prefix, program, cwd, env):
        command = [self.mpiexec, "-np", str(np), *prefix, *program]
        start = time.monotonic()
        process = subprocess.Popen(command, cwd=cwd, env=self.environment(**env),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=self.patience_s)
            status = process.returncode
        except subprocess.TimeoutExpired:
            # mpirun first, so that it ends its ranks; then what is left of the session.
            process.terminate()
            try:
                output, _ = process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
            status = "timeout"
        return Run(status, output.decode(errors="replace"), time.monotonic() - start)


def check_rank_file(path, notes, expected):
    """Adds the faults of a rank file to notes. Returns its number of operations."""
    import h5py  # only here: the suites can be built and listed without it

    with h5py.File(path, "r") as file:
        where = f"{os.path.basename(path)}: "
        if int(file.attrs["complete"]) != 1:
            notes.append(where + f"complete = {int(file.attrs['complete'])}")
        if int(file.attrs["dropped_events"]):
            notes.append(where + f"{int(file.attrs['dropped_events'])} events dropped")
        events = file["events/comm"]
        names = {v: k for k, v in h5py.check_enum_dtype(events.dtype["op"]).items()}
        found = collections.Counter(names[int(op)] for op in events["op"])
    if expected is not None:
        for op in sorted((set(found) | set(expected)) - WITHOUT_RECORD):
            if op.endswith("_init") and op != "Session_init":
                continue  # as often as it was started, not as often as it was made
            wanted = expected.get(op, 0) * RECORDS_PER_CALL.get(op, 1)
            if found[op] != wanted:
                notes.append(where + f"{op} {found[op]} recorded, {wanted} called")
    return sum(found.values())


def wait_for_collectors(folder, patience_s=30):
    """After a kill, the processes that finish the rank files may outlive mpirun."""
    limit = time.monotonic() + patience_s
    while glob.glob(os.path.join(folder, "*.part")) and time.monotonic() < limit:
        time.sleep(0.1)


def check_rank_files(folder, np, notes, calls=None):
    wait_for_collectors(folder)
    total = 0
    for rank in range(np):
        path = os.path.join(folder, f"rank-{rank:05d}.h5")
        if not os.path.exists(path):
            notes.append(f"no {os.path.basename(path)}")
            continue
        try:
            total += check_rank_file(path, notes, None if calls is None else calls.get(rank, {}))
        except Exception as problem:
            notes.append(f"{os.path.basename(path)}: {type(problem).__name__}: {problem}")
    return total


def wrapped_runs(tools, np, program, cwd, env):
    """Returns (run with profwrap, run with the counting library too, operations recorded,
    notes)."""
    folder = tempfile.mkdtemp(prefix="run-", dir=tools.workdir)
    options = ["--quiet", "--no-merge", "-o"]
    notes, counted = [], None
    out = os.path.join(folder, "out")
    wrapped = tools.run(np, [tools.profwrap, *options, out, "--"], program, cwd, env)
    recorded = check_rank_files(out, np, notes)
    if tools.counter:
        counts, out = os.path.join(folder, "counts"), os.path.join(folder, "counted")
        os.mkdir(counts)
        prefix = [tools.profwrap, *options, out, "--level", "2", "--", "/bin/sh", "-c", PRELOAD, "sh"]
        counted = tools.run(np, prefix, program, cwd,
                            {**env, "PROFWRAP_COUNTER": tools.counter, counter.FOLDER: counts})
        more = []
        check_rank_files(out, np, more, counter.read(counts, tools.symbols))
        notes += ["counted: " + note for note in more]
    shutil.rmtree(folder, ignore_errors=True)
    return wrapped, counted, recorded, notes


VARYING = re.compile(r"0x[0-9a-f]+|\d+")


def message_of(run):
    """The distinct lines of an output, without text that varies from run to run."""
    return {VARYING.sub("#", line).strip() for line in run.output.splitlines()} - {""}


def compare(tools, name, np, program, judge, cwd=None, env=None):
    env = env or {}
    plain = tools.run(np, [], program, cwd, env)
    wrapped, counted, recorded, notes = wrapped_runs(tools, np, program, cwd, env)
    runs = [plain, wrapped] + ([counted] if counted else [])
    verdicts = [judge(run) for run in runs]
    if len(set(verdicts)) > 1:
        notes.insert(0, "DIFFERS: " + ", ".join(verdicts))
    elif verdicts[0] != "pass":
        for run, which in zip(runs[1:], ("with", "counted")):
            if run.status != plain.status:
                notes.append(f"exit status {run.status} {which}, {plain.status} without")
            elif message_of(run) != message_of(plain):
                notes.append(f"fails with other lines {which}")
    return Outcome(name, np, plain, wrapped, counted, verdicts, recorded, notes)


def save(outcome, folder):
    """Saves the outputs of a test that did not pass in all runs."""
    if set(outcome.verdicts) == {"pass"}:
        return
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{outcome.name.replace('/', '_').replace(' ', '_')}.{outcome.np}")
    for run, which in zip(outcome[2:5], ("without", "with", "counted")):
        if run:
            with open(f"{path}.{which}", "w") as file:
                file.write(f"status {run.status}, {run.seconds:.1f} s\n{run.output}")


def print_outcome(outcome, stream=sys.stdout):
    line = [outcome.name, str(outcome.np), *outcome.verdicts, f"{outcome.plain.seconds:.1f}",
            f"{outcome.wrapped.seconds:.1f}", str(outcome.recorded), "; ".join(outcome.notes)]
    print("\t".join(line), file=stream, flush=True)


def table(groups):
    """The lines of a table: for each group of {group: [outcome]} its tests, the passes of each run,
    and its operations."""
    head = ("", "tests", "pass without", "pass with", "pass counted", "differ", "operations")
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    total = [0] * 6
    for group, outcomes in groups.items():
        passes = [sum(o.verdicts[k:k + 1] == ["pass"] for o in outcomes) for k in range(3)]
        differ = sum(len(set(o.verdicts)) > 1 for o in outcomes)
        row = [len(outcomes), *passes, differ, sum(o.recorded for o in outcomes)]
        total = [a + b for a, b in zip(total, row)]
        yield "| " + " | ".join([group, *map(str, row)]) + " |"
    yield "| " + " | ".join(["all", *map(str, total)]) + " |"
