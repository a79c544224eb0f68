"""Who can use the HTML report, and what it stands: the keyboard, screen readers, phones, paper, and
runs with very much or very odd in them.   test_reach.py CASE...   test_reach.py --list"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import browser as b
import harness as h
import stored

DOWN, LEFT, RIGHT, HOME, END, ENTER = "\ue015", "\ue012", "\ue014", "\ue011", "\ue010", "\ue007"


def press(browser, *keys):
    from selenium.webdriver import ActionChains
    chain = ActionChains(browser)
    for key in keys:
        chain.send_keys(key)
    chain.perform()


def focus(browser, selector):
    browser.execute_script("document.querySelector(arguments[0]).focus()", selector)


@contextlib.contextmanager
def visited(run, page, size=()):
    """A browser that shows a page of the report of a run."""
    with b.chromium(*size) as browser:
        b.visit(browser, b.page_of(b.run(run), "page"), page)
        yield browser


@h.case
def charts_are_walked_by_keys():
    with visited("data8", "stragglers") as browser:
        focus(browser, "#heatmap")
        press(browser, RIGHT)
        tip = b.text(browser, "#tip")
        h.check(tip.startswith("rank 5, step 20"), "the walk begins at", tip)
        press(browser, RIGHT, DOWN)
        tip = b.text(browser, "#tip")
        h.check(tip.startswith("rank 6, step 21"), "two keys lead to", tip)
        press(browser, HOME, LEFT)
        h.check(b.text(browser, "#tip").startswith("rank 6, step 0"), "the edge holds")
        press(browser, ENTER)
        b.await_page(browser, "stragglers/rank/6")
        b.go(browser, "overview")
        slider = "svg[role=slider]"
        focus(browser, slider)
        press(browser, RIGHT, RIGHT)
        words = b.find(browser, slider)[0].get_attribute("aria-valuetext")
        h.check(words.startswith("step 2:"), "the slider says", words)
        h.equal(b.text(browser, "#tip"), words, "beside it")
        press(browser, END, ENTER)
        b.await_page(browser, "steps/99")
        b.check_quiet(browser, "keys")


@h.case
def call_paths_are_walked_by_keys():
    with visited("operators8", "operators", (1280, 1600)) as browser:
        named = "return document.activeElement.getAttribute('aria-label')"
        focus(browser, "#flames g[tabindex='0']")
        h.check(browser.execute_script(named).startswith("all,"), "the first box is not all")
        press(browser, DOWN)
        first = browser.execute_script(named)
        press(browser, RIGHT)
        second = browser.execute_script(named)
        h.check(first != second, "the box beside", first, "is the same")
        press(browser, LEFT)
        h.equal(browser.execute_script(named), first, "back")
        before = len(b.find(browser, "#flames g"))
        press(browser, RIGHT, ENTER)
        h.check(len(b.find(browser, "#flames g")) < before, "Enter does not show a box larger")
        h.equal(browser.execute_script(named), second, "the focus stays on it")
        h.equal(len(b.find(browser, "#flames g[tabindex='0']")), 1, "boxes that Tab stops at")
        b.check_quiet(browser, "operators")


@h.case
def the_focus_stays_where_it_was():
    with visited("data8", "stragglers") as browser:
        focus(browser, "#choose-colour-")
        press(browser, DOWN)
        time.sleep(0.5)
        h.equal(browser.execute_script("return document.activeElement.value"), "own", "after a choice")
        b.go(browser, "steps/30")
        focus(browser, "#later")
        press(browser, ENTER)
        b.await_page(browser, "steps/31")
        h.equal(browser.execute_script("return document.activeElement.id"), "later", "after a step")


@h.case
def every_chart_has_its_numbers_in_a_table():
    path = b.page_of(b.run("operators8"), "page")
    with b.chromium() as browser:
        tables = 0
        for page in b.walk(browser, path, [*b.PAGES, "stragglers/rank/3"]):
            charts = len(b.find(browser, "main svg[aria-label], main canvas[aria-label]"))
            browser.execute_script("for (const one of document.querySelectorAll('details')) "
                                   "one.open = true")
            time.sleep(0.3)
            empty = [one.text for one in b.find(browser, "details") if len(
                one.find_elements("css selector", "tbody tr")) == 0]
            h.equal(empty, [], f"summaries without rows on {page}")
            h.check(not charts or b.find(browser, "main table"), page, "has charts but no table")
            tables += len(b.find(browser, "details table"))
            b.check_quiet(browser, page)
        h.check(tables >= 6, "only", tables, "tables stand behind charts")


@h.case
def narrow_screens_need_no_sideways_scrolling():
    pages = [*b.PAGES, "stragglers/rank/5", "steps/20", "operators/gpu/2"]
    with b.chromium(390, 844) as browser:
        for name in ("operators8", "halo16", "gpu6"):
            path = b.page_of(b.run(name), name)
            for page in b.walk(browser, path, pages):
                wide = browser.execute_script("return document.documentElement.scrollWidth")
                h.check(wide <= 390, page, "of", name, "is", wide, "pixels wide")
                b.check_quiet(browser, page)
                b.shoot_if_asked(browser, f"phone-{name}-{page.replace('/', '-')}")
            b.go(browser, "overview")
            end = b.find(browser, ".tile")[-1].rect
            h.check(end["y"] + end["height"] <= 844, "what to do next is not on the first screen")


@h.case
def all_pages_print_as_one():
    with visited("operators8", "all") as browser:
        # Of a simulated run of one training: no messages, samples of resources or stages of a data
        # pipeline. A page that has nothing to show has no tab and no part.
        parts = [page for page in b.PAGES if b.find(browser, f"#page-{page}")]
        tabs = browser.execute_script("""return [...document.querySelectorAll("#pages a:not([hidden])")]
            .map((one) => one.getAttribute("href").slice(1))""")
        h.equal(parts, tabs, "the parts in the print")
        h.equal([page for page in b.PAGES if page not in parts], ["messages", "data", "resources"],
                "pages left out")
        b.check_quiet(browser, "all")
        done = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        h.check(len(done["data"]) > 100000, "the print has", len(done["data"]), "characters")


def check_by_axe(*runs):
    """runs: [(name, whether in dark mode)]."""
    try:
        import axe_core_python
    except ImportError:
        raise h.Skipped("this Python has no axe (PyPI: axe-core-python)") from None
    folder = os.path.dirname(axe_core_python.__file__)
    with open(os.path.join(folder, "axe.min.js"), encoding="utf-8") as source:
        axe = source.read()
    found = []
    for name, dark in runs:
        path = b.page_of(b.run(name), name)
        with b.chromium(dark=dark) as browser:
            for page in [*b.PAGES, "stragglers/rank/5", "steps/20", "operators/gpu/2"]:
                b.visit(browser, path, page)
                browser.execute_script(axe)
                said = browser.execute_async_script("axe.run().then(arguments[0])")
                h.check(len(said["passes"]) > 20, "axe looked at", len(said["passes"]), "rules only")
                for one in said["violations"]:
                    where = [node["html"][:120] for node in one["nodes"][:3]]
                    found.append(f"{page} of {name}: {one['id']}: {one['help']} {where}")
    h.equal(found, [], "what axe complains about")


@h.case
def pages_pass_the_accessibility_checker():
    check_by_axe(("operators8", False), ("halo16", True))


@h.case
def partial_runs_and_gpu_runs_pass_the_accessibility_checker():
    check_by_axe(("partial", False), ("gpu6", True))


@h.case
def windows_of_recording_are_drawn():
    schedule = "skip_first=2,wait=2,warmup=1,active=2,repeat=3"
    h.run(h.mpirun(4, *h.profwrap("-o", "out", "--schedule", schedule), h.program("windows"),
                   "cross", 30))
    with b.chromium() as browser:
        path = os.path.abspath("out/report.html")
        for page in ("overview", "steps", "stragglers/rank/1"):
            b.visit(browser, path, page)
            h.equal(len(b.find(browser, ".windows g")), 3, f"windows on {page}")
            h.equal(len(b.find(browser, ".windows .warmup")), 3, f"steps of warm-up on {page}")
            b.shoot(browser, f"windows-{page.split('/')[0]}", whole=True)
        b.go(browser, "run")
        said = b.text(browser, "#page-run dl")
        h.check("steps 4-6, steps 9-11, steps 14-16" in said, "the windows are not said:", said)
        b.check_quiet(browser, "windows")


@h.case
def every_collective_can_be_found():
    folder = b.run("data8")
    with h.h5py().File(os.path.join(folder, "cluster.h5")) as file:
        table = file["collectives"][()]
    wanted = sorted(int(row["seq"]) for row in table if row["step"] == 77)
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"), "collectives")
        field = b.find(browser, "#page-collectives input[type=search]")[-1]
        field.send_keys("step 77")
        found = b.rows(browser, "One by one")
        h.equal(sorted(int(row[3]) for row in found), wanted, "sequence numbers in step 77")
        last = b.rows(browser, "One by one")[0][6]
        field.clear()
        field.send_keys(f"rank {last}")
        h.check(all(row[6] == last for row in b.rows(browser, "One by one")), "found by rank")
        bars = [one.text for one in b.find(browser, "#page-collectives svg a")]
        h.check(bars[0].startswith("rank 5,"), "the others waited for", bars[0])
        b.check_quiet(browser, "collectives")


@h.case
def the_matrix_is_of_ranks_or_of_hosts():
    folder = b.run("halo16")
    with h.h5py().File(os.path.join(folder, "cluster.h5")) as file:
        pairs, ranks, slow = file["p2p"][()], file["ranks"][()], len(file["links"])
    host = {int(row["rank"]): row["hostname"].decode() for row in ranks}
    bytes_sent = sum(int(row["bytes"]) for row in pairs
                     if (host[row["src"]], host[row["dst"]]) == ("node0000", "node0001"))
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"), "messages")
        h.equal(len(b.find(browser, ".heat .frame")), slow, "slow links")
        b.find(browser, "#choose-of option[value=hosts]")[0].click()
        time.sleep(0.5)
        focus(browser, "#matrix")
        press(browser, RIGHT, RIGHT)
        words = b.text(browser, "#tip").split("\n")
        h.equal(words, ["from host node0000 to host node0001",
                        f"bytes: {bytes_sent / 2**20:.1f} MiB"], "the first host to the second")
        b.check_quiet(browser, "messages")
        b.shoot(browser, "matrix-hosts")


def with_operators(folder, count):
    """Replaces the operators of a cluster file by `count` operators, with falling self times."""
    h5py = h.h5py()
    import numpy  # which h5py needs
    stored.edited(os.path.join(folder, "cluster.h5"))
    with h5py.File(os.path.join(folder, "cluster.h5"), "r+") as file:
        for name in ("operator_ranks", "operator_shapes", "operator_stacks"):
            rows = file[name][:0]
            del file[name]
            file[name] = rows
        rows = numpy.repeat(file["operators"][:1], count)
        numbers = numpy.arange(count)
        rows["name"] = numpy.char.add(b"operator-", numbers.astype("S8"))
        rows["self_ns"] = 1000 * (count - numbers)
        del file["operators"]
        file["operators"] = rows


@h.case
def a_hundred_thousand_operators_can_be_searched():
    shutil.copytree(b.run("operators8"), "run")
    with_operators("run", 100000)
    path = b.page_of("run", "page")
    h.check(os.path.getsize(path) < 6e6, "the file has", os.path.getsize(path), "bytes")
    with b.chromium() as browser:
        b.visit(browser, path, "overview")
        drawn = browser.execute_script("return performance.getEntriesByName('drawn')[0].startTime")
        print(f"first view after {drawn:.0f} ms, {os.path.getsize(path) / 1e6:.1f} MB")
        b.go(browser, "operators")
        h.check("100,000 operators" in b.text(browser, "#page-operators"), "how many is not said")
        h.check("Only the 10,000" in b.text(browser, "#page-operators"), "what is left out is not said")
        b.find(browser, "#page-operators input[type=search]")[0].send_keys("operator-9998")
        h.equal([row[0] for row in b.rows(browser, "All operators")], ["operator-9998"], "found")
        b.check_quiet(browser, "operators")


@h.case
def reader_that_closes_the_pipe_is_no_crash():
    for ignored in (False, True):
        job = subprocess.Popen(h.profwrap("report", "--format", "html", b.run("wide64")),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               restore_signals=not ignored)
        job.stdout.read(100)
        job.stdout.close()
        said, status = job.stderr.read(), job.wait(60)
        h.equal(status, 1 if ignored else -signal.SIGPIPE, "the exit status")
        h.equal(len(h.lines(said)), 1 if ignored else 0, f"lines: {said}")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
