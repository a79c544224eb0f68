"""MindSpore jobs of 2 ranks under msrun and profwrap."""

import os
import re
import subprocess

import support

ENDED = "the program has ended"
CRASH = "in libmindspore_cluster.so"


def crashes_of_the_kernels_log():
    """The lines on crashes in MindSpore's network library. None: the log cannot be read."""
    try:
        done = subprocess.run(["dmesg"], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return None if done.returncode else {line for line in done.stdout.splitlines() if CRASH in line}


def run(case, program, *arguments, options=()):
    """Runs the program, a text, by a test case with a directory; the profile is in its directory "out".

    The job must end well. But a worker of MindSpore may crash in a thread of its network library when its
    program has ended, with and without profwrap (docs/mindspore.md). This is let pass if the programs of both
    ranks have printed their last line, and the kernel's log names that library; if the log cannot be read, the
    test is skipped."""
    python, script, out = support.mindspore_python(), case.path("program.py"), case.path("out")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"{program}\nprint('{ENDED}', flush=True)\n")
    environment = {**support.environment(), "GLOG_v": "3", "OMP_NUM_THREADS": "1",
                   "PATH": os.path.dirname(python) + os.pathsep + os.environ["PATH"]}
    command = [support.PROFWRAP, "--quiet", *options, "-o", out, "msrun", "--worker_num=2",
               "--local_worker_num=2", f"--master_port={support.free_port()}", "--join=True",
               "--log_dir=" + case.tmp, script, *arguments]
    before = crashes_of_the_kernels_log()
    done = subprocess.run(command, cwd=case.tmp, capture_output=True, text=True, timeout=600, env=environment)
    if done.returncode:
        case.assertTrue(is_known_crash(case, done, before), done.stdout + done.stderr)
        print("a worker of MindSpore crashed after its program's end")
    return out


def is_known_crash(case, done, before):
    for rank in (0, 1):
        try:
            with open(case.path(f"worker_{rank}.log"), encoding="utf-8", errors="replace") as file:
                ended = ENDED in file.read()
        except FileNotFoundError:
            return False
        if not ended:
            return False
    if not re.search(r"exit with exception\. Error code: -11\.", done.stdout + done.stderr):
        return False
    after = crashes_of_the_kernels_log()
    if before is None or after is None:
        case.skipTest("a worker crashed after its program's end; the kernel's log, which tells where, cannot be read")
    return bool(after - before)
