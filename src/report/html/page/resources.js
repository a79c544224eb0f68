/* The pages Resources (the usage of the ranks' processes and GPUs) and Data pipeline. */
const resourceCharts = [
    { field: "cpu", title: "CPU of all threads", format: formatShare },
    { field: "runq", title: "Ready, without a CPU (main thread)", format: formatShare },
    { field: "switches", title: "Involuntary context switches a second", format: d3.format("~s") },
    { field: "rss", title: "Resident memory", format: formatBytes },
    { field: "faults", title: "Page faults a second", format: d3.format("~s") },
    { field: "io", title: "Read and written a second", format: formatBytes },
    { field: "host", title: "Host busy", format: formatShare },
    { field: "received", title: "Received a second by the host's network cards", format: formatBytes,
      isMeasured: true },
    { field: "sent", title: "Sent a second by the host's network cards", format: formatBytes,
      isMeasured: true },
];

const gpuCharts = [
    { field: "clock", title: "GPU: SM clock", format: (d) => `${formatCount(d)} MHz` },
    { field: "slowed", title: "GPU: clock slowed by heat or power", format: formatShare, most: 1 },
    { field: "power", title: "GPU: power", format: (d) => `${formatCount(d)} W` },
    { field: "heat", title: "GPU: temperature", format: (d) => `${d} \u00b0C` },
    { field: "busy", title: "GPU: busy", format: formatShare, most: 1 },
    { field: "memory", title: "GPU: memory used", format: formatBytes },
    { field: "sm", title: "GPU: multiprocessors with work", format: formatShare, most: 1, isMeasured: true },
    { field: "tensor", title: "GPU: tensor cores computing", format: formatShare, most: 1,
      isMeasured: true },
    { field: "dram", title: "GPU: traffic of its memory, of what it can", format: formatShare, most: 1,
      isMeasured: true },
];

/* True when a chart is drawn: NVML's measurements (GPM) are not available on every GPU, and network
 * cards not in runs of older versions. */
function isDrawn({ field, isMeasured }, series) {
    return !isMeasured || series.some((one) => one[field].some(isKnown));
}

/* Returns a line for each GPU of each rank. */
function gpuLines(series, field) {
    const several = new Set(series.filter(({ device }) => device > 0).map(({ rank }) => rank));
    return series.map((one) => ({ times: one.time_s, values: one[field],
        name: `rank ${one.rank}${several.has(one.rank) ? `, GPU ${one.device}` : ""}` }));
}

function usageTable(parent, rows) {
    const share = (title, field, help) => ({ title, kind: "share", help,
        value: (row) => row[field] });
    const count = (title, field, kind) => ({ title, kind: kind || "count",
        value: (row) => (isKnown(row[field]) ? Math.round(row[field]) : null) });
    new Table(parent, {
        caption: "Over the measured steps", rows, search: "Find a rank or host",
        sort: "without a CPU",
        columns: [
            { title: "rank", kind: "count", value: (row) => row.rank,
              show: (row) => element("a", { href: `#resources/${row.rank}` }, String(row.rank)) },
            { title: "host", kind: "text", value: (row) => row.hostname || "" },
            share("CPU user", "cpu_user_share", "of all threads: may be above 100 %"),
            share("CPU system", "cpu_sys_share"), share("main", "main_cpu_share"),
            share("without a CPU", "runq_share", "the main thread was ready to run"),
            count("switches /s", "involuntary_cs_per_s"), count("faults", "major_faults"),
            count("memory", "rss_max_bytes", "bytes"), count("read", "read_bytes", "bytes"),
            count("written", "write_bytes", "bytes"), share("host busy", "host_busy_share"),
        ],
    });
}

