"""Synthetic runs: determinism, format, truth, and that the merge finds what was declared.

    test_sim.py PROFWRAP CASE        test_sim.py --list
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from simulated import CASES, ENVIRONMENT, case, require_h5py

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))
import contract  # noqa: E402


def sim(directory, *options, status=0):
    done = subprocess.run([profwrap, "sim", *options, directory], stderr=subprocess.PIPE, text=True)
    assert done.returncode == status, done.stderr
    return done.stderr


def truth(directory):
    with open(os.path.join(directory, "truth.json")) as file:
        return json.load(file)


def content(path):
    """All datasets and attributes of a file, as bytes."""
    found = {}
    with h5py.File(path) as file:
        found.update({f"@{name}": str(value) for name, value in file.attrs.items()})
        file.visititems(lambda name, item: found.__setitem__(name, item[()].tobytes())
                        if isinstance(item, h5py.Dataset) and name != "strings" else None)
        found["strings"] = [bytes(text) for text in file["strings"][()]]
    return found


def assert_same(a, b, ranks):
    for rank in range(ranks):
        name = f"rank-{rank:05d}.h5"
        one, other = content(os.path.join(a, name)), content(os.path.join(b, name))
        assert one == other, f"{name}: {[key for key in one if one[key] != other.get(key)]}"


@case
def same_seed_same_run_whatever_the_parallelism():
    for pattern in ("data", "halo", "hybrid"):
        options = ["-p", pattern, "-r", "12", "-s", "20", "--seed", "7", "--operators", "4",
                   "-f", "slow_rank:rank=3,steps=4-9,phase=backward,percent=30"]
        whole, parts, other = (os.path.join(where, pattern + end) for end in "abc")
        sim(whole, *options)
        makers = [subprocess.Popen([profwrap, "sim", *options, "--ranks-of", share, parts])
                  for share in ("0-3", "4-4", "5-11")]
        assert [maker.wait() for maker in makers] == [0, 0, 0]
        assert_same(whole, parts, 12)
        assert truth(whole) == truth(parts)
        sim(other, *options, "--seed", "8")
        assert truth(other)["elapsed_ns"] != truth(whole)["elapsed_ns"]


def assert_listed(path, lists):
    """Every table has exactly the fields that the contract lists, and the enumerations have exactly
    the listed items."""
    known = {items for items in contract.ENUMERATIONS.values()}
    def look(name, item):
        if not isinstance(item, h5py.Dataset) or name in ("strings", "stacks"):
            return
        assert " ".join(item.dtype.names) == lists[name], f"{name}: {item.dtype.names}"
        for field in item.dtype.names:
            items = h5py.check_enum_dtype(item.dtype[field]) or {}
            items = " ".join(sorted(items, key=items.get))
            wanted = name == "stragglers" or name == "trends" or field in ("recorded", "reason")
            assert not (items and wanted) or items in known, (name, field, items)
    with h5py.File(path) as file:
        file.visititems(look)


@case
def files_keep_the_contract_of_real_ones():
    slow = ("--os-samples", "--tell-roles", "--ends-ms", "200", "-f", "late_setup:rank=1,ms=500")
    for name, options in (("slow", slow), ("loaded", ("--queues", "--operators", "4")), ("gpu", ("--gpu",))):
        directory = os.path.join(where, name)
        sim(directory, "-r", "4", "-s", "20", *options)
        merge(directory)
        assert_listed(rank_path(directory, 1),
                      {**contract.RANK_DATASETS, **contract.RANK_DATASETS_AT_TIMES})
        assert_listed(os.path.join(directory, "cluster.h5"), contract.CLUSTER_DATASETS)
        told = json.loads(subprocess.run([profwrap, "report", "--format", "json", directory],
                                         stdout=subprocess.PIPE, check=True).stdout)
        assert list(told) == contract.REPORT_KEYS, list(told)
        assert name != "slow" or list(told["stragglers"][0]) == contract.STRAGGLER_KEYS, told["stragglers"]
    for pattern in ("data", "halo", "hybrid"):
        directory = os.path.join(where, pattern)
        sim(directory, "-p", pattern, "-r", "8", "-s", "5")
        with h5py.File(os.path.join(directory, "rank-00005.h5")) as file:
            assert not set(contract.RANK_ATTRIBUTES) - set(file.attrs)
            for name, fields in contract.RANK_DATASETS.items():
                missing = set(fields.split()) - set(file[name].dtype.names)
                assert not missing, f"{name} lacks {missing}"
            assert len(file["steps"]) == 5 and len(file["events/comm"]) > 5
            events = file["events/comm"][()]
            assert (events["end"] >= events["start"]).all()
            sizes, members = file["comms"]["size"], file["comm_members"]["world_rank"]
            assert sizes.sum() == len(members) and 5 in members[: sizes[0]]


@case
def truth_is_the_difference_that_the_fault_makes():
    sim(os.path.join(where, "clean"), "-r", "8", "-s", "40", "-n", "1")
    sim(os.path.join(where, "slow"), "-r", "8", "-s", "40", "-n", "1",
        "-f", "slow_rank:rank=2,steps=10-19,phase=forward,percent=50")
    clean, slow = truth(os.path.join(where, "clean")), truth(os.path.join(where, "slow"))
    fault = slow["faults"][0]
    assert clean["faults"] == [] and fault["ranks"] == [2] and fault["steps"] == list(range(10, 20))
    assert slow["elapsed_ns"] - clean["elapsed_ns"] == fault["gain_ns"]
    # 10 steps of 50 % of 10 ms, less what the slowest of the others took anyway.
    assert 45e6 < fault["gain_ns"] <= 50e6, fault["gain_ns"]


@case
def what_stragglers_cost_together_is_told():
    """Ranks that are late in the same steps hide what the others cost."""
    late = "slow_rank:rank={},steps=50-79,percent={};slow_rank:rank={},steps=50-79,percent={}"
    runs = {"two": ("8", late.format(1, 30, 3, 30)),
            "one twice": ("8", late.format(2, 30, 5, 30) + ";slow_rank:rank=2,steps=10-29,percent=40"),
            "two of three": ("3", late.format(1, 60, 2, 60)),
            "one step": ("8", "stall:rank=1,steps=50,ms=500;stall:rank=6,steps=50,ms=490")}
    for name, (ranks, faults) in runs.items():
        told, lost = told_of(name, "-r", ranks, "-s", "100", "-n", "1", "-f", faults)
        named = {int(fault.split("rank=")[1].split(",")[0]) for fault in faults.split(";")}
        first = next(row for row in told["job"]["losses"] if row["in_headline"])
        assert abs(first["together_ns"] / lost - 1) < 0.05, (name, first, lost)
        assert (first["gain_ns"] or 0) < 0.6 * lost and first["rank"] in named, (name, first, lost)
        assert "; and 1 more rank; together they cost the job " in told["job"]["headline"], told["job"]["headline"]
        assert [row["saves_ns"] for row in told["advice"] if set(row["ranks"]) == named] == [first["together_ns"]]
        some = json.loads(subprocess.run([profwrap, "report", "--format", "json", "--steps", "0-49",
                                          os.path.join(where, name)], stdout=subprocess.PIPE, check=True).stdout)
        assert all(row["together_ns"] is None for row in some["job"]["losses"]), "of the whole run, not of these steps"
    told, lost = told_of("host", "-r", "16", "-s", "100", "-f", "slow_host:host=1")
    first = next(row for row in told["job"]["losses"] if row["in_headline"])
    assert abs(first["gain_ns"] / lost - 1) < 0.05 and first["together_ns"] is None, (first, lost)


def told_of(name, *options):
    """The report, and what the faults cost the run."""
    run = os.path.join(where, name)
    sim(run, *options)
    merge(run)
    told = subprocess.run([profwrap, "report", "--format", "json", run], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(told), truth(run)["elapsed_ns"] - truth(run)["elapsed_without_faults_ns"]


@case
def noise_is_what_was_asked_for():
    sim(where, "-r", "4", "-s", "400", "-n", "5", "-c", "3", "--ranks-per-host", "4")
    with h5py.File(os.path.join(where, "rank-00002.h5")) as file:
        steps, ranges, names = file["steps"][()], file["events/range"][()], file["strings"].asstr()[()]
    works = [ranges[(ranges["start"] >= step["start"]) & (ranges["end"] <= step["end"])]
             for step in steps]
    works = [(w["end"] - w["start"])[[names[n] != "allreduce" for n in w["name"]]].sum()
             for w in works]
    mean = sum(works) / len(works)
    spread = (sum((w - mean) ** 2 for w in works) / len(works)) ** 0.5 / mean
    assert abs(mean - 10e6) < 0.01 * 10e6 and 0.045 < spread < 0.055, (mean, spread)


@case
def clocks_have_offset_and_drift_and_knots_that_undo_them():
    sim(where, "-r", "8", "-s", "30", "--step-us", "400000", "-n", "1", "-f",
        "skew:host=1,offset_ns=900000000,error_ns=3000")
    ends = {}
    for rank in (0, 5):
        with h5py.File(os.path.join(where, f"rank-{rank:05d}.h5")) as file:
            knots, events = file["clock"][()], file["events/comm"][()]
        assert len(knots) >= 3 and (knots["error_ns"] == (3000 if rank else 0)).all()
        local = events["end"]
        ends[rank] = local + [interpolate(knots, t) for t in local.tolist()], local
    apart = abs(ends[0][0] - ends[5][0])
    assert abs(ends[0][1] - ends[5][1]).min() > 800e6
    # They leave each Allreduce within 2 % of its transfer of each other.
    assert apart.max() < 3000 + 30e3, apart.max()


def interpolate(knots, t):
    for a, b in zip(knots[:-1].tolist(), knots[1:].tolist()):
        if a[0] <= t <= b[0]:
            return a[1] + (t - a[0]) * (b[1] - a[1]) // (b[0] - a[0])
    raise AssertionError(f"{t} is outside the knots")


def datasets(path):
    with h5py.File(path) as file:
        return {name: item[()].tobytes() for name, item in file.items()
                if isinstance(item, h5py.Dataset)}


def stop_when_matched(output):
    """Kills a merge as soon as it has stored its matches. Returns False if the merge ended
    first."""
    child = subprocess.Popen([profwrap, "merge", "-o", output, where], stderr=subprocess.DEVNULL)
    while not os.path.exists(f"{output}.matched-0-of-1") and child.poll() is None:
        time.sleep(0.0005)
    child.kill()
    child.wait()
    return not os.path.exists(output)


@case
def diagnostics_of_a_merge():
    """The diagnostics state what each stage decided, and why each examined rank is named or not."""
    sim(where, "-r", "8", "-s", "40", "-f", "slow_rank:rank=3,phase=backward,percent=40")

    def merge(log):
        done = subprocess.run([profwrap, "merge", where], stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "PROFWRAP_LOG": log}, check=True)
        return [line for line in done.stderr.splitlines() if line.startswith("profwrap: [")]
    assert merge("") == []
    stages = merge("merge:1,clock:1")
    assert len(stages) == 4 and "8 ranks on" in stages[0], stages
    assert "[clock]" in stages[1] and stages[2].endswith("40 steps, marked by the program"), stages
    assert re.search(r"[1-9]\d* collectives, 0 of them not by all", stages[3]), stages
    why = "\n".join(merge("merge:2,clock:2"))
    for part in (r"clock 0 \(.*\): source reference", r"cut into \d+ bins of 0\.\d+ s|no bins of the run: it",
                 "all ranks have one role", "amounts of work: not known"):
        assert re.search(part, why), (part, why)
    verdict = merge("verdict:1")
    assert all(line.startswith("profwrap: [verdict] rank 3") for line in verdict), verdict
    assert verdict[-1].endswith(": named"), verdict
    done = subprocess.run([profwrap, "merge", where], stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PROFWRAP_LOG": "merge:1,fusion:2"}, check=True)
    assert "has 'fusion:2', which is not DOMAIN:LEVEL" in done.stderr, done.stderr


@case
def a_killed_merge_goes_on():
    """A killed merge continues from its stored matches, and has the same result. It must not
    continue with other files or another number of processes."""
    sim(where, "-p", "halo", "-r", "32", "-s", "400", "-f", "missing:rank=3")
    whole, output = os.path.join(where, "whole.h5"), os.path.join(where, "again.h5")
    kept, goes_on = f"{output}.matched-0-of-1", "continuing a merge that was interrupted"
    assert goes_on not in merge(where, "-o", whole)
    assert any(stop_when_matched(output) for _ in range(20) if not os.path.exists(output))
    assert os.stat(kept).st_mode & 0o777 == 0o600 and not os.path.exists(output)
    assert goes_on not in merge(where, "-o", output, processes=2)
    assert os.path.exists(kept) and datasets(output) == datasets(whole)
    os.remove(output)
    assert goes_on in merge(where, "-o", output)
    assert datasets(output) == datasets(whole) and not os.path.exists(kept)
    os.remove(output)
    assert any(stop_when_matched(output) for _ in range(20) if not os.path.exists(output))
    os.utime(os.path.join(where, "rank-00007.h5"))
    assert goes_on not in merge(where, "-o", output)
    assert datasets(output) == datasets(whole) and not os.path.exists(kept)


@case
def a_damaged_rest_of_a_merge_is_not_used():
    sim(where, "-p", "halo", "-r", "32", "-s", "400")
    output = os.path.join(where, "again.h5")
    kept = f"{output}.matched-0-of-1"
    assert any(stop_when_matched(output) for _ in range(20) if not os.path.exists(output))
    with open(kept, "r+b") as file:
        file.truncate(os.path.getsize(kept) // 2)
    assert "continuing" not in merge(where, "-o", output)
    assert os.path.exists(output)
    os.remove(output)
    assert any(stop_when_matched(output) for _ in range(20) if not os.path.exists(output))
    with open(kept, "r+b") as file:
        file.seek(64)  # how many ranks: after the header, the epoch and the clock error
        assert int.from_bytes(file.read(8), "little") == 32
        file.seek(64)
        file.write((31).to_bytes(8, "little"))
    assert "remove" in merge(where, "-o", output, status=1) and not os.path.exists(output)


@case
def merges_at_once_do_not_meet():
    """Several merges at once do not disturb each other and print nothing. A merge of one process
    makes only its own files beside its output, so no other merge can remove them."""
    runs = [os.path.join(where, f"run{i}") for i in range(8)]
    for run in runs:
        sim(run, "-r", "2", "-s", "3")
    environment = {**os.environ, "TMPDIR": os.path.join(where, "is-not-there")}
    merges = [subprocess.Popen([profwrap, "merge", "-q", run], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
              for run in runs]
    said = [process.communicate()[0] for process in merges]
    assert said == [""] * 8 and not any(process.returncode for process in merges), said
    assert all(os.path.exists(os.path.join(run, "cluster.h5")) for run in runs)


@case
def many_hosts_are_aligned_by_what_they_do():
    """There are more hosts than the merge bounds pairwise, and the knots are off by 50 ms. The
    order of events gives smaller errors, and the true offsets, which the exact run has, are within
    the bounds."""
    shape = ("-r", "96", "-s", "300", "--ranks-per-host", "1", "--step-us", "3000")
    exact, rough = os.path.join(where, "exact"), os.path.join(where, "rough")
    sim(exact, *shape, "--clock-error-ns", "0")
    sim(rough, *shape, "--clock-error-ns", "50000000")
    merge(rough)
    with h5py.File(os.path.join(rough, "cluster.h5")) as file:
        clocks, knots = file["clocks"][()], file["clock_knots"][()]
    assert (clocks["source"] == b"both").sum() == 95 and not clocks["violations_beyond"].any()
    inside = errors = 0
    for rank in range(1, 96):
        with h5py.File(os.path.join(exact, f"rank-{rank:05d}.h5")) as file:
            truth = file["clock"][()]
        for knot in knots[knots["domain"] == clocks["domain"][rank]]:
            if truth["local_ns"][0] <= knot["local_ns"] <= truth["local_ns"][-1]:
                off = abs(knot["offset_ns"] - interpolate(truth, int(knot["local_ns"])))
                inside += off <= knot["error_ns"] + 1
                errors += 1
                assert knot["error_ns"] < 20e6, knot
    assert errors > 95 and inside == errors, (inside, errors)


@case
def unmarked_steps_are_inferred():
    for pattern in ("data", "halo", "hybrid"):
        directory = os.path.join(where, pattern)
        sim(directory, "-p", pattern, "-r", "8", "-s", "40", "-n", "1", "--unmarked",
            "-f", "slow_rank:rank=5,steps=10-29,phase=backward,percent=20")
        merge(directory)
        with h5py.File(os.path.join(directory, "cluster.h5")) as file:
            assert file.attrs["steps_inferred"] == 1 and b"steps_inferred" in file["completeness"]["what"]
            steps, found = file["steps"][()], file["stragglers"][()]
        assert len(steps) == 39, (pattern, len(steps))
        assert found["rank"].tolist() == [5], found


def keep_events(path, wanted):
    """Keeps only the rows of /events/comm that are wanted."""
    with h5py.File(path, "r+") as file:
        rows, kind = file["events/comm"][:], file["events/comm"].dtype
        names = {value: name for name, value in h5py.check_enum_dtype(kind["op"]).items()}
        keep = [wanted(names[row["op"]], row) for row in rows]
        del file["events/comm"]
        file.create_dataset("events/comm", data=rows[keep], dtype=kind, chunks=(1024,),
                            maxshape=(None,))


@case
def steps_are_found_from_messages_alone():
    sim(where, "-p", "halo", "-r", "8", "-s", "40", "-n", "1", "--unmarked")
    for rank in range(8):
        keep_events(os.path.join(where, f"rank-{rank:05d}.h5"), lambda op, row: op != "Allreduce")
    merge(where)
    with h5py.File(os.path.join(where, "cluster.h5")) as file:
        assert file.attrs["steps_inferred"] == 1
        steps = file["steps"][()]
    # The four exchanges of a step are alike; the work before them is not.
    assert 38 <= len(steps) <= 40, len(steps)


@case
def runs_without_iterations_are_cut_into_slices():
    sim(where, "-r", "8", "-s", "40", "-n", "1", "--unmarked",
        "-f", "slow_rank:rank=5,steps=0-39,phase=backward,percent=30")
    for rank in range(8):
        keep_events(os.path.join(where, f"rank-{rank:05d}.h5"),
                    lambda op, row: op == "Init" or row["seq"] in (0, 30, 79))
    merge(where)
    with h5py.File(os.path.join(where, "cluster.h5")) as file:
        assert file.attrs["steps_inferred"] == 2
        assert b"steps_sliced" in file["completeness"]["what"]
        steps = file["steps"][()]
    lengths = steps["duration_ns"]
    assert 40 < len(steps) <= 100, len(steps)
    assert lengths.max() - lengths.min() <= 0.01 * lengths.min(), lengths
    said = subprocess.run([profwrap, "report", "--full", where], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    assert "slices of" in said.splitlines()[0], said.splitlines()[0]


@case
def steps_of_rings_loops_and_phases_are_found():
    """A ring has no collective. With an outer loop or phases, only some steps have certain
    calls."""
    for pattern, options, steps, beside in (
            ("ring", [], (59, 60), []),
            ("halo", ["-c", "0"], (59, 60), []),
            ("nested", ["--inner", "12"], (719, 720), [b"every 12th has Allreduce"]),
            ("periods", [], (59, 60), [b"every 4th has Alltoall", b"every 10th has Allgather"])):
        directory = os.path.join(where, pattern)
        sim(directory, "-p", pattern, *options, "-r", "8", "-s", "60", "--bare")
        merge(directory)
        with h5py.File(os.path.join(directory, "cluster.h5")) as file:
            assert file.attrs["steps_inferred"] == 1
            found, notes = file["steps"][()], file["completeness"][()]
        assert len(found) in steps, (pattern, len(found))
        detail = notes["detail"][notes["what"] == b"steps_inferred"][0]
        assert all(what in detail for what in beside), detail
        # They follow each other without a gap and add up to the time from the first to the last.
        extent = found["end"].max() - found["start"].min()
        assert 0.99 * extent <= found["duration_ns"].sum() <= extent, (pattern, extent, found)


@case
def a_long_run_without_phases_is_replayed_without_phases():
    """More than 32768 steps of ranks in the replay, whose memory is given back during it."""
    directory = os.path.join(where, "no-phases")
    sim(directory, "-r", "256", "-s", "150", "-c", "1", "--bare", "-f", "slow_rank:rank=7,percent=20")
    merge(directory)
    with h5py.File(os.path.join(directory, "cluster.h5")) as file:
        scopes = file["whatif"]["scope"].tolist()
    assert b"job" in scopes and b"rank" in scopes, scopes
    assert b"phase" not in scopes, scopes


def pause_unmarked(path, first, end):
    """Removes from a file the calls that begin between two collectives of row 1 of /comms, as if
    recording had been paused."""
    with h5py.File(path, "r+") as file:
        rows, kind = file["events/comm"][:], file["events/comm"].dtype
        begin, until = (rows[(rows["comm"] == 1) & (rows["seq"] == seq)]["start"][0]
                        for seq in (first, end))
        before, after = rows[rows["start"] < begin], rows[rows["start"] >= until]
        del file["events/comm"]
        file.create_dataset("events/comm", data=np.concatenate([before, after]), dtype=kind,
                            chunks=(1024,), maxshape=(None,))
        windows = np.zeros(2, file["windows"].dtype)
        windows["window"] = [0, 1]
        for name in ("first_step", "last_step", "warmup_first_step", "warmup_last_step"):
            windows[name] = -1
        windows["start"] = [before["start"].min() - 10, until - 10]
        windows["end"] = [begin - 10, after["end"].max() + 10]
        del file["windows"]
        file["windows"] = windows


@case
def inferred_steps_do_not_straddle_a_pause():
    whole = os.path.join(where, "whole")
    options = ["-p", "hybrid", "-r", "8", "-s", "60", "-n", "1", "--unmarked"]
    sim(whole, *options)
    merge(whole)
    with h5py.File(os.path.join(whole, "cluster.h5")) as file:
        expected = file["steps"][()]
    # The second pause has no end of a step in it: those around it are numbered without a gap.
    # In the third, what is before the pause is too short for a period.
    for first, end in ((81, 145), (42, 45), (12, 70)):
        run = os.path.join(where, f"run-{first}")
        sim(run, *options)
        for rank in range(8):
            pause_unmarked(os.path.join(run, f"rank-{rank:05d}.h5"), first, end)
        merge(run)
        with h5py.File(os.path.join(run, "cluster.h5")) as file:
            assert file.attrs["steps_inferred"] == 1
            steps = file["steps"][()]
        assert len(steps) > len(expected) / 3, (len(steps), len(expected))
        assert len(steps) < len(expected), (len(steps), len(expected))
        longest = steps["duration_ns"].max()
        assert longest < 1.5 * np.median(expected["duration_ns"]), (longest, steps)


@case
def missing_and_truncated_files_are_told_by_the_merge():
    sim(where, "-r", "6", "-s", "20", "-f", "missing:rank=1;truncated:rank=4")
    assert not os.path.exists(os.path.join(where, "rank-00001.h5"))
    merge(where)
    with h5py.File(os.path.join(where, "cluster.h5")) as file:
        notes = {(row["rank"], row["what"]) for row in file["completeness"][()]}
        present = file["ranks"]["present"].tolist()
    assert present == [1, 0, 1, 1, 0, 1]
    assert (1, b"missing") in notes and (4, b"missing") in notes
    assert b"unreadable" in {what for _, what in notes}


def notes(directory):
    with h5py.File(os.path.join(directory, "cluster.h5")) as file:
        present = file["ranks"]["present"].tolist()
        return {(int(row["rank"]), row["what"].decode()): (int(row["count"]), row["detail"].decode())
                for row in file["completeness"][()]}, present


def rank_path(directory, rank):
    return os.path.join(directory, f"rank-{rank:05d}.h5")


def set_attribute(directory, rank, name, value):
    with h5py.File(rank_path(directory, rank), "r+") as file:
        file.attrs[name] = value


def replace_rows(directory, rank, table, change):
    """Replaces the rows of a table with the result of `change`. The table is stored without
    filters, as other tools may store it."""
    with h5py.File(rank_path(directory, rank), "r+") as file:
        rows, kind = file[table][()], file[table].dtype
        del file[table]
        file.create_dataset(table, data=change(rows), dtype=kind)


def straggler_is(directory, rank):
    with h5py.File(os.path.join(directory, "cluster.h5")) as file:
        assert file["stragglers"]["rank"].tolist() == [rank], file["stragglers"][()]


@case
def ranks_with_fewer_or_repeated_steps_are_told():
    sim(where, "-r", "8", "-s", "40", "-n", "1", "-f", "slow_rank:rank=5,percent=30")
    replace_rows(where, 2, "steps", lambda rows: rows[:25])
    def restart(rows):
        rows["step"][20:] -= 5
        return rows
    replace_rows(where, 3, "steps", restart)
    merge(where)
    found, present = notes(where)
    assert present == [1] * 8
    assert found == {
        (2, "steps_missing"): (15, "it lacks steps that other ranks of the job have"),
        (3, "steps_missing"): (5, "it lacks steps that other ranks of the job have"),
        (3, "steps_repeated"): (
            5, "it repeated steps, as after a restart; the first time counts")}, found
    with h5py.File(os.path.join(where, "cluster.h5")) as file:
        own = file["step_trace"]["own_ns"]
        assert len(file["steps"]) == 40 and (own[:25, 2] > 0).all() and (own[25:, 2] == -1).all()
    straggler_is(where, 5)


@case
def communicators_that_only_some_ranks_recorded_are_told():
    sim(where, "-p", "hybrid", "-r", "8", "-s", "20", "-n", "1",
        "-f", "slow_rank:rank=5,percent=40")
    def forget(rows):  # the tensor communicator, which rank 3 has with rank 2
        rows["uid"][1] += 77
        return rows
    replace_rows(where, 3, "comms", forget)
    merge(where)
    found, _ = notes(where)
    assert set(found) == {(-1, "collectives_incomplete")}, found
    with h5py.File(os.path.join(where, "cluster.h5")) as file:
        rows = file["collectives"][()]
    # Forward and backward of 4 microbatches in 20 steps, once on either side.
    assert found[-1, "collectives_incomplete"][0] == 2 * 160 == (rows["complete"] == 0).sum()
    straggler_is(where, 5)


@case
def disagreement_about_an_operation_is_told():
    sim(where, "-r", "4", "-s", "20", "-c", "2")
    def other(rows):
        rows["op"][rows["seq"] == 7] += 1
        return rows
    replace_rows(where, 2, "events/comm", other)
    merge(where)
    found, _ = notes(where)
    assert {key: count for key, (count, _) in found.items()} == {(-1, "collectives_mismatched"): 1}


@case
def messages_without_their_other_side_are_told():
    sim(where, "-p", "halo", "-r", "4", "-s", "10")
    def silence(rows):  # no receive in rank 1 from rank 0
        name = h5py.check_enum_dtype(rows.dtype["op"])
        return rows[~((rows["op"] == name["Irecv"]) & (rows["peer"] == 0))]
    replace_rows(where, 1, "events/comm", silence)
    merge(where)
    found, _ = notes(where)
    assert set(found) == {(-1, "messages_unmatched")} and found[-1, "messages_unmatched"][0] == 20, found


@case
def messages_of_many_hosts_bound_clocks_alike_on_any_processes():
    # More than are kept of them.
    sim(where, "-p", "halo", "-r", "16", "-s", "1600", "--ranks-per-host", "1")
    merged_alike(where, (1, 3))


@case
def receive_that_is_open_for_the_whole_run_is_matched():
    sim(where, "-p", "halo", "-r", "4", "-s", "2500", "-n", "1")
    before = merged_alike(where, (1,))

    def row_like(row, name, start, end, tag):
        row = row.copy()
        row["op"], row["start"], row["end"] = name, start, end
        row["wait_start"], row["inside_ns"], row["tag"] = end - 10, 20, tag
        return row

    def receive(rows):  # in rank 1, from rank 0
        name = h5py.check_enum_dtype(rows.dtype["op"])["Irecv"]
        one = rows[(rows["op"] == name) & (rows["peer"] == 0)][0]
        start, end = rows["start"].min(), rows["end"].max()
        return np.append(rows, row_like(one, name, start, end, 99))

    def send(rows):
        name = h5py.check_enum_dtype(rows.dtype["op"])["Isend"]
        one = rows[(rows["op"] == name) & (rows["peer"] == 1)][0]
        return np.append(row_like(one, name, rows["start"].min(), rows["start"].min() + 90, 99), rows)

    replace_rows(where, 1, "events/comm", receive)
    replace_rows(where, 0, "events/comm", send)
    after = merged_alike(where)
    assert not notes(where)[0], notes(where)
    assert after[0, 1]["messages"] == before[0, 1]["messages"] + 1
    for pair in set(before) - {(0, 1)}:
        for name in ("messages", "bytes", "late_sender_ns", "late_receiver_ns", "transfer_ns"):
            assert before[pair][name] == after[pair][name], (pair, name)


@case
def messages_to_a_rank_whose_events_end_early_are_told():
    sim(where, "-p", "halo", "-r", "6", "-s", "400", "-f", "missing:rank=5")
    replace_rows(where, 1, "events/comm", lambda rows: rows[:len(rows) // 2])
    pairs = merged_alike(where)
    count, _ = notes(where)[0][-1, "messages_unmatched"]
    # Three rows of two: ranks 0 and 3 lose half of rank 1, ranks 3 and 4 what rank 5 sent.
    assert pairs[0, 1]["messages"] == 800 > pairs[1, 0]["messages"] == 400, pairs
    assert count == 2 * 2 * 400 + 2 * 800, count


@case
def files_of_two_jobs_and_of_other_worlds_are_left_out():
    """The job with the most files is merged, whichever file comes first."""
    sim(where, "-r", "8", "-s", "30", "-n", "1", "-f", "slow_rank:rank=5,percent=30")
    set_attribute(where, 0, "job_id", "another")
    set_attribute(where, 1, "world_size", 4)
    set_attribute(where, 2, "format_version", 99)
    merge(where)
    found, present = notes(where)
    assert present == [0, 0, 0, 1, 1, 1, 1, 1]
    assert found[0, "left_out"][1] == "rank-00000.h5 is of another job", found
    assert found[1, "left_out"][1] == "rank-00001.h5 is of a job of another size", found
    assert found[-1, "unreadable"][1] == "rank-00002.h5 was written by a newer profwrap", found
    assert {(rank, "missing") for rank in range(3)} < set(found)
    straggler_is(where, 5)


@case
def duplicated_ranks_are_left_out():
    sim(where, "-r", "6", "-s", "30", "-n", "1", "-f", "slow_rank:rank=5,percent=30")
    shutil.copy(rank_path(where, 2), os.path.join(where, "rank-00007.h5"))
    shutil.copy(rank_path(where, 3), rank_path(where, 3) + ".part")
    merge(where)
    found, present = notes(where)
    assert present == [1] * 6
    assert found == {
        (2, "left_out"): (1, "rank-00007.h5 is a second file of its rank"),
        (-1, "left_out"): (
            1, "rank-00003.h5.part: ignored, because rank-00003.h5 is complete")}, found
    straggler_is(where, 5)


@case
def only_files_of_the_future_are_refused_in_one_sentence():
    sim(where, "-r", "2", "-s", "3")
    for rank in range(2):
        set_attribute(where, rank, "format_version", 2)
    said = merge(where, status=1)
    assert len(said.splitlines()) == 1 and "rank-00000.h5 was written by a newer profwrap" in said
    assert not os.path.exists(os.path.join(where, "cluster.h5"))


@case
def files_that_other_tools_rewrote_are_read():
    """Files without filters, with other chunks, and with added and reordered fields give the same
    result."""
    whole, other = os.path.join(where, "whole"), os.path.join(where, "other")
    sim(whole, "-p", "halo", "-r", "4", "-s", "300", "-n", "2")
    shutil.copytree(whole, other)
    for rank, options in enumerate(({}, {"chunks": (100,)}, {"chunks": (1000,), "compression": 9},
                                    {"chunks": (64,), "shuffle": True, "fletcher32": True})):
        with h5py.File(rank_path(other, rank), "r+") as file:
            for table in ("events/comm", "events/range"):
                rows, kind = file[table][()], file[table].dtype
                names = kind.names[::-1] if rank == 3 else kind.names
                kind = np.dtype([(name, kind[name]) for name in names] + [("new", "i8")] * (rank > 1))
                rewritten = np.zeros(len(rows), kind)
                for name in names:
                    rewritten[name] = rows[name]
                del file[table]
                file.create_dataset(table, data=rewritten, **options)
    merge(whole)
    merge(other)
    with h5py.File(os.path.join(whole, "cluster.h5")) as a, \
            h5py.File(os.path.join(other, "cluster.h5")) as b:
        for name in a:
            if isinstance(a[name], h5py.Dataset):
                assert a[name][()].tobytes() == b[name][()].tobytes(), name


@case
def damaged_events_are_told():
    sim(where, "-r", "4", "-s", "2000", "-c", "8")
    with h5py.File(rank_path(where, 1)) as file:
        chunk = file["events/comm"].id.get_chunk_info(1)
    with open(rank_path(where, 1), "r+b") as file:
        file.seek(chunk.byte_offset + chunk.size // 2)
        file.write(b"\0" * 64)
    merge(where)
    found, present = notes(where)
    assert present == [1] * 4 and (1, "damaged") in found and (-1, "collectives_incomplete") in found


def texts_of(file):
    return [text.decode() for text in file["strings"][()]]


def stored_quantiles(directory, ranks, name):
    """The 0.5 and 0.95 quantiles of the times of an operator's calls in the rank files."""
    times = []
    for rank in range(ranks):
        with h5py.File(os.path.join(directory, f"rank-{rank:05d}.h5")) as file:
            rows = file["events/range"][()]
            rows = rows[rows["name"] == texts_of(file).index(name)]
            times.append(rows["end"] - rows["start"])
    times = np.sort(np.concatenate(times))
    return [times[int(np.ceil(q * len(times))) - 1] for q in (0.5, 0.95)]


