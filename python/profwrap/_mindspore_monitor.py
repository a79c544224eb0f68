# SPDX-License-Identifier: Apache-2.0
"""DynamicProfilerMonitor with the arguments and the file of mindspore.profiler 2.10: profiler_config.json
says, while the job runs, which steps are recorded.
"""

import json
import operator
import os
import tempfile

from mindspore.communication import get_group_size, get_rank
from mindspore.train.callback import Callback

from . import _annotate, _mindspore, _mindspore_cost, _probe, _windows
from ._mindspore_profile import INSTEAD, warn

_NAME = "profiler_config.json"

# What MindSpore writes into a new file: values that select nothing here.
_DEFAULTS = {
    "start_step": -1,
    "stop_step": -1,
    "aic_metrics": "AiCoreNone",
    "profiler_level": "Level0",
    "analyse_mode": -1,
    "activities": ["CPU", "NPU"],
    "export_type": ["text"],
    "profile_memory": False,
    "mstx": False,
    "parallel_strategy": False,
    "with_stack": False,
    "data_simplification": True,
    "l2_cache": False,
    "analyse": True,
    "record_shapes": False,
    "prof_path": "./",
    "mstx_domain_include": [],
    "mstx_domain_exclude": [],
    "host_sys": [],
    "sys_io": False,
    "sys_interconnection": False,
}
# Nothing need be done for any value of these.
_ALWAYS = {"start_step", "stop_step", "activities", "analyse", "analyse_mode", "data_simplification", "mstx"}
# Further values that select nothing.
_ALSO = {"profiler_level": (0, -1, "LevelNone"), "export_type": (0,), "record_shape": (False,)}


def _without_effect(settings):
    """Names of the settings that select what is not here."""
    for name, value in settings.items():
        default = _DEFAULTS.get(name, _ALSO)
        if name not in _ALWAYS and value != default and value not in _ALSO.get(name, ()):
            yield name


def _place():
    """The rank of this process, and how many there are, also without communication."""
    try:
        return get_rank(), get_group_size()
    except RuntimeError:
        return int(os.getenv("RANK_ID", "0")), int(os.getenv("RANK_SIZE", "1"))


def _say(text):
    _mindspore.say(f"DynamicProfilerMonitor {text}")


class DynamicProfilerMonitor(Callback):
    """As mindspore.profiler.DynamicProfilerMonitor: a callback of Model.train() and Model.fit(), or its
    step() is called at the end of each step. The recording is off outside of the windows."""

    def __init__(self, cfg_path=None, output_path=None, poll_interval=2, **kwargs):
        path = os.path.join(cfg_path, _NAME)
        if output_path is not None:
            warn("output_path", INSTEAD["output_path"])
        for name in kwargs:
            warn(name, "it is not known")
        self._finished = 0  # steps, by step()
        self._said = set()
        self._monitor = None
        directory = os.environ.get("PROFWRAP_DIRECTORY")
        if "stop" not in _probe.calls.present or not directory:
            return
        self._marks = _mindspore._active is None  # the import hook is turned off
        self._monitor = _windows.Monitor(
            _windows.ConfigFile(path, _say), _seconds(poll_interval),
            lambda: _windows.Agreement(directory, *_place()), _switch, _say, self._check,
        )
        _annotate.stop()
        _softly(_make_file, path)
        _softly(self._monitor.poll, 0)

    def step(self):
        """A step of the program has ended. As with MindSpore, recording begins after call start_step and
        ends with call stop_step + 1: the first step is step 0 of the file."""
        self._finished += 1
        self._before(self._finished, self._finished)

    def on_train_begin(self, run_context):
        self._after(run_context)

    def on_train_step_end(self, run_context):
        self._after(run_context)

    def _after(self, run_context):
        """A step of Model.train(), of which the first one is step 1 of the file."""
        finished = run_context.original_args().cur_step_num
        self._before(finished, finished + 1)

    def on_train_end(self, run_context):
        if self._monitor is None:
            return
        _softly(self._monitor.end)
        if self._marks:
            _annotate.step(_annotate.NO_STEP)

    def _before(self, step, number):
        """Step `step` of ours, `number` of the file, is about to begin."""
        if self._monitor is None:
            return
        _softly(self._monitor.before_step, number)
        if self._marks:
            _annotate.step(step)

    def _check(self, settings):
        names = [name for name in _without_effect(settings) if name not in self._said]
        if names:
            self._said.update(names)
            _say(f"ignores {', '.join(names)}, which have no effect here (docs/annotate.md)")


def _seconds(poll_interval):
    try:
        return max(1, operator.index(poll_interval))
    except TypeError:
        warn("poll_interval", "it is not a whole number of seconds; it is 2")
        return 2


def _switch(is_on):
    if is_on:
        _annotate.start()
        if _mindspore._active is not None:
            _mindspore._active.steps.restart_ahead()
    else:
        _annotate.stop()


def _softly(function, *args):
    """No exception reaches the training: it is counted."""
    try:
        function(*args)
    except Exception:
        _mindspore_cost.cost.failures += 1


def _make_file(path):
    """Where there is none: for the user to change."""
    if _place()[0] != 0 or os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False) as file:
        json.dump(_DEFAULTS, file, indent=4)
    os.chmod(file.name, 0o644)
    try:
        os.link(file.name, path)  # which another one may have made meanwhile
    except FileExistsError:
        pass
    os.unlink(file.name)