function cardTable(parent, rows) {
    const column = (title, field, kind) => ({ title, kind, value: (row) => row[field] });
    new Table(parent, {
        caption: "Of the whole host, over the measured steps of the rank; without loopback",
        rows, search: "Find a host or card", sort: "received",
        columns: [
            column("host", "hostname", "text"), column("card", "card", "text"),
            column("seen by rank", "rank", "count"),
            column("received", "recv_bytes", "bytes"), column("a second", "recv_bytes_per_s", "bytes"),
            column("sent", "sent_bytes", "bytes"), column("sent a second", "sent_bytes_per_s", "bytes"),
            column("packets in", "recv_packets", "count"), column("out", "sent_packets", "count"),
            column("errors", "errors", "count"), column("dropped", "drops", "count"),
        ],
    });
}

function memoryTable(parent, rows) {
    const slope = (field) => (row) => (isKnown(row[field]) ? Math.round(row[field]) : null);
    new Table(parent, {
        caption: "Growth: slope of a line through the memory at the end of each step; fit: how much of the " +
            "changes it explains", rows, sort: "peak", search: "Find a rank",
        columns: [
            { title: "rank", kind: "count", value: (row) => row.rank },
            { title: "what", kind: "text", value: (row) => row.what +
                (isKnown(row.device) ? ` on device ${row.device}` : "") },
            { title: "peak", kind: "bytes", value: (row) => row.peak_bytes },
            { title: "end", kind: "bytes", value: (row) => row.end_bytes },
            { title: "growth a step, bytes", kind: "count", value: slope("bytes_per_step") },
            { title: "later half", kind: "count", value: slope("later_bytes_per_step") },
            { title: "fit", kind: "share", value: (row) => row.fit },
        ],
    });
}

async function renderResources(box, [rank]) {
    box.append(element("h2", {}, "Resources"));
    const { utilisation, memory } = report;
    adviceAbout(box, ["oversubscribed", "cpu_contention", "cgroup_throttling", "page_faults", "file_io",
        "memory_growth"]);
    const used = utilisation ? utilisation.series : [], gpus = await lateKey("gpu_series");
    const all = used.concat(gpus), ranks = drawnRanks(all, rank);
    if (all.length)
        rankChooser(box, "resources", all, rank);
    const draw = ({ title, format, most }, lines) =>
        timeChart(panel(box, title), { label: `${title} over the run`, format, most, lines });
    for (const chart of utilisation ? resourceCharts.filter((one) => isDrawn(one, used)) : [])
        draw(chart, used.filter((one) => ranks.includes(one.rank)).map((one) => ({
            name: `rank ${one.rank}`, times: one.time_s, values: one[chart.field] })));
    const drawn = gpus.filter((one) => ranks.includes(one.rank));
    for (const chart of drawn.length ? gpuCharts.filter((one) => isDrawn(one, drawn)) : [])
        draw(chart, gpuLines(drawn, chart.field));
    if (utilisation)
        usageTable(panel(box, "Processes"), utilisation.ranks);
    else
        note(box, "Not known: processes were not sampled.");
    if (utilisation && utilisation.network_cards && utilisation.network_cards.length)
        cardTable(panel(box, "Network cards"), utilisation.network_cards);
    if (!gpus.length)
        note(box, "Not known: no GPU was sampled.");
    if (memory)
        memoryTable(panel(box, "Memory"), memory);
}

