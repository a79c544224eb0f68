/* Kernels: which take the GPUs' time, what launched them, and on which rank they take longer. */
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
            { name: "NCCL, with its waiting for other ranks", isHatched: true }],
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
    note(box, "A row is a kernel, a column a rank; without NCCL's, which wait for other ranks." +
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
