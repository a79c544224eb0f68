"""Programs built with sanitizers behave as without profwrap, report the same findings, and are
recorded. They are started directly, and by a script, which profwrap cannot inspect."""

import re
import shutil
import sys

import harness as h

# Open MPI leaks and races, which is not what these cases are about.
QUIET = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "report_bugs=0"}


def findings(done, within=""):
    """The summaries of the sanitizer that contain `within`, without addresses and process IDs. Of leaks it has the
    number of allocations, not of bytes: process IDs of four and of five digits are in the texts that Open MPI leaks."""
    return sorted(re.sub(r"0x[0-9a-f]+|[0-9]+ byte\(s\) leaked|\(.*\)", "", line) for line in h.lines(done.stderr)
                  if line.startswith("SUMMARY:") and within in line)


def like_alone(name, mode, *below, calls, env=None, within=""):
    program = h.program(name)
    command = [*below, f"{program} {mode}"] if below else [program, mode]
    env = QUIET if env is None else env
    alone = h.run([program, mode], None, env=env)
    if "unexpected memory mapping" in alone.stderr.decode(errors="replace"):
        raise h.Skipped("this kernel's memory layout is not one that the sanitizer can run in")
    shutil.rmtree("out", ignore_errors=True)
    done = h.run(h.profwrap("-q", "--no-merge", "-o", "out", *command), None, env=env)
    h.equal((done.returncode, done.stdout, findings(done, within)),
            (alone.returncode, alone.stdout, findings(alone, within)),
            f"{name} {mode}: status, output and findings; said {done.stderr[-2000:]}")
    with h.open_rank("out") as file:
        h.equal(h.operations(file).count("Allreduce"), calls, f"calls of {name} {mode}")
    return done


def finds(name, mode, words, *below, env=None, within=""):
    done = like_alone(name, mode, *below, calls=100, env=env, within=within)
    h.check(done.returncode != 0 and words in done.stderr, name, mode, "ended with",
            done.returncode, "saying", done.stderr[-2000:])


@h.case
def address():
    for below in ((), ("sh", "-c")):
        like_alone("sanitized_address", "right", *below, calls=100)
        finds("sanitized_address", "behind", b"heap-buffer-overflow", *below)
        finds("sanitized_address", "freed", b"heap-use-after-free", *below)


@h.case
def leaks_are_found_under_profwrap():
    """The leaks of Open MPI are as many as without profwrap. A leak of the program is found."""
    env = {"ASAN_OPTIONS": "detect_leaks=1"}
    like_alone("sanitized_address", "right", calls=100, env=env)
    finds("sanitized_address", "leak", b"leak of 12345 byte(s)", env=env)


@h.case
def options_of_a_script():
    """A script sets the options of the sanitizer's runtime itself."""
    like_alone("sanitized_address", "right", "env", "ASAN_OPTIONS=detect_leaks=0", "sh", "-c",
               calls=100)


@h.case
def the_users_own_order():
    """A user who asks for the sanitizer's check of the library order gets it."""
    program = h.program("sanitized_address")
    env = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=1"}
    done = h.run(h.profwrap("-q", "--no-merge", "-o", "out", program, "right"), None, env=env)
    if done.returncode == 0:
        raise h.Skipped("this runtime is linked statically: it has no order to check")
    h.check(b"does not come first" in done.stderr, done.stderr)


@h.case
def thread():
    like_alone("sanitized_thread", "right", calls=100)
    like_alone("sanitized_thread", "right", "sh", "-c", calls=100)
    finds("sanitized_thread", "race", b"in write_number", env={"TSAN_OPTIONS": "report_bugs=1"},
          within="sanitized.c")


@h.case
def undefined():
    env = {"UBSAN_OPTIONS": "halt_on_error=1"}
    like_alone("sanitized_undefined", "right", calls=100, env=env)
    finds("sanitized_undefined", "overflow", b"signed integer overflow", env=env)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
