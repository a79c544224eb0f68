"""What tests/fuzz/run and fuzz_python.py make of fuzzers that fail: scripts stand for the fuzzers.

    test_run.py
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import tempfile
import unittest
from unittest import mock

import commands
import fuzz_python
import seeds

LINE = "#{}: cov: 10 ft: 20 corp: 3 exec/s: 5 oom/timeout/crash: 0/0/{} time: 1s job: 1 dft_time: 0"
EXITING = "INFO: exiting: 0 time: 1s"
OURS = "    #0 0x55d1 in pw_cli_dump /src/cli/dump.c:10:2"
ITS_LIBRARY = "    #0 0x55d1 in H5HG_read /src/H5HG.c:10:2"


def load_run():
    path = os.path.join(seeds.HERE, "run")
    loader = importlib.machinery.SourceFileLoader("fuzz_run", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fuzz_run", loader))
    loader.exec_module(module)
    return module


run = load_run()


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="pwfuzz-test-")
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        for name, value in (("BUILD", self.scratch), ("build", lambda: None),
                            ("program", self.program)):
            patch = mock.patch.object(run, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def program(self, _reader):
        return os.path.join(self.scratch, "fuzzer")

    def fuzzer(self, *lines):
        """A shell script in place of a fuzzer. In the script, $new is the folder for kept
        inputs."""
        with open(self.program(None), "w") as file:
            file.write("#!/bin/sh\nfor word; do case $word in -artifact_prefix=*) new=${word#*=};; "
                       "esac; done\n" + "\n".join(lines) + "\n")
        os.chmod(self.program(None), 0o700)

    def says(self, *lines):
        return [f"echo '{line}' >&2" for line in lines]

    def status(self, reader="dump"):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = run.main("0.01", [reader])
        self.said = said.getvalue()
        return status


class Runs(Case):
    def test_passes_without_findings(self):
        self.fuzzer(*self.says(LINE.format(100, 0), EXITING))
        self.assertEqual(self.status(), 0, self.said)

    def test_fails_without_executions(self):
        self.fuzzer(*self.says(LINE.format(0, 0), EXITING))
        self.assertEqual(self.status(), 1)
        self.assertIn("no executions", self.said)

    def test_fails_without_executions_after_a_run_that_had_some(self):
        self.test_passes_without_findings()
        self.test_fails_without_executions()

    def test_fails_when_the_fuzzer_crashes(self):
        self.fuzzer(*self.says(LINE.format(100, 0)), "kill -SEGV $$")
        self.assertEqual(self.status(), 1)
        self.assertIn("did not run", self.said)

    def test_fails_when_the_fuzzer_says_nothing(self):
        self.fuzzer("exit 0")
        self.assertEqual(self.status(), 1)
        self.assertIn("did not run", self.said)

    def test_fails_without_corpus(self):
        self.fuzzer(*self.says(LINE.format(100, 0), EXITING))
        with mock.patch.object(seeds, "CORPUS", self.scratch):
            self.assertEqual(self.status(), 1)
            self.assertIn("no corpus rank, cluster", self.said)
            self.assertEqual(self.status("load"), 1)

    def test_fails_with_too_much_memory(self):
        for peak, status in ((run.MOST_BYTES, 0), (run.MOST_BYTES + 1, 1)):
            self.fuzzer(f"echo {peak} >> $FUZZ_PEAK", *self.says(LINE.format(100, 0), EXITING))
            self.assertEqual(self.status(), status, self.said)

    def test_other_readers_are_in_the_table_when_one_did_not_run(self):
        self.fuzzer('case $* in *corpus/journal*) exit 1;; esac', *self.says(LINE.format(100, 0), EXITING))
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(run.main("0.01", ["dump", "recover", "report"]), 1)
        self.assertIn("recover did not run", said.getvalue())
        self.assertRegex(said.getvalue(), r"(?m)^dump .*100 ")
        self.assertRegex(said.getvalue(), r"(?m)^report .*100 ")


class Crashes(Case):
    def crash(self, frame, *, again, name="crash-1"):
        """A fuzzer that keeps one input. With this input it ends in the frame, once or always."""
        rerun = f"echo '{frame}' >&2; exit 77" if again else "exit 0"
        self.fuzzer(f"[ \"$new\" ] || {{ {rerun}; }}", f": > ${{new}}{name}",
                    f"echo '{frame}' > ${{ASAN_OPTIONS##*log_path=}}.1",
                    *self.says(LINE.format(100, 1), EXITING), "exit 77")

    def test_ours_fails(self):
        self.crash(OURS, again=True)
        self.assertEqual(self.status(), 1)
        self.assertIn("crash-1 ours: pw_cli_dump", self.said)

    def test_ours_fails_when_it_does_not_happen_again(self):
        self.crash(OURS, again=False)
        self.assertEqual(self.status(), 1)
        self.assertIn("pw_cli_dump (does not happen again)", self.said)

    def test_crash_of_the_mutator_passes(self):
        self.crash(ITS_LIBRARY + "\n    #1 0x55d2 in LLVMFuzzerCustomMutator /mutate_hdf5.c:97:2",
                   again=False)
        self.assertEqual(self.status(), 0, self.said)
        self.assertIn("passing: the mutator crashed, in H5HG_read", self.said)

    def test_slowness_that_does_not_happen_again_passes(self):
        self.crash(OURS, again=False, name="timeout-1")
        self.assertEqual(self.status(), 0, self.said)

    def test_crash_without_its_input_fails(self):
        self.fuzzer(*self.says(LINE.format(100, 1), EXITING), "exit 77")
        self.assertEqual(self.status(), 1)
        self.assertIn("did not run", self.said)

    def test_the_librarys_passes_if_the_commands_survive(self):
        self.crash(ITS_LIBRARY, again=True)
        for found, status in (([], 0), (["dump ended with -11"], 1)):
            with mock.patch.object(commands, "complaints", lambda *_: found):
                self.assertEqual(self.status(), status, self.said)

    def test_the_librarys_fails_where_no_command_can_be_tried(self):
        self.assertTrue(commands.complaints("x", ["rank"], os.path.join(self.scratch, "profwrap")))


class InPython(Case):
    def sums(self, reader, lines, status):
        with open(os.path.join(self.scratch, "input"), "w") as file:
            file.write("x")
        sums = fuzz_python.Sums(reader, os.path.join(self.scratch, "found"))
        with contextlib.redirect_stdout(io.StringIO()):
            sums.count(lines, status, file.name)
        return sums

    def begun(self):
        return [{"path": os.path.join(self.scratch, "input")}]

    def test_crash_in_a_pickle_is_a_finding(self):
        sums = self.sums("pickle", self.begun(), signal.SIGSEGV)
        self.assertEqual((sums.counts, sums.status()), ({"new": 1, "library": 0}, 1))

    def test_crash_in_load_is_the_librarys(self):
        sums = self.sums("load", self.begun(), signal.SIGSEGV)
        self.assertEqual((sums.counts, sums.status()), ({"new": 0, "library": 1}, 0))

    def test_other_ends_are_findings(self):
        for status in (signal.SIGALRM, signal.SIGKILL, 0):
            self.assertEqual(self.sums("load", self.begun(), status).status(), 1)

    def test_a_child_that_reads_nothing_is_a_finding(self):
        self.assertEqual(self.sums("load", [], 0).status(), 1)

    def test_no_executions_fail(self):
        self.assertEqual(fuzz_python.Sums("load", self.scratch).status(), 1)

    def test_run_takes_its_findings(self):
        for executions, new, status in ((5, 0, 0), (5, 1, 1), (0, 0, 1)):
            sums = json.dumps({"executions": executions, "peak": 0, "new": new, "library": 0})
            keeps = f": > {run.folder('pickle', 'crashes', 'new')}/1" if new else ":"
            with open(os.path.join(self.scratch, "python"), "w") as file:
                file.write(f"#!/bin/sh\n{keeps}\necho '{sums}'\nexit {status}\n")
            os.chmod(file.name, 0o700)
            with mock.patch.object(run, "with_hdf5", lambda: os.path.join(self.scratch, "python")):
                self.assertEqual(self.status("pickle"), status)


if __name__ == "__main__":
    unittest.main()
