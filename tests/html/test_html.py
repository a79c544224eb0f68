"""The HTML report in a real browser: what it shows, that it can be used, and that nothing in a file
makes it do anything else.   test_html.py CASE...   test_html.py --list"""
import html
import os
import re
import shutil
import sys
import time

import browser as b
import harness as h
import stored
import terminal

ATTACK = "\x1b[2J\x9b1m\u202e</script><script>window.hit=1</script><img src=x onerror=window.hit=1>"


def check_page(browser, page, name):
    b.check_quiet(browser, f"{page} of {name}")
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    h.check(wide <= 1280, page, "of", name, "is", wide, "pixels wide")
    h.equal(b.text(browser, "nav [aria-current]") != "", True, "a current page")
    b.shoot_if_asked(browser, f"{name}-{page}", whole=True)


@h.case
def every_page_is_drawn_without_errors():
    """Of operators8 also when it is the first that is opened."""
    with b.chromium() as browser:
        path = b.page_of(b.run("operators8"), "operators8")
        for page in b.PAGES:
            b.visit(browser, path, page)
            check_page(browser, page, "operators8")
        for name in ("data8", "halo16", "operators8", "gpu6"):
            path = b.page_of(b.run(name), name)
            for page in b.walk(browser, path, b.PAGES):
                check_page(browser, page, name)


@h.case
def report_is_one_file_without_requests():
    path = b.page_of(b.run("data8"), "page")
    os.mkdir("alone")
    alone = shutil.move(path, "alone/page.html")
    with b.chromium() as browser:
        browser.execute_cdp_cmd("Network.enable", {})
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", {
            "offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0})
        b.visit(browser, os.path.abspath(alone), "stragglers")
        asked = browser.execute_script("return performance.getEntriesByType('resource').length")
        h.equal(asked, 0, "things that the page asked for")
        b.check_quiet(browser, "stragglers")


def check_step_bars(browser, report):
    """The bars of a step have the numbers of the report, and their parts add up to the step."""
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    table = {row[0]: row[1:] for row in b.rows(browser, "Where a step goes")}
    ranks = report["step_trace"]["per_rank"]
    most, least = (choose(ranks, key=lambda row: row["own_ns"]) for choose in (max, min))
    wanted = {"mean of 8 ranks": {**report["step_trace"]["mean"],
                                  "phases": report["step_trace"]["phase_mean"]},
              f"most own work: rank {most['rank']}": most,
              f"least own work: rank {least['rank']}": least}
    h.equal(set(table), set(wanted), "bars")
    for name, row in wanted.items():
        parts = [row["phases"][phase] for phase in ("data_ns", "forward_ns", "backward_ns",
                                                    "allreduce_ns", "optimizer_ns", "other_ns")]
        parts = [ns for ns in parts if ns > 0] + [row["total_ns"] - row["own_ns"]]
        h.check(abs(sum(parts) - row["total_ns"]) < 10, "the parts of", name, "are", sum(parts), "of",
                row["total_ns"])
        h.equal(table[name], [b.shown_ns(ns) for ns in
                              [row["total_ns"], *parts, row["comm_exposed_ns"]]], name)
    labels = [one.text for one in b.find(browser, "section g.row > text")]
    h.check(b.shown_ns(most["total_ns"]) in labels, "the bar of the slowest is not labelled:", labels)


@h.case
def first_screen_names_rank_phase_cost_and_advice():
    folder = b.run("data8")
    report = b.report_of(folder)
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"))
        h.equal(b.text(browser, "#headline"), report["job"]["headline"], "the headline")
        losses = report["job"]["losses"]
        beside = [one["text"] for one in losses if not one["in_headline"]]
        h.equal([one.text for one in b.find(browser, "#losses li")],
                beside[:3 - sum(one["in_headline"] for one in losses)], "losses below the headline")
        basis = report["job"]["basis"]
        h.equal([(one.get_attribute("class"), one.find_element("css selector", "span").text)
                 for one in b.find(browser, "#basis li")],
                [(one["mark"], one["text"]) for one in basis], "what the verdict rests on")
        h.equal([one["mark"] for one in basis], ["seen", "seen", "unknown", "seen", "seen"], "marks")
        check_step_bars(browser, report)
        tiles = b.find(browser, ".tile")
        for tile, wanted in zip(tiles, ["Rank 5", "in forward", " ms", report["advice"][0]["text"]],
                                strict=True):
            value = tile.find_element("css selector", ".value").text
            h.check(wanted in value, repr(wanted), "is not in", repr(value))
            end = tile.rect["y"] + tile.rect["height"]
            h.check(end <= 800, "the tile of", wanted, "ends at", end, "pixels")
        b.shoot(browser, "first-screen")


