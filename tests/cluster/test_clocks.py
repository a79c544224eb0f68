"""Clock synchronisation against the truth of a virtual cluster.

    test_clocks.py VCLUSTER PROFWRAP TRAIN WORK_DIR

Four hosts whose clocks differ by seconds run a short training on 8 ranks: as it is, over MPI instead
of UDP, inferred only, and with a host frozen meanwhile. Every knot in every rank file and in the merged maps must hold the
true offset inside its error bound. Prints the errors. Exit 77 where the machine has no namespaces.
"""
import glob
import os
import shutil
import statistics
import subprocess
import sys
import time

try:
    import h5py
except ImportError:
    print("skipped: this Python has no h5py")
    sys.exit(77)

vcluster, profwrap, train, work = sys.argv[1:5]
out = os.path.join(work, "clocks-out")
said = os.path.join(work, "clocks-said")  # by the training
os.environ["VCLUSTER_STATE"] = os.path.join(work, "clocks-state")


def vc(*arguments, check=True):
    return subprocess.run([vcluster, *arguments], check=check, text=True, cwd=work,
                          stdout=subprocess.PIPE)


def true_offsets():
    """{host name: its clock minus the machine's clock, ns}."""
    rows = [line.split() for line in vc("truth").stdout.splitlines()]
    return {row[0]: int(row[1]) for row in rows}


def attribute(file, name):
    value = file.attrs[name]
    return value.decode() if isinstance(value, bytes) else str(value)


def judge(what, pairs):
    """The faults of (error, bound) pairs."""
    errors, bounds = [abs(pair[0]) for pair in pairs], [pair[1] for pair in pairs]
    if not pairs:
        return [f"{what}: nothing to compare"]
    print(f"{what}: {len(pairs)} knots: error median {statistics.median(errors) / 1e3:.2f} us, "
          f"largest {max(errors) / 1e3:.2f} us; bound median {statistics.median(bounds) / 1e3:.2f} us")
    return [f"{what}: off by {e} ns, bound {b} ns" for e, b in zip(errors, bounds) if e > b]


def check(what, truth, least_knots):
    """Checks the rank files and the merged maps of the run in `out`. One rank of each host has the
    host's knots, and all have those that were measured over MPI."""
    wrong, pairs, merged, hosts = [], [], [], {}
    knots_of = dict.fromkeys(truth, 0)
    files = sorted(glob.glob(os.path.join(out, "rank-*.h5")))
    for path in files:
        with h5py.File(path) as file:
            hosts[path] = (attribute(file, "hostname"), file["clock"][:])
    reference = truth[hosts[files[0]][0]]
    for path, (host, knots) in hosts.items():
        knots_of[host] += len(knots)
        # cluster = local + offset, and the cluster's clock is rank 0's.
        pairs += [(int(k["offset_ns"]) - (reference - truth[host]), int(k["error_ns"]))
                  for k in knots]
    for host, n in knots_of.items():
        if host != hosts[files[0]][0] and n < least_knots:
            wrong.append(f"{what}: {n} knots on {host}, expected at least {least_knots}")
    with h5py.File(os.path.join(out, "cluster.h5")) as file:
        host_of = {int(row["domain"]): row["hostname"].decode() for row in file["clocks"][:]}
        for knot in file["clock_knots"][:]:
            true = reference - truth[host_of[int(knot["domain"])]]
            merged.append((int(knot["offset_ns"]) - true, int(knot["error_ns"])))
        beyond = int(file["clocks"]["violations_beyond"].sum())
    if least_knots:
        wrong += judge(f"{what}, measured", pairs)
    wrong += judge(f"{what}, merged", merged)
    if len(files) != 8:
        wrong.append(f"{what}: {len(files)} rank files, expected 8")
    if beyond:
        wrong.append(f"{what}: {beyond} violations beyond the error bounds")
    return wrong


def run(what, truth, least_knots, options, steps, meanwhile=None):
    shutil.rmtree(out, ignore_errors=True)
    with open(said, "w") as file:
        job = subprocess.Popen([vcluster, "mpirun", "-np", "8", profwrap, "--quiet", *options, "-o", out,
                                train, "--steps", str(steps)], cwd=work, stdout=file)
    if meanwhile:
        meanwhile(job)
    if job.wait() != 0:
        return [f"{what}: mpirun: status {job.returncode}"]
    return check(what, truth, least_knots)


def has_begun():
    """Whether the training has printed its first step: all ranks are in it."""
    with open(said) as file:
        return "step " in file.read()


def freeze_a_host(job):
    """Freezes a host for a second, in the middle of the run. Its clock goes on meanwhile."""
    while not has_begun() and job.poll() is None:
        time.sleep(0.1)
    vc("freeze", "h3")
    time.sleep(1)
    vc("thaw", "h3")


os.makedirs(work, exist_ok=True)
if vc("check", check=False).returncode == 77:
    print("skipped: no virtual cluster on this machine")
    sys.exit(77)
problems = []
try:
    up = vc("up", "4", "--offsets", "0,5ms,-2s,3s", "--share", work, check=False).returncode
    if up:
        print("skipped: see above" if up == 77 else f"vcluster up: status {up}")
        sys.exit(77 if up == 77 else 1)
    truth = true_offsets()
    problems += run("8 ranks on 4 hosts", truth, 2, [], 20)
    problems += run("over MPI", truth, 4, ["--clock-interval", "0"], 20)
    problems += run("only inferred", truth, 0, ["--clock-sync", "passive"], 60)
    problems += run("a host frozen for 1 s", truth, 2, ["--clock-interval", "1"], 200, freeze_a_host)
finally:
    vc("down", check=False)
print("\n".join(problems))
sys.exit(1 if problems else 0)
