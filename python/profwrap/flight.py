# SPDX-License-Identifier: Apache-2.0
"""Makes JSON of Flight Recorder dumps, which PyTorch writes as pickles, for `profwrap import`.

    python3 -m profwrap.flight FILE...        writes FILE.json

A pickle is a program for its reader: it may name any function to be called, and ask for any amount of
memory. So this module checks the pickle before any of it is executed. It may contain only plain
values, as PyTorch's dumps do, and no value may be larger than the file's bytes allow. The JSON is
written to a temporary file with access for the owner only, and renamed when it is complete.
"""
import contextlib
import io
import json
import os
import pickle
import pickletools
import resource
import secrets
import stat
import sys
import zlib

MOST_BYTES = 1 << 30  # of a dump
MOST_DIGITS = 16  # bytes of an integer
MOST_NAME = 48  # characters of a list of ranks in a name; the import keeps 63 of the whole name
# Limit on bytes of JSON for one byte of pickle. A value that the pickle has once and refers to often is
# written out each time: a frame of a call stack takes some hundred bytes of JSON for a reference of two
# bytes.
MOST_GROWTH = 1000
LEAST_LIMIT = 1 << 20
# Memory that Python needs at most for each byte of a pickle, and for the interpreter itself.
MEMORY_PER_BYTE = 256
MEMORY_BASE = 512 << 20

# The opcodes of plain values. A container needs no limit of its own: its elements are limited.
PLAIN = {
    "PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2",
    "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "EMPTY_LIST", "APPEND",
    "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_DICT", "SETITEM",
    "SETITEMS", "BINPUT", "LONG_BINPUT", "MEMOIZE", "BINGET", "LONG_BINGET",
}
LENGTHS = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}


def take(data, at, count):
    """Returns the little-endian number of the next `count` bytes."""
    if at + count > len(data):
        raise ValueError("is no pickle of plain values: it is cut off")
    return int.from_bytes(data[at : at + count], "little")


def argument_end(data, at, opcode):
    """Returns the end of the argument that begins at `at`."""
    if opcode.arg is None:
        return at
    size = LENGTHS.get(opcode.arg.n)
    if size is None:
        end = at + opcode.arg.n
    else:
        end = at + size + take(data, at, size)
    if end > len(data):
        raise ValueError(f"is no pickle of plain values: its {opcode.name} is longer than the file")
    return end


def vet(data):
    """Reads all opcodes without executing them. Raises ValueError at the first one that dumps do
    not contain.
    """
    at, memorised = 0, 0
    while True:
        name = pickletools.code2op.get(chr(data[at])) if at < len(data) else None
        if name is None:
            raise ValueError("is no pickle of plain values: it is cut off or damaged")
        opcode, name = name, name.name
        if name not in PLAIN:
            raise ValueError(f"is no pickle of plain values: it has {name}{named(data, at, name)},"
                             " which no dump does")
        end = argument_end(data, at + 1, opcode)
        if name == "FRAME" and take(data, at + 1, 8) > len(data) - end:
            raise ValueError("is no pickle of plain values: its FRAME is longer than the file")
        if name == "LONG1" and end - at - 2 > MOST_DIGITS:
            raise ValueError("is no pickle of plain values: it has an integer beyond 128 bits")
        if name in ("BINPUT", "LONG_BINPUT") and take(data, at + 1, end - at - 1) > memorised:
            raise ValueError(f"is no pickle of plain values: its {name} leaves out numbers of the memo")
        memorised += name in ("BINPUT", "LONG_BINPUT", "MEMOIZE")
        at = end
        if name == "STOP":
            return


def named(data, at, name):
    """Returns the name in a GLOBAL, for messages."""
    if name != "GLOBAL":
        return ""
    lines = data[at + 1 : at + 200].split(b"\n")[:2]
    return " " + ".".join(line.decode(errors="replace") for line in lines)


class PlainValues(pickle.Unpickler):
    """A second protection, should vet() miss something: this unpickler calls no functions."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no dump does")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("it refers to something outside of it, which no dump does")


def read(path):
    """Returns the bytes of a regular file; does not block on other kinds of files."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("is no regular file")
        if status.st_size > MOST_BYTES:
            raise ValueError(f"has {status.st_size} bytes, more than {MOST_BYTES}")
        return file.read(status.st_size)


