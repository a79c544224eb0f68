# SPDX-License-Identifier: Apache-2.0
"""profile and Profiler with the arguments of mindspore.profiler 2.10: what they select is recorded by
profwrap, and what has no counterpart here warns once.
"""

import json
import operator
import shutil
import subprocess
import warnings

from . import _annotate, _mindspore, _mindspore_data, _mindspore_operators, _schedule
from ._mindspore_names import ProfilerActivity

_warned = set()


def warn(name, instead):
    """Once for each argument."""
    if name not in _warned:
        _warned.add(name)
        warnings.warn(f"profwrap: {name} has no effect here: {instead}", stacklevel=4)


# Arguments whose value selects something that is chosen elsewhere, or is not there; with the values that
# select nothing.
INSTEAD = {
    "with_stack": "use profwrap.frames(), or --call-stacks of profwrap run",
    "profile_memory": "memory of the process is always sampled; profwrap.memory() for more",
    "parallel_strategy": "keep it by profwrap.metadata()",
    "hbm_ddr": "counters of devices are not recorded",
    "pcie": "counters of devices are not recorded",
    "record_shapes": "op_time records operators with the shapes that MindSpore tells",
    "l2_cache": "counters of devices are not recorded",
    "sys_io": "what the process reads and writes is always sampled",
    "sys_interconnection": "counters of devices are not recorded",
    "profile_communication": "collectives are always recorded",
    "profile_framework": "MindSpore's own functions are not recorded",
    "hbm_ddr_freq": "counters of devices are not recorded",
    "mstx_domain_include": "ranges of all domains are recorded",
    "mstx_domain_exclude": "ranges of all domains are recorded",
    "host_sys": "the host is always sampled: --sample-hz of profwrap run",
    "export_type": "profiles are HDF5: profwrap report --format, profwrap.load()",
    "timeline_limit": "timelines have no limit: profwrap report --format chrome",
    "host_stack": "use profwrap.frames(), or --call-stacks of profwrap run",
    "output_path": "use -o of profwrap run",
    "aicore_metrics": "counters of devices are not recorded",
    "aic_metrics": "counters of devices are not recorded",
    "profiler_level": "--level of profwrap run selects MPI functions",
}
# Nothing need be done for these.
_ALWAYS = {"data_process", "mstx", "op_time", "sync_enable", "data_simplification", "activities", "schedule", "on_trace_ready",
           "start_profile", "experimental_config"}
_DEFAULTS = ("None", "False", "Level0", "AiCoreNone", "[]", "[<ExportType.Text: 'text'>]", "./data", "500")


def _is_default(value):
    return str(getattr(value, "value", value)) in _DEFAULTS or getattr(value, "name", "") in _DEFAULTS


def _check(arguments):
    for name, value in arguments.items():
        if name in INSTEAD:
            if not _is_default(value):
                warn(name, INSTEAD[name])
        elif name not in _ALWAYS:
            warn(name, "it is not known")


def _check_activities(activities):
    for activity in activities or ():
        if not isinstance(activity, ProfilerActivity):
            raise TypeError(f"activities are ProfilerActivity, not {type(activity).__name__}")
        if activity is ProfilerActivity.NPU:
            warn("ProfilerActivity.NPU", "NPUs are not recorded; profwrap import reads their profiles")
        if activity is ProfilerActivity.GPU:
            warn("ProfilerActivity.GPU", "use --activities cuda of profwrap run")


def schedule(*, wait, active, warmup=0, repeat=0, skip_first=0):
    """As mindspore.profiler.schedule; profwrap's."""
    return _schedule.schedule(
        wait=wait, active=active, warmup=warmup, repeat=repeat, skip_first=skip_first
    )


def tensorboard_trace_handler(dir_name=None, worker_name=None, analyse_flag=True, async_mode=False):
    """A value for on_trace_ready. The job's report is made at its end, by itself."""
    if dir_name is not None or worker_name is not None:
        warn("tensorboard_trace_handler's directory", "use -o of profwrap run; report.html is in it")
    return lambda window: None


