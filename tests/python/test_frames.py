"""frames(): which Python functions become ranges, under which names, and that each range ends."""

import os
import sys
import threading
import unittest
import warnings

import support
from fake_probe import FakeProbe

import profwrap

HERE = os.path.abspath(__file__)


def leaf():
    return 1


def branch(count):
    return sum(leaf() for _ in range(count))


def raises():
    raise KeyError


def catches():
    try:
        raises()
    except KeyError:
        return leaf()


def recurses(count):
    return count and recurses(count - 1)


def name(function):
    file = os.path.basename(HERE)
    return f"{file}({function.__code__.co_firstlineno}): {function.__name__}"


class FramesTest(unittest.TestCase):
    def setUp(self):
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)

    def shown(self, *work, **options):
        with profwrap.frames(include=HERE, **options):
            for function, *arguments in work:
                function(*arguments)
        return [(depth, text) for depth, text, kind, _ in self.probe.take_nesting()]

    def test_names_and_nesting(self):
        found = self.shown((catches,))
        self.assertEqual(found, [(0, name(catches)), (1, name(raises)), (1, name(leaf))])

    def test_kind(self):
        with profwrap.frames(include=HERE):
            leaf()
        self.assertEqual([row[2] for row in self.probe.take_nesting()], ["function"])

    def test_generators(self):
        found = self.shown((branch, 2))
        self.assertEqual([row for row in found if row[1] == name(leaf)], [(2, name(leaf))] * 2)
        self.assertEqual(len([text for _, text in found if "<genexpr>" in text]), 3)

    def test_exception_that_leaves(self):
        with self.assertRaises(KeyError):
            self.shown((raises,))
        self.assertEqual(self.probe.take_nesting(), [(0, name(raises), "function", None)])

    def test_depth(self):
        found = self.shown((recurses, 9), depth=3)
        self.assertEqual([depth for depth, _ in found], [0, 1, 2])
        self.assertEqual(self.shown((recurses, 9), (recurses, 0), depth=3)[-1][0], 0)

    def test_functions_that_ran_already_are_not_ended(self):
        shown = profwrap.frames(include=HERE)

        def starts():
            shown.start()

        profwrap.range_push("outer")
        starts()
        leaf()
        shown.stop()
        leaf()
        profwrap.range_pop()
        self.assertEqual([c[0] for c in self.probe.calls].count("op_end"), 1)
        self.assertEqual(self.probe.take_nesting(), [(0, name(leaf), "function", None)])

    def test_stop_inside_of_functions_ends_them(self):
        shown = profwrap.frames(include=HERE)

        def stops():
            shown.stop()

        shown.start()
        stops()
        self.assertEqual(len(self.probe.take_nesting()), 1)

    def test_can_start_again(self):
        shown = profwrap.frames(exclude=[os.path.dirname(unittest.__file__)])
        for _ in range(2):
            with shown:
                leaf()
            self.assertEqual(len(self.probe.take_nesting()), 1)

    def test_other_threads(self):
        thread = threading.Thread(target=recurses, args=(1,))
        with profwrap.frames(include=HERE):
            thread.start()
            thread.join()
        self.assertEqual([depth for depth, *_ in self.probe.take_nesting()], [0, 1])

    def test_include_and_exclude(self):
        here = os.path.dirname(HERE)
        for options in ({"include": [here]}, {"include": "*/test_frames.py"}, {}):
            with profwrap.frames(**options):
                leaf()
            self.assertEqual(len(self.probe.take_nesting()), 1, options)
        for options in ({"exclude": here}, {"include": "/nowhere"}, {"exclude": ["*frames*"]}):
            with profwrap.frames(**options):
                leaf()
            self.assertEqual(self.probe.take_nesting(), [], options)

    def test_standard_library_is_left_out(self):
        with profwrap.frames(exclude=HERE):
            os.path.join("a", "b")
            threading.Thread(target=leaf).start()
        self.assertEqual(self.probe.take_nesting(), [])

    @unittest.skipIf(hasattr(sys, "monitoring"), "Python has sys.monitoring")
    def test_leaves_another_profiler_alone(self):
        def other(*_):
            pass

        sys.setprofile(other)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            with profwrap.frames():
                self.assertIs(sys.getprofile(), other)
        sys.setprofile(None)
        self.assertIn("in use", str(found[0].message))

    @unittest.skipUnless(hasattr(sys, "monitoring"), "Python has no sys.monitoring")
    def test_beside_another_profiler(self):
        sys.monitoring.use_tool_id(sys.monitoring.PROFILER_ID, "other")
        self.addCleanup(sys.monitoring.free_tool_id, sys.monitoring.PROFILER_ID)
        self.assertEqual(len(self.shown((leaf,))), 1)


unittest.main()