@h.case
def every_straggler_is_marked_over_its_steps():
    folder = b.run("two8")
    ranks = [row["rank"] for row in b.report_of(folder)["stragglers"]]
    h.equal(sorted(ranks), [2, 5], "stragglers")
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"))
        h.equal([one.text for one in b.find(browser, "svg text.halo")], [f"rank {r}" for r in ranks],
                "marks over the steps")
        beside = [one.text for one in b.find(browser, "#losses li")]
        h.check(len(beside) == 1 and f"Rank {ranks[1]} " in beside[0], "the second loss is", beside)


@h.case
def pictures_of_the_readme():
    """The files in docs/images are copies of the pictures that this test leaves in the build
    directory."""
    with b.chromium(1200, 760) as browser:
        path = b.page_of(b.run("readme"), "readme")
        for page, top in (("overview", "header"), ("stragglers/rank/7", "main section")):
            b.visit(browser, path, page)
            browser.execute_script("document.querySelector(arguments[0]).scrollIntoView()", top)
            h.check(b.text(browser, "#headline").startswith("Rank 7 on"), "rank 7 is not named")
            b.shoot(browser, f"report-{page.split('/')[0]}")


@h.case
def pictures_of_the_screen():
    """What ends a run, on a terminal of 100 columns; docs/images/summary.svg is a copy."""
    shutil.copytree(b.run("readme"), "my-profile", symlinks=True)
    b.page_of("my-profile", "my-profile/report")
    text = terminal.recorded(h.profwrap("report", "my-profile"), 100, h.environment())
    text = text.replace(os.path.realpath("."), "/home/ada")
    plain = terminal.STYLES.sub("", terminal.LINKS.sub("", text))
    h.check(plain.startswith("Rank 7 on ") and "file:///home/ada/my-profile/report.html\n" in plain, plain)
    picture = terminal.as_svg(text, 100)
    shown = [piece for _, piece in re.findall(r'y="(\d+)"[^>]*>([^<]*)</text>', picture)]
    h.equal("".join("".join(shown).split()), html.escape("".join(plain.split())), "text of the picture")
    h.check('fill="#d2a8ff" xml:space="preserve">bbb' in picture, "no bar in colours")
    with open(b.out("screenshots", "summary.svg"), "w") as file:
        file.write(picture)


def brightest_rows(browser):
    """The mean brightness of each row of the heatmap, between 22 % and 60 % of its width."""
    return browser.execute_script("""
        const canvas = document.getElementById("heatmap"), [from, to] = arguments;
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const rows = [];
        for (let y = 0; y < canvas.height; y++) {
            let sum = 0, n = 0;
            for (let x = Math.floor(from * canvas.width); x < to * canvas.width; x++, n++)
                sum += data[4 * (y * canvas.width + x)] + data[4 * (y * canvas.width + x) + 1];
            rows.push(sum / n);
        }
        return rows;""", 0.22, 0.6)


@h.case
def the_straggler_is_the_marked_row_and_the_bright_cells():
    with b.chromium() as browser:
        b.visit(browser, b.page_of(b.run("data8"), "page"), "stragglers")
        for table in ("Stragglers", "All ranks"):
            h.equal(b.rows(browser, table)[0][0], "5", f"first row of '{table}'")
        marked = [row.find_element("css selector", "td").text for row in b.find(browser, "tr.hit")]
        h.equal(marked, ["5", "5"], "marked rows")
        rows = brightest_rows(browser)
        h.equal(len(rows), 8, "rows of the heatmap")
        others = max(rows[:5] + rows[6:])
        h.check(rows[5] > 2 * others, "rank 5 has brightness", rows[5], "the others", others)
        h.equal(b.text(browser, ".heat .tick.hit"), "rank 5", "marked name")
        frame = browser.find_element("css selector", ".heat .frame").rect
        canvas = browser.find_element("id", "heatmap").rect
        middle = (frame["y"] + frame["height"] / 2 - canvas["y"]) * 8 / canvas["height"]
        h.check(5 <= middle < 6, "the frame is on row", middle)
        begin = (frame["x"] - canvas["x"]) * 100 / canvas["width"]
        h.check(19 <= begin <= 21, "the frame begins at step", begin)


