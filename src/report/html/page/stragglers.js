/* The page of stragglers: which ranks are slow, when and why; every rank in every step; and the
 * steps of one rank. */
const heatViews = [
    ["excess", "own time above the step's median"],
    ["own", "own time"],
    ["wait", "waiting for others"],
];
let heatView = "excess";

/* "41 of 50 steps, persistent"; for a part of the run, only its name. */
function heldBackWords(row) {
    return row.kind === "stretch" && row.part !== "any" ? row.steps_words
        : `${row.steps_words}, ${row.kind.replace("_", "-")}`;
}

function stragglerTable(parent, chosen) {
    const rows = report.stragglers;
    const lossy = (rank) => rowOfRank.has(rank) && report.ranks.lossy[rowOfRank.get(rank)];
    const table = new Table(parent, {
        caption: "By what they lost; a row shows that rank's steps",
        rows, isHit: (row) => row === rows[0], isChosen: (row) => row.rank === chosen,
        onPick: (row) => { location.hash = `stragglers/rank/${row.rank}`; }, sort: "lost",
        columns: [
            { title: "rank", kind: "count", value: (row) => row.rank,
              show: (row) => element("span", {}, rankLink(row.rank), lossy(row.rank) ? "!" : "") },
            { title: "host", kind: "text", value: (row) => row.hostname },
            { title: "held back", kind: "text", value: (row) => row.steps_words,
              show: (row) => heldBackWords(row) },
            { title: "where", kind: "text", value: (row) => row.phase_words },
            { title: "excess", kind: "ns", value: (row) => row.excess_ns,
              show: (row) => (row.resolvable === false ? "~" : "") + formatNs(row.excess_ns),
              help: "own time above the other ranks' median; mean of the steps held back, or in the " +
                  "whole stretch" },
            { title: "of it", kind: "share", value: (row) => row.slowdown,
              help: "the excess as a share of the step, or of the stretch" },
            { title: "lost", kind: "ns", value: (row) => row.lost_ns,
              help: "the excess of all steps held back" },
            { title: "blame", kind: "ns", value: (row) => row.blame_ns,
              help: "time that all other ranks together waited for it" },
            { title: "critical", kind: "ns", value: (row) => row.critical_ns,
              help: "time by which it alone was the last" },
            { title: "gain", kind: "ns", value: (row) => row.gain_ns,
              help: "what the job would save if it were as fast as the others" },
            { title: "sure", kind: "share", value: (row) => row.confidence },
            { title: "cause and evidence", kind: "text",
              value: (row) => `${row.cause_words || "unknown"}. ${row.evidence || ""}`,
              show: (row) => element("span", {}, element("b", {}, row.cause_words || "unknown"),
                  row.evidence ? `: ${row.evidence}` : "") },
        ],
    });
    note(parent, "Excess: own time above the other ranks' median, mean of the steps held back, or " +
        "in the whole stretch of the run. Lost: its sum. Blame: time that all other ranks " +
        "together waited for it. Critical: time by which it alone was the last. Gain: what the job " +
        "would save if it were as fast as the others, which is not the sum: then the next slowest rank " +
        "holds the steps back, and waits that it caused may end elsewhere. ! part of what it did is " +
        "missing; ~ within the clock error.");
    return table;
}

/* Returns the end of the colour scale; larger values have the last colour. */
function heatTop(values, view) {
    const known = values.filter((value) => value > 0).sort();
    const most = known.length ? known[Math.floor((known.length - 1) * 0.995)] : 1;
    if (view !== "excess")
        return most;
    const worst = report.stragglers.find((row) => row.kind !== "stretch");
    return Math.max(most, worst ? worst.excess_ns : 0, 0.05 * (report.steps.mean_ns || 0));
}

function heatFrames() {
    return report.stragglers.filter((row) => rowOfRank.has(row.rank) && isKnown(row.last_step))
        .map((row) => ({
            row: rowOfRank.get(row.rank),
            from: Math.max(columnOfStep(row.first_step), 0),
            to: columnOfStep(row.last_step) < 0 ? columnSteps.length - 1
                : columnOfStep(row.last_step),
        }));
}

