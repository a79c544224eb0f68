"""What is reported of an exception that ends the program."""

import importlib.util
import json
import os
import pickle
import sys
import threading
import unittest
import unittest.mock

import fake_probe
import support

from profwrap import _end


def raised(function, *arguments):
    try:
        function(*arguments)
    except BaseException:
        return sys.exc_info()
    raise AssertionError("nothing was raised")


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def fail(kind):
    raise kind("first\nsecond")


class EndTest(unittest.TestCase):
    def setUp(self):
        self.probe = fake_probe.FakeProbe()
        self.addCleanup(self.probe.remove)
        self.is_rank, _end._is_rank = _end._is_rank, lambda: True
        self.addCleanup(lambda: setattr(_end, "_is_rank", self.is_rank))

    def told(self, *what):
        _end.report(*what)
        return [call[2].split("\n") for call in self.probe.calls if call[0] == "metadata"]

    def test_type_place_and_text(self):
        line = fail.__code__.co_firstlineno + 1
        self.assertEqual(self.told(*raised(fail, ValueError)),
                         [["1", "ValueError", str(line), os.path.abspath(__file__), "first second"]])

    def test_the_frame_of_the_program_and_not_of_a_library(self):
        [told] = self.told(*raised(json.loads, "{"))
        self.assertEqual((told[1], told[3]), ("JSONDecodeError", os.path.abspath(__file__)))

    def test_the_frame_of_the_program_and_not_of_profwrap(self):
        code = compile("def hook(call):\n    call()\n", os.path.abspath(_end.__file__), "exec")
        ours = {}
        exec(code, ours)
        line = fail.__code__.co_firstlineno + 1
        [told] = self.told(*raised(ours["hook"], lambda: fail(ValueError)))
        self.assertEqual(told[2], str(line))
        here = sys._getframe().f_lineno + 1
        told = self.told(*raised(lambda: ours["hook"](None)))[-1]  # raised in our frame
        self.assertEqual((told[1:4]), ["TypeError", str(here), os.path.abspath(__file__)])

    def test_the_place_in_another_process(self):
        """As torch tells of a worker of a DataLoader."""
        text = (
            "Caught ValueError in DataLoader worker process 1.\n"
            "Original Traceback (most recent call last):\n"
            f'  File "{os.__file__}", line 5, in fetch\n'
            f'  File "{os.path.abspath(__file__)}", line 7, in __getitem__\n'
            "    raise ValueError('corrupt')\n"
            f'  File "{os.__file__}", line 9, in inner\n'
            "ValueError: corrupt sample\n"
        )
        [told] = self.told(ValueError, ValueError(text), None)
        self.assertEqual(told[2:4], ["7", os.path.abspath(__file__)])
        self.assertEqual(told[4], "Caught ValueError in DataLoader worker process 1. "
                                  "ValueError: corrupt sample")

    def test_the_type_that_minddata_wraps(self):
        rule = "-" * 66 + "\n"
        text = (
            f"Exception thrown from user defined Python function in dataset. \n\n{rule}- Python Call Stack: \n{rule}"
            f'Traceback (most recent call last):\n  File "{os.path.abspath(__file__)}", line 5, in __getitem__\n'
            f"    raise data.BadSample(i)\ndata.BadSample: corrupt 22\n\n{rule}- Dataset Pipeline Error Message: \n"
            f"{rule}[ERROR] Execute user Python code failed.\n\n"
        )
        [told] = self.told(RuntimeError, RuntimeError(text), None)
        self.assertEqual(told[1:], ["BadSample", "5", os.path.abspath(__file__), "Exception thrown from user "
                                    "defined Python function in dataset. data.BadSample: corrupt 22"])

    def test_the_place_in_a_worker_of_a_pool(self):
        def worker():
            error = ValueError("lost")
            error.__cause__ = RuntimeError()
            error.__cause__.tb = (
                "\nTraceback (most recent call last):\n"
                f'  File "{os.path.abspath(__file__)}", line 3, in job\nValueError: lost\n')
            raise error

        [told] = self.told(*raised(worker))
        self.assertEqual(told[2:], ["3", os.path.abspath(__file__), "lost"])

    def test_what_ended_a_spawned_process(self):
        """As torch.multiprocessing.spawn() tells of it."""
        def told(name, text, **more):
            kind = type(name, (Exception,), {"__module__": "torch.multiprocessing.spawn", **more})
            return self.told(kind, kind(text), None)[-1]

        [_, name, line, path, text] = told(
            "ProcessRaisedException", "\n\n-- Process 1 terminated with the following error:\n"
            f'Traceback (most recent call last):\n  File "{os.__file__}", line 89, in _wrap\n    fn(i)\n'
            f'  File "{os.path.abspath(__file__)}", line 16, in train\n    [][3]\n    ~~^^^\n'
            "IndexError: list index out of range\n", error_index=1)
        self.assertEqual((name, line, path), ("IndexError (process 1)", "16", os.path.abspath(__file__)))
        self.assertEqual(text, "-- Process 1 terminated with the following error: "
                               "IndexError: list index out of range")
        for last, wanted in (
                ("RuntimeError: CUDA error: out of memory\nCompile with `TORCH_USE_CUDA_DSA` to see more.",
                 "RuntimeError (process 3)"),
                ("torch.distributed.DistBackendError: NCCL error\nLast error:\nCall to connect returned",
                 "DistBackendError (process 3)"),
                ("RuntimeError: Error(s) in loading:\n\tsize mismatch for w", "RuntimeError (process 3)"),
                ("[no type]", "ProcessRaisedException (process 3)")):
            text = f'\n\n-- Process 3 terminated\nTraceback (most recent call last):\n  File "a.py", line 3\n{last}\n'
            self.assertEqual(told("ProcessRaisedException", text, error_index=3)[1], wanted)
        text = "process 2 terminated with signal SIGKILL"
        self.assertEqual(told("ProcessExitedException", text, error_index=2, signal_name="SIGKILL")[1:5:3],
                         ["ProcessExitedException (process 2: SIGKILL)", text])
        text = "process 0 terminated with exit code 3"
        self.assertEqual(told("ProcessExitedException", text, error_index=0, exit_code=3)[1],
                         "ProcessExitedException (process 0: exit status 3)")

    def test_without_a_text_or_a_traceback(self):
        [told] = self.told(Unprintable, Unprintable(), None)
        self.assertEqual(told, ["1", "Unprintable", "0", "", ""])

    def test_an_interrupt_is_no_failure(self):
        self.assertEqual(self.told(*raised(fail, KeyboardInterrupt)), [])

    def test_sys_exit_is_told_of_the_program_and_not_of_a_library(self):
        frames = [(os.__file__, 5), (__file__, 7), (__file__, 9)]
        _end.report_exit("no input\nfile", frames)
        _end.report_exit(3, frames[:1])
        told = [call[2].split("\n") for call in self.probe.calls if call[0] == "metadata"]
        self.assertEqual(told, [["1", "SystemExit", "7", os.path.abspath(__file__), "no input file"],
                                ["1", "SystemExit", "5", os.__file__, "3"]])

    def test_sys_exit_is_noted_of_the_main_thread_and_when_it_is_no_success(self):
        path = os.path.join(os.path.dirname(_end.__file__), "_site", "_profwrap_hook.py")
        spec = importlib.util.spec_from_file_location("_profwrap_hook", path)
        hook = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(hook)
        self.addCleanup(setattr, sys, "exit", sys.exit)
        words = hook._LastWords("")
        words._watch_exit()
        thread = threading.Thread(target=lambda: sys.exit(3))
        thread.start()
        thread.join()
        self.assertIsNone(words._left)
        line = sys._getframe().f_lineno + 1
        raised(lambda: sys.exit("no input"))
        self.assertEqual((words._left[1], words._left[2][0]), ("no input", (__file__, line)))
        self.assertIs(pickle.loads(pickle.dumps(sys.exit)), sys.exit)
        raised(sys.exit, self)
        self.assertEqual(words._left[1], type(self).__name__)
        told = unittest.mock.Mock()
        hook._import_part = lambda package, part: told
        hook._LEAVING_S = 0  # as if the program had gone on for long
        words._at_exit()
        told.report_exit.assert_not_called()
        hook._LEAVING_S = 600
        words._at_exit()
        told.report_exit.assert_called_once()
        raised(sys.exit, 0)
        self.assertIsNone(words._left)

    def test_another_process_of_the_rank_reports_nothing(self):
        _end._is_rank = self.is_rank  # this process is no child of profwrap
        self.assertEqual(self.told(*raised(fail, ValueError)), [])

    def test_long_texts_are_cut(self):
        [told] = self.told(ValueError, ValueError("x" * 1000), None)
        self.assertLess(len(told[4]), 256)


unittest.main()