def text_line(folder, section, begin):
    """The cells of the first line with this beginning in a section of the text report."""
    words = h.lines(h.run(h.profwrap("report", "--section", section, folder)).stdout)
    line = next(one.strip() for one in words if one.strip().startswith(begin))
    return [cell.strip(" *") for cell in re.split("  +", line)]


@h.case
def numbers_are_those_of_the_text_report():
    folder = b.run("data8")
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"), "stragglers")
        for section, begin, title in (("stragglers", "5 ", "Stragglers"),
                                      ("phases", "5 ", "All ranks"),
                                      ("collectives", "Allreduce", "By operation and size")):
            if section == "collectives":
                b.go(browser, section)
            shown = b.rows(browser, title)[0]
            wanted = [cell for cell in text_line(folder, section, begin)
                      if cell.endswith(("ns", " us", " ms", " s", " %", "/s", "iB"))]
            h.check(len(wanted) >= 4, "the text has only", wanted)
            for cell in wanted:
                h.check(cell in shown, cell, "of the text is not in", shown)


@h.case
def one_step_is_shown_as_in_the_file():
    folder = b.run("data8")
    with h.h5py().File(os.path.join(folder, "cluster.h5")) as file:
        own = file["step_trace"]["own_ns"][30]
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"), "steps/30")
        shown = {row[0]: row[6] for row in b.rows(browser, "Step 30")}
        h.equal(len(shown), 8, "ranks in the table")
        for rank, value in shown.items():
            h.equal(value, f"{own[int(rank)] / 1e6:.1f} ms", f"own time of rank {rank} in step 30")


@h.case
def tables_sort_and_search():
    with b.chromium() as browser:
        b.visit(browser, b.page_of(b.run("halo16"), "page"), "stragglers")
        section = [one for one in b.find(browser, "section.panel") if "All ranks" in one.text][0]
        buttons = section.find_elements("css selector", "th button")
        rank = next(one for one in buttons if one.text == "rank")

        def first():
            return [row[0] for row in b.rows(browser, "All ranks")[:2]]

        h.equal(first()[0], "5", "slowest first")
        rank.click()
        h.equal(first(), ["15", "14"], "by rank, downwards")
        rank.send_keys("\n")
        h.equal(first(), ["0", "1"], "by rank, upwards, from the keyboard")
        head = rank.find_element("xpath", "..")
        h.equal(head.get_attribute("aria-sort"), "ascending", "aria-sort")
        field = section.find_element("css selector", "input[type=search]")
        field.send_keys("NODE0002")
        h.equal([row[0] for row in b.rows(browser, "All ranks")], ["8", "9", "10", "11"], "found")
        field.send_keys("nobody")
        h.equal(b.rows(browser, "All ranks"), [], "found of nobody")
        h.check("0 rows found" in section.text, "the count is not said")
        b.check_quiet(browser, "stragglers")


@h.case
def addresses_lead_to_ranks_and_steps_and_back():
    with b.chromium() as browser:
        b.visit(browser, b.page_of(b.run("data8"), "page"), "stragglers/rank/3")
        h.equal(b.text(browser, "#rank h3"), "Rank 3 on node0000: its steps", "the panel")
        chosen = browser.find_element("css selector", "tr.chosen td").text
        h.equal(chosen, "3", "the chosen row")
        b.find(browser, "a[href='#stragglers/rank/5']")[0].send_keys("\n")
        b.await_page(browser, "stragglers/rank/5")
        browser.back()
        b.await_page(browser, "stragglers/rank/3")
        b.go(browser, "steps/30")
        h.equal(b.find(browser, "#step")[0].get_attribute("value"), "30", "the step")
        h.equal(len(b.find(browser, "svg .pointer")), 1, "stragglers pointed at in step 30")
        next(one for one in b.find(browser, "button") if one.text == "Later").click()
        b.await_page(browser, "steps/31")
        for address, words in (("steps/700", "There is no step 700"),
                               ("stragglers/rank/99", "There is no such rank")):
            b.go(browser, address)
            h.check(words in b.text(browser, "main"), words, "is not said")
        b.go(browser, "nonsense/b")
        h.check(b.find(browser, ".tile"), "an unknown address does not lead to the overview")
        b.check_quiet(browser, "any page")