async function heatmap(parent) {
    const values = await planes.get(heatView === "excess" ? "own" : heatView);
    if (!values) {
        note(parent, "No steps are known, so ranks cannot be compared step by step.");
        return;
    }
    const n = planes.columns, median = report.columns.own_p50_ns, names = report.ranks.rank;
    const at = heatView === "excess" ? (row, column) => values[row * n + column] - median[column]
        : (row, column) => values[row * n + column];
    const differences = new Float64Array(values.length);
    for (let i = 0; i < values.length; i++)
        differences[i] = at(Math.floor(i / n), i % n);
    const top = heatTop(differences, heatView), words = new Map(heatViews).get(heatView);
    const frames = heatFrames();
    const canvas = drawGrid(parent, {
        id: "heatmap",
        label: `${words}, ${planes.ranks} ranks by ${n} columns of steps; the tables on ` +
            "this page have the same in numbers",
        rows: planes.ranks, columns: n, at, top, height: Math.max(90, Math.min(460, planes.ranks * 26)),
        rowName: (row) => `rank ${names[row]}`, columnName: (column) => String(columnSteps[column]),
        hitRows: frames.map((frame) => frame.row), frames,
        describe: (row, column) => `rank ${names[row]}, ${columnName(column)}\n${words}: ` +
            formatSignedNs(Number.isNaN(at(row, column)) ? null : at(row, column)),
        onPick: (row, column) => {
            location.hash = timelineAddress(column, names[row]) ?? `stragglers/rank/${names[row]}`;
        },
    });
    canvas.dataset.top = top;
    colourScale(parent, heatView === "excess" ? "at the median" : "0", `${formatNs(top)} or more`,
        "not known");
}

/* Returns the planes of this run as layers of a stacked chart. */
async function phaseLayers(read) {
    const found = await Promise.all(phases.map((phase) => read(phase)));
    return phases.map((phase, i) => ({ name: phase.name, values: found[i],
        colour: phaseColour(i), isHatched: phase.plane === "wait" })).filter((d) => d.values);
}

async function worstSteps(parent, row, own) {
    const median = report.columns.own_p50_ns, wait = await planes.ofRank("wait", row);
    const rows = d3.range(planes.columns).filter((i) => Number.isFinite(own[i])).map((i) => ({
        column: i, own: own[i], excess: own[i] - median[i], wait: wait ? wait[i] : null }));
    tableBehind(parent, "Steps of this rank as a table", {
        caption: "Steps of this rank, the slowest first", rows, sort: "above the median",
        columns: [
            { title: "step", kind: "plain", value: (d) => columnSteps[d.column],
              show: (d) => stepLink(columnSteps[d.column]) },
            { title: "own", kind: "ns", value: (d) => d.own },
            { title: "above the median", kind: "signed", value: (d) => d.excess },
            { title: "waiting", kind: "ns", value: (d) => d.wait },
        ],
    });
}

async function rankSteps(parent, rank) {
    const row = rowOfRank.get(rank);
    if (row === undefined) {
        note(panel(parent, `Rank ${rank}`), "There is no such rank in this run.");
        return;
    }
    const host = report.ranks.hostname[row];
    const box = panel(parent, `Rank ${rank}${host ? ` on ${host}` : ""}: its steps`);
    box.id = "rank";
    box.dataset.target = "rank";
    const own = await planes.ofRank("own", row);
    if (!own) {
        note(box, "No steps of this rank are known.");
        return;
    }
    const layers = await phaseLayers((phase) => planes.ofRank(phase.plane, row));
    const frame = heatFrames().find((one) => one.row === row);
    stackChart(box, {
        label: `Own work by phase and waiting of rank ${rank} in each step`,
        count: planes.columns, names: (i) => columnSteps[i], xTitle: "step", layers,
        line: { name: "median own work of all ranks", values: report.columns.own_p50_ns },
        marks: frame ? [{ from: frame.from, to: frame.to, text: "held back" }] : [],
        windows: recordingWindows(),
        describe: (i) => `${columnName(i)}\n` + layers.map((layer) =>
            `${layer.name}: ${formatNs(Number.isFinite(layer.values[i]) ? layer.values[i] : null)}`)
            .join("\n"),
        onPick: (i) => { location.hash = `steps/${columnSteps[i]}`; },
    });
    await worstSteps(box, row, own);
}

