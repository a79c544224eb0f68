"""No program of the build needs a function that glibc 2.28, the oldest of the wheel's, has not.
test_glibc.py CASE..., or --list

The build is linked with this machine's glibc, so what it needs has newer versions, too, where a function
moved from a library beside the C library into it (2.34), or was made anew (stat, exp): these are listed
here. The wheel itself is tested by package.wheel."""

import glob
import os
import re
import sys

import glibc

OLDEST = "2.28"
# Functions that glibc 2.28 has in another library or under another version.
OLDER = {
    "2.29": "exp|log|log2|pow",
    "2.32": "pthread_sigmask",
    "2.33": "[fl]?stat(64)?|fstatat(64)?|mknod(at)?",
    "2.34": r"__libc_start_main|dl\w+|(__)?pthread_\w+|sem_\w+|shm_\w+|timer_\w+|mq_\w+|aio_\w+",
}


def oldest():
    build = os.environ["PW_BUILD"]
    files = [file for file in glob.glob(build + "/bin/*") + glob.glob(build + "/libexec/profwrap/*")
             if os.path.isfile(file) and open(file, "rb").read(4) == b"\x7fELF"]
    if len(files) < 8:
        raise AssertionError(f"few programs: {files}")
    wrong = []
    for file in files:
        for name, since in glibc.newer(file, OLDEST).items():
            if not re.fullmatch(OLDER.get(since, "(?!)"), name):
                wrong.append(f"{os.path.basename(file)}: {name} of glibc {since}")
    if wrong:
        raise AssertionError("\n".join(["newer than the oldest glibc:", *wrong]))


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("names-of-the-build")
    else:
        oldest()
