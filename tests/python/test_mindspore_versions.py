"""Versions of MindSpore that lack what profwrap attaches to or gives on, and a NumPy that is too new: one
line each, and the program goes on. With stand-ins for mindspore and numpy."""

import contextlib
import io
import os
import sys
import time
import types
import unittest
import unittest.mock

import support  # noqa: F401: the path of the module
from fake_probe import FakeProbe
from profwrap import _mindspore, _mindspore_cost, _mindspore_operators


def module(name, **members):
    one = types.ModuleType(name)
    vars(one).update(members)
    return one


class Cell:
    def compile_and_run(self):
        return "ran"


class VersionsTest(unittest.TestCase):
    def setUp(self):
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)
        self.addCleanup(setattr, _mindspore_cost, "cost", _mindspore_cost.cost)
        _mindspore_cost.cost = _mindspore_cost.Cost()
        self.addCleanup(_mindspore.take_over)

    def modules(self, version, numpy, **profiler):
        """sys.modules with a MindSpore that has cells, callbacks and little else."""
        mindspore = module("mindspore", __version__=version, nn=module("mindspore.nn", Cell=Cell),
                           profiler=module("mindspore.profiler", **profiler))
        fake = {
            "mindspore": mindspore, "mindspore.profiler": mindspore.profiler,
            "mindspore.train": module("mindspore.train"),
            "mindspore.train.callback": module("mindspore.train.callback", Callback=object),
            "mindspore.communication": module("mindspore.communication", get_rank=int, get_group_size=int),
            "numpy": module("numpy", __version__=numpy),
        }
        ours = {name: one for name, one in sys.modules.items()
                if name not in ("profwrap.mindspore", "profwrap._mindspore_names", "profwrap._mindspore_profile",
                                "profwrap._mindspore_monitor")}
        patch = unittest.mock.patch.dict(sys.modules, {**ours, **fake}, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        return mindspore

    @contextlib.contextmanager
    def said(self, lines, rank="0"):
        """Checks the lines that are printed, each of which contains the texts given for it."""
        with contextlib.redirect_stderr(io.StringIO()) as text, \
                unittest.mock.patch.dict(os.environ, {"MS_NODE_ID": rank}):
            yield
        printed = text.getvalue().splitlines()
        self.assertEqual(len(printed), len(lines), printed)
        for line, words in zip(printed, lines):
            self.assertTrue(line.startswith("profwrap: "), line)
            for word in words:
                self.assertIn(word, line)

    def test_lacks_nearly_all(self):
        words = ["MindSpore 2.3.1", "the wait for data", "the optimizer", "averaging gradients",
                 "forward and backward in PyNative mode", "functions with @jit", "TrainOneStepCell"]
        mindspore = self.modules("2.3.1", "1.26.4")
        with self.said([words]):
            _mindspore.on_mindspore(mindspore)
        self.assertNotIn("graphs of cells", _mindspore._active.lacks)
        self.assertEqual(Cell().compile_and_run(), "ran")
        self.assertEqual(_mindspore_cost.cost.failures, len(_mindspore._active.lacks))

    def test_other_ranks_say_nothing(self):
        mindspore = self.modules("2.3.1", "2.1.0")
        with self.said([], rank="3"):
            _mindspore.on_mindspore(mindspore)

    def test_too_old(self):
        mindspore = self.modules("1.10.1", "1.26.4")
        with self.said([["MindSpore 1.10.1 is not instrumented"]]):
            _mindspore.on_mindspore(mindspore)
        self.assertIsNone(_mindspore._active)

    def test_numpy_too_new(self):
        for version, numpy, is_told in (("2.10.0", "2.4.6", True), ("2.10.0", "1.26.4", False),
                                        ("2.11.0", "2.4.6", False)):
            mindspore = self.modules(version, numpy)
            with self.said([[f"NumPy {numpy} is too new", f"MindSpore {version}", 'pip install "numpy<2"']] * is_told):
                _mindspore._tell_versions(mindspore, [])

    def test_names_that_are_not_there(self):
        self.modules("2.0.0", "1.26.4")
        with self.said([["MindSpore 2.0.0 has no ProfilerActivity, ProfilerLevel, mstx in mindspore.profiler"]]):
            import profwrap.mindspore as p
        self.assertEqual(p.ProfilerLevel.Level1.value, "Level1")
        self.assertIsNotNone(p.profile(activities=[p.ProfilerActivity.CPU]))
        self.probe.take()
        p.mstx.range_end(p.mstx.range_start("loss", domain="mine"), "mine")
        p.mstx.mark("here")
        told = [one[:3] for one in self.probe.take()]
        self.assertEqual(told, [("op_past", "loss", "mstx mine"), ("mark", "here", None)])

    def test_names_that_are_there(self):
        own = types.SimpleNamespace(CPU="own")
        self.modules("2.7.0", "1.26.4", ProfilerActivity=own, ProfilerLevel=own, mstx=own)
        with self.said([]):
            import profwrap.mindspore as p
        self.assertIs(p.ProfilerActivity, own)

    def test_operators_that_are_not_there(self):
        self.addCleanup(setattr, _mindspore_operators, "_has_told", False)
        _mindspore_operators._has_told = False
        self.modules("2.0.0", "1.26.4")
        with self.said([["no operators of MindSpore 2.0.0 are recorded"]]):
            operators = _mindspore_operators.Operators()
            for _ in range(2):
                operators.start()
                operators.stop()
            _mindspore_operators.trace_handler()
        self.assertEqual(_mindspore_cost.cost.failures, 3)

    def test_operators_of_a_profiler_that_calls_nothing(self):
        """As MindSpore 2.6's on CPUs."""
        class Profiler:
            def start(self):
                pass

            def stop(self):
                folder = os.path.join(where[0], "vm_1_2_ascend_ms", "FRAMEWORK")
                os.makedirs(folder)
                with open(os.path.join(folder, "cpu_op_execute_timestamp_0.txt"), "w", encoding="utf-8") as file:
                    now = time.time_ns()
                    file.write(f"Default/ReLU-op1;ReLU;{now},0.5,0 {now + 700000},0.25,0\n")

        where = []
        self.modules("2.6.0", "1.26.4", profile=lambda **_: Profiler(), ProfilerActivity=types.SimpleNamespace(CPU=0),
                     tensorboard_trace_handler=lambda folder, **_: where.append(folder))
        operators = _mindspore_operators.Operators()
        with self.said([]):
            operators.start()
            operators.stop()
        told = [one for one in self.probe.take() if one[0] == "op_past"]
        self.assertEqual([one[1:3] for one in told], [("Default/ReLU-op1", "ReLU")] * 2)
        self.assertFalse(os.path.exists(where[0]))


if __name__ == "__main__":
    unittest.main()
