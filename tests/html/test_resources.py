"""The pages Data pipeline and Resources in a real browser.   test_resources.py CASE... | --list"""
import os
import sys

import browser as b
import harness as h

b.RUNS["queues"] = ["-p", "data", "-r", "6", "-s", "60", "--queues", "-f",
                    "starved_loader:rank=2,percent=30"]


@h.case
def the_data_pipeline_names_the_slowest_part():
    folder = b.run("queues")
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"), "data")
        advice = b.text(browser, ".advice")
        h.check("Rank 2" in advice and "'map decode'" in advice and "Would save" in advice, advice)
        graph = browser.execute_script(
            "return [...document.querySelectorAll('svg[role=img]')].map("
            "(svg) => svg.getAttribute('aria-label'))")
        h.check(any("queue raw" in label and "queue device" in label for label in graph), graph)
        rows = [row for row in b.rows(browser, "Queues") if row[0] == "2"]
        h.equal([(row[1], row[8], row[9]) for row in rows],
                [("raw", "0", "0.25"), ("ready", "60", "1.50"), ("device", "60", "0.13")],
                "the queues of rank 2")
        b.check_quiet(browser, "data")
        b.shoot(browser, "data-pipeline", whole=True)
        b.go(browser, "data/2")
        b.check_quiet(browser, "data/2")
        b.go(browser, "overview")
        h.check("Would save" in b.text(browser, ".advice"), "savings on the overview")


@h.case
def pages_say_when_nothing_was_sampled():
    folder = b.run("even")
    with b.chromium() as browser:
        path = b.page_of(folder, "page")
        for page in ("data", "resources"):
            b.visit(browser, path, page)
            h.check("Not known" in b.text(browser, "#main"), page)
            b.check_quiet(browser, page)


@h.case
def network_cards_of_hosts():
    with b.chromium() as browser:
        b.visit(browser, b.page_of(b.run("late8"), "page"), "resources")
        rows = b.rows(browser, "Network cards")
        h.equal(sorted(row[:3] for row in rows), [["node0000", "eth0", "0"], ["node0001", "eth0", "4"]], "cards")
        charts = browser.execute_script(
            "return [...document.querySelectorAll('#page-resources h3')].map((one) => one.textContent)")
        for what in ("Received", "Sent"):
            h.check(f"{what} a second by the host's network cards" in charts, charts)
        b.check_quiet(browser, "resources")


@h.case
def resources_of_a_real_run():
    h.run(h.mpirun(2, *h.profwrap("--quiet", "-o", "out"), sys.executable, "-c",
                   "import time; end = time.time() + 1.5\nwhile time.time() < end: sum(range(9999))"))
    with b.chromium() as browser:
        b.visit(browser, os.path.abspath("out/report.html"), "resources")
        rows = b.rows(browser, "Processes")
        h.equal(sorted(row[0] for row in rows), ["0", "1"], "ranks")
        lines = browser.execute_script(
            "return [...document.querySelectorAll('#page-resources svg path')].filter("
            "(path) => (path.getAttribute('d') || '').includes('L') && path.querySelector('title'))"
            ".length")
        h.check(lines >= 4, lines, "lines are drawn")
        b.check_quiet(browser, "resources")
        b.shoot(browser, "resources", whole=True)


sys.exit(h.main(sys.argv[1:]))
