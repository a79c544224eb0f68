/* What the ranks' processes used: over the run, and in a table. */
const resourceCharts = [
    { field: "cpu", title: "CPU of all threads", format: formatShare },
    { field: "runq", title: "Ready, without a CPU (main thread)", format: formatShare },
    { field: "switches", title: "Involuntary context switches a second", format: d3.format("~s") },
    { field: "rss", title: "Resident memory", format: formatBytes },
    { field: "faults", title: "Page faults a second", format: d3.format("~s") },
    { field: "io", title: "Read and written a second", format: formatBytes },
    { field: "host", title: "Host busy", format: formatShare },
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

/* What NVML measures (GPM) is not there of every GPU. */
function isDrawn({ field, isMeasured }, series) {
    return !isMeasured || series.some((one) => one[field].some(isKnown));
}

/* Of ranks with several GPUs each has a line. */
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
    for (const chart of utilisation ? resourceCharts : [])
        draw(chart, used.filter((one) => ranks.includes(one.rank)).map((one) => ({
            name: `rank ${one.rank}`, times: one.time_s, values: one[chart.field] })));
    const drawn = gpus.filter((one) => ranks.includes(one.rank));
    for (const chart of drawn.length ? gpuCharts.filter((one) => isDrawn(one, drawn)) : [])
        draw(chart, gpuLines(drawn, chart.field));
    if (utilisation)
        usageTable(panel(box, "Processes"), utilisation.ranks);
    else
        note(box, "Not known: processes were not sampled.");
    if (!gpus.length)
        note(box, "Not known: no GPU was sampled.");
    if (memory)
        memoryTable(panel(box, "Memory"), memory);
}
