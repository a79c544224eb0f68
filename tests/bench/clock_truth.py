"""The true clocks, and the error of a merged run, for the clock test and benchmark."""
import glob
import os

import h5py
import numpy

PERIOD = 20e9
DRIFT, WANDER = 100e-6, 1e-6  # what the maps' bounds allow for, as in core/clockmap.h


class TestClock:
    """PROFWRAP_TEST_CLOCK, as in src/rank/ring/testclock.c."""

    def __init__(self, text=""):
        offset, drift, wander = (text or "0:0:0").split(":")
        self.offset, self.drift, self.wander = int(offset), float(drift), float(wander)

    def show(self, t):
        x = (t % PERIOD) / PERIOD
        y = numpy.where(x < 0.5, x, x - 0.5)
        bend = numpy.where(x < 0.5, 2 * y * y - y, y - 2 * y * y)
        return self.offset + self.drift * 1e-6 * t + self.wander * 1e-6 * PERIOD * bend

    def true_time(self, shown):
        """Relative to `shown`, so that rounding loses nothing."""
        t = numpy.asarray(shown, dtype=numpy.float64)
        late = numpy.zeros_like(t)
        for _ in range(6):
            late = self.show(t - late)
        return late


def knots_of(cluster, domain):
    rows = cluster["clock_knots"][:]
    return rows[rows["domain"] == domain]


def offsets(knots, local):
    """Offset and error bound at local times, as in core/clockmap.c."""
    if len(knots) == 0:
        return numpy.zeros(len(local)), numpy.zeros(len(local))
    at = knots["local_ns"].astype(numpy.int64)
    base = int(knots["offset_ns"][0])
    relative = (knots["offset_ns"] - base).astype(numpy.float64)
    x = (local - at[0]).astype(numpy.float64)
    grid = (at - at[0]).astype(numpy.float64)
    offset = numpy.interp(x, grid, relative)
    after = numpy.searchsorted(grid, x, side="right")
    error = numpy.empty(len(local))
    for i, k in enumerate(after):
        if k == 0:
            error[i] = knots["error_ns"][0] + DRIFT * (grid[0] - x[i])
        elif k == len(grid):
            error[i] = knots["error_ns"][-1] + DRIFT * (x[i] - grid[-1])
        else:
            near = min(x[i] - grid[k - 1], grid[k] - x[i])
            share = (x[i] - grid[k - 1]) / (grid[k] - grid[k - 1])
            error[i] = ((1 - share) * knots["error_ns"][k - 1] + share * knots["error_ns"][k]
                        + WANDER * near)
    return offset + base, error


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def errors(directory, clock_of, points=200):
    """(errors, bounds) in ns over all ranks but the reference's, at times from the first to the last
    event of each. clock_of(rank, host) is (shift of that clock's true times in ns, TestClock)."""
    found, bounds = [], []
    with h5py.File(os.path.join(directory, "cluster.h5")) as cluster:
        clocks = {int(row["rank"]): row for row in cluster["clocks"][:]}
        reference = None
        for path in sorted(glob.glob(os.path.join(directory, "rank-*.h5"))):
            with h5py.File(path) as file:
                rank, host = int(file.attrs["rank"]), text(file.attrs["hostname"])
                events = file["events/comm"]
                first, last = int(events["start"].min()), int(events["end"].max())
            shift, clock = clock_of(rank, host)
            if reference is None:
                reference = (shift, clock)
                continue
            domain = int(clocks[rank]["domain"])
            if domain == 0:
                continue
            if not len(knots_of(cluster, domain)):
                source = text(clocks[rank]["source"])
                assert source == "none", f"rank {rank} has no clock knots, but the source {source}"
                continue  # nothing is said of its clock
            local = numpy.linspace(first, last, points).astype(numpy.int64)
            offset, error = offsets(knots_of(cluster, domain), local)
            # true time of the machine, then what the reference's clock showed then
            late = clock.true_time(local - shift)
            there = reference[1].show(local - shift - late)
            truth = (reference[0] - shift) + (there - late)
            found.extend(offset - truth)
            bounds.extend(error)
    return numpy.array(found), numpy.array(bounds)


def line(name, found, bounds):
    size = numpy.abs(found)
    inside = 100.0 * numpy.mean(size <= bounds)
    return (f"{name:<44} {numpy.median(size) / 1e3:8.2f} {numpy.quantile(size, .95) / 1e3:8.2f} "
            f"{size.max() / 1e3:8.2f} {numpy.median(bounds) / 1e3:9.2f} {inside:8.2f} %")


HEADER = f"{'':<44} {'median':>8} {'95 %':>8} {'max':>8} {'bound':>9} {'inside':>10}"
