/* Collectives: how long ranks wait for each other in them, how long data moves, and how fast. */
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
        note(box, `${report.collectives.length - most} more are in the table.`);
}

const dotColours = ["var(--accent)", "var(--mark)", "var(--good)", "var(--soft)"];

/* Size against bus bandwidth, both logarithmic; a shape and a colour each operation. */
function bandwidthChart(parent) {
    const { op, bytes, busbw } = report.collective_list.dots;
    const box = panel(parent, "Bus bandwidth by size");
    if (!op.length) {
        note(box, "Not known: no collective that moves data was matched.");
        return;
    }
    const best = d3.max(report.collectives, (row) => row.busbw_max_bytes_per_s) || d3.max(busbw);
    const width = Math.max(box.clientWidth - 30, 260), height = 262, { left, bottom } = chartMargin;
    const svg = d3.select(box).append("svg").attr("viewBox", `0 0 ${width} ${height}`)
        .attr("role", "img").attr("aria-label", `Bus bandwidth of ${op.length} collectives by ` +
            `size; the best is ${formatRate(best)}`);
    const x = d3.scaleLog(d3.extent(bytes), [left + 8, width - 20]).base(2).nice();
    const y = d3.scaleLog([d3.min(busbw), Math.max(best, d3.max(busbw))], [height - bottom, 16]).nice();
    svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
        .call(d3.axisLeft(y).tickValues(y.ticks().filter((d) => Math.log10(d) % 1 === 0))
            .tickFormat((d) => `${d3.format("~s")(d)}B/s`));
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`)
        .call(d3.axisBottom(x).ticks(7).tickFormat((d) => formatBytes(d).replace(".0", "")));
    const names = [...new Set(op)], shape = (name) =>
        d3.symbol().type(d3.symbols[names.indexOf(name) % d3.symbols.length]).size(36)();
    svg.append("g").selectAll("path").data(op).join("path").attr("d", shape)
        .attr("transform", (d, i) => `translate(${x(bytes[i])},${y(busbw[i])})`)
        .attr("fill", (d) => dotColours[names.indexOf(d) % 4]).attr("fill-opacity", 0.5)
        .append("title").text((d, i) => `${d} of ${formatBytes(bytes[i])}: ${formatRate(busbw[i])}`);
    svg.append("line").attr("x1", left).attr("x2", width - 14).attr("y1", y(best))
        .attr("y2", y(best)).attr("stroke", "var(--mark)").attr("stroke-dasharray", "6 4");
    svg.append("text").attr("x", width - 14).attr("y", y(best) - 4).attr("text-anchor", "end")
        .text(`best seen ${formatRate(best)}`);
    svg.append("text").attr("class", "soft").attr("x", width - 14).attr("y", height - 2)
        .attr("text-anchor", "end").text("bytes that a rank moved");
    const keys = d3.select(box).append("div").attr("class", "legend").selectAll("span").data(names)
        .join("span");
    keys.append("svg").attr("viewBox", "-11 -6 22 12").attr("aria-hidden", "true").append("path")
        .attr("d", shape).attr("fill", (d) => dotColours[names.indexOf(d) % 4]);
    keys.append("span").text((d) => d);
}

function collectiveTable(parent) {
    const bound = (row, rate) => (row.bandwidth_is_lower_bound && rate ? ">" : "") + formatRate(rate);
    new Table(panel(parent, "By operation and size"), {
        caption: "Most time first", rows: report.collectives, search: "Find an operation",
        columns: [
            { title: "operation", kind: "text", value: (row) => row.op },
            { title: "ranks", kind: "count", value: (row) => row.nranks },
            { title: "mean size", kind: "bytes", value: (row) => row.mean_bytes },
            { title: "count", kind: "count", value: (row) => row.count },
            { title: "wait mean", kind: "ns", value: (row) => row.wait_mean_ns },
            { title: "wait p95", kind: "ns", value: (row) => row.wait_p95_ns },
            { title: "transfer p50", kind: "ns", value: (row) => row.transfer_p50_ns },
            { title: "transfer p95", kind: "ns", value: (row) => row.transfer_p95_ns },
            { title: "bus bw p50", kind: "rate", value: (row) => row.busbw_p50_bytes_per_s,
              show: (row) => bound(row, row.busbw_p50_bytes_per_s) },
            { title: "bus bw max", kind: "rate", value: (row) => row.busbw_max_bytes_per_s,
              show: (row) => bound(row, row.busbw_max_bytes_per_s) },
        ],
    });
    note(parent, "> at least: a nonblocking operation's transfer includes what ran beside it. " +
        "Bandwidth is of the transfer alone, without the waiting.");
}

function worstCollectives(parent) {
    const { worst, total } = report.collective_list;
    new Table(panel(parent, "One by one"), {
        caption: worst.length < total
            ? `The ${worst.length} with most waiting, of ${formatCount(total)}`
            : "All, most waiting first",
        rows: worst, limit: 20, search: "Find an operation, rank or step", sort: "waiting, all ranks",
        columns: [
            { title: "operation", kind: "text", value: (row) => row.op },
            { title: "step", kind: "plain", value: (row) => row.step,
              show: (row) => stepLink(row.step) },
            { title: "number", kind: "count", value: (row) => row.seq,
              help: "sequence number on its communicator" },
            { title: "size", kind: "bytes", value: (row) => row.bytes },
            { title: "ranks", kind: "count", value: (row) => row.nranks },
            { title: "last to enter", kind: "plain", value: (row) => row.last_rank,
              show: (row) => rankLink(row.last_rank) },
            { title: "waiting, all ranks", kind: "ns", value: (row) => row.wait_ns },
            { title: "transfer", kind: "ns", value: (row) => row.transfer_ns },
            { title: "bus bw", kind: "rate", value: (row) => row.busbw_bytes_per_s },
        ],
    });
}

function renderCollectives(box) {
    box.append(element("h2", {}, "Collectives"));
    if (!report.collectives.length && !report.collective_list.worst.length) {
        note(box, "No collective operations were recorded on a communicator of two ranks or more.");
        return;
    }
    const pair = element("div", { class: "halves" });
    box.append(pair);
    waitAndTransfer(pair);
    bandwidthChart(pair);
    collectiveTable(box);
    worstCollectives(box);
}