@h.case
def a_click_on_the_heatmap_leads_to_the_rank():
    with b.chromium() as browser:
        b.visit(browser, b.page_of(b.run("data8"), "page"), "stragglers")
        from selenium.webdriver import ActionChains
        canvas = browser.find_element("id", "heatmap")
        down = canvas.rect["height"] * (6.5 / 8 - 0.5)
        ActionChains(browser).move_to_element_with_offset(canvas, 40, int(down)).perform()
        tip = b.text(browser, "#tip")
        h.check(tip.startswith("rank 6, step 5"), "the pointer says", tip)
        ActionChains(browser).click().perform()
        b.await_page(browser, "stragglers/rank/6")


def spoil(path):
    """Replaces all text in a cluster file by hostile text."""
    h5py = h.h5py()
    import numpy  # which h5py needs
    stored.edited(path)
    with h5py.File(path, "r+") as file:
        file.attrs["command"] = numpy.bytes_(ATTACK.encode())
        file.attrs["job_id"] = numpy.bytes_(ATTACK.encode()[:60])
        for name in ("ranks", "stragglers", "whatif", "critical_path", "clocks", "completeness",
                     "operators", "operator_types", "operator_shapes", "kernels", "gpu_ranks"):
            if name not in file:
                continue
            table = file[name][()]
            for field in table.dtype.names:
                if table.dtype[field].kind == "S" and field not in ("scope", "source"):
                    table[field] = ATTACK.encode()[:table.dtype[field].itemsize]
            file[name][...] = table


@h.case
def names_are_never_taken_for_html():
    with b.chromium() as browser:
        for name in ("operators8", "gpu6"):
            shutil.copytree(b.run(name), name)
            spoil(f"{name}/cluster.h5")
            check_harmless(browser, name)


def check_harmless(browser, folder):
    path = b.page_of(folder, folder)
    for page in b.walk(browser, path, [*b.PAGES, "stragglers/rank/5", "steps/30", "operators/gpu/2"]):
        b.check_quiet(browser, page)
        h.equal(browser.execute_script("return window.hit"), None, f"a script ran on {page}")
        h.equal(len(b.find(browser, "img")), 0, f"images on {page}")
        odd = browser.execute_script(
            "return document.body.textContent.match(/[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u202e]/)")
        h.equal(odd, None, f"characters that rule a terminal, on {page}")
    h.check("<img" in b.text(browser, "#command"), "the command is not shown as it is")
    b.shoot(browser, f"hostile-{folder}")
    for name in ("text", "json", "csv", "folded"):
        said = h.run(h.profwrap("report", "--full", "--format", name, folder)).stdout.decode()
        odd = [c for c in said if c in "\x7f\u202e" or (c < " " and c != "\n") or "\x80" <= c < "\xa0"]
        h.equal(odd, [], f"characters that rule a terminal, in {name}")


@h.case
def operators_can_be_found_sorted_and_looked_into():
    folder = b.run("operators8")
    wanted = b.report_of(folder)["operators"]
    with b.chromium(1280, 1600) as browser:
        b.visit(browser, b.page_of(folder, "page"), "operators")
        said = b.text(browser, "#page-operators ul")
        h.check("Rank 3" in said and "in conv2d" in said, "the slow rank is not named:", said)
        rows = lambda: [row.text for row in b.find(browser, "#page-operators tbody tr")]
        h.equal(len(rows()), min(20, len(wanted["by_name"])), "rows of the table")
        h.check(rows()[0].startswith(wanted["by_name"][0]["name"]), "most self time first:", rows()[0])
        bars = b.find(browser, "#page-operators g.row")
        busy = [row for row in wanted["by_name"] if row["self_ns"] > 0]
        h.equal(len(bars), min(20, len(busy)), "bars")
        field = b.find(browser, "#page-operators input[type=search]")[0]
        field.send_keys("conv2d_b")
        h.equal([row.split()[0] for row in rows()], ["conv2d_backward"], "rows that were searched")
        field.clear()
        field.send_keys(" ")
        calls = [head for head in b.find(browser, "#page-operators th button")
                 if head.text.startswith("# of calls")]
        calls[0].click()
        most = max(wanted["by_name"], key=lambda row: row["calls"])
        h.check(rows()[0].startswith(most["name"]), "most calls first:", rows()[0])
        b.find(browser, "#page-operators select option[value=by_shapes]")[0].click()
        h.check("[32, 1024]" in " ".join(rows()), "no shapes are shown")
        boxes = len(b.find(browser, "#flames g"))
        h.check(boxes >= 20, "the flame graph has only", boxes, "boxes")
        inner = [box for box in b.find(browser, "#flames g") if box.text.startswith("conv2d")]
        inner[0].click()
        h.check(len(b.find(browser, "#flames g")) < boxes, "choosing a box shows it larger")
        next(one for one in b.find(browser, "#page-operators button")
             if one.text == "Show all" and one.is_displayed()).click()
        h.equal(len(b.find(browser, "#flames g")), boxes, "boxes of all again")
        b.check_quiet(browser, "operators")
        b.shoot(browser, "operators", whole=True)


