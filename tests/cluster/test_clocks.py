"""Clock synchronisation against the truth of a virtual cluster.

    test_clocks.py VCLUSTER PROFWRAP TRAIN WORK_DIR

Four hosts whose clocks differ by seconds run a short training on 8 ranks; every knot in every rank
file must hold the true offset inside its error bound. Prints the errors. Exit 77 where the machine
has no namespaces.
"""
import glob
import os
import shutil
import statistics
import subprocess
import sys

try:
    import h5py
except ImportError:
    print("skipped: this Python has no h5py")
    sys.exit(77)

vcluster, profwrap, train, work = sys.argv[1:5]
out = os.path.join(work, "clocks-out")
os.environ["VCLUSTER_STATE"] = os.path.join(work, "clocks-state")


def vc(*arguments, check=True):
    return subprocess.run([vcluster, *arguments], check=check, text=True, cwd=work,
                          stdout=subprocess.PIPE)


def true_offsets():
    """Host name to its clock minus the machine's, ns."""
    rows = [line.split() for line in vc("truth").stdout.splitlines()]
    return {row[0]: int(row[1]) for row in rows}


def attribute(file, name):
    value = file.attrs[name]
    return value.decode() if isinstance(value, bytes) else str(value)


def check(truth):
    errors, bounds, wrong = [], [], []
    files = sorted(glob.glob(os.path.join(out, "rank-*.h5")))
    hosts = {}
    for path in files:
        with h5py.File(path) as file:
            hosts[path] = (attribute(file, "hostname"), file["clock"][:])
    reference = truth[hosts[files[0]][0]]
    for path, (host, knots) in hosts.items():
        if len(knots) != 2:
            wrong.append(f"{path}: {len(knots)} knots, expected 2 (MPI_Init and MPI_Finalize)")
        for knot in knots:
            # cluster = local + offset, and the cluster's clock is rank 0's.
            error = int(knot["offset_ns"]) - (reference - truth[host])
            errors.append(abs(error))
            bounds.append(int(knot["error_ns"]))
            if abs(error) > knot["error_ns"]:
                wrong.append(f"{path}: off by {error} ns, bound {knot['error_ns']} ns")
    print(f"{len(files)} ranks, {len(errors)} knots: error median "
          f"{statistics.median(errors) / 1e3:.2f} us, largest {max(errors) / 1e3:.2f} us; bound "
          f"median {statistics.median(bounds) / 1e3:.2f} us")
    if len(files) != 8:
        wrong.append(f"{len(files)} rank files, expected 8")
    return wrong


os.makedirs(work, exist_ok=True)
if vc("check", check=False).returncode == 77:
    print("skipped: no virtual cluster on this machine")
    sys.exit(77)
shutil.rmtree(out, ignore_errors=True)
try:
    up = vc("up", "4", "--offsets", "0,5ms,-2s,3s", "--share", work, check=False).returncode
    if up:
        print("skipped: see above" if up == 77 else f"vcluster up: status {up}")
        sys.exit(77 if up == 77 else 1)
    truth = true_offsets()
    done = vc("mpirun", "-np", "8", profwrap, "--quiet", "-o", out, train, "--steps", "20",
              check=False)
    problems = check(truth) if done.returncode == 0 else [f"mpirun: status {done.returncode}"]
finally:
    vc("down", check=False)
print("\n".join(problems))
sys.exit(1 if problems else 0)