/* Draws the data pipeline: its queues, the operators between them, and what is too slow. */
function pipelineGraph(parent, { queues, operators }) {
    const place = new Map(queues.map((queue) => [queue.queue, queue]));
    const nodes = operators.flatMap((operator) => [
        { kind: "operator", name: operator.operator || "?", suspect: operator.suspect },
        ...(operator.right ? [{ kind: "queue", name: operator.right,
            queue: place.get(operator.right) }] : [])]);
    const w = 118, gap = 26, width = nodes.length * (w + gap), height = 74;
    const words = nodes.map((node) => node.kind === "queue"
        ? `queue ${node.name} ${formatShare(node.queue.usage)} full`
        : `${node.name}${node.suspect ? " (suspect)" : ""}`).join(", then ");
    const svg = d3.select(parent).append("svg").attr("viewBox", `0 0 ${width} ${height}`)
        .attr("role", "img").attr("aria-label", words).style("max-width", `${width}px`);
    const groups = svg.selectAll("g").data(nodes).join("g")
        .attr("transform", (d, i) => `translate(${i * (w + gap) + 2},10)`);
    groups.filter((d, i) => i > 0).append("path").attr("d", `M${-gap},26H-6m-6,-5l6,5l-6,5`)
        .attr("fill", "none").attr("stroke", "var(--soft)").attr("stroke-width", 1.5);
    groups.append("rect").attr("width", w).attr("height", 54).attr("fill", "var(--page)")
        .attr("rx", (d) => (d.kind === "queue" ? 0 : 14))
        .attr("stroke", (d) => (d.suspect ? "var(--mark)" : "var(--line)"))
        .attr("stroke-width", (d) => (d.suspect ? 3 : 1.5));
    groups.filter((d) => d.kind === "queue").append("rect").attr("y", 46).attr("height", 8)
        .attr("fill", "var(--accent)").attr("width", (d) => w * (d.queue.usage || 0));
    groups.append("text").attr("x", w / 2).attr("y", 20).attr("text-anchor", "middle")
        .text((d) => (d.name.length > 16 ? `${d.name.slice(0, 15)}…` : d.name));
    groups.append("text").attr("class", "soft").attr("x", w / 2).attr("y", 38)
        .attr("text-anchor", "middle").text((d) => (d.kind === "queue"
            ? `${formatShare(d.queue.usage)} full` : d.suspect ? "suspect" : ""));
    groups.append("title").text((d) => d.name);
}

function queueTable(parent, data) {
    const rows = [...data.queues, ...(data.ranks || [])], slow = new Set(data.ranks_slow);
    new Table(parent, {
        caption: "Queues over the measured steps", rows, search: "Find a queue or rank",
        isHit: (row) => slow.has(row.rank),
        columns: [
            { title: "rank", kind: "text", value: (row) => (isKnown(row.rank) ? String(row.rank)
                : "all") },
            { title: "queue", kind: "text", value: (row) => row.queue },
            { title: "side", kind: "text", value: (row) => row.side },
            { title: "filled by", kind: "text", value: (row) => row.filled_by || "n/a" },
            { title: "usage", kind: "share", value: (row) => row.usage },
            { title: "empty", kind: "share", value: (row) => row.empty_share },
            { title: "capacity", kind: "count", value: (row) => row.capacity },
            { title: "steps", kind: "count", value: (row) => row.steps },
            { title: "that found it empty", kind: "count", value: (row) => row.steps_empty },
            ...(rows.some((row) => row.filled_by_cpus > 0) ? [{ title: "CPUs of what fills it", kind: "plain",
                help: "mean number of CPUs that the operator used", value: (row) => row.filled_by_cpus,
                show: (row) => (isKnown(row.filled_by_cpus) ? row.filled_by_cpus.toFixed(2) : "n/a") }] : []),
        ],
    });
    note(parent, "usage: mean of size / capacity; empty: samples with nothing in it. Marked: ranks " +
        "whose pipeline is too slow.");
}

function renderData(box, [rank]) {
    box.append(element("h2", {}, "Data pipeline"));
    const data = report.data_pipeline;
    if (!data) {
        note(box, "Not known: no queue was sampled." + (report.job.imported ? "" :
            " profwrap_queue() records how full a queue is; that of PyTorch's DataLoader is recorded when " +
            "it has workers."));
        return;
    }
    adviceAbout(box, ["data_processing_slow", "data_transfer_slow", "data_wait", "data_starvation",
        "blocked_off_cpu_data", "slow_data"]);
    pipelineGraph(panel(box, "The pipeline, all ranks together"), data);
    rankChooser(box, "data", data.series, rank);
    const ranks = drawnRanks(data.series, rank);
    data.queues.forEach((queue, place) => {
        timeChart(panel(box, `Queue '${queue.queue}': items in it`), {
            label: `Size of queue ${queue.queue} over the run`, format: (d) => String(d),
            most: queue.capacity || null,
            lines: data.series.filter((one) => one.place === place && ranks.includes(one.rank))
                .map((one) => ({ name: `rank ${one.rank}`, times: one.time_s, values: one.size })),
        });
    });
    queueTable(panel(box, "Queues"), data);
}