@h.case
def injected_scripts_do_not_run():
    """The Content Security Policy is a second protection. This test bypasses the first one on
    purpose."""
    path = b.page_of(b.run("data8"), "page")
    with b.chromium() as browser:
        b.visit(browser, path)
        browser.execute_script("document.body.insertAdjacentHTML('beforeend', arguments[0])",
                               "<img src=x onerror=window.hit=1>")
        time.sleep(0.5)
        h.equal(browser.execute_script("return window.hit"), None, "an event handler ran")
        h.check(any("Content Security Policy" in one for one in b.console(browser)),
                "the policy did not stop it")


def luminance(colour):
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1:-1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(browser, selector, ground):
    one, two = (luminance(browser.find_element("css selector", where).value_of_css_property(what))
                for where, what in ((selector, "color"), (ground, "background-color")))
    return (max(one, two) + 0.05) / (min(one, two) + 0.05)


@h.case
def light_and_dark_can_both_be_read():
    path = b.page_of(b.run("data8"), "page")
    grounds = []
    for dark in (False, True):
        with b.chromium(1920, 1080, dark) as browser:
            for page in b.walk(browser, path, b.PAGES):
                b.check_quiet(browser, page)
                b.shoot_if_asked(browser, f"{'dark' if dark else 'light'}-{page}")
            b.go(browser, "overview")
            body = browser.find_element("css selector", "body")
            grounds.append(luminance(body.value_of_css_property("background-color")))
            for selector, ground in (("h1", "body"), ("nav a", "body"), (".tile .label", ".tile"),
                                     (".tile a", ".tile"), (".legend", "section.panel")):
                ratio = contrast(browser, selector, ground)
                h.check(ratio >= 4.5, selector, "has contrast", ratio, "dark" if dark else "light")
    h.check(grounds[0] > 0.8 and grounds[1] < 0.1, "the backgrounds are", grounds)


@h.case
def every_page_says_what_is_missing():
    folder = b.run("partial")
    missing = b.report_of(folder)["job"]["incomplete"]
    with b.chromium() as browser:
        path = b.page_of(folder, "page")
        for page in b.walk(browser, path, b.PAGES):
            said = browser.find_element("id", "missing")
            h.check(said.is_displayed() and missing in said.text, page, "says", said.text)
            b.check_quiet(browser, page)
        lost = [row[0] for row in b.rows(browser, "Rank files") if row[2] == "missing"]
        h.equal(lost, ["2", "6"], "ranks without a usable file")
        no_tab = b.rows_of_list(browser, "Not recorded")
        h.equal(list(no_tab), ["Data pipeline", "Messages", "Resources"], "pages without data")
        tabs = b.text(browser, "nav").split("\n")
        h.equal([one for one in tabs if one in no_tab], [], "tabs of empty pages")
        b.go(browser, "overview")
        who = b.text(browser, ".tile")
        h.check("2 ranks?" in who and "ranks 2, 6 left no usable files" in who, "who is in question:", who)
        b.visit(browser, b.page_of(b.run("even"), "even"))
        h.check(not browser.find_element("id", "missing").is_displayed(), "even lacks nothing")


@h.case
def small_and_empty_runs_are_drawn():
    with b.chromium() as browser:
        for name in ("even", "one_rank", "one_step", "no_steps"):
            path = b.page_of(b.run(name), name)
            headline = b.report_of(b.run(name))["job"]["headline"]
            for page in b.walk(browser, path, [*b.PAGES, "steps/0", "stragglers/rank/0"]):
                b.check_quiet(browser, f"{page} of {name}")
                h.equal(b.text(browser, "#headline"), headline, "the headline")
                h.check("cannot be shown" not in b.text(browser, "main"), page, "of", name)
                h.equal(b.find(browser, "tr.hit"), [], f"marked rows on {page} of {name}")
            b.go(browser, "overview")
            b.shoot(browser, f"small-{name}", whole=True)