@contextlib.contextmanager
def new_file(path):
    """Opens a new text file for `path`. It has another name until it is complete; then it replaces
    `path`. Both are in the directory that was opened first, and no link is followed.
    """
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    name = os.path.basename(path)
    part = f"{name}.{secrets.token_hex(8)}.part"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(part, flags, 0o600, dir_fd=folder)
        try:
            with open(fd, "w", encoding="utf-8") as file:
                yield file
            os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(part, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def old_numbers(entries):
    """Numbers the collectives of one group of PyTorch 2.2 or 2.3, which counts messages with them. The
    messages of a rank are not those of the others, so they are left out of the count. Where the group's
    first operations are lost, messages may be among them, so the numbers are not known.
    """
    for one in entries:  # so that the import does not take operations without a number for one
        one["p2p_seq_id"] = one["seq_id"]
    if entries[0]["seq_id"] > 1:
        return
    numbers = {}
    for one in entries:
        if not one["is_p2p"]:
            one["collective_seq_id"] = numbers.setdefault(one["seq_id"], len(numbers) + 1)


def short(ranks):
    """Returns the list of ranks as a part of a name, which is the same in all processes."""
    text = str(ranks)
    if len(text) <= MOST_NAME:
        return text
    first, last, step = ranks[0], ranks[-1], ranks[1] - ranks[0]
    if step > 0 and ranks == list(range(first, last + 1, step)):
        return f"[{first}-{last}" + (f" step {step}]" if step > 1 else "]")
    return f"[{first} ... {last}, {len(ranks)} ranks, {zlib.crc32(text.encode()):08x}]"


def old_groups(config):
    """The groups of PyTorch 2.3 by their numbers, which a process counts for itself: the name is the
    list of ranks, shortened if it is long, and of groups with the same ranks their order.
    """
    seen, groups = {}, {}
    for number, ranks in sorted(config.items()):
        key = str(list(ranks))
        seen[key] = seen.get(key, 0) + 1
        name = short(list(ranks)) + (f" number {seen[key]}" if seen[key] > 1 else "")
        groups[number] = ("0", "default_pg", key) if number == 0 else (name, "process group", key)
    return groups


def add_group(one, groups, path):
    """Adds the name of the group. That of a group whose ranks are not in the dump may be any other's in
    another process, except for the default group.
    """
    number = one["pg_id"]
    unknown = ("0", "default_pg") if number == 0 else (f"{number} of {os.path.basename(path)}", "process group")
    one.setdefault("process_group", groups.get(number, unknown)[:2])


def add_kind(one, before):
    """Adds whether this is a message; before it are the group's operations `before`."""
    name = one["profiling_name"]
    one.setdefault("is_p2p", name.startswith(("nccl:send", "nccl:recv")) or bool(
        "coalesced" in name and before and before[-1]["is_p2p"]))


def modern(dump, path):
    """Returns a dump of PyTorch 2.2, which is a list of entries, or 2.3, whose version is 1, in the form
    of later ones. Those of 2.2 do not have the ranks of groups. Those of builds between 2.3 and 2.4 have
    some keys of the later form already, which stay.
    """
    is_list = isinstance(dump, list) and all(isinstance(one, dict) and "seq_id" in one for one in dump)
    is_first = isinstance(dump, dict) and str(dump.get("version")).startswith("1.")
    if not is_list and not is_first:
        return dump
    old = {"version": "PyTorch 2.2", "entries": dump} if is_list else dump
    config = old.get("pg_config") or {}
    has_names = any(isinstance(group, dict) for group in config.values())
    groups = {} if has_names else old_groups(config)
    by_group = {}
    for one in old["entries"]:
        before = by_group.setdefault(one["pg_id"], [])
        add_group(one, groups, path)
        add_kind(one, before)
        if "time_created_us" in one:
            one.setdefault("time_created_ns", 1000 * one["time_created_us"])
        before.append(one)
    for entries in by_group.values():
        if not any("collective_seq_id" in one for one in entries):
            old_numbers(entries)
    if not has_names:
        old["pg_config"] = {name: {"name": name, "desc": desc, "ranks": ranks}
                            for name, desc, ranks in groups.values()} or \
            {"": {"name": "", "desc": "", "ranks": "[]"}}
    return old


def write(dump, file, most):
    """Writes the value as JSON of at most `most` characters."""
    written = 0
    for piece in json.JSONEncoder().iterencode(dump):
        written += len(piece)
        if written > most:
            raise ValueError(f"would be JSON of more than {most} characters")
        file.write(piece)


def convert(path):
    """Writes the JSON beside the dump, and returns its path."""
    data = read(path)
    vet(data)
    try:
        dump = PlainValues(io.BytesIO(data)).load()
    except Exception as error:  # a damaged pickle raises about anything
        raise ValueError(f"is no pickle of plain values: {error}") from error
    try:
        dump = modern(dump, path)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"is no dump of PyTorch 2.2 or 2.3, whose keys it has: {error}") from error
    with new_file(path + ".json") as file:
        write(dump, file, MOST_GROWTH * len(data) + LEAST_LIMIT)
    return path + ".json"


def limit_memory(paths):
    """Limits this process's memory to what the values of the largest file can take, unless a lower
    limit exists.
    """
    largest = 0
    for path in paths:
        with contextlib.suppress(OSError):
            largest = max(largest, os.stat(path).st_size)
    wanted = MEMORY_BASE + MEMORY_PER_BYTE * min(largest, MOST_BYTES)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    for limit in (soft, hard):
        wanted = wanted if limit == resource.RLIM_INFINITY else min(wanted, limit)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def say(path, what):
    """Prints without control characters, because texts from a file must not send commands to the
    terminal.
    """
    line = f"{path}: {str(what)[:300]}"
    print("".join(c if c.isprintable() else "?" for c in line), file=sys.stderr)


def main(paths):
    if not paths or paths[0].startswith("-"):
        print("usage: python3 -m profwrap.flight FILE...", file=sys.stderr)
        return 2
    limit_memory(paths)
    status = 0
    for path in paths:
        try:
            convert(path)
            continue
        except OSError as error:
            say(path, f"cannot be read or written: {error.strerror}")
        except MemoryError:
            say(path, "takes more memory than a dump of its size does")
        except (ValueError, TypeError, RecursionError) as error:
            say(path, error)
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
