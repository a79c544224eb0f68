/* The page Collectives: how long ranks wait for each other, how long transfers take, and their
 * bandwidth. */
function collectiveName(row) {
    const size = row.bytes_max ? ` \u2264 ${formatBytes(row.bytes_max + 1).replace(".0", "")}` : "";
    const isAlone = report.collectives.every((other) => other.nranks === row.nranks);
    return `${row.op}${size}${isAlone ? "" : `, ${plural(row.nranks, "rank")}`}`;
}

function waitAndTransfer(parent) {
    const most = 12, rows = report.collectives.slice(0, most);
    const box = panel(parent, "Waiting and transfer, mean of each operation and size");
    barChart(box, {
        label: "Mean waiting and transfer of each operation and size; the table has the numbers",
        keys: [{ name: "waiting for the last rank", isHatched: true },
            { name: "transfer", colour: "var(--accent)" }],
        rows: rows.map((row) => ({ name: collectiveName(row), parts: [
            { value: row.wait_mean_ns, isHatched: true,
              words: `waiting ${formatNs(row.wait_mean_ns)}` },
            { value: row.transfer_mean_ns, colour: "var(--accent)",
              words: `transfer ${formatNs(row.transfer_mean_ns)}` },
        ] })),
        format: formatNs,
    });
    if (report.collectives.length > most)
        note(box, `${plural(report.collectives.length - most, "more row")} in the table.`);
}

/* Sums by rank: how often it was the last to enter, and how long all other ranks together waited
 * for it. */
function lastRanks() {
    const { last_rank: rank, wait_ns: wait, total } = report.collective_list, found = new Map();
    rank.forEach((last, i) => {
        if (!isKnown(last))
            return;
        const row = found.get(last) || { rank: last, times: 0, wait_ns: 0 };
        row.times++;
        row.wait_ns += wait[i] || 0;
        found.set(last, row);
    });
    return { rows: d3.sort(found.values(), (row) => -row.wait_ns), isAll: rank.length === total };
}

function waitedFor(parent) {
    const most = 12, { rows, isAll } = lastRanks();
    const box = panel(parent, "Ranks that the others waited for");
    const shown = rows.filter((row) => row.wait_ns > 0).slice(0, most);
    if (!shown.length) {
        note(box, "None: no waiting in collectives is known.");
        return;
    }
    barChart(box, {
        label: "Time that all other ranks together waited for the last to enter, by that rank",
        rows: shown.map((row) => ({ name: `rank ${row.rank}, ${formatCount(row.times)} times last`,
            href: `#stragglers/rank/${row.rank}`, parts: [{ value: row.wait_ns,
                colour: "var(--accent)", words: formatNs(row.wait_ns) }] })),
        format: formatNs,
    });
    note(box, "Time of all waiting ranks together, in collectives that this rank was the last to " +
        `enter${isAll ? "" : "; counts only the collectives listed below"}.`);
    tableBehind(box, "All of them as a table", {
        caption: "By the time that others waited", rows, sort: "others waited",
        columns: [
            { title: "rank", kind: "plain", value: (row) => row.rank,
              show: (row) => rankLink(row.rank) },
            { title: "times last", kind: "count", value: (row) => row.times },
            { title: "others waited", kind: "ns", value: (row) => row.wait_ns },
        ],
    });
}

const dotColours = ["var(--accent)", "var(--mark)", "var(--good)", "var(--soft)"], mostDots = 3000;

/* Returns the instances with a bandwidth; when there are too many to draw, a sample of them. */
function bandwidthDots() {
    const { op, bytes, busbw } = report.collective_list;
    const known = d3.range(op.length).filter((i) => busbw[i] > 0 && bytes[i] > 0);
    const stride = Math.ceil(known.length / mostDots) || 1;
    return known.filter((_, i) => i % stride === 0)
        .map((i) => ({ op: op[i], bytes: bytes[i], busbw: busbw[i] }));
}

