"""OTF2 archives of all programs that the tests of capture run; test_otf2.py has the short cases."""

import sys

import harness as h
import test_otf2 as t

h.CASES.clear()
for name in ("collectives", "messages", "completions", "persistent", "probes", "communicators", "neighbours",
             "across", "onesided", "files", "threads"):
    h.CASES[name] = lambda name=name: t.of_program(name, 4)

if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
