"""profwrap.flight with harmful dumps, which aim at memory, files and terminals."""
import json
import os
import pickle
import resource
import stat
import subprocess
import sys
import tempfile

SOURCE = os.environ["PW_SOURCE"]
MEMORY = 1 << 28  # of the whole process: Python itself takes a tenth


def convert(path, status, **more):
    done = subprocess.run(
        [sys.executable, "-B", "-m", "profwrap.flight", path],
        env={**os.environ, "PYTHONPATH": os.path.join(SOURCE, "python")},
        stdin=subprocess.DEVNULL, capture_output=True, timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)), **more)
    assert done.returncode == status, done.stderr
    assert b"Traceback" not in done.stderr, done.stderr
    return done.stderr.decode()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def refuses(data, word):
    """The dump gives one line with the word, and no file is made beside it."""
    path = write("bad", data)
    said = convert(path, 1)
    assert len(said.splitlines()) == 1 and word in said, said
    assert os.listdir(".") == ["bad"], os.listdir(".")
    os.unlink(path)


def test_memory_follows_from_the_size():
    refuses(b"\x80\x02]r\xff\xff\xff\x0f.", "leaves out numbers of the memo")  # 10 bytes for 2.1 GB
    refuses(b"\x80\x02X\xff\xff\xff\x7fab.", "longer than the file")
    refuses(b"\x80\x04\x8d" + b"\xff" * 6 + b"\x00\x00ab.", "longer than the file")
    refuses(b"\x80\x04\x95" + b"\xff" * 6 + b"\x00\x00N.", "longer than the file")
    refuses(b"\x80\x04\x8e" + b"\xff" * 8 + b".", "BINBYTES8")
    refuses(b"\x80\x02\x8b\xff\xff\xff\x7f1.", "LONG4")
    refuses(b"\x80\x02\x8a\xff" + b"1" * 255 + b".", "128 bits")
    refuses(b"L" + b"9" * 100000 + b"L\n.", "LONG")


def test_shared_values_are_not_multiplied_without_end():
    """Forty lists, each of ten references to the one before."""
    data = b"\x80\x02]q\x00"
    for i in range(40):
        data += b"](" + b"h" + bytes([i])
        data += (b"h" + bytes([i])) * 9 + b"eq" + bytes([i + 1])
    refuses(data + b".", "characters")


def test_nothing_is_called():
    class Evil:
        def __reduce__(self):
            return os.mkdir, ("run-by-a-pickle",)

    for protocol, word in ((0, "which no dump does"), (2, "mkdir"), (4, "STACK_GLOBAL"), (5, "STACK_GLOBAL")):
        refuses(pickle.dumps({"entries": [Evil()]}, protocol), word)
    for data, word in ((b"", "cut off"), (b"\x80\x02]", "cut off"), (b"\x80\x02X\x05", "cut off"),
                       (b"\x80\x02]P1\n.", "PERSID"), (b"hello", "no pickle"), (b"\x80\x02.", "no")):
        refuses(data, word)


def test_old_dumps_with_other_values_are_no_dumps():
    for values in ([{"seq_id": 0}], [{"seq_id": 0, "pg_id": [], "profiling_name": ""}]):
        refuses(pickle.dumps(values, 2), "is no dump of PyTorch 2.2")
    refuses(pickle.dumps({"version": "1.4", "entries": 7}, 2), "is no dump of PyTorch 2.2")


def old_entries(first, names, group=0):
    """Entries of PyTorch 2.3, whose operations and messages of a group have the numbers from `first`."""
    return [{"record_id": i, "pg_id": group, "seq_id": first + i, "profiling_name": name, "state": "completed"}
            for i, name in enumerate(names)]


def converted(entries, **more):
    dump = {"version": "1.4", "pg_config": {0: [0, 1]}, "entries": entries, **more}
    convert(write("old", pickle.dumps(dump, 2)), 0)
    with open("old.json") as file:
        return json.load(file)


def numbers(entries, **more):
    return [one.get("collective_seq_id") for one in converted(entries, **more)["entries"]]


