"""GPUs and kernels in a real browser, of a run in which rank 2's GPU is hot and slow.
test_gpu.py CASE...   test_gpu.py --list"""
import os
import sys
import time

import browser as b
import harness as h

RIGHT, ENTER = "\ue014", "\ue007"


def panel(browser, title):
    return next(one for one in b.find(browser, "section.panel")
                if one.find_element("css selector", "h3").text.startswith(title))


def cells(browser, title):
    """The first rows of the table below a heading, as dictionaries by column."""
    heads = [one.text for one in panel(browser, title).find_elements("css selector", "th button")]
    return [dict(zip(heads, row, strict=True)) for row in b.rows(browser, title)]


@h.case
def gpu_time_adds_up_and_leads_to_a_rank():
    folder = b.run("gpu6")
    report = b.report_of(folder)
    with b.chromium(1280, 1600) as browser:
        b.visit(browser, b.page_of(folder, "page"), "operators")
        chart = b.find(browser, "#gpu-ranks svg[role=slider]")[0]
        h.equal(len(b.find(browser, "#gpu-ranks svg .pointer")), 1, "ranks pointed at")
        b.find(browser, "#gpu-ranks summary")[0].click()
        time.sleep(0.3)
        table = browser.execute_script("""
            return [...document.querySelectorAll("#gpu-ranks details tr")]
                .map((row) => [...row.cells].map((cell) => cell.textContent));""")
        h.equal([row[0] for row in table[1:]], list("012345"), "ranks of the table")
        steps = report["gpu"]["steps"]
        exposed = sum(step["ranks"][2]["comm_exposed_ns"] for step in steps) / len(steps)
        shown = table[3][table[0].index("communication alone (exposed)")]
        number, unit = shown.split()
        scale = {"us": 1e3, "ms": 1e6}[unit]
        h.check(abs(float(number) * scale / exposed - 1) < 0.01, "shown", shown, "is", exposed)
        browser.execute_script("arguments[0].focus()", chart)
        for key in (RIGHT, RIGHT, ENTER):
            chart.send_keys(key)
        b.await_page(browser, "operators/gpu/2")
        h.check(b.text(browser, "#gpu-rank h3").startswith("GPU time of rank 2"), "the panel")
        top = browser.find_element("id", "gpu-rank").rect["y"]
        scrolled = browser.execute_script("return scrollY")
        h.check(0 <= top - scrolled < 200, "the rank's panel is at", top, "scrolled to", scrolled)
        b.go(browser, "operators/gpu/77")
        h.check("no such rank" in b.text(browser, "#gpu-rank"), "rank 77 is not said to be none")
        b.check_quiet(browser, "operators/gpu")
        b.shoot(browser, "gpu-time", whole=True)


@h.case
def step_bars_of_gpu_ranks_add_up_to_the_step():
    """Waits while the GPU computes cost no time, and are in no part of the step."""
    folder = b.run("gpu6")
    mean = b.report_of(folder)["step_trace"]["mean"]
    h.check(mean["comm_ns"] > 1.1 * mean["comm_exposed_ns"], "no communication is hidden:", mean)
    h.check(abs(mean["wait_ns"] - (mean["total_ns"] - mean["own_ns"])) <= 1, "wait and own:", mean)
    scale = {"ns": 1, "us": 1e3, "ms": 1e6}
    with b.chromium(1280, 1600) as browser:
        b.visit(browser, b.page_of(folder, "page"))
        browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
        for name, step, *parts in b.rows(browser, "Where a step goes"):
            total, *shown = (float(value.split()[0]) * scale[value.split()[1]]
                             for value in [step, *parts[:-1]])
            h.check(abs(sum(shown) - total) < 0.02 * total, name, "is", step, "with parts", parts)


