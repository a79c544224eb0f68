"""schedule() and profile(): which steps are recorded, when the callback is called, and with which
arguments."""

import itertools
import unittest

from fake_probe import FakeProbe

import profwrap
from profwrap import Action

try:
    import torch.profiler
except ImportError:
    torch = None


class ScheduleTest(unittest.TestCase):
    def letters(self, count, **arguments):
        plan = profwrap.schedule(**arguments)
        letter = {"NONE": "-", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "S"}
        return "".join(letter[plan(step).name] for step in range(count))

    def test_actions(self):
        self.assertEqual(self.letters(5, active=2), "rSrSr")
        self.assertEqual(self.letters(8, wait=1, warmup=1, active=2), "-wrS-wrS")
        self.assertEqual(
            self.letters(12, skip_first=2, wait=1, warmup=1, active=2, repeat=2), "---wrS-wrS--"
        )
        self.assertEqual(self.letters(4, active=1, repeat=1), "S---")

    def test_wrong_arguments(self):
        for wrong in ({"active": 0}, {"active": 1, "wait": -1}, {"active": 1, "repeat": -2}):
            with self.assertRaises(ValueError):
                profwrap.schedule(**wrong)
        with self.assertRaises(TypeError):
            profwrap.schedule(active=1.5)
        with self.assertRaises(TypeError):
            profwrap.schedule()
        with self.assertRaises(ValueError):
            profwrap.schedule(active=1)(-1)

    def test_text_is_the_option_s(self):
        plan = profwrap.schedule(active=3, wait=1, skip_first=2)
        self.assertEqual(str(plan), "skip_first=2,wait=1,warmup=0,active=3,repeat=0")

    @unittest.skipUnless(torch, "torch is not installed")
    def test_answers_as_torch_s(self):
        for skip, wait, warmup, active, repeat in itertools.product(range(3), repeat=5):
            if active == 0:
                continue
            names = dict(skip_first=skip, wait=wait, warmup=warmup, active=active, repeat=repeat)
            ours, theirs = profwrap.schedule(**names), torch.profiler.schedule(**names)
            for step in range(20):
                self.assertEqual(ours(step).name, theirs(step).name, (names, step))


class ProfileTest(unittest.TestCase):
    def setUp(self):
        self.probe = FakeProbe()
        self.addCleanup(self.probe.remove)
        self.windows = []

    def run_steps(self, count, **options):
        """The numbers of the steps whose work was recorded."""
        recorded = []
        with profwrap.profile(on_trace_ready=self.windows.append, **options) as prof:
            for number in range(count):
                if profwrap.active():
                    recorded.append(number)
                if number < count - 1:
                    prof.step()
        return recorded

    def test_windows(self):
        plan = profwrap.schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
        self.assertEqual(self.run_steps(12, schedule=plan), [3, 4, 7, 8])
        self.assertEqual([w.steps for w in self.windows], ["3-4", "7-8"])
        self.assertEqual([w.number for w in self.windows], [0, 1])
        self.assertTrue(self.probe.recording)  # as before it

    def test_windows_without_a_pause_between_them(self):
        self.assertEqual(self.run_steps(4, schedule=profwrap.schedule(active=2)), [0, 1, 2, 3])
        self.assertEqual([w.steps for w in self.windows], ["0-1", "2-3"])

    def test_without_a_schedule_all_is_one_window(self):
        self.assertEqual(self.run_steps(3), [0, 1, 2])
        self.assertEqual([w.steps for w in self.windows], ["0-2"])

    def test_a_window_that_the_end_cuts(self):
        self.run_steps(3, schedule=profwrap.schedule(wait=1, active=5), first_step=100)
        self.assertEqual([w.steps for w in self.windows], ["101-102"])

    def test_stays_off_when_it_was_off(self):
        profwrap.stop()
        self.run_steps(2, schedule=profwrap.schedule(active=1))
        self.assertFalse(self.probe.recording)

    def test_marks_steps_while_they_are_recorded(self):
        self.run_steps(3, schedule=profwrap.schedule(wait=1, active=1, repeat=1))
        self.assertEqual(
            self.probe.take(),
            [("stop",), ("step", 0), ("step", -1), ("start",), ("step", 1), ("step", -1), ("stop",)]
            + [("stop",), ("step", 2), ("step", -1), ("start",)],
        )

    def test_leaves_steps_to_the_program(self):
        self.run_steps(3, schedule=profwrap.schedule(active=1), mark_steps=False)
        self.assertEqual(self.probe.take("step"), [])

    def test_a_schedule_of_one_s_own(self):
        def odd(step):
            return Action.RECORD if step % 2 else Action.NONE

        self.assertEqual(self.run_steps(5, schedule=odd), [1, 3])
        self.assertEqual([w.steps for w in self.windows], ["1-1", "3-3"])

    @unittest.skipUnless(torch, "torch is not installed")
    def test_torch_s_schedule(self):
        plan = torch.profiler.schedule(wait=1, warmup=1, active=1)
        self.assertEqual(self.run_steps(6, schedule=plan), [2, 5])

    def test_misuse(self):
        with self.assertRaises(TypeError):
            profwrap.profile(schedule=3)
        with self.assertRaises(RuntimeError):
            profwrap.profile().step()
        with profwrap.profile() as prof, self.assertRaises(RuntimeError):
            prof.start()

    def test_callback_s_exception_is_the_program_s(self):
        def broken(_):
            raise KeyError

        with self.assertRaises(KeyError):
            with profwrap.profile(on_trace_ready=broken):
                pass


unittest.main()