def test_old_operations_have_numbers_where_no_message_may_be_lost():
    reduce, send = "nccl:all_reduce", "nccl:send 0->1"
    assert numbers(old_entries(1, [reduce] * 3)) == [1, 2, 3]
    assert numbers(old_entries(1, [reduce, send, reduce])) == [1, None, 2]
    assert numbers(old_entries(1, [send, send, reduce])) == [None, None, 1]
    assert numbers(old_entries(5007, [reduce] * 3)) == [None] * 3
    assert numbers(old_entries(5007, [reduce, send, reduce])) == [None] * 3
    other = [dict(one, pg_id=1) for one in old_entries(2, [reduce] * 2)]
    assert numbers(old_entries(1, [reduce] * 2) + other) == [1, 2, None, None]


def test_long_lists_of_ranks_have_short_names_of_their_own():
    """The import keeps 63 characters of a name."""
    gap, swapped = [*range(8), *range(9, 41)], [*range(7), 9, 8, *range(10, 41)]
    far = [k * k for k in range(1 << 10)]
    lists = [[0, 1]] + [[*range(128)], [*range(0, 128, 8)], [*range(0, 128, 8)], [*range(1, 128, 8)]] + \
        [gap, swapped, [*range(40, -1, -1)], far, far]
    config = converted([], pg_config=dict(enumerate(lists, 0)))["pg_config"]
    assert [json.loads(one["ranks"]) for one in config.values()] == lists, config
    assert all(len(name) <= 63 for name in config), config
    assert list(config)[:5] == ["0", "[0-127]", "[0-120 step 8]", "[0-120 step 8] number 2", "[1-121 step 8]"]
    assert list(config)[5].startswith("[0 ... 40, 40 ranks, "), config
    again = converted([], pg_config={0: [0, 1], 5: swapped, 9: gap})["pg_config"]
    assert set(again) < set(config), again


def test_what_builds_between_2_3_and_2_4_have_already_stays():
    config = {"7": {"name": "7", "desc": "tp", "ranks": "[0, 1]"}}
    entries = [dict(one, process_group=("7", "tp")) for one in old_entries(1, ["nccl:all_reduce"] * 2, 3)]
    dump = converted(entries, version="1.5", pg_config=config)
    assert dump["pg_config"] == config, dump
    assert [one["process_group"] for one in dump["entries"]] == [["7", "tp"]] * 2, dump
    assert [one["collective_seq_id"] for one in dump["entries"]] == [1, 2], dump
    for number, one in enumerate(entries):
        one.update(collective_seq_id=41 + number, p2p_seq_id=0, is_p2p=False, time_created_us=1, time_created_ns=2)
    assert converted(entries, version="1.5")["entries"] == json.loads(json.dumps(entries))


def test_deep_values_end_in_one_line():
    refuses(b"\x80\x02" + b"]" * 100000 + b"a" * 99999 + b".", "recursion")


def test_planted_links_are_not_followed():
    dump = {"entries": [{"name": "nccl:all_reduce", "shared": ("a", 1, 2.5, None, True)}]}
    write("victim", b"precious")
    for name in ("dump.json", "dump.json.part"):
        os.symlink("victim", name)
    for protocol in (2, 3, 4, 5):
        convert(write("dump", pickle.dumps(dump, protocol)), 0, umask=0)
        status = os.lstat("dump.json")
        assert stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600, status
        with open("dump.json") as file:
            assert json.load(file) == json.loads(json.dumps(dump))
        with open("victim") as file:
            assert file.read() == "precious"
    assert sorted(os.listdir(".")) == ["dump", "dump.json", "dump.json.part", "victim"]


def test_pipes_are_not_waited_for():
    os.mkfifo("pipe")
    assert "no regular file" in convert("pipe", 1)
    os.mkfifo("good.json")
    convert(write("good", pickle.dumps({}, 2)), 0)
    assert os.path.isfile("good.json")


def test_terminals_get_no_control_characters():
    said = convert(write("\x1b]0;name", b"\x80\x02c\x1b[31mred\nblue\x9b1m\x07\n."), 1)
    assert "red.blue" in said and all(c.isprintable() for c in said.rstrip("\n")), repr(said)
    assert all(c.isprintable() for c in convert("\x1b[31mmissing", 1).rstrip("\n"))


def main():
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with tempfile.TemporaryDirectory(prefix="profwrap-flight-") as folder:
            os.chdir(folder)
            try:
                test()
            finally:
                os.chdir("/")
        print(name, "passed")


if __name__ == "__main__":
    main()
