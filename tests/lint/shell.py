"""Checks that every shell script parses and that shellcheck, if installed, reports nothing.
shell.py ROOT"""

import re
import shutil
import subprocess
import sys

import tree

SHELL = re.compile(r"#!\s*/(usr/)?bin/(env\s+)?(ba|da)?sh\b")


def is_shell(root, name):
    if name.endswith(".sh"):
        return True
    source = tree.text(root, name)
    return bool(source and SHELL.match(source))


def shellcheck(checker, root, name):
    command = [checker, "--external-sources", "--source-path=SCRIPTDIR", "--severity=warning"]
    if SHELL.match(tree.text(root, name)):
        ignored = "SC2034"  # unused variable: loop counters are
    else:
        # A file to be sourced: its variables come from, or are for, the one that sources it.
        ignored = "SC2034,SC2154"
        command.append("--shell=bash")
    return command + [f"--exclude={ignored}", "--format=gcc", name]


def complaint(root, command):
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip() if done.returncode != 0 else None


def main(root):
    names = [name for name in tree.files(root) if is_shell(root, name)]
    checker = shutil.which("shellcheck")
    if not checker:
        print("shellcheck is not installed: syntax only")
    problems = []
    for name in names:
        problem = complaint(root, ["bash", "-n", name])
        if not problem and checker:
            problem = complaint(root, shellcheck(checker, root, name))
        if problem:
            problems.append(problem)
    tree.finish("shell", problems, len(names))


main(sys.argv[1])
