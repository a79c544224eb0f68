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

    def test_context_managers_pass_exceptions_on(self):
        for manager in (profwrap.range("a"), profwrap.phase("data")):
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

    def test_names_that_are_not_utf8(self):
        profwrap.range_push("\udcff \0 größe")
        profwrap.range_pop()

    def test_import_star_keeps_the_builtin_range(self):
        names = {}
        exec("from profwrap import *", names)
        self.assertNotIn("range", names)
        self.assertIs(names["step"], profwrap.step)

    def test_import_loads_no_reader(self):
        script = "import sys, profwrap; print('h5py' in sys.modules, 'numpy' in sys.modules)"
        out = subprocess.check_output(
            [sys.executable, "-c", script], env=support.environment(), text=True
        )
        self.assertEqual(out.split(), ["False", "False"])

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
        self.assertIn("needs h5py", out)


unittest.main()
