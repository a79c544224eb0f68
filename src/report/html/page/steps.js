/* The page of steps: the parts of a step for every rank, as means or in one step, and how they
 * change over the run. */
function stepAddress(column, rank) {
    return `steps/${column < 0 ? "mean" : columnSteps[column]}${rank === null ? "" : `/rank/${rank}`}`;
}

function stepTools(parent, column, rank) {
    const n = columnSteps.length, go = (i) => { location.hash = stepAddress(i, rank); };
    const field = element("input", { type: "number", id: "step", min: columnSteps[0],
        max: report.columns.last[n - 1], value: column >= 0 ? columnSteps[column] : "",
        onchange: () => {
            location.hash = `steps/${field.value || "mean"}${rank === null ? "" : `/rank/${rank}`}`;
        } });
    parent.append(element("div", { class: "tools" },
        element("button", { type: "button", "aria-pressed": String(column < 0),
            id: "mean", onclick: () => go(-1) }, "Mean of all steps"),
        element("label", {}, "Step ", field),
        element("button", { type: "button", id: "earlier", disabled: column === 0,
            onclick: () => go(column < 0 ? 0 : column - 1) }, "Earlier"),
        element("button", { type: "button", id: "later", disabled: column === n - 1,
            onclick: () => go(column + 1) }, "Later"),
        column >= 0 ? element("a", { href: `#timeline/${columnSteps[column]}` }, "Timeline of this step")
            : null));
}

/* Returns the figures of all ranks: the means (column < 0), or those of one step. */
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

const stepPartWords = "interval: before forward begins, such as waiting for data; fp+bp: from there to the " +
    "end of backward; tail: after it, such as communication and the optimizer.";

/* True when steps are divided into interval, fp+bp and tail: by phases. */
function stepPartsKnown() {
    return isKnown(report.mean.interval_ns) || isKnown(report.mean.tail_ns);
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
            ...["total", ...(stepPartsKnown() ? ["interval", "fp_bp", "tail"] : []), "own"].map((name) => ({
                title: name === "fp_bp" ? "fp+bp" : name, kind: "ns", value: value(lists[name]) })),
            ...layers.map((layer) => ({ title: layer.name, kind: "ns", value: value(layer.values) })),
        ],
    });
    note(parent, "own = total - waiting: what the rank itself took. " +
        (stepPartsKnown() ? `${stepPartWords} ` : "") + "n/a: not known. Marked: stragglers.");
}

/* Draws the parts of each step as curves, as means over the ranks or for one rank. */
async function stepCurves(parent, column, rank) {
    const row = rank === null ? -1 : rowOfRank.get(rank);
    const field = element("input", { type: "number", id: "of-rank", min: 0, value: rank ?? "",
        placeholder: "all", onchange: () => {
            location.hash = stepAddress(column, field.value === "" ? null : Number(field.value));
        } });
    const box = panel(parent, row < 0 ? "Over the run: means over the ranks"
        : `Over the run: rank ${rank}`, element("div", { class: "tools" },
        element("label", {}, "Of rank ", field)));
    const read = async (name) => (row < 0 ? report.columns[`${name}_ns`]
        : row === undefined ? null : planes.ofRank(name, row));
    const lines = [];
    for (const [name, plane, dash] of [["interval", "interval", "6 3"], ["fp+bp", "fp_bp", null],
        ["tail", "tail", "2 3"], ["waiting", "wait", "9 3 2 3"]])
        lines.push({ name, dash, values: await read(plane) });
    const known = lines.filter(({ values }) => values && values.some(Number.isFinite))
        .map((line, i) => ({ ...line, colour: phaseColour(1.5 * i) }));
    if (!known.length) {
        note(box, row === undefined ? `There is no rank ${rank} in this run.`
            : "Not known: no phases and no communication were recorded.");
        return;
    }
    drawCurves(box, column, rank, known);
    if (stepPartsKnown())
        note(box, stepPartWords);
}

function drawCurves(box, column, rank, series) {
    const names = series.map(({ name }) => name), who = rank === null ? "means" : `rank ${rank}`;
    const valueAt = (values, i) => (Number.isFinite(values[i]) ? values[i] : null);
    lineChart(box, {
        label: `${names.join(", ")} in each step, ${who}`, series,
        count: columnSteps.length, names: (i) => columnSteps[i], xTitle: "step",
        marks: column >= 0 ? [{ from: column, to: column, text: `step ${columnSteps[column]}` }]
            : [],
        windows: recordingWindows(),
        describe: (i) => `${columnName(i)}\n` +
            series.map(({ name, values }) => `${name}: ${formatNs(valueAt(values, i))}`).join("\n"),
        onPick: (i) => { location.hash = stepAddress(i, rank); },
    });
    tableBehind(box, "The curves as a table", {
        caption: who, rows: d3.range(columnSteps.length),
        columns: [
            { title: "step", kind: "plain", value: (i) => columnSteps[i],
              show: (i) => stepLink(columnSteps[i]) },
            ...series.map(({ name, values }) => ({ title: name, kind: "ns",
                value: (i) => valueAt(values, i) })),
        ],
    });
}

/* Returns the rows of the stragglers that were slow in this column; -1: in the means. */
function slowRows(column) {
    const step = columnSteps[column], rows = report.stragglers.filter((row) => column < 0 ||
        (isKnown(row.first_step) && row.first_step <= step && step <= row.last_step));
    return new Set(rows.map((row) => rowOfRank.get(row.rank)).filter((row) => row !== undefined));
}

/* Shows the times in which all ranks were slower, in the words of the text report. */
function allSlower(parent) {
    if (report.trends.length)
        panel(parent, "All ranks in some steps", element("ul", {},
            ...report.trends.map((row) => element("li", {}, `${keepUnits(row.words)}.`))));
}

async function renderSteps(box, [number, noun, of]) {
    const isNumber = (text) => /^\d+$/.test(text || "");
    box.append(element("h2", {}, "Steps"));
    if (!columnSteps.length) {
        note(box, "No steps are known: see 'What to do'.");
        return;
    }
    const column = isNumber(number) ? columnOfStep(Number(number)) : -1;
    const rank = noun === "rank" && isNumber(of) ? Number(of) : null;
    if (number && number !== "mean" && column < 0)
        note(box, `There is no step ${number}; these are means.`);
    stepTools(box, column, rank);
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
    await stepCurves(box, column, rank);
    allSlower(box);
    stepTable(panel(box, what), figures, slow);
}
