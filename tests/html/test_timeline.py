"""The page of the timeline in a real browser.   test_timeline.py CASE...   test_timeline.py --list"""
import base64
import json
import re
import sys
import zlib

import browser as b
import harness as h


def first_shown(folder):
    """The timeline that the page shows first: of the straggler that the verdict names."""
    with open(b.page_of(folder, "list"), encoding="utf-8") as file:
        return json.loads(re.search(r'id="timelines">([^<]*)<', file.read())[1])[0]


@h.case
def boxes_are_those_of_the_rank_files():
    folder = b.run("data8")
    step = first_shown(folder)["step"]
    with h.h5py().File(f"{folder}/rank-00000.h5") as file:
        steps = file["steps"][()]
        begin, end = next((row["start"], row["end"]) for row in steps if row["step"] == step)
        names = file["strings"][()]
        wanted = [(names[row["name"]].decode(), b.shown_ns(int(row["end"] - row["start"])))
                  for row in file["events/range"][()] if row["start"] >= begin and row["end"] <= end]
        calls = file["events/comm"][()]
        wanted += [("MPI_Allreduce", b.shown_ns(int(row["end"] - row["start"])))
                   for row in calls if row["start"] >= begin and row["end"] <= end]
    h.check(len(wanted) >= 6, "rank 0 has only", wanted)
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"), "timeline")
        h.equal(b.text(browser, "#page-timeline h3"), f"Step {step}: the worst of rank 5", "the title")
        h.check(20 <= step <= 60, "the verdict is not about step", step)
        found = [(row[1], row[4]) for row in b.shown_boxes(browser) if row[0] == "0"]
        for one in wanted:
            h.check(one in found, one, "of the file is not in", found)
        b.check_quiet(browser, "timeline")
        view = "return document.getElementById('boxes').dataset.view || ''"
        canvas = browser.find_element("id", "boxes")
        canvas.send_keys("+")
        b.wait_for(lambda: browser.execute_script(view), "the first zoom")
        first = browser.execute_script(view)
        canvas.send_keys("\ue014")  # to the right
        b.wait_for(lambda: browser.execute_script(view) != first, "a pan")
        (a, c), (x, y) = ([float(one) for one in text.split()]
                          for text in (first, browser.execute_script(view)))
        h.check(abs((c - a) - (y - x)) < 2 and x > a, "panned from", first, "to", x, y)
        wheel_and_search(browser)
        b.go(browser, "timeline/7")
        for command in ("profwrap report --serve DIR", "--steps 7 "):
            h.check(command in b.text(browser, "main"), "no command for a step that is not there")
        b.go(browser, "timeline")
        b.shoot(browser, "timeline")


def view_of(browser):
    return [float(one) for one in browser.execute_script(
        "return document.getElementById('boxes').dataset.view").split()]


def wheel_and_search(browser):
    """The wheel zooms at the pointer once the timeline has the focus; a search marks boxes, and Enter
    leads to one after the other."""
    turn = """
        const canvas = document.getElementById("boxes"), box = canvas.getBoundingClientRect();
        const event = new WheelEvent("wheel", { deltaY: -120, clientX: box.left + 600, clientY: box.top + 40,
            cancelable: true, bubbles: true });
        canvas.dispatchEvent(event);
        return event.defaultPrevented;"""
    browser.execute_script("document.activeElement.blur()")
    h.equal(browser.execute_script(turn), False, "the wheel is taken from the page without the focus")
    before = view_of(browser)
    browser.execute_script("document.getElementById('boxes').focus()")
    h.equal(browser.execute_script(turn), True, "the wheel is taken with the focus")
    b.wait_for(lambda: view_of(browser) != before, "a zoom")
    after = view_of(browser)
    h.check(abs((after[1] - after[0]) / (before[1] - before[0]) - 1 / 1.2) < 1e-6, before, after)
    field = browser.find_element("id", "find-box")
    field.send_keys("FORWARD")
    status = "#page-timeline .tools label + .soft"
    b.wait_for(lambda: b.text(browser, status).startswith("8 found"), "one phase of each rank")
    field.send_keys("\n")
    b.wait_for(lambda: b.text(browser, status).startswith("1 of 8: rank "), "the first one")
    h.check(": forward; phase, " in b.text(browser, status), b.text(browser, status))
    field.send_keys("nothing")
    b.wait_for(lambda: b.text(browser, status).startswith("none found"), "a search in vain")


