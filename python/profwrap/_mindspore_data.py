# SPDX-License-Identifier: Apache-2.0
"""Records the queues of a MindData pipeline, as MindData's own profiler (2.10) has measured them.

It writes, for each batch that was taken, how many batches were left in the last queue and how long the
training had waited; and in equal intervals the sizes of the queues behind all operators. It measures one
pipeline: the first one that begins to run after start(). How the files are written is no promise of
MindSpore's: what cannot be read is ignored.
"""

import json
import os
import shutil
import tempfile
import time

from . import _annotate, _clocks, _mindspore_cost

_MS = 1_000_000
_INTERVAL_MS = 100  # of the sizes of all queues
LAST = "MindData"  # the queue from which batches are taken
_WAIT, _SIZE = "0", "1"  # first column of the iterator's file
_WHOLE_WAIT = "2"  # second column of rows of _WAIT


def _read_batches(path):
    """(time in ms, batches that were ready, capacity) of each batch that was taken. The size is that
    after it was taken: the batch itself was ready if it took less than 1 ms, which is the unit."""
    waits, found = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                kind, second, batch, value, at = line.split()
                if kind == _WAIT and second == _WHOLE_WAIT:
                    waits[batch] = int(value)
                elif kind == _SIZE:
                    ready = int(value) + 1 if waits.get(batch) == 0 else 0
                    found.append((int(at), ready, int(second)))
            except ValueError:
                pass
    return found


def _read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _chain(operators):
    """From the source to the batches, as (type, id, capacity, sizes); the sizes are None where no queue
    follows. None: the pipeline is no chain."""
    by_id = {one["op_id"]: one for one in operators}
    children = [child for one in operators for child in one.get("children", ())]
    roots = by_id.keys() - set(children)
    if len(roots) != 1 or any(len(one.get("children", ())) > 1 for one in operators):
        return None
    found, at = [], by_id[roots.pop()]
    while at is not None:
        queue = (at.get("metrics") or {}).get("output_queue") or {}
        found.append((str(at["op_type"]), at["op_id"], queue.get("length", 0), queue.get("size")))
        at = by_id[at["children"][0]] if at.get("children") else None
    return found[::-1]


def _names(chain):
    """The queue behind each operator, None where there is none; and all as the metadata "pipeline"."""
    last = max((i for i, one in enumerate(chain) if one[3] is not None), default=-1)
    names = [LAST if i == last else f"{kind} {number}" if sizes is not None else None
             for i, (kind, number, _, sizes) in enumerate(chain)]
    text = " ".join(f"{kind} [{name}]" for (kind, *_), name in zip(chain, names) if name)
    return names, text


class Queues:
    """MindData's profiler, for the windows of a profile. Lets no exception out."""

    def __init__(self):
        self._manager = self._restore = self._begin_ms = self._first = None

    def start(self):
        """Before the pipeline begins to run."""
        _softly(self._start)

    def stop(self):
        manager, self._manager = self._manager, None
        if manager is not None:
            _softly(manager.stop)
            _softly(self._restore)

    def _start(self):
        import mindspore._c_dataengine as engine
        from mindspore.dataset import config

        manager, interval = engine.GlobalContext.profiling_manager(), config.get_monitor_sampling_interval()
        manager.init()
        manager.start()
        self._manager = manager
        self._restore = lambda: config.set_monitor_sampling_interval(interval)
        config.set_monitor_sampling_interval(min(interval, _INTERVAL_MS))  # the pipeline reads it

    def begin_window(self):
        if self._begin_ms is None:
            self._begin_ms = time.monotonic_ns() // _MS
            self._first = _clocks.Clocks.read(time.monotonic_ns)

    def end_window(self):
        """While profwrap records."""
        begin_ms, self._begin_ms = self._begin_ms, None
        if self._manager is not None and begin_ms is not None:
            _softly(self._record, begin_ms)

    def _record(self, begin_ms):
        to_local = _clocks.Map(self._first, _clocks.Clocks.read(time.monotonic_ns))
        folder = tempfile.mkdtemp(prefix="profwrap-")
        try:
            self._manager.save(folder)
            record(folder, begin_ms, lambda ms: to_local(ms * _MS + _MS - 1))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def record(folder, begin_ms, to_local):
    """Records what MindData's files in this folder tell of later times than this. Times in them are whole
    milliseconds, which `to_local` converts."""
    paths = {os.path.basename(name).split("_profiling")[0].split("_util")[0]: os.path.join(folder, name)
             for name in os.listdir(folder)}
    if "dataset_iterator" in paths:
        for at, ready, capacity in _read_batches(paths["dataset_iterator"]):
            if at > begin_ms:
                _annotate.queue_past(LAST, ready, capacity, to_local(at))
    if "pipeline" in paths:
        cpu = _read_json(paths["minddata_cpu"]) if "minddata_cpu" in paths else {}
        chain = _chain(_read_json(paths["pipeline"])["op_info"])
        _record_sizes(chain, cpu.get("time_stamp", ()), begin_ms, to_local)
        _record_cpus(chain, cpu, begin_ms)


def _record_sizes(chain, times, begin_ms, to_local):
    if chain is None:
        return
    names, text = _names(chain)
    if text:
        _annotate.metadata("pipeline", text)
    for name, (_, _, capacity, sizes) in zip(names, chain):
        if name in (None, LAST):
            continue
        for at, size in zip(times, sizes):
            if at > begin_ms:
                _annotate.queue_past(name, size, capacity, to_local(at))


def _record_cpus(chain, cpu, begin_ms):
    """The metadata "pipeline_cpus": the mean number of CPUs that each operator of "pipeline" used. MindData
    tells whole percents of all CPUs, of the operator's threads and processes."""
    if chain is None or "cpu_processor_num" not in cpu:
        return
    of = {one["op_id"]: one.get("metrics") or {} for one in cpu.get("op_info", ())}
    found = []
    for (_, number, *_), name in zip(chain, _names(chain)[0]):
        metrics = of.get(number, {})
        used = [user + system for at, user, system in
                zip(cpu["time_stamp"], metrics.get("user_utilization", ()), metrics.get("sys_utilization", ()))
                if at > begin_ms]
        if name is not None:
            found.append(sum(used) / len(used) / 100 * cpu["cpu_processor_num"] if used else None)
    if found and None not in found:
        _annotate.metadata("pipeline_cpus", " ".join(f"{cpus:.3f}" for cpus in found))


def _softly(function, *args):
    try:
        function(*args)
    except Exception:  # another version, or no pipeline ran: the training goes on
        _mindspore_cost.cost.failures += 1
