/* The page of GPUs: how they spent their time, for every rank, and for one rank in each step. */
const gpuFields = ["busy", "compute", "comm", "comm_exposed", "idle_host", "idle_gap", "idle_other"];

/* The parts that add up to the time, from lists of the fields above; NaN: not known. */
function gpuLayers({ busy, compute, comm, comm_exposed: exposed, idle_host: host, idle_gap: gap,
    idle_other: other }) {
    const list = (make) => d3.range(busy.length).map((i) =>
        (Number.isFinite(busy[i]) ? Math.max(make(i), 0) : NaN));
    return [
        { name: "computing", colour: phaseColour(1),
          values: list((i) => compute[i] - (comm[i] - exposed[i])) },
        { name: "computing, communication hidden behind it", colour: phaseColour(3),
          values: list((i) => comm[i] - exposed[i]) },
        { name: "communication alone (exposed)", isHatched: true, values: list((i) => exposed[i]) },
        { name: "copies alone", colour: phaseColour(5),
          values: list((i) => busy[i] - compute[i] - exposed[i]) },
        { name: "idle: the host was late", colour: "var(--mark)",
          values: list((i) => host[i]) },
        { name: "idle: between kernels", colour: "var(--soft)", values: list((i) => gap[i]) },
        { name: "idle: waiting or nothing to do", colour: "var(--line)",
          values: list((i) => other[i]) },
    ].filter(({ values }) => d3.max(values) > 0);
}

function describeLayers(layers, i) {
    const whole = d3.sum(layers, ({ values }) => values[i]);
    return layers.map(({ name, values }) => (Number.isFinite(values[i])
        ? `${name}: ${formatNs(values[i])}, ${formatShare(values[i] / whole)}` : `${name}: n/a`))
        .join("\n");
}

/* Limits for "takes longer for the same kernels"; the text report has the same. */
function isSlowGpu(row) {
    return row.slowdown > 1.01 && row.confidence >= 0.95 && isKnown(row.slowest_kernel);
}

function gpuOfRanks(parent) {
    const { ranks, step } = report.gpu, byRank = new Map(ranks.map((row) => [row.rank, row]));
    const shown = report.ranks.rank.map((rank, row) => ({ rank, row, gpu: byRank.get(rank) }))
        .filter(({ gpu }) => gpu);
    const lists = Object.fromEntries(gpuFields.map((field) => [field, shown.map(({ row, gpu }) =>
        (step ? step[`${field}_ns`][row] : gpu[`${field}_ns`]) ?? NaN)]));
    const what = step ? `mean of ${plural(report.steps.measured, "measured step")}` : "whole run";
    const box = panel(parent, `Where GPU time goes: ${what}`), layers = gpuLayers(lists);
    box.id = "gpu-ranks";
    if (!layers.length) {
        note(box, "Not known.");
        return;
    }
    stackChart(box, {
        label: `GPU time of each rank, ${what}`, count: shown.length, xTitle: "rank", layers,
        names: (i) => shown[i].rank,
        pointed: d3.range(shown.length).filter((i) => isSlowGpu(shown[i].gpu)),
        describe: (i) => `rank ${shown[i].rank}, ${shown[i].gpu.hostname || "host not known"}\n` +
            describeLayers(layers, i),
        onPick: (i) => { location.hash = `operators/gpu/${shown[i].rank}`; },
    });
    note(box, "All GPUs of a rank count as one. A click shows that rank's steps. The host was late: " +
        "the next kernel was launched after the GPU had run out of work." +
        (shown.some(({ gpu }) => isSlowGpu(gpu)) ? " \u25bc: takes longer for the same kernels." : ""));
    tableBehind(box, "The bars as a table", {
        caption: what, rows: d3.range(shown.length), search: "Find a rank",
        columns: [{ title: "rank", kind: "count", value: (i) => shown[i].rank },
            ...layers.map(({ name, values }) => ({ title: name, kind: "ns",
                value: (i) => (Number.isFinite(values[i]) ? values[i] : null) }))],
    });
}

async function gpuOfRank(parent, rank) {
    const row = rowOfRank.get(rank), box = panel(parent, `GPU time of rank ${rank} in each step`);
    box.id = "gpu-rank";
    box.dataset.target = "gpu";
    const lists = {};
    for (const field of gpuFields)
        lists[field] = row === undefined ? null
            : await planes.ofRank(`gpu_${field}`, row) || new Float64Array(planes.columns);
    const layers = row === undefined ? [] : gpuLayers(lists);
    if (!layers.length) {
        note(box, row === undefined ? "There is no such rank in this run."
            : "No GPU activity of this rank is known in any step.");
        return;
    }
    stackChart(box, {
        label: `GPU time of rank ${rank} in each step`, count: planes.columns, xTitle: "step", layers,
        names: (i) => columnSteps[i], windows: recordingWindows(),
        describe: (i) => `${columnName(i)}\n${describeLayers(layers, i)}`,
        onPick: (i) => { location.hash = `steps/${columnSteps[i]}/rank/${rank}`; },
    });
}

