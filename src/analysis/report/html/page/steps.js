/* What a step is made of: of every rank, in the mean or in one step, and how it changes over the
 * run. */
function stepTools(parent, column) {
    const n = columnSteps.length, go = (i) => { location.hash = `steps/${columnSteps[i]}`; };
    const field = element("input", { type: "number", id: "step", min: columnSteps[0],
        max: report.columns.last[n - 1], value: column >= 0 ? columnSteps[column] : "",
        onchange: () => { location.hash = `steps/${field.value}`; } });
    parent.append(element("div", { class: "tools" },
        element("button", { type: "button", "aria-pressed": String(column < 0),
            onclick: () => { location.hash = "steps"; } }, "Mean of all steps"),
        element("label", {}, "Step ", field),
        element("button", { type: "button", disabled: column === 0,
            onclick: () => go(column < 0 ? 0 : column - 1) }, "Earlier"),
        element("button", { type: "button", disabled: column === n - 1,
            onclick: () => go(column + 1) }, "Later")));
}

/* The same figures for both: a field of the means, or a plane's column. */
async function stepFigures(column) {
    const { ranks } = report;
    const read = (plane, field) => (column < 0 ? Promise.resolve(ranks[field])
        : planes.ofColumn(plane, column));
    const layers = await phaseLayers(async (phase) => {
        const values = await read(phase.plane, phase.field);
        return values && d3.max(values, (d) => (isKnown(d) ? d : NaN)) > 0 ? values : null;
    });
    const lists = {};
    for (const plane of ["own", "total", "interval", "fp_bp", "tail"])
        lists[plane] = await read(plane, `${plane}_ns`);
    return { layers, lists };
}

function stepTable(parent, { layers, lists }, slow) {
    const { ranks } = report;
    const value = (list) => (row) => (list && Number.isFinite(list[row]) ? list[row] : null);
    new Table(parent, {
        caption: "The same in numbers", rows: d3.range(ranks.rank.length), sort: "own",
        search: "Find a rank or host", isHit: (row) => slow.has(row),
        columns: [
            { title: "rank", kind: "count", value: (row) => ranks.rank[row],
              show: (row) => rankLink(ranks.rank[row]) },
            { title: "host", kind: "text", value: (row) => ranks.hostname[row] },
            ...["total", "interval", "fp_bp", "tail", "own"].map((name) => ({
                title: name === "fp_bp" ? "fp+bp" : name, kind: "ns", value: value(lists[name]) })),
            ...layers.map((layer) => ({ title: layer.name, kind: "ns", value: value(layer.values) })),
        ],
    });
    note(parent, "own = total - waiting: what the rank itself took. interval: before forward begins; " +
        "fp+bp: to the end of backward; tail: after it. n/a: not known. Marked: stragglers.");
}

function stepCurves(parent, column) {
    const { columns } = report, box = panel(parent, "Over the run: means over the ranks");
    const lines = [
        ["interval", columns.interval_ns, "6 3"], ["fp+bp", columns.fp_bp_ns, null],
        ["tail", columns.tail_ns, "2 3"], ["waiting", columns.wait_ns, "9 3 2 3"],
    ].filter(([, values]) => values.some(isKnown));
    if (!lines.length) {
        note(box, "Not known: no phases and no communication were recorded.");
        return;
    }
    lineChart(box, {
        label: `Means over the ranks of ${lines.map(([name]) => name).join(", ")} in each step`,
        count: columnSteps.length, names: (i) => columnSteps[i], xTitle: "step",
        series: lines.map(([name, values, dash], i) => ({ name, values, dash,
            colour: phaseColour(1.5 * i) })),
        marks: column >= 0 ? [{ from: column, to: column, text: `step ${columnSteps[column]}` }]
            : [],
        describe: (i) => `${columnName(i)}\n` +
            lines.map(([name, values]) => `${name}: ${formatNs(values[i])}`).join("\n"),
        onPick: (i) => { location.hash = `steps/${columnSteps[i]}`; },
    });
}

/* The rows of the stragglers that were slow around this step; -1: in the mean. */
function slowRows(column) {
    const step = columnSteps[column], rows = report.stragglers.filter((row) => column < 0 ||
        (row.first_step <= step && step <= row.last_step));
    return new Set(rows.map((row) => rowOfRank.get(row.rank)).filter((row) => row !== undefined));
}

async function renderSteps(box, [number]) {
    box.append(element("h2", {}, "Steps"));
    if (!columnSteps.length) {
        note(box, "No steps are known: see 'What to do'.");
        return;
    }
    const column = /^\d+$/.test(number || "") ? columnOfStep(Number(number)) : -1;
    if (number && column < 0)
        note(box, `There is no step ${number}; these are means.`);
    stepTools(box, column);
    const figures = await stepFigures(column), names = report.ranks.rank;
    const slow = slowRows(column);
    const what = column < 0 ? `Mean of ${plural(report.steps.measured, "measured step")}`
        : columnName(column).replace(/^./, (c) => c.toUpperCase());
    const chart = panel(box, `${what}: every rank`);
    stackChart(chart, {
        label: `${what}: own work by phase, and waiting, of ${names.length} ranks`,
        count: names.length, names: (i) => names[i], xTitle: "rank", layers: figures.layers,
        pointed: [...slow],
        describe: (i) => `rank ${names[i]}${report.ranks.hostname[i]
            ? ` on ${report.ranks.hostname[i]}` : ""}\n` + figures.layers.map((layer) =>
            `${layer.name}: ${formatNs(Number.isFinite(layer.values[i]) ? layer.values[i] : null)}`)
            .join("\n"),
        onPick: (i) => { location.hash = `stragglers/rank/${names[i]}`; },
    });
    stepCurves(box, column);
    stepTable(panel(box, what), figures, slow);
}