function bandwidthAxes(svg, x, y, { width, height }) {
    const { left, bottom } = chartMargin, [least, most] = y.domain();
    const decades = most / least < 5 ? d3.ticks(least, most, 5)
        : d3.range(-9, 16).flatMap((power) => (most / least > 30 ? [1] : [1, 2, 5])
            .map((digit) => digit * 10 ** power)).filter((d) => d >= least && d <= most);
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
        .call(d3.axisLeft(y).tickValues(decades).tickFormat((d) =>
            d3.format("~s")(d).replace(/([a-zA-Z]?)$/, " $1B/s")).tickSizeOuter(0));
    const powers = d3.range(0, 60).map((power) => 2 ** power)
        .filter((d) => d >= x.domain()[0] && d <= x.domain()[1]);
    const step = Math.ceil(powers.length / Math.max(width / 80, 1));
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`)
        .call(d3.axisBottom(x).tickValues(powers.filter((_, i) => i % step === 0))
            .tickFormat((d) => formatBytes(d).replace(".0", "")).tickSizeOuter(0));
    svg.append("text").attr("class", "soft").attr("x", width - 14).attr("y", height - 2)
        .attr("text-anchor", "end").text("bytes that a rank moved");
}

/* Draws bus bandwidth over size, both logarithmic; each operation has a shape and a colour. */
function bandwidthChart(parent) {
    const dots = bandwidthDots(), box = panel(parent, "Bus bandwidth by size");
    if (!dots.length) {
        note(box, "Not known: no collective that moves data was matched.");
        return;
    }
    const best = Math.max(report.collective_totals.busbw_max || 0,
        d3.max(dots, (dot) => dot.busbw));
    const [least, most] = d3.extent(dots, (dot) => dot.bytes);
    const width = Math.max(box.clientWidth - 30, 260), height = 280, { left, bottom } = chartMargin;
    const svg = d3.select(box).append("svg").attr("viewBox", `0 0 ${width} ${height}`)
        .attr("role", "img").attr("aria-label", `Bus bandwidth of ${dots.length} collectives by ` +
            `size; the best is ${formatRate(best)}; the tables below have the numbers`);
    const x = d3.scaleLog([least / 1.6, most * 1.6], [left, width - 14]).base(2);
    const y = d3.scaleLog([Math.min(d3.min(dots, (dot) => dot.busbw) / 1.3, best / 2), best * 1.25],
        [height - bottom, 12]);
    bandwidthAxes(svg, x, y, { width, height });
    const names = [...new Set(dots.map((dot) => dot.op))], shape = (name) =>
        d3.symbol().type(d3.symbols[names.indexOf(name) % d3.symbols.length]).size(40)();
    svg.append("g").selectAll("path").data(dots).join("path").attr("d", (dot) => shape(dot.op))
        .attr("transform", (dot) => `translate(${x(dot.bytes)},${y(dot.busbw)})`)
        .attr("fill", (dot) => dotColours[names.indexOf(dot.op) % 4]).attr("fill-opacity", 0.4)
        .append("title").text((dot) =>
            `${dot.op} of ${formatBytes(dot.bytes)}: ${formatRate(dot.busbw)}`);
    svg.append("line").attr("x1", left).attr("x2", width - 14).attr("y1", y(best))
        .attr("y2", y(best)).attr("stroke", "var(--mark)").attr("stroke-dasharray", "6 4");
    svg.append("text").attr("x", left + 6).attr("y", y(best) - 5).text(`best seen ${formatRate(best)}`);
    const keys = d3.select(box).append("div").attr("class", "legend").selectAll("span").data(names)
        .join("span");
    keys.append("svg").attr("viewBox", "-11 -6 22 12").attr("aria-hidden", "true").append("path")
        .attr("d", shape).attr("fill", (d) => dotColours[names.indexOf(d) % 4]);
    keys.append("span").text((d) => d);
}

/* Adds "~" before a time between ranks that is within the clock error. */
function crossNs(ns) {
    const error = report.clock.error_max_ns;
    return (isKnown(ns) && ns > 0 && isKnown(error) && ns < error ? "~" : "") + formatNs(ns);
}

function collectiveTable(parent) {
    const bound = (row, rate) => (row.bandwidth_is_lower_bound && rate ? ">" : "") + formatRate(rate);
    const n = report.collectives.length, all = report.collective_totals.rows;
    new Table(panel(parent, "By operation and size"), {
        caption: n < all ? `The ${formatCount(n)} with most time, of ${formatCount(all)}`
            : "Most time first",
        rows: report.collectives, search: "Find an operation",
        columns: [
            { title: "operation", kind: "text", value: (row) => row.op },
            { title: "communicator", kind: "text", value: (row) => row.comm_uid },
            { title: "ranks", kind: "count", value: (row) => row.nranks },
            { title: "mean size", kind: "bytes", value: (row) => row.mean_bytes },
            { title: "count", kind: "count", value: (row) => row.count },
            { title: "wait mean", kind: "ns", value: (row) => row.wait_mean_ns,
              show: (row) => crossNs(row.wait_mean_ns) },
            { title: "wait p95", kind: "ns", value: (row) => row.wait_p95_ns,
              show: (row) => crossNs(row.wait_p95_ns) },
            { title: "transfer p50", kind: "ns", value: (row) => row.transfer_p50_ns,
              show: (row) => crossNs(row.transfer_p50_ns) },
            { title: "transfer p95", kind: "ns", value: (row) => row.transfer_p95_ns,
              show: (row) => crossNs(row.transfer_p95_ns) },
            { title: "bus bw p50", kind: "rate", value: (row) => row.busbw_p50_bytes_per_s,
              show: (row) => bound(row, row.busbw_p50_bytes_per_s) },
            { title: "bus bw max", kind: "rate", value: (row) => row.busbw_max_bytes_per_s,
              show: (row) => bound(row, row.busbw_max_bytes_per_s) },
        ],
    });
    note(parent, "> at least: a nonblocking operation's transfer includes what ran beside it. " +
        "Bandwidth is of the transfer alone, without the waiting. ~ within the clock error: such a " +
        "transfer has no bandwidth.");
}

function eachCollective(parent) {
    const list = report.collective_list, n = list.op.length, of = (name) => (i) => list[name][i];
    new Table(panel(parent, "One by one"), {
        caption: n < list.total ? `The ${formatCount(n)} with most waiting, of ` +
            formatCount(list.total) : `All ${formatCount(n)}, most waiting first`,
        rows: d3.range(n), limit: 20, search: "Find an operation, communicator, rank or step",
        sort: "waiting, all ranks",
        columns: [
            { title: "operation", kind: "text", value: of("op") },
            { title: "step", kind: "plain", value: of("step"), words: (i) => `step ${list.step[i]}`,
              show: (i) => stepLink(list.step[i]) },
            { title: "communicator", kind: "text", value: of("comm") },
            { title: "number", kind: "count", value: of("seq"),
              help: "sequence number on its communicator" },
            { title: "size", kind: "bytes", value: of("bytes") },
            { title: "ranks", kind: "count", value: of("nranks") },
            { title: "last to enter", kind: "plain", value: of("last_rank"),
              words: (i) => `rank ${list.last_rank[i]}`, show: (i) => rankLink(list.last_rank[i]) },
            { title: "waiting, all ranks", kind: "ns", value: of("wait_ns") },
            { title: "transfer", kind: "ns", value: of("transfer_ns"),
              show: (i) => crossNs(list.transfer_ns[i]) },
            { title: "bus bw", kind: "rate", value: of("busbw") },
        ],
    });
}

async function renderCollectives(box) {
    box.append(element("h2", {}, "Collectives"));
    await lateKey("collective_list");
    if (!report.collectives.length && !report.collective_list.op.length) {
        note(box, "No collective operations were recorded on a communicator of two ranks or more.");
        await renderHccl(box);
        return;
    }
    const pair = element("div", { class: "halves" });
    box.append(pair);
    waitAndTransfer(pair);
    waitedFor(pair);
    bandwidthChart(box);
    collectiveTable(box);
    await renderHccl(box);
    eachCollective(box);
}
/* What HCCL's own profiler measured, on the page Collectives: the times of each rank, and the links
 * between ranks. Only imported profiles of Ascend's devices have these figures. */
function hcclRanks(parent) {
    const box = panel(parent, "HCCL: times of each rank");
    new Table(box, {
        caption: "A row for each rank and group",
        rows: report.hccl.ranks, search: "Find a rank",
        columns: [
            { title: "rank", kind: "plain", value: (row) => row.rank, show: (row) => rankLink(row.rank) },
            { title: "communicator", kind: "text", value: (row) => row.comm_uid },
            { title: "operations", kind: "count", value: (row) => row.operations },
            { title: "elapsed", kind: "ns", value: (row) => row.elapsed_ns },
            { title: "transfer", kind: "ns", value: (row) => row.transfer_ns },
            { title: "wait", kind: "ns", value: (row) => row.wait_ns },
            { title: "of it before any transfer", kind: "ns", value: (row) => row.sync_ns },
            { title: "idle", kind: "ns", value: (row) => row.idle_ns },
        ],
    });
    note(box, "As HCCL's own profiler measured it. The waiting in the other tables of this page is " +
        "computed from when all ranks entered.");
}

function hcclLinks(parent) {
    const { links, links_total: total } = report.hccl;
    const box = panel(parent, "HCCL: links between ranks");
    new Table(box, {
        caption: `The slowest beside the others of their kind first${links.length < total
            ? `: ${formatCount(links.length)} of ${formatCount(total)}` : ""}`,
        rows: links, search: "Find a rank",
        columns: [
            { title: "from", kind: "plain", value: (row) => row.src, show: (row) => rankLink(row.src) },
            { title: "to", kind: "plain", value: (row) => row.dst, show: (row) => rankLink(row.dst) },
            { title: "by", kind: "text", value: (row) => row.transport },
            { title: "transfers", kind: "count", value: (row) => row.transfers },
            { title: "bytes", kind: "bytes", value: (row) => row.bytes },
            { title: "time", kind: "ns", value: (row) => row.transfer_ns },
            { title: "bandwidth", kind: "rate", value: (row) => row.bandwidth_bytes_per_s },
            { title: "of the others", kind: "rate", value: (row) => row.usual_bandwidth_bytes_per_s,
              help: "median of the other links by the same transport" },
            { title: "times as long", kind: "plain", value: (row) => row.slowness,
              show: (row) => (isKnown(row.slowness) ? row.slowness.toFixed(2) : "n/a") },
        ],
    });
}

async function renderHccl(box) {
    await lateKey("hccl");
    if (!report.hccl)
        return;
    if (report.hccl.ranks.length)
        hcclRanks(box);
    if (report.hccl.links.length)
        hcclLinks(box);
}