@h.case
def the_slow_gpu_is_marked():
    folder = b.run("gpu6")
    wanted = b.report_of(folder)["gpu"]["ranks"][2]
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"), "operators/gpu/2")
        rows = cells(browser, "All GPUs")
        marked = panel(browser, "All GPUs").find_elements("css selector", "tr.hit")
        h.equal([row.text.split()[0] for row in marked], ["2"], "marked rows")
        h.equal(rows[2]["slowdown"], f"{wanted['slowdown']:.2f} x", "slowdown of rank 2")
        h.equal(rows[2]["SM MHz"], f"{wanted['sm_clock_mhz']:.0f}", "clock of rank 2")
        said = panel(browser, "Ranks that take longer for the same kernels").text
        h.check(said.count("Rank ") == 1 and "Rank 2 takes 1.20 x" in said, said)
        h.check(wanted["slowest_kernel"] in said, wanted["slowest_kernel"], "is not in", said)
        lit = browser.execute_script("""
            const canvas = document.getElementById("kernel-heat");
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, 1);
            const n = canvas.width / 6, columns = Array(6).fill(0);
            for (let x = 0; x < canvas.width; x++)
                columns[Math.floor(x / n)] += data[4 * x] / n;
            return columns;""")
        others = max(lit[:2] + lit[3:])
        h.check(lit[2] > 200 and others < 60, "columns of the heatmap are lit", lit)
        h.check(panel(browser, "Time of each rank in the kernels").find_element(
            "css selector", ".tick.hit").text.startswith(wanted["slowest_kernel"][:20]), "the frame")
        b.check_quiet(browser, "operators")


@h.case
def kernels_can_be_found_and_sorted():
    folder = b.run("gpu6")
    wanted = {one["name"]: one for one in b.report_of(folder)["kernels"]["by_name"]}
    with b.chromium(1280, 1000) as browser:
        b.visit(browser, b.page_of(folder, "page"), "operators/kernels")
        place = browser.execute_script(
            "return document.querySelector('[data-target=kernels]').getBoundingClientRect().y")
        h.check(0 <= place < 200, "the heading is at", place)
        bars = panel(browser, "Most GPU time").find_elements("css selector", "g.row")
        h.equal(len(bars), len(wanted), "bars")
        rows = cells(browser, "All kernels")
        h.equal([row["name"] for row in rows], list(wanted), "most time first")
        for row in rows:
            kernel = wanted[row["name"]]
            h.equal((row["launched by"], row["type"], row["calls"].replace(",", "")),
                    (kernel["operator"], kernel["type"], str(kernel["calls"])), row["name"])
            h.check(row["slowest rank"].startswith(f"{kernel['max_rank']} ("), row)
            h.check(abs(float(row["p95"].split()[0])
                        * {"us": 1e3, "ms": 1e6}[row["p95"].split()[1]] / kernel["p95_ns"] - 1) < 0.05,
                    row["p95"], "is not", kernel["p95_ns"])
        compute = [row for row in rows if row["type"] == "compute"]
        h.check(all(row["slowest rank"].startswith("2 (") for row in compute), "rank 2 is slowest")
        field = panel(browser, "All kernels").find_element("css selector", "input[type=search]")
        field.send_keys("adam")
        h.equal([row["name"] for row in cells(browser, "All kernels")],
                [name for name in wanted if "adam" in name], "found")
        field.clear()
        field.send_keys(" ")
        next(one for one in panel(browser, "All kernels").find_elements("css selector", "th button")
             if one.text == "calls").click()
        most = max(wanted.values(), key=lambda one: one["calls"])
        h.equal(cells(browser, "All kernels")[0]["name"], most["name"], "most calls first")
        b.check_quiet(browser, "operators/kernels")


@h.case
def clocks_power_and_temperature_are_drawn():
    folder = b.run("gpu6")
    with h.h5py().File(os.path.join(folder, "rank-00002.h5")) as file:
        heat = float(file["samples/gpu"][()]["temperature_c"].mean())
    with b.chromium() as browser:
        b.visit(browser, b.page_of(folder, "page"), "resources")
        for title in ("GPU: SM clock", "GPU: power", "GPU: temperature", "GPU: memory used"):
            lines = panel(browser, title).find_elements("css selector", "path[stroke-width='1.6']")
            h.equal(len(lines), 6, f"lines of '{title}'")
        last = browser.execute_script("""
            const box = [...document.querySelectorAll("section.panel")].find((one) =>
                one.querySelector("h3").textContent === arguments[0]);
            return Object.fromEntries([...box.querySelectorAll("path[stroke-width='1.6']")].map(
                (path) => [path.textContent, Number(path.getAttribute("d").match(/([\\d.]+)$/)[1])]));
            """, "GPU: temperature")
        h.check(heat > 80 and all(last["rank 2"] < last[f"rank {rank}"] - 20 for rank in (0, 1, 3, 4, 5)),
                "rank 2 is not hotter in the picture:", last)
        b.go(browser, "resources/2")
        lines = panel(browser, "GPU: SM clock").find_elements("css selector", "path[stroke-width='1.6']")
        h.equal(len(lines), 1, "lines of one rank")
        b.check_quiet(browser, "resources")
        b.shoot(browser, "gpu-clocks", whole=True)


