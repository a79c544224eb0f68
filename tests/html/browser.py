"""What the tests of the HTML report share: simulated runs, a headless Chromium, and looking at pages.

Each run is made once per build directory. Where things are comes from the environment as in
tests/mpi/harness.py; runs and screenshots stay in MPITEST_OUT.
"""
import contextlib
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi"))
import harness as h  # noqa: E402

PAGES = ["overview", "stragglers", "steps", "timeline", "operators", "collectives", "messages", "whatif", "data",
         "resources", "run"]
PATIENCE_S = 30
SLOW = "slow_rank:rank=5,steps=20-60,phase=forward,percent=30"

# The options of `profwrap sim`, by the name of the run.
RUNS = {
    "data8": ["-p", "data", "-r", "8", "-s", "100", "-f", SLOW],
    "operators8": ["-p", "data", "-r", "8", "-s", "40", "--operators", "5", "-f",
                   "slow_operator:rank=3,name=conv2d,factor=3"],
    "gpu6": ["-p", "data", "--gpu", "-r", "6", "-s", "60", "-f",
             "slow_gpu:rank=2,phase=backward,percent=20"],
    "halo16": ["-p", "halo", "-r", "16", "-s", "60", "-f",
               "slow_rank:rank=5,steps=10-40,phase=backward,percent=30;slow_link:from=2,to=3"],
    "readme": ["-p", "halo", "-r", "12", "-s", "120", "-f",
               "slow_rank:rank=7,steps=40-80,phase=backward,percent=35"],
    "partial": ["-p", "data", "-r", "8", "-s", "60", "-f", "missing:rank=2;truncated:rank=6"],
    "late8": ["-p", "data", "-r", "8", "-s", "60", "--os-samples", "-f", "late_setup:rank=2,ms=1500"],
    "frozen16": ["-p", "data", "-r", "16", "-s", "100", "--ranks-per-host", "4", "--os-samples",
                 "-f", "freeze:host=1,ms=2000,steps=50"],
    "slower8": ["-p", "data", "-r", "8", "-s", "100", "-f",
                "slow_all:steps=40-69,phase=forward,percent=80"],
    "link16": ["-p", "ring", "--message", "1M", "--eager", "64K", "-r", "16", "-s", "60",
               "--ranks-per-host", "4", "-f", "slow_link:from=7,to=8,percent=3000"],
    "two8": ["-p", "data", "-r", "8", "-s", "80", "-f",
             "slow_rank:rank=5,steps=10-30,phase=forward,percent=40;"
             "slow_rank:rank=2,steps=50-70,phase=backward,percent=20"],
    "queues4": ["-p", "data", "-r", "4", "-s", "60", "--queues", "-f",
                "starved_loader:rank=1,steps=10-50"],
    "even": ["-p", "data", "-r", "4", "-s", "40"],
    "one_rank": ["-p", "data", "-r", "1", "-s", "20"],
    "one_step": ["-p", "data", "-r", "4", "-s", "1"],
    "no_steps": ["-p", "halo", "-r", "4", "-s", "2", "--unmarked"],
    "wide64": ["-p", "data", "-r", "64", "-s", "500", "-f",
               "slow_rank:rank=40,steps=100-200,phase=backward,percent=20"],
    "wide1024": ["-p", "data", "-r", "1024", "-s", "1000", "--ranks-per-host", "8", "-f",
                 "slow_rank:rank=700,steps=300-600,phase=backward,percent=20"],
}


