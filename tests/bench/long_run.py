"""A model of a job that runs for a week: many events through one rank, without loss, in bounded
memory.

    long_run.py PROFWRAP MPICALLS [EVENTS]

A rank makes EVENTS MPI_Allreduce (10^8 unless given) as fast as its collector takes them
(--on-full wait). Ten times a second the memory of both processes is read from /proc: what is their
own (anonymous), and what they share (the ring). The file must have every call. Growth is what the
last tenth of the run holds more than the second tenth, when everything has its size. The
collector's is its file's index of chunks, for which HDF5 has a limit of its own.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

import measure
from measure import report

h5py = measure.h5py()

MIB = 1 << 20
profwrap, mpicalls = (os.path.abspath(path) for path in sys.argv[1:3])
events = int(float(sys.argv[3])) if len(sys.argv) > 3 else 10**8


def memory(pid):
    """The resident bytes: all, private and shared; None if the process has ended."""
    try:
        with open(f"/proc/{pid}/status") as file:
            fields = dict(line.split(":", 1) for line in file)
        return [int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon", "RssShmem")]
    except (OSError, KeyError):
        return None


def child_of(pid):
    """The only child of a process, or None if it has none or has ended."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def watch(process):
    """(seconds, memory of the collector, memory of the application), until the application has
    ended."""
    rows, begin = [], time.monotonic()
    while process.poll() is None:
        collector = child_of(process.pid)  # of the guard, which is what was started
        pair = memory(collector), memory(child_of(collector))
        if all(pair):
            rows.append((time.monotonic() - begin, *pair))
        time.sleep(0.1)
    return rows


def growth(rows, which, kind):
    """The growth from the second tenth of the run to the last, from medians, in MiB."""
    tenth = len(rows) // 10
    early, late = rows[tenth:2 * tenth], rows[-tenth:]
    return (statistics.median(row[which][kind] for row in late)
            - statistics.median(row[which][kind] for row in early)) / MIB


def peak(rows, which, kind):
    return max(row[which][kind] for row in rows) / MIB


def count(path):
    with h5py.File(path, "r") as file:
        waited = [row["value"] for row in file["overhead"][:] if row["name"] == b"ring_wait"][0]
        return len(file["events/comm"]), int(file.attrs["dropped_events"]), waited / 1e9


with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as folder:
    process = subprocess.Popen(
        [profwrap, "--quiet", "--no-merge", "--on-full", "wait", "-o", "out", mpicalls, "worst",
         str(events)], cwd=folder, stdout=subprocess.DEVNULL)
    rows = watch(process)
    took = rows[-1][0]
    recorded, dropped, waited = count(os.path.join(folder, "out", "rank-00000.h5"))
    size = os.path.getsize(os.path.join(folder, "out", "rank-00000.h5"))

print(f"{events} calls in {took:.0f} s, of which the program waited {waited:.0f} s; "
      f"{recorded} rows, {dropped} dropped; file {size / MIB:.0f} MiB, "
      f"{size / events:.1f} bytes a call")
for name, which in (("collector", 1), ("application", 2)):
    print(f"{name}: peak own {peak(rows, which, 1):.1f} MiB, shared {peak(rows, which, 2):.1f} MiB")
ok = process.returncode == 0 and dropped == 0 and recorded >= events
print(f"every call in the file: {'yes' if ok else 'NO'}")
ok &= report("collector, peak of all that is resident", peak(rows, 1, 0), 128, " MiB")
print(f"collector, growth of its own: {growth(rows, 1, 1):.2f} MiB")
ok &= report("application, growth of its own", growth(rows, 2, 1), 1, " MiB")
ok &= report("application, growth of all that is resident", growth(rows, 2, 0), 1, " MiB")
sys.exit(0 if ok else 1)
