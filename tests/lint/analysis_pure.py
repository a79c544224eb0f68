"""Checks that the analysis objects use no MPI, HDF5, input, output or heap. analysis_pure.py NM
OBJECT..."""

import re
import subprocess
import sys

import tree

STDIO = r"""v?(f|d|s|sn|as)?w?(printf|scanf)|v[sf]?scanf|f?put(s|c|wc|ws)|put(char|wchar|w)|
    f?get(s|c|wc|ws)|get(char|line|delim|w)|ungetc|f(d|re)?open|fopen64|fmemopen|open_memstream|
    fclose|f?flush|fflush|fread|fwrite|fseeko?|ftello?|rewind|feof|ferror|fileno|setv?buf|perror|
    popen|pclose|remove|rename|tmpfile|stdin|stdout|stderr|_IO_\w+"""
SYSTEM = r"open(at)?|creat|close|p?(read|write)v?|lseek|mmap|munmap|ioctl|syslog|getenv"
HEAP = r"malloc|calloc|realloc|reallocarray|free|aligned_alloc|memalign|posix_memalign|strn?dup"
FORBIDDEN = re.compile(rf"(MPIX?_|PMPI_|H5)\w*|(__)?({STDIO}|{SYSTEM}|{HEAP})(64)?(_chk)?", re.X)
# Names that the C library gives to a function in some language modes.
ALIAS = re.compile(r"^__isoc(99|23)_")


def undefined(nm, path):
    done = subprocess.run([nm, "-u", path], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{nm} -u {path}: {done.stderr.strip()}")
    # "U name", in a shared or versioned object "U name@VERSION"; weak references are "w name".
    return [line.split()[-1].split("@")[0] for line in done.stdout.splitlines() if line.strip()]


def main(nm, *objects):
    problems = []
    for path in objects:
        for symbol in undefined(nm, path):
            if FORBIDDEN.fullmatch(ALIAS.sub("", symbol)):
                problems.append(f"{path}: uses {symbol}")
    tree.finish("analysis-pure", problems, len(objects))


main(*sys.argv[1:])