class _Windows(_schedule.profile):
    """Records what MindSpore's own profilers measure in the windows, too."""

    def __init__(self, has_operators, has_data, **arguments):
        super().__init__(**arguments)
        self._operators = _mindspore_operators.Operators() if has_operators else None
        self._queues = _mindspore_data.Queues() if has_data else None

    def start(self):
        if self._queues:
            self._queues.start()
        super().start()

    def stop(self):
        super().stop()
        if self._queues:
            self._queues.stop()

    def _enter_step(self):
        super()._enter_step()
        if self._window_first is None:
            return
        if self._operators:
            self._operators.start()
        if self._queues:
            self._queues.begin_window()

    def _end_window(self, last):
        if self._operators:
            self._operators.stop()
        if self._queues:
            self._queues.end_window()
        super()._end_window(last)


class profile(_annotate.Started):
    """As mindspore.profiler.profile: records the steps that `schedule` selects. on_trace_ready is called
    with a profwrap.Window."""

    def __init__(self, activities=None, with_stack=False, profile_memory=False, data_process=False,
                 parallel_strategy=False, start_profile=True, hbm_ddr=False, pcie=False,
                 sync_enable=True, record_shapes=False, schedule=None, on_trace_ready=None,
                 experimental_config=None, **others):
        _check_activities(activities)
        given = dict(with_stack=with_stack, profile_memory=profile_memory, hbm_ddr=hbm_ddr, pcie=pcie,
                     parallel_strategy=parallel_strategy, record_shapes=record_shapes, **others)
        _check(given)
        if experimental_config is not None:
            _check({name: value for name, value in _settings(experimental_config) if name in INSTEAD})
        # Steps that the import hook marks are the steps.
        self._profile = _Windows(others.get("op_time"), data_process, schedule=schedule, on_trace_ready=on_trace_ready,
                                 mark_steps=_mindspore._active is None)
        self._is_started = False
        if start_profile:
            self.start()
        else:
            _annotate.stop()

    def __enter__(self):
        self.start()
        return self

    def start(self):
        if not self._is_started:
            self._is_started = True
            self._profile.start()

    def stop(self):
        if self._is_started:
            self._is_started = False
            self._profile.stop()
            _annotate.stop()

    def step(self):
        if not self._is_started:
            raise RuntimeError("step() of a profile that was not started")
        self._profile.step()

    def add_metadata(self, key, value):
        _annotate.metadata(key, str(value))

    def add_metadata_json(self, key, value):
        _annotate.metadata(key, json.loads(value))


def _settings(config):
    """Of an _ExperimentalConfig, whose attributes are private."""
    return [(name.lstrip("_"), value) for name, value in vars(config).items()]


class Profiler(profile):
    """As mindspore.profiler.Profiler."""

    def analyse(self, offline_path=None, pretty=False, step_list=None, mode="sync"):
        """Ends the recording. The job's report is made at its end; of another directory at once."""
        if mode not in ("sync", "async"):
            raise ValueError(f"mode is {mode!r}, but must be 'sync' or 'async'")
        if offline_path is not None:
            analyse(offline_path, pretty, step_list)
            return
        self.stop()
        if step_list is not None:
            warn("step_list", "use profwrap report --steps, when the job has ended")

    def op_analyse(self, op_name, device_id=None):
        """The operators of this type or name, or of these, that op_time=True recorded in this process,
        as JSON: calls and times by shapes."""
        return _mindspore_operators.analyse(op_name, device_id)

    @staticmethod
    def offline_analyse(path, pretty=False, step_list=None, data_simplification=True):
        analyse(path, pretty, step_list, data_simplification)


def _range_of(step_list):
    """[3, 4, 5] as "3-5", which profwrap report --steps takes."""
    steps = sorted(operator.index(step) for step in step_list)
    if not steps or steps[0] < 0 or steps[-1] - steps[0] >= len(steps):
        raise ValueError(f"step_list is {step_list}, but must be successive steps")
    return f"{steps[0]}-{steps[-1]}"


def analyse(profiler_path, pretty=False, step_list=None, data_simplification=True, max_process_number=None):
    """Merges the profile in this directory, and prints its summary, of these steps."""
    steps = ["--steps", _range_of(step_list)] if step_list is not None else []
    program = shutil.which("profwrap")
    if program is None:
        raise FileNotFoundError("profwrap is not in PATH: it merges the profile and makes the report")
    subprocess.run([program, "merge", profiler_path], check=True)
    subprocess.run([program, "report", *steps, profiler_path], check=True)
