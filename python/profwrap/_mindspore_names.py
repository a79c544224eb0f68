# SPDX-License-Identifier: Apache-2.0
"""Names of mindspore.profiler, and classes of ours in their place in versions that do not have them."""

import enum
import sys

import mindspore.profiler

from . import _mstx
from ._mindspore_cost import say


class _Activity(enum.Enum):
    CPU = "CPU"
    NPU = "NPU"
    GPU = "GPU"


class _Level(enum.Enum):
    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class _Mstx:
    """Records its ranges and marks, and does nothing else: as on CPUs."""

    @staticmethod
    def range_start(message, stream=None, domain="default"):
        return 0

    @staticmethod
    def range_end(range_id, domain="default"):
        pass

    @staticmethod
    def mark(message, stream=None, domain="default"):
        pass


def _take(**ours):
    """MindSpore's own where it has them."""
    lacks = [name for name in ours if not hasattr(mindspore.profiler, name)]
    if lacks:
        version = getattr(sys.modules["mindspore"], "__version__", "")
        say(f"MindSpore {version} has no {', '.join(lacks)} in mindspore.profiler: profwrap's take the place")
    if "mstx" in lacks:
        _mstx.attach(_Mstx)
    return [getattr(mindspore.profiler, name, own) for name, own in ours.items()]


ProfilerActivity, ProfilerLevel, mstx = _take(ProfilerActivity=_Activity, ProfilerLevel=_Level, mstx=_Mstx)
