"""Without profwrap the verbs do nothing, but still refuse wrong arguments."""

import subprocess
import sys
import unittest

import support

import profwrap


class NoopTest(unittest.TestCase):
    def test_is_not_active(self):
        self.assertIs(profwrap.active(), False)

    def test_verbs_do_nothing(self):
        self.assertIsNone(profwrap.step(0))
        profwrap.phase("forward")
        profwrap.phase(profwrap.NO_PHASE)
        profwrap.range_push("a")
        profwrap.range_pop()
        profwrap.range_pop()
        profwrap.step(profwrap.NO_STEP)
        profwrap.op_begin("a", "b", [[1, 2]])
        profwrap.op_end()
        profwrap.queue("q", 1, 2)
        profwrap.memory(-1)
        profwrap.metadata("key", {"a": [1]})
        profwrap.role("stage 2")
        profwrap.work(3)
        profwrap.flops(1e12)
        profwrap.mark("m", "d")
        profwrap.queue_past("q", 1, 2, 3)
        profwrap.start()
        profwrap.stop()
        self.assertEqual(list(profwrap.steps("ab")), [(0, "a"), (1, "b")])

    def test_profile_still_calls_back(self):
        windows = []
        plan = profwrap.schedule(wait=1, active=1)
        with profwrap.profile(schedule=plan, on_trace_ready=windows.append) as prof:
            prof.step()
            prof.step()
        self.assertEqual([(w.steps, w.directory) for w in windows], [("1-1", None)])

    def test_frames_installs_nothing(self):
        with profwrap.frames():
            self.assertIsNone(sys.getprofile())
            if hasattr(sys, "monitoring"):
                self.assertIsNone(sys.monitoring.get_tool(sys.monitoring.PROFILER_ID))

    def test_context_managers_pass_exceptions_on(self):
        for manager in (
            profwrap.range("a"),
            profwrap.phase("data"),
            profwrap.op("a"),
            profwrap.profile(),
            profwrap.frames(),
        ):
            with self.assertRaises(KeyError), manager:
                raise KeyError

    def test_decorator_keeps_the_function(self):
        @profwrap.range("f")
        def double(x):
            """Doc."""
            return 2 * x

        self.assertEqual(double(4), 8)
        self.assertEqual((double.__name__, double.__doc__), ("double", "Doc."))

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(ValueError, "none of data, forward"):
            profwrap.phase("fwd")
        with self.assertRaises(ValueError):
            profwrap.phase(9)
        with self.assertRaises(TypeError):
            profwrap.step("1")
        with self.assertRaises(TypeError):
            profwrap.range(b"bytes")
        with self.assertRaises(TypeError):
            profwrap.range_push(None)

    def test_wrong_arguments_of_operators(self):
        for wrong in (("a", 1), ("a", None, 5), ("a", None, [[1.5]]), ("a", None, ["b"]), (None,)):
            with self.assertRaises(TypeError, msg=wrong):
                profwrap.op(*wrong)
            with self.assertRaises(TypeError, msg=wrong):
                profwrap.op_begin(*wrong)

    def test_wrong_numbers(self):
        for call in (
            lambda: profwrap.queue("q", -1),
            lambda: profwrap.queue("q", 1, -1),
            lambda: profwrap.queue("q", 2**63),
            lambda: profwrap.queue_past("q", 1, 1, -1),
            lambda: profwrap.queue_past("q", -1, 1, 1),
            lambda: profwrap.memory(1, -2),
            lambda: profwrap.work(-1),
            lambda: profwrap.work(2**63),
            lambda: profwrap.flops(-1),
            lambda: profwrap.flops(float("nan")),
            lambda: profwrap.flops(1e30),
            lambda: profwrap.memory(2**70),
            lambda: profwrap.steps([], first=-1),
            lambda: profwrap.frames(depth=0),
        ):
            self.assertRaises(ValueError, call)
        self.assertRaises(TypeError, profwrap.queue, "q", 1.5)
        self.assertRaises(TypeError, profwrap.memory, "1")
        self.assertRaises(TypeError, profwrap.mark, 1)
        self.assertRaises(TypeError, profwrap.mark, "m", 1)
        self.assertRaises(TypeError, profwrap.frames, include=[b"bytes"])

    def test_wrong_metadata(self):
        self.assertRaises(TypeError, profwrap.metadata, 1, "value")
        self.assertRaises(TypeError, profwrap.role, 2)
        self.assertRaises(TypeError, profwrap.metadata, "key", object())
        self.assertRaises(ValueError, profwrap.metadata, "key", float("nan"))
        with self.assertRaisesRegex(ValueError, "at most 8191"):
            profwrap.metadata("key", ["x" * 9000])
        profwrap.metadata("key", "x" * 9000)

    def test_names_that_are_not_utf8(self):
        profwrap.range_push("\udcff \0 größe")
        profwrap.range_pop()

    def test_import_star_keeps_the_builtin_range(self):
        names = {}
        exec("from profwrap import *", names)
        self.assertNotIn("range", names)
        self.assertIs(names["step"], profwrap.step)

    def test_import_loads_no_reader(self):
        names = ("h5py", "numpy", "torch")
        script = f"import sys, profwrap; print(*(n in sys.modules for n in {names}))"
        out = subprocess.check_output(
            [sys.executable, "-c", script], env=support.environment(), text=True
        )
        self.assertEqual(out.split(), ["False"] * 3)

    def test_load_says_that_h5py_is_missing(self):
        script = (
            "import sys; sys.modules['h5py'] = None\n"
            "import profwrap\n"
            "try: profwrap.load('/')\n"
            "except ImportError as problem: print(problem)\n"
        )
        out = subprocess.check_output(
            [sys.executable, "-c", script], env=support.environment(), text=True
        )
        self.assertIn("needs h5py: `pip install 'profwrap[read]'`", out)


unittest.main()
