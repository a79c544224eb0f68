"""What an ELF file needs of the C library.   glibc.py FILE... prints it."""

import re
import subprocess
import sys


def version(text):
    return tuple(int(part) for part in text.split("."))


def needs(path):
    """{name: version} of what the file takes from the C library, by its newest version: ("fstat", "2.33")."""
    listed = subprocess.run(["objdump", "-T", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for undefined in re.findall(r"^.*\*UND\*.*$", listed, re.M):
        match = re.search(r"\(?GLIBC_(\d[\d.]*)\)?\s+(\S+)$", undefined)
        if match:
            found[match[2]] = match[1]
    return found


def newer(path, limit):
    """What of it came after version `limit`."""
    return {name: since for name, since in needs(path).items() if version(since) > version(limit)}


if __name__ == "__main__":
    for file in sys.argv[1:]:
        print(file, max(needs(file).values(), key=version, default="none"))