function gpuTable(parent, chosen) {
    const share = (title, part, whole, help) => ({ title, kind: "share", help,
        value: (row) => (row[whole] > 0 && isKnown(part(row)) ? part(row) / row[whole] : null) });
    const [{ device }] = report.gpu.ranks;
    const isOneKind = report.gpu.ranks.every((row) => row.device === device);
    new Table(panel(parent, "All GPUs"), {
        caption: `${isOneKind && device ? `All are ${device}. ` : ""}Shares of the time from the ` +
            "first activity to the last; exposed and hidden: communication, hidden as a share of its own time",
        rows: report.gpu.ranks, search: "Find a rank, host or device", isHit: isSlowGpu,
        isChosen: (row) => row.rank === chosen,
        onPick: (row) => { location.hash = `operators/gpu/${row.rank}`; },
        columns: [
            { title: "rank", kind: "count", value: (row) => row.rank,
              show: (row) => element("a", { href: `#operators/gpu/${row.rank}` }, String(row.rank)) },
            { title: "host", kind: "text", value: (row) => row.hostname || "" },
            isOneKind ? null : { title: "device", kind: "text", value: (row) => row.device || "n/a" },
            { title: "kernels", kind: "count", value: (row) => row.kernels },
            { title: "time", kind: "ns", value: (row) => row.span_ns },
            share("busy", (row) => row.busy_ns, "span_ns"),
            share("computing", (row) => row.compute_ns, "span_ns"),
            share("exposed", (row) => row.comm_exposed_ns, "span_ns",
                "communication, while no other kernel ran"),
            share("hidden", (row) => row.comm_ns - row.comm_exposed_ns, "comm_ns",
                "of the communication, while other kernels ran"),
            share("copies", (row) => row.copy_ns, "span_ns"),
            share("host late", (row) => row.idle_host_ns, "span_ns",
                "idle, because the next kernel was not launched yet"),
            share("gaps", (row) => row.idle_gap_ns, "span_ns", "idle for less than 30 us, although the next kernel was launched in time"),
            share("idle, other", (row) => row.idle_other_ns, "span_ns"),
            { title: "SM MHz", kind: "plain", value: (row) => row.sm_clock_mhz,
              show: (row) => (isKnown(row.sm_clock_mhz) ? row.sm_clock_mhz.toFixed(0) : "n/a") },
            { title: "slowdown", kind: "plain", value: (row) => row.slowdown,
              help: "time of its kernels / time that the other ranks need for the same kernels",
              show: (row) => (isKnown(row.slowdown) ? `${row.slowdown.toFixed(2)} x` : "n/a") },
        ].filter(Boolean),
    });
    const unrecorded = d3.max(report.gpu.ranks, (row) => row.unrecorded_ns) || 0;
    if (unrecorded > 0)
        note(parent, `The GPU of a rank was not recorded for up to ${formatNs(unrecorded)}, ` +
            "which is left out.");
}

/* The columns that identify a GPU in a table with one row for each GPU, also when several ranks
 * used it. */
function gpuNames(gpus) {
    const hosts = new Set(gpus.map((row) => row.hostname)), [{ name }] = gpus;
    return [
        { title: "GPU", kind: "text", help: "its place on the PCI bus",
          value: (row) => row.bus_id || `number ${row.device}` },
        hosts.size > 1 ? { title: "host", kind: "text", value: (row) => row.hostname || "" } : null,
        gpus.some((row) => row.name !== name)
            ? { title: "name", kind: "text", value: (row) => row.name || "n/a" } : null,
        { title: "ranks", kind: "text", value: (row) => row.ranks, help: "that used it" },
    ];
}

