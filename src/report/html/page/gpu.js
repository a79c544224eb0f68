/* GPUs: what their time went to, of every rank, and of one rank in each step. */
const gpuFields = ["busy", "compute", "comm", "comm_exposed", "idle_host", "idle_gap", "idle_other"];

/* What adds up to the time, from lists of those fields; NaN where not known. */
function gpuLayers({ busy, compute, comm, comm_exposed: exposed, idle_host: host, idle_gap: gap,
    idle_other: other }) {
    const list = (make) => d3.range(busy.length).map((i) =>
        (Number.isFinite(busy[i]) ? Math.max(make(i), 0) : NaN));
    return [
        { name: "computing", colour: phaseColour(1),
          values: list((i) => compute[i] - (comm[i] - exposed[i])) },
        { name: "computing, NCCL hidden behind it", colour: phaseColour(3),
          values: list((i) => comm[i] - exposed[i]) },
        { name: "NCCL alone (exposed)", isHatched: true, values: list((i) => exposed[i]) },
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

/* Sure to take longer for the same kernels; the text report has the same bounds. */
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
            "first activity to the last; exposed and hidden: NCCL, hidden as a share of its own time",
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
                "NCCL, while no other kernel ran"),
            share("hidden", (row) => row.comm_ns - row.comm_exposed_ns, "comm_ns",
                "of NCCL's time, while other kernels ran"),
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
            "which counts as idle.");
}

/* Each GPU once, whoever used it; and what tells it in a table. */
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

/* What NVML measured (GPM), which is not there of every GPU. */
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
