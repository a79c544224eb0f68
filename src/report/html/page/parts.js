/* Elements that several pages use. All text goes through textContent, so that nothing from a file
 * is parsed as HTML. */
function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {}))
        if (key.startsWith("on"))
            made.addEventListener(key.slice(2), value);
        else if (value !== null && value !== false)
            made.setAttribute(key, value === true ? "" : value);
    made.append(...children.filter((child) => child !== null));
    return made;
}

function panel(parent, title, ...children) {
    const made = element("section", { class: "panel" }, element("h3", {}, title), ...children);
    parent.append(made);
    return made;
}

function note(parent, text) {
    parent.append(element("p", { class: "soft small" }, text));
}

/* Makes a drop-down list; `choices` is [[value, words], ...]. */
function chooser(words, choices, chosen, onChoose) {
    const id = `choose-${words.replace(/\W+/g, "-").toLowerCase()}`;
    const list = element("select", { id, onchange: () => onChoose(list.value) });
    for (const [value, text] of choices)
        list.append(element("option", { value, selected: value === chosen }, text));
    return element("label", {}, `${words} `, list);
}

/* The text that is shown beside the pointer or the focused element; screen readers read it
 * aloud. */
const tip = {
    box: document.getElementById("tip"),
    show(event, text) {
        this.box.textContent = text;
        this.box.hidden = false;
        const { offsetWidth: width, offsetHeight: height } = this.box;
        const right = event.clientX + 14 + width > window.innerWidth;
        this.box.style.left = `${right ? event.clientX - width - 14 : event.clientX + 14}px`;
        this.box.style.top = `${Math.min(event.clientY + 14, window.innerHeight - height - 4)}px`;
    },
    hide() {
        this.box.hidden = true;
    },
};

/* Returns the cell of a chart that an arrow key leads to from [row, column], or null. Up leads to
 * the previous row. */
function moveByKey(key, [row, column], rows, columns) {
    const leap = Math.max(1, Math.round(columns / 10));
    const ways = { ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
        ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], Home: [row, 0],
        End: [row, columns - 1], PageUp: [row, column - leap], PageDown: [row, column + leap] };
    const within = (value, count) => Math.max(0, Math.min(count - 1, value));
    return key in ways ? [within(ways[key][0], rows), within(ways[key][1], columns)] : null;
}

function rankLink(rank) {
    return isKnown(rank) ? element("a", { href: `#stragglers/rank/${rank}` }, String(rank)) : "n/a";
}

function stepLink(step) {
    return isKnown(step) ? element("a", { href: `#steps/${step}` }, String(step)) : "";
}

/* Returns the row of a world rank in the tables of ranks, or -1. */
const rowOfRank = new Map(report.ranks.rank.map((rank, row) => [rank, row]));

const columnSteps = report.columns.step || [];

/* Returns the column of a step number, or -1. */
function columnOfStep(step) {
    if (!isKnown(step))
        return -1;
    const column = d3.bisector((d) => d).right(columnSteps, step) - 1;
    return column >= 0 && step <= report.columns.last[column] ? column : -1;
}

function columnName(column) {
    const first = columnSteps[column], last = report.columns.last[column];
    return first === last ? `step ${first}` : `mean of steps ${first}-${last}`;
}

/* Returns the windows of recording as columns, unless there is one that covers the whole run; and
 * the columns of warm-up steps, which no mean contains. */
function recordingWindows() {
    const { windows } = report.job, isAll = windows.length === 1 && windows[0].cause === "run";
    const shown = isAll ? [] : windows.map((window) => ({ text: `window ${window.window}`,
        from: columnSteps.findIndex((step) => step >= (window.warmup_first_step ?? window.first_step)),
        to: d3.bisector((d) => d).right(columnSteps, window.last_step ?? window.warmup_last_step) - 1,
    })).filter(({ from, to }) => from >= 0 && to >= from);
    const warmups = d3.range(columnSteps.length).filter((i) => report.columns.warmup[i]);
    return { shown, warmups };
}

/* The parts of a rank's step: own work in each phase, then waiting. */
const phases = [
    { plane: "data", field: "data_ns", name: "data" },
    { plane: "forward", field: "forward_ns", name: "forward" },
    { plane: "backward", field: "backward_ns", name: "backward" },
    { plane: "allreduce", field: "allreduce_ns", name: "allreduce" },
    { plane: "optimizer", field: "optimizer_ns", name: "optimizer" },
    { plane: "other", field: "other_ns", name: "other work and transfers" },
    { plane: "wait", field: "wait_ns", name: "waiting for others" },
];

/* Returns the colour of a part; they go from dark to light, so that they also differ in greyscale.
 * Waiting is hatched. */
function phaseColour(index) {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return d3.interpolateViridis(dark ? 0.2 + 0.16 * index : 0.95 * index / 5);
}