@case
def operators_are_summed_up_exactly():
    for pattern, ranks in (("data", 5), ("hybrid", 8), ("halo", 4)):
        run = os.path.join(where, pattern)
        sim(run, "-p", pattern, "-r", str(ranks), "-s", "30", "--operators", "7",
            "--ranks-per-host", "2",
            "-f", "slow_operator:rank=1,name=attention,factor=2;skew:host=1")
        merge(run)
        with h5py.File(os.path.join(run, "cluster.h5")) as file:
            rows = {row["name"].decode(): row for row in file["operators"][()]}
            cells, own = file["operator_ranks"][()], file["phase_trace"]["allreduce_ns"]
            order = [row["name"].decode() for row in file["operators"][()]]
        if pattern == "data":  # its allreduce phases are waiting and transfer
            mine = cells[cells["operator_row"] == order.index("allreduce")]
            assert list(mine["self_ns"] - mine["self_wait_ns"]) == list(own.sum(axis=0)), mine
            assert rows["allreduce"]["self_wait_ns"] > rows["allreduce"]["self_ns"] / 10
        declared = truth(run)["operators"]
        assert len(declared) >= 14, declared
        for one in declared:
            row = rows[one["name"]]
            checked = ("calls", "total_ns", "min_ns", "max_ns", "alloc_bytes")
            checked += ("self_ns",) if one["kind"] != "function" else ()
            for key in checked:
                assert row[key] == one[key], (pattern, one["name"], key, row[key], one[key])
            assert row["type"].decode() == (one["type"] or one["kind"]), row
            for q, stored in zip(("p50_ns", "p95_ns"), stored_quantiles(run, ranks, one["name"])):
                assert abs(row[q] - stored) <= stored / 60 + 1, (one["name"], q, row[q], stored)
            if one["kind"] == "function":
                continue
            mine = cells[cells["operator_row"] == order.index(one["name"])]
            assert list(mine["self_ns"]) == one["rank_self_ns"], (one["name"], mine)
            worst = int(np.argmax(one["rank_self_ns"]))
            if row["self_wait_ns"] == 0:
                assert row["max_rank"] == worst, row
                mean = sum(one["rank_self_ns"]) / ranks
                assert mean == 0 or abs(row["imbalance"] - max(one["rank_self_ns"]) / mean) < 1e-9


