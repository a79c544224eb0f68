"""The pictures of docs/annotate.md: one of each page that MindInsight's users look for. scripts/pictures
copies them from the build directory to docs/images.   test_pictures.py CASE...   test_pictures.py --list"""
import os
import sys

import browser as b
import harness as h

MOST_BYTES = 120_000

# name of the picture, the run, the address, the heading at the top, which may be on a part of the
# page, and a text that must be in sight
PICTURES = [
    ("page-steps", "data8", "steps/40", None, "every rank"),
    ("page-cluster-steps", "data8", "steps", "Over the run: means over the ranks", "Over the run"),
    ("page-operators", "operators8", "operators", None, "Most self time, all ranks"),
    ("page-kernels", "gpu6", "operators/kernels", "Kernels", "Most GPU time, all ranks"),
    ("page-timeline", "gpu6", "timeline", None, "the worst of rank 2"),
    ("page-data", "queues4", "data", None, "The pipeline, all ranks together"),
    ("page-resources", "late8", "resources", None, "CPU of all threads"),
    ("page-helper", "queues4", "overview", "What to do", "data_processing_slow"),
]


def scroll_to(browser, heading):
    """To the panel with this heading, or to the top of the page's content."""
    browser.execute_script("""
        const wanted = arguments[0], isShown = (one) => one.getBoundingClientRect().width > 0;
        const found = [...document.querySelectorAll("main h2, main h3")].find((one) => isShown(one) &&
            (!wanted || one.textContent === wanted));
        (found.closest(".panel") || found).scrollIntoView({ behavior: "instant" });""", heading)


def in_sight(browser):
    """The text of what the window shows."""
    return browser.execute_script("""
        const seen = [];
        for (const one of document.querySelectorAll("main *")) {
            const { top, bottom, width } = one.getBoundingClientRect();
            if (width && bottom > 0 && top < innerHeight && !one.children.length)
                seen.push(one.textContent);
        }
        return seen.join("\\n");""")


@h.case
def pictures_of_the_pages():
    with b.chromium(1060, 560) as browser:
        for name, run, address, heading, text in PICTURES:
            b.visit(browser, b.page_of(b.run(run), run), address)
            scroll_to(browser, heading)
            h.check(text in in_sight(browser), name, "does not show", text, in_sight(browser))
            b.check_quiet(browser, address)
            b.shoot(browser, name)
            size = os.path.getsize(b.out("screenshots", f"{name}.png"))
            h.check(size < MOST_BYTES, name, "has", size, "bytes")


sys.exit(h.main(sys.argv[1:]))