function rankTable(parent, chosen) {
    const { ranks } = report;
    const hits = new Set(report.stragglers.slice(0, 1).map((row) => row.rank));
    new Table(panel(parent, "All ranks"), {
        caption: `Means of ${formatCount(report.steps.measured)} measured steps`,
        rows: d3.range(ranks.rank.length), search: "Find a rank or host", sort: "own",
        isHit: (row) => hits.has(ranks.rank[row]), isChosen: (row) => ranks.rank[row] === chosen,
        onPick: (row) => { location.hash = `stragglers/rank/${ranks.rank[row]}`; },
        columns: [
            { title: "rank", kind: "count", value: (row) => ranks.rank[row],
              show: (row) => element("span", {}, rankLink(ranks.rank[row]),
                  ranks.lossy[row] ? "!" : "") },
            { title: "host", kind: "text", value: (row) => ranks.hostname[row] },
            { title: "steps", kind: "count", value: (row) => ranks.steps[row] },
            { title: "total", kind: "ns", value: (row) => ranks.total_ns[row] },
            { title: "own", kind: "ns", value: (row) => ranks.own_ns[row] },
            { title: "waiting", kind: "ns", value: (row) => ranks.wait_ns[row] },
            ...phases.slice(0, -1).filter((phase) => d3.max(ranks[phase.field]) > 0).map((phase) => ({
                title: phase.name, kind: "ns", value: (row) => ranks[phase.field][row] })),
        ],
    });
}

/* The table of work that differs by design, for which no rank is to blame. */
function imbalanceTable(parent) {
    new Table(panel(parent, "Work that differs by design"), {
        caption: "Roles and ranks with more work than the others", rows: report.imbalances,
        columns: [
            { title: "role", kind: "text", value: (row) => row.name || "amount of work" },
            { title: "ranks", kind: "text", value: (row) => row.ranks || "" },
            { title: "known by", kind: "text", value: (row) => row.how },
            { title: "work in a step", kind: "ns", value: (row) => row.work_ns },
            { title: "others", kind: "ns", value: (row) => row.others_ns },
            { title: "gain", kind: "ns", value: (row) => row.gain_ns },
            { title: "verdict", kind: "text",
              value: (row) => (row.verdict === "imbalance" ? "imbalance" : `cannot tell: ${row.reason}`) },
        ],
    });
}

async function renderStragglers(box, [what, number]) {
    const chosen = what === "rank" && /^\d+$/.test(number || "") ? Number(number) : null;
    box.append(element("h2", {}, "Stragglers"));
    const unknown = delayVerdict() === "unknown";
    if (!report.stragglers.length || unknown)
        box.append(element("p", {}, report.job.headline));
    if (report.stragglers.length)
        stragglerTable(panel(box, unknown ? "Ranks with more own time than others"
            : "Ranks that hold the job back"), chosen);
    if (report.imbalances.length)
        imbalanceTable(box);
    const map = panel(box, "Every rank in every step", element("div", { class: "tools" },
        chooser("Colour:", heatViews, heatView, (view) => {
            heatView = view;
            render();
        }), element("span", { class: "soft small" },
            (isServed ? "A click shows the timeline." : "A click shows that rank's steps, or its timeline " +
                "where the report has the step's.") + " Framed: the steps in which a straggler was slow.")));
    await heatmap(map);
    if (chosen !== null)
        await rankSteps(box, chosen);
    rankTable(box, chosen);
}