def out(*names):
    path = os.path.join(h.place("OUT"), *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def programs_time():
    """When the newest of profwrap's programs was built, ns."""
    folders = [os.path.dirname(h.profwrap()[0])]
    folders.append(os.path.join(folders[0], "..", "libexec", "profwrap"))
    return max(os.stat(os.path.join(folder, name)).st_mtime_ns
               for folder in folders for name in os.listdir(folder))


def run(name):
    """The directory of a merged run, made by the programs as they are now. It is made under another name
    first, so that no test uses an incomplete run."""
    folder = out("runs", f"{name}-{programs_time()}")
    if not os.path.exists(folder):
        part = f"{folder}.{os.getpid()}"
        shutil.rmtree(part, ignore_errors=True)
        h.run(h.profwrap("sim", *RUNS[name], part), timeout=600)
        h.run(h.profwrap("merge", "-q", part), timeout=600)
        with contextlib.suppress(OSError):  # another test has made it meanwhile
            os.rename(part, folder)
        shutil.rmtree(part, ignore_errors=True)
    return folder


def page_of(folder, name):
    """Writes the HTML report of a directory to a file of this name."""
    path = os.path.abspath(f"{name}.html")
    h.run(h.profwrap("report", "--format", "html", "-o", path, folder), timeout=120)
    return path


def report_of(folder):
    return json.loads(h.run(h.profwrap("report", "--format", "json", folder)).stdout)


def shown_ns(ns):
    """A time below a second as the page writes it."""
    if ns < 1000:
        return f"{ns} ns"
    value, unit = (ns / 1e3, "us") if ns < 999.5e3 else (ns / 1e6, "ms")
    return f"{value:.{1 if value < 99.95 else 0}f} {unit}"


def wait_for(is_true, what):
    end = time.monotonic() + PATIENCE_S
    while not (found := is_true()):
        h.check(time.monotonic() < end, "waited in vain for", what)
        time.sleep(0.05)
    return found


def shown_boxes(browser):
    """The rows of the table of a timeline: rank, what, kind, from, time."""
    browser.execute_script("document.querySelector('#page-timeline details').open = true")
    wait_for(lambda: find(browser, "#page-timeline tbody tr"), "the table")
    for button in find(browser, "#page-timeline .tools button"):
        if button.is_displayed() and button.text.startswith("Show all"):
            button.click()
    return rows(browser, text(browser, "#page-timeline h3"))


def selenium():
    try:
        from selenium import webdriver
    except ImportError:
        raise h.Skipped("this Python has no selenium (Debian: python3-selenium)") from None
    return webdriver


@contextlib.contextmanager
def chromium(width=1280, height=800, dark=False):
    """A headless browser whose console messages are kept."""
    webdriver = selenium()
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
    # The same engine, which starts with 40 % of the processor time and has no other mode.
    shell = shutil.which("chromium-headless-shell")
    binary = shell or shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not binary or not driver:
        raise h.Skipped("needs chromium and chromedriver (Debian: chromium-headless-shell or chromium, and "
                        "chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in [*([] if shell else ["--headless=new"]), "--disable-gpu", "--hide-scrollbars",
                     f"--window-size={width},{height}", "--force-device-scale-factor=1",
                     *(["--no-sandbox"] if os.geteuid() == 0 else [])]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(service=Service(driver), options=options)
    try:
        resize(browser, width, height)
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        yield browser
    finally:
        # Debian's chromium-headless-shell is a script whose child is the browser; quit() ends the script only.
        with contextlib.suppress(WebDriverException):  # it closes before it answers
            browser.execute_cdp_cmd("Browser.close", {})
        browser.quit()


def resize(browser, width, height):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def visit(browser, path, address="overview"):
    """Opens a page of the report from disk. Returns when it is drawn."""
    browser.get("about:blank")
    browser.get(f"file://{path}#{address}")
    await_page(browser, address)


def await_page(browser, address):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if browser.execute_script("return document.body.dataset.ready") == f"#{address}":
            return
        time.sleep(0.05)
    h.check(False, f"#{address} was not drawn in {PATIENCE_S} s; console:", console(browser))


def walk(browser, path, pages):
    """Opens pages of a report one after the other: the first from disk, the others as links do. Yields
    each when it is drawn."""
    for i, page in enumerate(pages):
        if i == 0:
            visit(browser, path, page)
        else:
            go(browser, page)
        yield page


def go(browser, address):
    browser.execute_script("location.hash = arguments[0]", address)
    await_page(browser, address)


def console(browser):
    """The messages on the console since the last call."""
    return [entry["message"] for entry in browser.get_log("browser")]


def check_quiet(browser, where):
    h.equal(console(browser), [], f"the console on {where}")


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def text(browser, selector):
    """The text of an element, even if the page is just drawing it again."""
    from selenium.common.exceptions import StaleElementReferenceException
    for _ in range(20):
        try:
            return browser.find_element("css selector", selector).text
        except StaleElementReferenceException:
            time.sleep(0.1)
    return browser.find_element("css selector", selector).text


def shoot(browser, name, whole=False):
    """Saves a picture in the build directory, of the screen or of the whole page."""
    script = "return [innerWidth, innerHeight, document.documentElement.scrollHeight]"
    width, height, full = browser.execute_script(script)
    if whole:
        resize(browser, width, full)
        time.sleep(0.4)  # pages are drawn again 150 ms after a change of size
    browser.save_screenshot(out("screenshots", f"{name}.png"))
    if whole:
        resize(browser, width, height)


def shoot_if_asked(browser, name, whole=False):
    """Pictures that no test looks at take longer than what the tests look at."""
    if os.environ.get("PROFWRAP_TEST_PICTURES"):
        shoot(browser, name, whole)


def rows_of_list(browser, title):
    """The terms and descriptions below the heading with this text."""
    return browser.execute_script("""
        const heading = [...document.querySelectorAll("h3")].find((one) => one.textContent === arguments[0]);
        const list = heading.parentElement;
        return Object.fromEntries([...list.querySelectorAll("dt")].map((one) =>
            [one.textContent, one.nextSibling.textContent]));""", title)


def rows(browser, title):
    """The body rows of the table below the heading with this text, as lists of text."""
    return browser.execute_script("""
        const heading = [...document.querySelectorAll("h2, h3")]
            .find((one) => one.textContent === arguments[0]);
        return [...heading.parentElement.querySelector("table").tBodies[0].rows]
            .map((row) => [...row.cells].map((cell) => cell.textContent));""", title)