function gpuList(parent, gpus) {
    const known = (field) => gpus.some((row) => isKnown(row[field]));
    const ns = (title, field, help) => (known(field)
        ? { title, kind: "ns", help, value: (row) => row[field] } : null);
    new Table(panel(parent, "Each GPU"), {
        caption: `${plural(gpus.length, "GPU")}, whoever used them` +
            (gpus.some((row) => row.nranks > 1) ? "; busy, of one that ranks share: the sum of theirs, " +
                "too much where they computed at the same time" : ""),
        rows: gpus, search: "Find a GPU, host or rank",
        columns: [
            ...gpuNames(gpus),
            { title: "kernels", kind: "count", value: (row) => row.kernels },
            { title: "busy", kind: "share", value: (row) => (row.span_ns > 0 && isKnown(row.busy_ns)
                ? Math.min(1, row.busy_ns / row.span_ns) : null) },
            { title: "copied", kind: "bytes", value: (row) => row.copied_bytes },
            known("memory_most_bytes") ? { title: "memory, most", kind: "bytes",
                value: (row) => row.memory_most_bytes } : null,
            known("power_w") ? { title: "W", kind: "plain", help: "mean, and the most of a sample",
                value: (row) => row.power_w, show: (row) => (isKnown(row.power_w)
                    ? `${row.power_w.toFixed(0)} (${row.power_most_w.toFixed(0)})` : "n/a") } : null,
            ns("slowed by power", "power_capped_ns", "for how long the power limit lowered its clocks"),
            ns("slowed by heat", "heat_slowed_ns"), ns("slowed by the brake", "brake_slowed_ns"),
            { title: "errors (XID)", kind: "text", value: (row) => row.xids || "none" },
        ].filter(Boolean),
    });
}

/* The table of NVML's measurements (GPM), which not every GPU supports. */
function gpuMeasured(parent, gpus) {
    const known = (field) => gpus.some((row) => row.gpm_ns > 0 && isKnown(row[field]));
    const share = (title, field, help) => (known(field)
        ? { title, kind: "share", help, value: (row) => (row.gpm_ns > 0 ? row[field] : null) } : null);
    const rate = (title, field) => (known(field)
        ? { title, kind: "plain", value: (row) => row[field],
            show: (row) => formatRate(row.gpm_ns > 0 ? row[field] : null) } : null);
    const box = panel(parent, "What NVML measured on each GPU");
    new Table(box, {
        caption: "Means over the run", rows: gpus, search: "Find a GPU, host or rank",
        columns: [
            ...gpuNames(gpus),
            share("SMs", "sm_active", "multiprocessors with work"),
            share("warps", "sm_occupancy", "of those there could be"),
            share("tensor", "tensor_active", "time in which tensor cores computed"),
            share("fp64", "fp64_active"), share("fp32", "fp32_active"), share("fp16", "fp16_active"),
            share("memory", "dram_active", "its traffic, of what it can move"),
            rate("PCIe out", "pcie_tx_bytes_per_s"), rate("PCIe in", "pcie_rx_bytes_per_s"),
            rate("NVLink out", "nvlink_tx_bytes_per_s"), rate("NVLink in", "nvlink_rx_bytes_per_s"),
            gpus.some((row) => row.nearest_roof) ? { title: "nearest roof", kind: "text",
                help: "what is used most while it has work: tensor cores, fp64, fp32, fp16 or memory",
                value: (row) => (row.nearest_roof
                    ? `${row.nearest_roof.name} ${formatShare(row.nearest_roof.share)}` : "n/a") } : null,
        ].filter(Boolean),
    });
    note(box, "By GPM, of all ranks and kernels together: it does not measure single kernels.");
}

async function renderGpus(box, chosen) {
    box.append(element("h2", {}, "GPUs"));
    await lateKey("gpu");
    if (!report.gpu) {
        note(box, "No activity of a GPU was recorded.");
        return;
    }
    gpuOfRanks(box);
    if (chosen !== null)
        await gpuOfRank(box, chosen);
    gpuTable(box, chosen);
    const { gpus } = report.gpu;
    if (gpus.length)
        gpuList(box, gpus);
    if (gpus.some((row) => row.gpm_ns > 0))
        gpuMeasured(box, gpus);
}

/* Kernels: which ones take most GPU time, which operators launched them, and on which ranks they
 * take longer. */
function slowKernels(parent) {
    const slow = report.gpu.ranks.filter(isSlowGpu).sort((a, b) => b.slowdown - a.slowdown);
    if (!slow.length)
        return;
    const box = panel(parent, "Ranks that take longer for the same kernels"), list = element("ul");
    box.append(list);
    for (const row of slow.slice(0, 8))
        list.append(element("li", {}, "Rank ", rankLink(row.rank),
            ` takes ${row.slowdown.toFixed(2)} x as long as the other ranks ` +
            `(${formatShare(row.confidence)} sure), most of the excess in `,
            element("code", {}, row.slowest_kernel), "."));
    if (slow.length > 8)
        note(box, `${slow.length - 8} more are in the table of GPUs.`);
}

