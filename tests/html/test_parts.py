"""What is beside the steps in a real browser: parts of the run, all ranks slower, a slow network.
test_parts.py CASE...   test_parts.py --list"""
import json
import sys

import browser as b
import harness as h


def text_cells(folder, section, begin):
    """The cells of the first line with this beginning in a section of the text report."""
    words = h.lines(h.run(h.profwrap("report", "--section", section, folder)).stdout)
    line = next(one.strip() for one in words if one.strip().startswith(begin))
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


@h.case
def parts_of_the_run_are_those_of_the_text_report():
    folder = b.run("late8")
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"))
        rows = b.rows(browser, "Parts of the run")
        h.equal([row[0] for row in rows], ["start", "init", "setup", "steps", "tail", "finalize", "end",
                                           "the run"], "parts")
        for row in rows:
            wanted = text_cells(folder, "parts", f"{row[0]}  ")
            shown = ["0.00 %" if cell == "0.0 %" else cell for cell in row if cell]
            h.equal(shown, wanted, row[0])
        h.equal(rows[2][6], "2", "the rank with the longest setup")
        b.check_quiet(browser, "overview")
        b.visit(browser, b.page_of(b.run("even"), "even"))
        h.equal([row[2] for row in b.rows(browser, "Parts of the run")][:2], ["n/a", "n/a"],
                "without MPI_Init")


def dump(rank, numbers):
    """The dump of a Flight Recorder, in which the last of these all-reduces has not ended."""
    entries = [{"record_id": at, "pg_id": 0, "process_group": ["0", "default_pg"],
                "collective_seq_id": seq, "p2p_seq_id": 0, "op_id": at, "is_p2p": False,
                "profiling_name": "nccl:all_reduce", "time_created_ns": 10**18 + seq * 10**9,
                "input_sizes": [[8]], "input_dtypes": ["Float"], "output_sizes": [[8]],
                "output_dtypes": ["Float"], "state": "completed" if seq < 3 else "started",
                "retired": seq < 3} for at, seq in enumerate(numbers)]
    path = f"nccl_trace_rank_{rank}.json"
    with open(path, "w") as file:
        json.dump({"version": "2.10", "entries": entries,
                   "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}}, file)
    return path


@h.case
def dumps_after_a_hang_show_who_is_missing():
    paths = [dump(rank, [1, 2] if rank == 1 else [1, 2, 3]) for rank in range(3)]
    h.run(h.profwrap("import", "-o", "dumps", *paths))
    with b.chromium() as browser:
        b.visit(browser, b.page_of("dumps", "page"))
        tiles = [tile.text.split("\n") for tile in b.find(browser, ".tile")]
        h.equal([tile[1] for tile in tiles[:3]], ["Rank 1", "Allreduce 3", "2 ranks"], "tiles")
        h.check("Rank 1 did not reach all_reduce 3" in b.text(browser, "h1"), b.text(browser, "h1"))
        b.check_quiet(browser, "overview")
        b.go(browser, "tables")
        rows = [row[1:4] for row in b.rows(
            browser, "Operations that had not ended: who waits, and who is missing")]
        h.equal(rows, [["0", "waiting", "Allreduce"], ["1", "missing", "Allreduce"],
                       ["2", "waiting", "Allreduce"]], "rows of a section without a page")


@h.case
def a_loss_outside_steps_marks_no_step():
    with b.chromium() as browser:
        b.visit(browser, b.page_of(b.run("late8"), "page"))
        h.check("Tables" not in b.text(browser, "#pages"), "a page for sections that have their own")
        tiles = [tile.text for tile in b.find(browser, ".tile")]
        h.check("Rank 2" in tiles[0] and "before its first step" in tiles[1], tiles)
        h.check(" %) before its first step" in tiles[2], tiles[2])
        h.equal(len(b.find(browser, "rect[fill='var(--mark)']")), 0, "marks over steps")
        b.go(browser, "stragglers")
        h.equal(len(b.find(browser, ".heat .frame")), 0, "frames in the heatmap")
        row = b.rows(browser, "Ranks that hold the job back")[0]
        h.equal((row[0], row[2], row[7], row[8]), ("2", "before its first step", "n/a", "n/a"), row)
        b.go(browser, "steps/0")
        h.equal(len(b.find(browser, "svg .pointer")), 0, "stragglers pointed at in step 0")
        b.check_quiet(browser, "steps/0")


@h.case
def a_host_that_stood_still_is_named_as_in_the_headline():
    folder = b.run("frozen16")
    h.check(b.report_of(folder)["job"]["headline"].startswith("Host node0001 with 4 of its 4 ranks"),
            "the headline")
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"))
        who, where = (tile.text for tile in b.find(browser, ".tile")[:2])
        h.check("node0001" in who and "4 of its 4 ranks" in who and "Rank" not in who, who)
        h.check(" s of the run" in where, where)
        b.check_quiet(browser, "overview")


@h.case
def all_ranks_slower_are_shown_over_their_steps():
    folder = b.run("slower8")
    report = b.report_of(folder)
    (trend,), loss = report["trends"], report["job"]["losses"][0]
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"))
        tiles = [one.text for one in b.find(browser, ".tile")]
        h.check("All ranks" in tiles[0], "the first tile")
        h.check(f"Steps {trend['first_step']}-{trend['last_step']}" in tiles[1] and
                "forward" in tiles[1], tiles)
        h.equal((loss["kind"], loss["share_of"]), ("all_slower", "run"), "loss")
        h.check(f"{loss['share'] * 100:.0f} % of the run" in tiles[2], tiles, loss)
        h.check(tiles[2].split("\n")[1] in report["job"]["headline"], tiles, report["job"]["headline"])
        mark = b.find(browser, "rect[fill='var(--mark)']")[0].rect
        axis = browser.execute_script("""
            const box = document.querySelector(".columns svg .gridline").getBoundingClientRect();
            return [box.left, box.width];""")
        begin = (mark["x"] - axis[0]) / axis[1] * 100
        h.check(abs(begin - trend["first_step"]) < 1.5, "the mark begins at step", begin, trend)
        b.go(browser, "steps")
        said = [one.text for one in b.find(browser, "#page-steps li")]
        h.check(len(said) == 1 and said[0].startswith("All ranks were slower in steps "
                f"{trend['first_step']}-{trend['last_step']}"), said)
        b.check_quiet(browser, "steps")


@h.case
def a_slow_link_is_a_row():
    folder = b.run("link16")
    wanted = b.report_of(folder)["network"]
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"), "whatif")
        rows = b.rows(browser, "Slow network")
        h.equal(len(rows), len(wanted), "rows")
        h.equal(rows[0][:6], ["link", "node0001 - node0002", "7 - 8", str(wanted[0]["first_step"]),
                              str(wanted[0]["last_step"]), str(wanted[0]["transfers"])], "the link")
        b.check_quiet(browser, "whatif")
        b.visit(browser, b.page_of(b.run("even"), "even"), "whatif")
        h.check("Slow network" not in b.text(browser, "main"), "a table without rows")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