/* Dash patterns of lines over the time of the run. The lines have times of their own, because ranks
 * are not sampled at the same times. */
const dashes = [null, "7 3", "2 3", "9 3 2 3", "4 2"];

/* lines: [{name, times, values}]; a value is of the interval that ends at its time. `format` makes
 * its text. */
function timeChart(parent, { label, lines, format, most }) {
    const shown = lines.filter((line) => line.values.some(isKnown));
    if (!shown.length) {
        note(parent, `${label}: not known.`);
        return;
    }
    const width = Math.max(parent.clientWidth - 30, 260), height = 190;
    const svg = d3.select(parent).append("svg").attr("viewBox", `0 0 ${width} ${height}`)
        .attr("role", "img").attr("aria-label", label);
    const x = d3.scaleLinear([0, d3.max(shown, (line) => d3.max(line.times)) || 1],
        [chartMargin.left, width - chartMargin.right]);
    const top = most || d3.max(shown, (line) => d3.max(line.values, (d) => (isKnown(d) ? d : NaN)));
    const y = d3.scaleLinear([0, top || 1], [height - chartMargin.bottom, chartMargin.top]).nice(4);
    svg.append("g").attr("class", "axis").attr("transform", `translate(${chartMargin.left},0)`)
        .call(d3.axisLeft(y).ticks(4).tickFormat(format));
    svg.append("g").attr("class", "axis")
        .attr("transform", `translate(0,${height - chartMargin.bottom})`)
        .call(d3.axisBottom(x).ticks(8).tickFormat((d) => `${d} s`));
    const colour = (i) => d3.interpolateViridis(0.1 + 0.75 * i / Math.max(shown.length - 1, 1));
    svg.append("g").attr("fill", "none").selectAll("path").data(shown).join("path")
        .attr("stroke", (d, i) => colour(i)).attr("stroke-width", 1.6)
        .attr("stroke-dasharray", (d, i) => dashes[i % dashes.length])
        .attr("d", ({ times, values }) => d3.line().defined(isKnown)
            .x((d, i) => x(times[i])).y((d) => y(d)).curve(d3.curveStepBefore)(values))
        .append("title").text((d) => d.name);
    if (shown.length <= 8)
        legend(parent, shown.map((line, i) => ({ name: line.name, isLine: true, colour: colour(i),
            dash: dashes[i % dashes.length] })));
}

/* Returns the ranks to draw: the rank in the address, else first stragglers and then other ranks,
 * at most 8. */
function drawnRanks(series, chosen) {
    const ranks = [...new Set(series.map((one) => one.rank))];
    const wanted = Number(chosen);
    return /^\d+$/.test(chosen || "") && ranks.includes(wanted) ? [wanted] : ranks.slice(0, 8);
}

function rankChooser(parent, page, series, chosen) {
    const ranks = [...new Set(series.map((one) => one.rank))].sort(d3.ascending);
    parent.append(element("div", { class: "tools" }, chooser("Show",
        [["", ranks.length > 8 ? "stragglers and others" : "all ranks"],
            ...ranks.map((rank) => [String(rank), `rank ${rank}`])], chosen || "",
        (rank) => { location.hash = rank ? `${page}/${rank}` : page; })));
}

/* Shows the advice of the given rules. */
function adviceAbout(parent, rules) {
    const found = report.advice.filter((advice) => rules.includes(advice.rule));
    if (found.length)
        panel(parent, "What to do", adviceList(found));
}

function adviceList(advice) {
    return element("ol", { class: "advice" }, ...advice.map((one) => element("li", {}, one.text,
        one.evidence || isKnown(one.saves_ns) ? element("div", { class: "soft small" },
            (one.saves_ns > 0 ? `Would save up to ${formatNs(one.saves_ns)}` +
                `${isKnown(one.share) ? ` (${formatShare(one.share)})` : ""}. ` : "") +
            (one.evidence ? `Seen: ${one.evidence}. ` : "") + `[${one.rule}]`) : null)));
}