function longestKernels(parent) {
    const most = 20, rows = report.kernels.by_name.slice(0, most);
    barChart(panel(parent, "Most GPU time, all ranks"), {
        label: "Time of the kernels that have most; the table has the numbers",
        keys: [{ name: "computing", colour: "var(--accent)" },
            { name: "communication, with its waiting for other ranks", isHatched: true }],
        rows: rows.map((row) => ({ name: operatorName(row), parts: [{ value: row.total_ns,
            colour: "var(--accent)", isHatched: row.type === "communication",
            words: `${formatNs(row.total_ns)}, launched by ${row.operator || "n/a"}` }] })),
        format: (ns) => `${formatNs(ns)}, ${formatShare(ns / d3.sum(report.kernels.by_name,
            (row) => row.total_ns))}`,
    });
}

function kernelHeat(parent) {
    const { name, rank, total_ns: total } = report.kernels.heat;
    if (rank.length < 2 || !name.length)
        return;
    const means = total.map((line) => d3.mean(line.filter(isKnown)) || 0);
    const above = (row, column) => (isKnown(total[row][column]) && means[row] > 0
        ? total[row][column] / means[row] - 1 : NaN);
    const most = d3.max(d3.cross(d3.range(name.length), d3.range(rank.length)),
        ([row, column]) => above(row, column));
    const top = Math.max(0.1, Math.min(most, 2));
    const frames = report.gpu.ranks.filter(isSlowGpu).map((row) => ({
        row: name.indexOf(row.slowest_kernel), from: rank.indexOf(row.rank) }))
        .filter(({ row, from }) => row >= 0 && from >= 0).map((one) => ({ ...one, to: one.from }));
    const box = panel(parent, "Time of each rank in the kernels with most time");
    box.classList.add("operator-heat");
    drawGrid(box, {
        id: "kernel-heat", frames, top,
        label: "Time by kernel and rank, above the mean of the ranks",
        rows: name.length, columns: rank.length, height: 22 * name.length, at: above,
        rowName: (row) => name[row] || "(no name)", columnName: (column) => String(rank[column]),
        hitRows: frames.map(({ row }) => row),
        describe: (row, column) => `rank ${rank[column]}, ${name[row]}\n` +
            (isKnown(total[row][column]) ? `${formatNs(total[row][column])}, ` +
                `${(total[row][column] / means[row]).toFixed(2)} x the mean` : "not run"),
        onPick: (row, column) => { location.hash = `#operators/gpu/${rank[column]}`; },
    });
    colourScale(box, "at the mean or below", `${(1 + top).toFixed(1)} x the mean or more`, "not run");
    note(box, "A row is a kernel, a column a rank; without communication, which waits for other ranks." +
        (frames.length ? " Framed: the largest excess of a rank for the same work." : ""));
}

function kernelTable(parent) {
    const { by_name: rows, names } = report.kernels, hasRanks = report.gpu.ranks.length > 1;
    new Table(panel(parent, "All kernels"), {
        caption: "All ranks together, warm-up left out", rows, limit: 20, sort: "total",
        search: "Find a kernel",
        columns: [
            { title: "name", kind: "text", value: operatorName },
            { title: "type", kind: "text", value: (row) => row.type },
            { title: "launched by", kind: "text", value: (row) => row.operator || "n/a",
              help: "the operator or range that launched most of it" },
            { title: "share", kind: "share", value: (row) => row.share },
            { title: "total", kind: "ns", value: (row) => row.total_ns },
            { title: "calls", kind: "count", value: (row) => row.calls },
            { title: "mean", kind: "ns", value: (row) => row.mean_ns },
            { title: "p50", kind: "ns", value: (row) => row.p50_ns },
            { title: "p95", kind: "ns", value: (row) => row.p95_ns },
            { title: "max", kind: "ns", value: (row) => row.max_ns },
            ...(hasRanks ? [{ title: "slowest rank", kind: "plain", value: (row) => row.imbalance,
                help: "time of the rank with most time in it / mean of all ranks with kernels",
                words: (row) => `rank ${row.max_rank}`,
                show: (row) => (isKnown(row.imbalance) ? element("span", {}, rankLink(row.max_rank),
                    ` (${row.imbalance.toFixed(2)} x the mean)`) : "n/a") }] : []),
        ],
    });
    if (names > rows.length)
        note(parent, `Only the ${formatCount(rows.length)} with most time of ${formatCount(names)} ` +
            "are here; cluster.h5 has all.");
}

async function renderKernels(box, isTarget) {
    const heading = element("h2", {}, "Kernels");
    box.append(heading);
    await lateKey("kernels");
    if (isTarget)
        heading.dataset.target = "kernels";
    if (!report.kernels || !report.kernels.by_name.length) {
        note(box, "None were recorded.");
        return;
    }
    slowKernels(box);
    longestKernels(box);
    kernelHeat(box);
    kernelTable(box);
}