@h.case
def keyboard_and_screen_reader_suffice():
    with b.chromium() as browser:
        path = b.page_of(b.run("halo16"), "page")
        for page in b.walk(browser, path, [*b.PAGES, "stragglers/rank/5", "steps/20"]):
            nameless = browser.execute_script("""
                const shown = (one) => one.closest("[aria-hidden=true], [hidden]") === null;
                const pictures = [...document.querySelectorAll("svg, canvas")].filter(shown)
                    .filter((one) => !(one.getAttribute("aria-label") || "").trim());
                const tables = [...document.querySelectorAll("table")].filter((one) =>
                    !one.caption || [...one.tHead.rows[0].cells].some((cell) =>
                        cell.tagName !== "TH" || cell.scope !== "col"));
                const controls = [...document.querySelectorAll("button, input, select")]
                    .filter((one) => !one.labels?.length && !one.textContent.trim());
                return [...pictures, ...tables, ...controls].map((one) => one.outerHTML);""")
            nameless = [one for one in nameless if "hidden" not in one]
            h.equal(nameless, [], f"what has no name on {page}")
        b.visit(browser, path)
        from selenium.webdriver import ActionChains
        keys = ActionChains(browser)
        for key in ("\ue004", "\ue004", "\ue004", "\ue007"):  # skip link, Overview, Stragglers
            keys.send_keys(key)
        keys.perform()
        b.await_page(browser, "stragglers")


@h.case
def pages_can_be_printed():
    with b.chromium() as browser:
        b.visit(browser, b.page_of(b.run("data8"), "page"), "stragglers/rank/5")
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        h.check(not browser.find_element("css selector", "nav").is_displayed(), "nav is printed")
        h.check(browser.find_element("id", "headline").is_displayed(), "the headline is not")
        done = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
        h.check(len(done["data"]) > 20000, "the print has", len(done["data"]), "characters")


@h.case
def run_writes_html_beside_the_other_reports():
    h.run(h.mpirun(2, *h.profwrap("-o", "out", h.program("actor"), "exit", "0")))
    h.check("report.html" in os.listdir("out"), "no report.html among", os.listdir("out"))
    with b.chromium() as browser:
        b.visit(browser, os.path.abspath("out/report.html"))
        b.check_quiet(browser, "a real run's overview")


@h.case
def a_death_is_red_and_its_step_comes_first():
    h.run(h.mpirun(2, *h.profwrap("-o", "out", h.program("firstend"), "exit3", "1", "collective")), None)
    h.run(h.profwrap("report", "--format", "line", "out"))
    with b.chromium() as browser:
        b.visit(browser, b.page_of("out", "page"))
        red, line = ("return getComputedStyle(document.querySelector('%s')).%s" % one
                     for one in (("h1", "color"), (".tile", "borderLeftColor")))
        h.equal({browser.execute_script(red), browser.execute_script(line)}, {"rgb(179, 38, 30)"}, "red")
        h.check("Rank 1" in b.text(browser, ".tile"), b.text(browser, ".tile"))
        b.go(browser, "timeline")
        h.equal(b.text(browser, "#page-timeline h3"), "Step 20: the last of rank 1", "the title")
        calls = [row[:3] for row in b.shown_boxes(browser) if "never left" in row[1]]
        h.equal(calls, [["0", "MPI_Allreduce, never left", "mpi"]], "the call that waits for it")
        b.check_quiet(browser, "a job that died")


@h.case
def output_that_cannot_be_written_is_one_line():
    folder = b.run("even")
    for target in ("/dev/full", "nowhere/page.html", "."):
        done = h.run(h.profwrap("report", "--format", "html", "-o", target, folder), 1)
        h.equal(len(h.lines(done.stderr)), 1, f"lines about {target}: {h.lines(done.stderr)}")
    os.mkdir("full")
    done = h.run(h.profwrap("report", "--format", "html", "--d3", "/dev/null", folder), 1)
    h.equal(len(h.lines(done.stderr)), 1, f"lines about D3: {h.lines(done.stderr)}")
    h.equal(done.stdout, b"", "output without D3")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