def measured_run():
    """Makes another run: two ranks share a measured GPU, and the program says how many FLOPs its
    model needs."""
    h.run(h.profwrap("sim", "--gpu", "-r", "4", "-s", "20", "measured"))
    for rank in range(4):
        with h.h5py().File(f"measured/rank-{rank:05d}.h5", "a") as file:
            rows, samples = file["devices"][()], file["samples/gpu"][()]
            rows["name"] = b"NVIDIA H100 80GB HBM3"
            rows["uuid"] = b"GPU-%d" % max(rank, 1)
            rows["bus_id"] = b"00000000:%02X:00.0" % (26 + max(rank, 1))
            rows["gpm"] = b"measured"
            for name, value in {"gpm_ns": 10**8, "engine_active": 0.9, "sm_active": 0.8,
                                "sm_occupancy": 0.4, "tensor_active": 0.3 + 0.1 * rank,
                                "dram_active": 0.45, "fp64_active": 0, "fp32_active": 0.1,
                                "fp16_active": 0.02, "pcie_tx_bytes_per_s": 2e9,
                                "pcie_rx_bytes_per_s": 3e9, "nvlink_tx_bytes_per_s": 9e10,
                                "nvlink_rx_bytes_per_s": 9e10, "heat_slowed_ns": 0}.items():
                samples[name] = value
            samples["heat_slowed_ns"][-1] = 5000000
            for name, changed in (("devices", rows), ("samples/gpu", samples)):
                del file[name]
                file[name] = changed
    h.run(h.profwrap("merge", "-q", "--step-flops", "4e12", "measured"))
    return "measured"


@h.case
def each_gpu_is_a_row_and_mfu_is_told():
    folder = measured_run()
    report = b.report_of(folder)
    with b.chromium(1400, 1200) as browser:
        path = b.page_of(folder, "page")
        b.visit(browser, path, "operators")
        rows = cells(browser, "Each GPU")
        h.equal([(row["GPU"], row["ranks"]) for row in rows],
                [("00000000:1B:00.0", "0, 1"), ("00000000:1C:00.0", "2"), ("00000000:1D:00.0", "3")],
                "GPUs and who used them")
        h.equal({row["slowed by heat"] for row in rows}, {"5.0 ms"}, "slowed by heat")
        rows = cells(browser, "What NVML measured on each GPU")
        h.equal([(row["tensor"], row["memory"], row["nearest roof"]) for row in rows],
                [("30 %", "45 %", "memory 50 %"), ("50 %", "45 %", "tensor cores 56 %"),
                 ("60 %", "45 %", "tensor cores 67 %")], "what was measured")
        b.check_quiet(browser, "operators")
        b.shoot(browser, "gpu-each", whole=True)
        b.visit(browser, path, "overview")
        rows = cells(browser, "FLOP/s and MFU")
        h.equal([row["rank"] for row in rows], list("0123"), "ranks")
        mfu = report["flops"]["mfu"]
        said = panel(browser, "FLOP/s and MFU").text
        h.check(f"MFU {100 * mfu:.1f} %" in said, mfu, said)
        h.check("989 TFLOP/s" in rows[0]["their peak"], rows[0])
        b.check_quiet(browser, "overview")
        b.shoot(browser, "mfu", whole=True)
        b.visit(browser, path, "resources")
        lines = panel(browser, "GPU: tensor cores computing")
        h.equal(len(lines.find_elements("css selector", "path[stroke-width='1.6']")), 4, "lines")
        b.check_quiet(browser, "resources")
        b.shoot(browser, "gpm-resources", whole=True)


@h.case
def without_gpus_pages_say_so():
    with b.chromium() as browser:
        path = b.page_of(b.run("even"), "page")
        for page, words in (("operators", "No activity of a GPU was recorded."),
                            ("operators/gpu/0", "No activity of a GPU was recorded."),
                            ("operators/kernels", "No activity of a GPU was recorded."),
                            ("resources", "no GPU was sampled")):
            b.visit(browser, path, page)
            h.check(words in b.text(browser, "#main"), words, "is not on", page)
            b.check_quiet(browser, page)


if __name__ == "__main__":
    sys.exit(h.main(sys.argv[1:]))