@case
def the_slow_operator_is_named():
    run = os.path.join(where, "run")
    sim(run, "-r", "8", "-s", "40", "--operators", "10", "-n", "3", "-f",
        "slow_operator:rank=5,name=linear_backward,factor=2.5")
    merge(run)
    shown = subprocess.run([profwrap, "report", "--top", "0", run], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    words = " ".join(shown.split())
    assert "Rank 5 spends 2.5 x the other ranks' median in linear_backward" in words, shown
    assert "over the run 2.5 x the others' median in linear_backward" in words, shown
    slow = json.loads(subprocess.run([profwrap, "report", "--format", "json", run], check=True,
                                     stdout=subprocess.PIPE).stdout)["operators"]["slow_ranks"]
    named = {(one["rank"], one["name"]) for one in slow}
    # What it calls takes longer with it, and so does the range that it is in.
    assert (5, "linear_backward") in named and named <= {(5, "linear_backward"), (5, "gemm"),
                                                         (5, "block")}, slow
    even = os.path.join(where, "even")
    sim(even, "-r", "8", "-s", "40", "--operators", "10", "-n", "3")
    merge(even)
    slow = json.loads(subprocess.run([profwrap, "report", "--format", "json", even], check=True,
                                     stdout=subprocess.PIPE).stdout)["operators"]["slow_ranks"]
    assert slow == [], slow


def straggler_rows(run):
    with h5py.File(os.path.join(run, "cluster.h5")) as file:
        return [(int(row["rank"]), int(row["cause"]), row["evidence"].decode())
                for row in file["stragglers"][()]]


@case
def the_operator_that_grew_is_the_evidence():
    run = os.path.join(where, "run")
    sim(run, "-r", "6", "-s", "40", "--operators", "10", "-n", "3", "-f",
        "slow_operator:rank=4,name=layer_norm,factor=6,steps=10-29")
    merged_alike(run, counts=(1, 2, 4))
    rows = straggler_rows(run)
    assert len(rows) == 1 and rows[0][0] == 4 and rows[0][1] == 8, rows
    assert rows[0][2].startswith("layer_norm took "), rows
    assert times_a_step(run, 4, rows[0][2]), rows
    # Slow in all alike: none of them explains half.
    even = os.path.join(where, "even")
    sim(even, "-r", "6", "-s", "40", "--operators", "10", "-n", "3", "-f", "slow_rank:rank=2,percent=40")
    merge(even)
    rows = straggler_rows(even)
    assert rows and all(rank == 2 and cause == 0 and not text for rank, cause, text in rows), rows


def times_a_step(run, rank, evidence):
    """Whether the two times in the evidence are the times of layer_norm in steps 10 to 29, of the
    rank and of the other ranks."""
    means = []
    for r in range(6):
        with h5py.File(os.path.join(run, f"rank-{r:05d}.h5")) as file:
            ranges, steps = file["events/range"][:], file["steps"][:]
            strings = [text.decode() for text in file["strings"][:]]
        mine = ranges[ranges["name"] == strings.index("layer_norm")]
        used = steps[(steps["step"] >= 10) & (steps["step"] <= 29)]
        inside = mine[(mine["start"] >= used["start"].min()) & (mine["start"] < used["end"].max())]
        means.append((inside["end"] - inside["start"]).sum() / len(used) / 1e6)
    units = {"us": 1e-3, "ms": 1, "s": 1e3}
    found = [float(t) * units[unit] for t, unit in re.findall(r"([0-9.]+) (us|ms|s)\b", evidence)]
    others = np.median([m for r, m in enumerate(means) if r != rank])
    return (len(found) == 2 and abs(found[0] / means[rank] - 1) < 0.05
            and abs(found[1] / others - 1) < 0.05)


@case
def operators_do_not_depend_on_the_processes():
    run = os.path.join(where, "run")
    sim(run, "-r", "6", "-s", "15", "--operators", "9", "-n", "8")
    merged_alike(run, counts=(1, 2, 3, 5))
    with h5py.File(os.path.join(run, "cluster.h5")) as file:
        stacks, operators = file["operator_stacks"][()], file["operators"][()]
        shapes, types = file["operator_shapes"][()], file["operator_types"][()]
    counted = operators[operators["kind"] != 5]
    assert abs(counted["share"].sum() - 1) < 1e-9
    assert types["self_ns"].sum() == counted["self_ns"].sum()
    assert (stacks["parent"] < np.arange(len(stacks))).all()
    for i, row in enumerate(stacks):
        below = stacks[stacks["parent"] == i]
        assert row["exclusive_ns"] == row["total_ns"] - below["total_ns"].sum(), (i, row)
    for i, row in enumerate(operators):
        assert stacks[stacks["operator_row"] == i]["total_ns"].sum() == row["total_ns"], row
        mine = shapes[shapes["operator_row"] == i]
        assert not len(mine) or mine["self_ns"].sum() == row["self_ns"], (row, mine)


def change_ranges(path, change):
    with h5py.File(path, "r+") as file:
        rows = file["events/range"][()]
        file["events/range"][...] = change(rows)


@case
def ranges_with_wrong_depths_are_survived():
    """A file may claim any begin, end, depth, thread and kind. The sums never exceed the claimed
    times."""
    dice = np.random.default_rng(5)

    def lie(rows):
        n = len(rows)
        for field, values in (("start", dice.integers(-2**62, 2**62, n)),
                              ("end", rows["start"] - 5), ("depth", dice.integers(0, 2**16, n)),
                              ("thread", dice.integers(0, 2**16, n)), ("kind", dice.integers(0, 9, n)),
                              ("name", dice.integers(0, 2**32, n)),
                              ("shapes", dice.integers(0, 40, n)),
                              ("alloc_bytes", dice.integers(-2**62, 2**62, n))):
            hit = dice.random(n) < 0.1
            rows[field][hit] = values[hit].astype(rows[field].dtype)
        return dice.permutation(rows)

    run = os.path.join(where, "run")
    sim(run, "-r", "2", "-s", "20", "--operators", "6")
    for rank in range(2):
        change_ranges(os.path.join(run, f"rank-{rank:05d}.h5"), lie)
    merged_alike(run, counts=(1, 2))
    with h5py.File(os.path.join(run, "cluster.h5")) as file:
        rows = file["operators"][()]
    assert len(rows) > 20 and (rows["self_ns"] >= 0).all() and (rows["calls"] > 0).all()
    assert (rows["min_ns"] <= rows["p50_ns"]).all() and (rows["p95_ns"] <= rows["max_ns"]).all()


def add_memory(path, dice):
    """Moves the ranges of some steps to another thread and adds allocations. Returns the peak of
    each call, computed one by one: [(name, bytes)]."""
    def spread(rows):
        rows["thread"] = rows["start"] // 10_000_000 % 3
        return rows

    change_ranges(path, spread)
    with h5py.File(path, "r+") as file:
        ranges = file["events/range"][:]
        strings = [text.decode() for text in file["strings"][:]]
        n = 30000
        rows = np.zeros(n, [("time", "<i8"), ("device", "<i4"), ("thread", "<u2"),
                            ("delta_bytes", "<i8"), ("total_bytes", "<i8")])
        rows["time"] = dice.integers(ranges["start"].min() - 9, ranges["end"].max() + 9, n)
        rows["thread"] = dice.choice([0, 0, 0, 1, 2, 7], n)
        rows["delta_bytes"] = dice.integers(-5000, 5000, n)
        file["samples/memory"] = rows = np.sort(rows, order="time")
    peaks = []
    by_thread = {t: rows[rows["thread"] == t] for t in range(3)}
    for row in ranges:
        mine = by_thread[int(row["thread"])]
        low = np.searchsorted(mine["time"], row["start"], "left")
        high = np.searchsorted(mine["time"], row["end"], "right")
        sums = np.cumsum(mine["delta_bytes"][low:high])
        peaks.append((strings[row["name"]], max(0, int(row["alloc_bytes"]), *map(int, sums))))
    return peaks


@case
def peaks_of_memory_are_those_of_the_samples():
    run, dice = os.path.join(where, "run"), np.random.default_rng(11)
    sim(run, "-r", "3", "-s", "12", "--operators", "6")
    peaks = {}
    for rank in range(3):
        for name, peak in add_memory(os.path.join(run, f"rank-{rank:05d}.h5"), dice):
            peaks[name] = max(peaks.get(name, 0), peak)
    merged_alike(run, counts=(1, 2))
    with h5py.File(os.path.join(run, "cluster.h5")) as file:
        rows, types = file["operators"][()], file["operator_types"][()]
        shapes = file["operator_shapes"][()]
    found = {row["name"].decode(): int(row["peak_alloc_bytes"]) for row in rows}
    assert found == peaks, {name: (found[name], peaks[name]) for name in found
                            if found[name] != peaks[name]}
    for kind in types:
        members = rows[(rows["type"] == kind["type"]) & (rows["kind"] != 5)]
        assert kind["peak_alloc_bytes"] == members["peak_alloc_bytes"].max(), kind
    for row in shapes:
        assert 0 < row["peak_alloc_bytes"] <= rows[row["operator_row"]]["peak_alloc_bytes"], row


def report(directory):
    done = subprocess.run([profwrap, "report", "--format", "json", directory], text=True,
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def pipeline_run(name, *faults):
    """Returns the report, the truth and the directory of a run with queues."""
    directory = os.path.join(where, name)
    sim(directory, "-r", "4", "-s", "40", "-n", "1", "--queues", "-f", ";".join(faults))
    merged_alike(directory, counts=(1, 3))
    return report(directory), truth(directory), directory


@case
def data_pipeline_is_judged_as_declared():
    for fault, verdict in (("starved_loader:rank=2,percent=30", "processing"),
                           ("slow_transfer:rank=2,percent=30", "transfer")):
        found, declared, directory = pipeline_run(verdict, fault)
        declared, data = declared["faults"][0], found["data_pipeline"]
        advice = {row["rule"]: row for row in found["advice"]}
        assert advice.keys() & {"data_processing_slow", "data_transfer_slow"} == {
            declared["advice"]}, advice
        row = advice[declared["advice"]]
        assert row["ranks"] == [2] and declared["slowest"] in row["text"], row
        assert abs(row["saves_ns"] / declared["gain_ns"] - 1) < 0.1, (row, declared)
        assert not advice.keys() & {"slow_data", "data_starvation", "data_wait"}, advice
        assert data["ranks_slow"] == [2] and [q["queue"] for q in data["queues"]] == [
            "raw", "ready", "device"], data
        with h5py.File(os.path.join(directory, "cluster.h5")) as file:
            rules = [bytes(text).decode() for text in file["advice"]["rule"]]
            saved = file["advice"]["saves_ns"].tolist()
        assert rules == [row["rule"] for row in found["advice"]], rules
        assert saved == [-1 if row["saves_ns"] is None else row["saves_ns"]
                         for row in found["advice"]], saved


@case
def data_pipeline_is_judged_in_the_steps_that_wait():
    """A fault affects some steps; in all other steps the queues are full."""
    for steps in ("350-450", "430-450"):
        for fault, slowest in (("starved_loader", "map decode"), ("slow_transfer", "transfer")):
            directory = os.path.join(where, f"{fault}-{steps}")
            sim(directory, "-r", "4", "-s", "500", "-n", "1", "--queues", "-f",
                f"{fault}:rank=3,steps={steps},percent=30")
            merge(directory)
            found, declared = report(directory), truth(directory)["faults"][0]
            advice = {row["rule"]: row for row in found["advice"]}
            assert advice.keys() & {"data_processing_slow", "data_transfer_slow"} == {
                declared["advice"]}, (fault, steps, advice)
            row = advice[declared["advice"]]
            assert row["ranks"] == [3] and f"'{slowest}'" in row["text"], row
            assert abs(row["saves_ns"] / declared["gain_ns"] - 1) < 0.1, (row, declared)


@case
def cpus_of_the_operators_of_a_pipeline():
    found, _, directory = pipeline_run("clean")
    data = found["data_pipeline"]
    assert [(q["filled_by"], q["filled_by_cpus"]) for q in data["queues"]] == [
        ("read files", 0.25), ("map decode", 1.5), ("transfer", 0.125)], data["queues"]
    assert {q["filled_by_cpus"] for q in data["ranks"]} == {0.25, 1.5, 0.125}, data["ranks"]
    text = subprocess.run([profwrap, "report", "--section", "data_pipeline", directory], text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    assert "map decode used 1.50 CPUs" in text, text


@case
def data_pipeline_without_metadata():
    found, _, _ = pipeline_run("clean")
    assert found["data_pipeline"]["verdict"] == "fine"
    assert [o["operator"] for o in found["data_pipeline"]["operators"]] == [
        "read files", "map decode", "transfer"]
    assert not [row for row in found["advice"] if row["rule"].startswith("data_")]
    # A rank that is slow in its data phase, though its queues are full, is advised of as before.
    found, _, _ = pipeline_run("few", "slow_rank:rank=1,phase=data,percent=30")
    assert not [row for row in found["advice"] if row["rule"].endswith("ing_slow")], found["advice"]
    assert [row["rule"] for row in found["advice"]][0] == "slow_data", found["advice"]
    sim(os.path.join(where, "none"), "-r", "2", "-s", "12")
    merge(os.path.join(where, "none"))
    assert report(os.path.join(where, "none"))["data_pipeline"] is None


@case
def wrong_options_are_refused_in_one_sentence():
    for options in (["-f", "slow:rank=1"], ["-f", "slow_rank:rank=99"], ["-f", "slow_rank:speed=1"],
                    ["-n", "lots"], ["-p", "torus"], ["--ranks-of", "7-3"], ["-r", "0"],
                    ["-p", "hybrid", "-r", "6"], ["-f", "slow_rank:steps=90-100"],
                    ["-f", "slow_operator:rank=1"], ["--operators", "1001"],
                    ["--operators", "3", "-f", "slow_operator:name=sort"]):
        said = sim(os.path.join(where, "x"), *options, status=2)
        assert len(said.splitlines()) == 1, said
    sim(os.path.join(where, "twice"), "-r", "2", "-s", "3")
    assert "already" in sim(os.path.join(where, "twice"), "-r", "2", "-s", "3", status=1)


def merge(directory, *options, status=0, processes=1):
    launch = ["mpirun", "-np", str(processes)] if processes > 1 else []
    done = subprocess.run(launch + [profwrap, "merge", *options, directory], stderr=subprocess.PIPE,
                          text=True, env=ENVIRONMENT)
    assert done.returncode == status, done.stderr
    return done.stderr


def merged_alike(directory, counts=(1, 2, 3)):
    """Checks that merges with these numbers of processes have the same result. Returns the rows of
    /p2p by pair of ranks."""
    found = []
    for processes in counts:
        merge(directory, processes=processes)
        with h5py.File(os.path.join(directory, "cluster.h5")) as file:
            found.append({name: item[()].tobytes() for name, item in file.items()
                          if isinstance(item, h5py.Dataset)})
            pairs = {(int(row["src"]), int(row["dst"])): row for row in file["p2p"][()]}
    for other in found[1:]:
        assert other == found[0], [name for name in other if other[name] != found[0][name]]
    return pairs


def compared(a, b, *options, status=0):
    done = subprocess.run([profwrap, "compare", *options, a, b], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def two_runs(first, second):
    runs = [os.path.join(where, name) for name in "ab"]
    for run, options in zip(runs, (first, second)):
        shutil.rmtree(run, ignore_errors=True)
        sim(run, "-r", "8", "-s", "60", *options)
        merge(run)
    return runs


def report(directory):
    done = subprocess.run([profwrap, "report", "--format", "json", directory],
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


@case
def slower_on_all_ranks_is_a_verdict_of_no_rank():
    for pattern, fault in (("data", "slow_all:percent=40,steps=40-59,phase=forward"),
                           ("periods", "slow_all:percent=100,steps=28-46"),
                           ("ring", "drift:percent=30")):
        run = os.path.join(where, pattern)
        sim(run, "-p", pattern, "-s", "100", "-f", fault)
        merge(run)
        found, told = report(run), truth(run)["faults"][0]
        (trend,) = found["trends"]
        assert found["job"]["verdict"] == "all_slower" and not found["stragglers"], found["job"]
        assert found["job"]["headline"].startswith("All ranks "), found["job"]["headline"]
        assert abs(trend["cost_ns"] / told["lost_ns"] - 1) < 0.1, (trend, told["lost_ns"])
        assert [trend["first_step"], trend["last_step"]] == [told["steps"][0], told["steps"][-1]]
        assert trend["kind"] == ("steady" if fault.startswith("drift") else "stretch"), trend
    assert trend["steps"] == 100


@case
def a_host_that_stood_still_is_named_as_a_host():
    for pattern in ("data", "ring"):
        run = os.path.join(where, pattern)
        sim(run, "-p", pattern, "-r", "12", "-s", "60", "--ranks-per-host", "4", "--os-samples", "-f",
            "freeze:host=1,ms=1000,steps=20,at_ms=3")
        merge(run)
        found = report(run)
        assert found["job"]["headline"].startswith("Host node0001 with 4 of its 4 ranks held "), found["job"]
        assert "more" not in found["job"]["headline"], found["job"]["headline"]
        assert {row["rank"] for row in found["stragglers"]} == {4, 5, 6, 7}, found["stragglers"]
        (host,) = found["hosts"]
        assert host["hostname"] == "node0001" and host["cause"] == "host_frozen", host
        assert host["slow_ranks"] == 4 and abs(host["lost_ns"] / 1e9 - 1) < 0.05, host
        assert abs(host["gain_ns"] / 1e9 - 1) < 0.05, host
        assert "which cost the job " in found["job"]["headline"], found["job"]["headline"]


@case
def network_cards_are_those_of_the_hosts():
    """The card of each host receives a byte each us and sends half of them; one rank's samples count."""
    run = os.path.join(where, "run")
    sim(run, "-r", "6", "-s", "100", "--ranks-per-host", "2", "--os-samples", "--step-us", "10000")
    merged_alike(run, counts=(1, 3))
    used = report(run)["utilisation"]
    cards = used["network_cards"]
    assert [(row["hostname"], row["rank"], row["card"]) for row in cards] == [
        (f"node{host:04}", 2 * host, "eth0") for host in range(3)], cards
    for row in cards:
        assert row["span_ns"] > 5e8 and abs(row["recv_bytes"] / (row["span_ns"] / 1000) - 1) < 0.05, row
        assert abs(row["recv_bytes_per_s"] / 1e6 - 1) < 0.05, row
        assert abs(row["sent_bytes"] / row["recv_bytes"] - 0.5) < 0.01, row
        assert (row["errors"], row["drops"]) == (0, 0), row
    rates = [row["net_recv_bytes_per_s"] for row in used["series"]]
    assert rates and all(abs(rate / 1e6 - 1) < 0.1 for rate in rates), rates
    text = subprocess.run([profwrap, "report", "--section", "utilisation", run], text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    assert re.search(r"node0001 +eth0 ", text), text


@case
def a_host_that_is_slow_in_steps_is_named_as_a_host():
    """Without one of its ranks alone the job would save little: the other three would be the last."""
    run = os.path.join(where, "run")
    sim(run, "-p", "data", "-r", "16", "-s", "120", "--ranks-per-host", "4", "--seed", "71", "-f",
        "slow_host:host=2,percent=40,phase=forward,steps=30-89")
    merge(run)
    found = report(run)
    headline, (host,) = found["job"]["headline"], found["hosts"]
    assert headline.startswith("Host node0002 with 4 of its 4 ranks held back 60 of 120 steps"), headline
    assert "in forward" in headline and "more" not in headline, headline
    with open(os.path.join(run, "truth.json")) as file:
        lost = json.load(file)["faults"][0]["gain_ns"]
    assert abs(host["gain_ns"] / lost - 1) < 0.1, (host, lost)
    assert found["job"]["losses"][0]["gain_ns"] == host["gain_ns"], found["job"]["losses"]
    assert found["advice"][0]["rule"] == "slow_host", found["advice"]


@case
def what_a_host_lost_inside_calls_has_no_gain():
    """The replay sees this loss as a transfer, which takes as long without the host."""
    run = os.path.join(where, "run")
    sim(run, "-p", "data", "-r", "12", "-s", "60", "--ranks-per-host", "4", "--os-samples", "-f",
        "freeze:host=1,ms=1000,steps=20,at_ms=10.3")
    merge(run)
    found = report(run)
    (host,) = found["hosts"]
    assert abs(host["lost_ns"] / 1e9 - 1) < 0.05 and host["gain_ns"] in (None, -1), host
    assert "for 1.00 s" in found["job"]["headline"], found["job"]["headline"]
    assert "which cost" not in found["job"]["headline"], found["job"]["headline"]


@case
def a_stop_while_data_are_read_is_no_lack_of_data():
    for fault, cause in (("sigstop:rank=2,ms=1000,steps=20,at_ms=0.1", "stopped"),
                         ("blocked:rank=2,phase=data,percent=2000,steps=20-24", "data_starvation")):
        run = os.path.join(where, cause)
        sim(run, "-p", "data", "-r", "8", "-s", "60", "--os-samples", "-f", fault)
        merge(run)
        first = report(run)["stragglers"][0]
        assert [first["rank"], first["phase"], first["cause"]] == [2, "data", cause], first


@case
def pauses_of_all_ranks_are_a_verdict_of_no_rank():
    for pattern, bare in (("data", []), ("halo", ["--bare"])):
        run = os.path.join(where, pattern)
        sim(run, "-p", pattern, *bare, "-s", "100", "--os-samples", "-f", "checkpoint:period=25,ms=50")
        merge(run)
        found, told = report(run), truth(run)["faults"][0]
        (trend,) = found["trends"]
        assert found["job"]["verdict"] == "all_slower" and not found["stragglers"], found["job"]
        assert found["job"]["headline"].startswith("All ranks paused "), found["job"]["headline"]
        assert trend["kind"] == "pauses" and trend["every"] == 25 and trend["cause"] == "file_io", trend
        # Without marks the last pause is after the last step.
        assert trend["steps"] == (3 if bare else 4) and abs(trend["excess_ns"] / 50e6 - 1) < 0.1, trend
        assert bare or abs(trend["cost_ns"] / told["lost_ns"] - 1) < 0.1, (trend, told["lost_ns"])


@case
def what_not_all_ranks_or_the_program_does_is_no_trend():
    for seed, options in enumerate(([], ["-p", "halo", "-n", "5"], ["-p", "periods"], ["-p", "nested"],
                                    ["-p", "nested", "--bare"],
                                    ["-f", "slow_host:host=1,percent=50,steps=40-59"],
                                    ["-f", "slow_rank:rank=3,percent=50,steps=40-59"],
                                    ["-f", "stall:rank=3,ms=500"])):
        run = os.path.join(where, str(seed))
        sim(run, "-s", "100", "--seed", str(seed + 1), *options)
        merge(run)
        found = report(run)
        assert found["trends"] == [] and found["job"]["verdict"] != "all_slower", (options, found["trends"])


@case
def columns_have_units_and_meanings():
    """Tables have the units of their columns; those of cluster.h5 also the meanings, and its group /rank has
    those of the rank files' tables. A column whose name ends with a unit has that unit."""
    sim(where, "--gpu", "--queues", "--steps", "3", "--ranks", "2")
    subprocess.run([profwrap, "merge", "-q", where], check=True)
    ends = {"_ns": "ns", "bytes": "bytes", "_bytes_per_s": "bytes/s", "_mhz": "MHz"}

    def tables_of(file):
        found = {}
        file.visititems(lambda name, node: found.update({"/" + name: node})
                        if isinstance(node, h5py.Dataset) and node.dtype.names else None)
        return found

    def check(path, dataset, meanings):
        units = json.loads(dataset.attrs.get("units", "{}"))
        assert set(units) <= set(dataset.dtype.names) and "" not in units.values(), (path, units)
        for name in dataset.dtype.names:
            wanted = [unit for end, unit in ends.items() if name.endswith(end)]
            assert not wanted or units[name] in wanted, (path, name, units)
        assert tuple(meanings) == dataset.dtype.names and all(meanings.values()), (path, meanings)

    with h5py.File(os.path.join(where, "cluster.h5")) as cluster, \
            h5py.File(os.path.join(where, "rank-00001.h5")) as rank:
        tables = tables_of(cluster)
        assert len(tables) > 40, sorted(tables)
        for path, dataset in tables.items():
            check(path, dataset, json.loads(dataset.attrs["meanings"]))
        meanings, tables = json.loads(cluster["rank"].attrs["meanings"]), tables_of(rank)
        assert set(tables) <= set(meanings) and "/events/kernel" in tables, sorted(tables)
        for path, dataset in tables.items():
            check(path, dataset, meanings[path])
            assert "meanings" not in dataset.attrs, path
        assert json.loads(rank["events/comm"].attrs["units"])["wait_start"] == "ns"
        assert meanings["/events/comm"]["op"] == 'the function, without "MPI_"', meanings["/events/comm"]


@case
def comparison_finds_the_slower_run_and_why():
    a, b = two_runs(["--seed", "1"],
                    ["--seed", "2", "-f", "slow_rank:rank=3,phase=backward,percent=20"])
    text = compared(a, b, status=3).split("\n\n")[0]
    assert "slower" in text and "backward" in text and "rank 3" in text, text
    data = json.loads(compared(a, b, "--format", "json", status=3))
    step = data["steps"][0]
    assert 0.10 < step["change"] < 0.18 and step["p"] <= 1e-4 and data["slower"] is True, data
    assert data["verdict"] == "slower" and data["differences"][0]["where"] == "steps", data
    ranks = {row["what"].split(" (")[0]: row for row in data["ranks"]}
    grown = data["ranks"][0]["second_ns"] - data["ranks"][0]["first_ns"]
    # A fifth of a step's 10 ms of work more.
    assert data["ranks"][0]["what"].startswith("rank 3 ") and abs(grown - 2e6) < 2e5, data["ranks"]
    assert [name for name, row in ranks.items() if row["significant"]] == ["rank 3"], ranks
    assert [row["what"] for row in data["phases"] if row["significant"]] == ["backward"], data["phases"]
    compared(a, b, "--threshold", "30")
    text = compared(b, a)
    assert "faster" in text, text


@case
def comparison_of_like_runs_finds_nothing():
    for seed in range(1, 11, 2):
        a, b = two_runs(["--seed", str(seed)], ["--seed", str(seed + 1)])
        text = compared(a, b, "--threshold", "0")
        assert text.startswith("The second run is neither slower nor faster beyond noise"), text


@case
def comparison_finds_what_medians_do_not_see():
    # A fifth of the steps by a whole step of 10 ms: 0.2 s of 100 steps, and nearly no step in the middle.
    a, b = two_runs(["--seed", "1", "-s", "100"], ["--seed", "2", "-s", "100", "-f",
                    "slow_rank:rank=3,steps=40-59,phase=backward,percent=100"])
    text = " ".join(compared(a, b, status=3).split("\n\n")[0].split())
    assert re.match(r"The second run is (19\d|20\d) ms \(1[67]\.\d %\) slower, in its steps, most in backward "
                    r"and on rank 3 \(node0000\) by 2\.0 ms a step\. The steps took 11\.\d ms, then 13\.\d ms on "
                    r"average", text), text
    steps = {row["what"]: row for row in json.loads(compared(a, b, "--format", "json", status=3))["steps"]}
    assert not steps["median"]["significant"] and steps["90 % are shorter than"]["significant"], steps
    # One step of 5 s: what medians, p90 and p99 do not see.
    a, b = two_runs(["--seed", "1"], ["--seed", "2", "-f",
                    "slow_rank:rank=3,steps=37-37,phase=backward,percent=50000"])
    text = " ".join(compared(a, b, status=3).split("\n\n")[0].split())
    assert re.match(r"The second run is (4\.99|5\.0\d) s \(\d+.\d %\) slower, in step 37 of the second "
                    r"run, of 5\.0\d s \(most work on rank 3\), where the median is 11", text), text
    difference = json.loads(compared(a, b, "--format", "json", status=3))["differences"][0]
    assert difference["where"] == "few_steps" and abs(difference["difference_ns"] - 5e9) < 1e8


@case
def comparison_names_who_is_late_outside_the_steps():
    """Rank 5 loses 1.5 s: before MPI_Init, before its first step, in which the others wait for it,
    or after its last step."""
    for pattern in ("data", "halo"):
        shape = ["-p", pattern, "--ends-ms", "200"]
        for kind, part, place in (("late_start", "start", "before the first step: "),
                                  ("late_setup", "setup", "before the first step: "),
                                  ("late_end", "tail", "after the last step: ")):
            a, b = two_runs([*shape, "--seed", "1"],
                            [*shape, "--seed", "2", "-f", f"{kind}:rank=5,ms=1500"])
            result = json.loads(compared(a, b, "--format", "json", status=3))
            first = result["differences"][0]
            assert (first["rank"], first["part"]) == (5, part), (kind, result)
            assert abs(first["difference_ns"] - 1.5e9) < 5e7 and place in result["headline"], result
            assert "on rank 5 (node0001) by 1.5" in result["headline"], result["headline"]
            row = max(result["parts"], key=lambda row: row["second_ns"] - row["first_ns"])
            assert "rank 5 " in row["what"] and abs(row["second_ns"] - row["first_ns"] - 1.5e9) < 5e7, row
            assert compared(b, a).startswith("The second run is 1.5"), result["headline"]


@case
def comparison_says_what_it_cannot_compare():
    a, b = two_runs([], ["-r", "4"])
    text = compared(a, b)
    assert "The runs differ: 8 ranks, then 4" in " ".join(text.split()), text
    assert "no file or directory" in compared(a, os.path.join(where, "none"), status=1)
    assert "two directories" in compared(a, b, "c", status=2)
    assert "percent" in compared(a, b, "--threshold", "much", status=2)
    full = compared(a, b, "-o", "/dev/full", status=1)
    assert "No space left" in full, full


h5py, np = require_h5py()
profwrap = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory(prefix="profwrap-sim-") as where:
    CASES[sys.argv[2]]()