def replace_first(path, make):
    """Replaces the events of the first timeline of a page by those that make(begin, length) returns, us."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    one = json.loads(re.search(r'id="timelines">([^<]*)<', page)[1])[0]
    events = make(one["start_ns"] / 1e3, (one["end_ns"] - one["start_ns"]) / 1e3)
    packed = base64.b64encode(zlib.compress(json.dumps({"traceEvents": events}).encode())).decode()
    page, n = re.subn(rf'(id="timeline-{one["step"]}">)[^<]*', lambda found: found[1] + packed, page)
    h.equal(n, 1, "timelines replaced")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def crowded(path, count):
    """A timeline with `count` boxes, on 20 ranks."""
    each = count // 20
    replace_first(path, lambda begin, length: [
        {"ph": "X", "pid": i // each, "tid": 0, "ts": begin + length * (i % each) / each,
         "dur": 0.8 * length / each, "name": f"op{i % 7}", "cat": ("operator", "mpi")[i % 2]}
        for i in range(count)])


@h.case
def marks_are_drawn():
    """As 3 red pixels of a row that is 13 high, where they are, with what they are in the table."""
    path = b.page_of(b.run("data8"), "marks")
    replace_first(path, lambda begin, length: [
        {"ph": "X", "pid": 0, "tid": 0, "ts": begin, "dur": length, "name": "step", "cat": "step"},
        {"ph": "i", "s": "t", "pid": 0, "tid": 0, "ts": begin + length / 2, "name": "garbage collection",
         "cat": "mark"}])
    with b.chromium() as browser:
        b.visit(browser, path, "timeline")
        rows = [row for row in b.shown_boxes(browser) if "garbage collection" in row]
        h.equal(len(rows), 1, rows)
        red = browser.execute_script("""
            const canvas = document.getElementById("boxes"), { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(0, 0, width, height), out = [];
            for (let i = 0; i < data.length; i += 4)
                if (data[i] === 198 && data[i + 1] === 40 && data[i + 2] === 40)
                    out.push((i / 4) % width - 96);
            return [out, width - 96];""")
        places, plot = sorted(set(red[0])), red[1]
        h.equal((len(red[0]), len(places)), (3 * 13, 3), "red pixels")
        h.check(abs(places[0] - plot / 2) <= 1, places, "of", plot)


@h.case
def a_hundred_thousand_boxes_are_panned():
    """On an idle machine a frame takes a few ms; the limit here is for a busy one."""
    path = b.page_of(b.run("data8"), "page")
    crowded(path, 100000)
    with b.chromium() as browser:
        b.visit(browser, path, "timeline")
        browser.set_script_timeout(60)
        frames = browser.execute_async_script("""
            const done = arguments[0], canvas = document.getElementById("boxes"), times = [];
            const box = canvas.getBoundingClientRect();
            const send = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { clientX: x,
                clientY: box.top + 40, bubbles: true }));
            document.querySelector("#page-timeline .tools button").click(); /* zoom in */
            send("pointerdown", box.left + 600);
            const turn = (now) => {
                times.push(now);
                if (times.length > 90)
                    done({ times, paint: canvas.dataset.paintMs / canvas.dataset.frames,
                           frames: Number(canvas.dataset.frames) });
                else {
                    send("pointermove", box.left + 600 + (times.length % 60) * 3);
                    requestAnimationFrame(turn);
                }
            };
            requestAnimationFrame(turn);""")
        gaps = sorted(y - x for x, y in zip(frames["times"], frames["times"][1:]))
        print(f"median of {len(gaps)} frames: {gaps[len(gaps) // 2]:.1f} ms; painting: "
              f"{frames['paint']:.1f} ms")
        h.check(frames["frames"] >= 60, "painted only", frames["frames"], "frames")
        h.check(frames["paint"] < 60, "a frame took", frames["paint"], "ms")
        h.check("100,000 boxes" in b.find(browser, "#boxes")[0].get_attribute("aria-label"), "boxes")
        b.check_quiet(browser, "timeline")


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
