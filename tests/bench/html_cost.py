"""The size of HTML reports, and the time until their pages are drawn, beside the budgets.

    html_cost.py: run by ctest; PROFWRAP_HTML_WIDE=1 also makes and merges 1024 ranks x 1000 steps,
    which takes minutes the first time.

First view is from the start of loading the file until the overview is drawn, the best of three in a
fresh page, in headless Chromium on this machine."""
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "html"))
import browser as b  # noqa: E402
import harness as h  # noqa: E402
import measure  # noqa: E402

REPEATS = 3
# run, MB, seconds to the first view
BUDGETS = [("wide64", 3, 1.0), ("wide1024", 20, 3.0)]


def seconds_to(browser, path, page):
    """The time by the page's own clock, from the begin of loading until the page is drawn."""
    b.visit(browser, path, page)
    return browser.execute_script("return performance.getEntriesByName('drawn')[0].startTime") / 1000


def judge(name, most_mb, most_s):
    folder = b.run(name)
    began = time.monotonic()
    path = b.page_of(folder, name)
    print(f"{name}: written in {time.monotonic() - began:.1f} s")
    within = measure.report(f"{name}: size", os.path.getsize(path) / 1e6, most_mb, " MB")
    with b.chromium() as browser:
        for page in ("overview", "stragglers", "steps", "steps/100", "stragglers/rank/40",
                     "collectives", "messages"):
            best = min(seconds_to(browser, path, page) for _ in range(REPEATS))
            if page == "overview":
                within &= measure.report(f"{name}: first view", best, most_s, " s")
            else:
                print(f"{name}: #{page} opened first: {best:.2f} s")
        b.check_quiet(browser, name)
    return within


def main():
    wide = os.environ.get("PROFWRAP_HTML_WIDE") == "1"
    if not wide:
        print("wide1024 is left out: PROFWRAP_HTML_WIDE=1 asks for it")
    with tempfile.TemporaryDirectory(prefix="profwrap-bench-") as where:
        os.chdir(where)
        try:
            results = [judge(*row) for row in BUDGETS if wide or row[0] != "wide1024"]
        except h.Skipped as reason:
            print("skipped:", reason)
            return h.SKIP
        finally:
            os.chdir(HERE)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
