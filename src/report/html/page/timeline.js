/* The page of the timeline: ranks by time, of the steps whose events the report has
 * (html_timeline.c). */
const timelines = JSON.parse(document.getElementById("timelines").textContent);
const traces = new Map();

/* Returns the Trace Event JSON of a step, as text. */
async function traceText(step) {
    if (!traces.has(step))
        traces.set(step, new TextDecoder().decode(await unpack(`timeline-${step}`)));
    return traces.get(step);
}

const timelineWhy = { longest: "the longest", typical: "a typical one" };

function timelineName({ step, why, rank }) {
    return `Step ${step}: ${timelineWhy[why] || `the worst of rank ${rank}`}`;
}

/* Whether the report has the events of this step, and charts show single steps. */
function hasTimeline(step) {
    return report.columns.block === 1 && timelines.some((one) => one.step === step);
}

/* How to get a timeline that the report does not have. */
function timelineHelp(parent, step) {
    parent.append(element("p", {}, step === null ? "The report has no events of single steps: they " +
        "are in the rank files, which were not beside cluster.h5, or were too large to read. "
        : `The report does not have the events of step ${step}. `, "For Perfetto, write them with ",
    element("code", {}, `profwrap report --format chrome${step === null ? "" : ` --steps ${step}`} ` +
        "-o timeline.json DIR"), "."));
}

/* The text beside the pointer: the same numbers as in the table. */
function boxWords(box) {
    return `rank ${box.rank}: ${box.name}\n${box.kind}, ${formatNs(box.end - box.start)}, from ` +
        `${formatSignedNs(box.start)}`;
}

function moveTimeline(painter, factor, shift, scroll, middle = 0.5) {
    const length = painter.until - painter.from, at = painter.from + middle * length;
    painter.show(at - middle * length * factor + shift * length,
        at + (1 - middle) * length * factor + shift * length, painter.scroll + scroll);
}

/* Zoom and pan by pointer, wheel with Ctrl, and keys. `redraw` paints in the next frame. */
function steerTimeline(canvas, painter, redraw) {
    let last = null;
    const place = (event) => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
        last = place(event);
        if (event.isTrusted)
            canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointerup", () => { last = null; });
    canvas.addEventListener("pointermove", (event) => {
        const [x, y] = place(event);
        if (last) {
            moveTimeline(painter, 1, (last[0] - x) / painter.plot, last[1] - y);
            last = [x, y];
            tip.hide();
            redraw();
            return;
        }
        const box = painter.at(x, y);
        if (box)
            tip.show(event, boxWords(box));
        else
            tip.hide();
    });
    canvas.addEventListener("mouseleave", () => tip.hide());
    canvas.addEventListener("wheel", (event) => {
        if (!event.ctrlKey)
            return; /* scrolls the page */
        event.preventDefault();
        moveTimeline(painter, 1.2 ** Math.sign(event.deltaY), 0, 0,
            Math.max(0, (place(event)[0] - BOX_LEFT) / painter.plot));
        redraw();
    }, { passive: false });
    const keys = { "+": [0.5, 0, 0], "-": [2, 0, 0], ArrowLeft: [1, -0.1, 0], ArrowRight: [1, 0.1, 0],
        ArrowUp: [1, 0, -45], ArrowDown: [1, 0, 45], Home: [1e9, 0, -1e9] };
    canvas.addEventListener("keydown", (event) => {
        if (!(event.key in keys))
            return;
        moveTimeline(painter, ...keys[event.key]);
        redraw();
        event.preventDefault();
    });
}

function timelineTools(parent, painter, redraw, one) {
    const zoom = (words, ...how) => element("button", { type: "button", onclick: () => {
        moveTimeline(painter, ...how);
        redraw();
    } }, words);
    const save = element("button", { type: "button", onclick: async () => {
        const blob = new Blob([await traceText(one.step)], { type: "application/json" });
        const link = element("a", { href: URL.createObjectURL(blob), download: `step-${one.step}.json` });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    } }, "Save for Perfetto");
    parent.append(element("div", { class: "tools" }, zoom("Zoom in", 0.5, 0, 0),
        zoom("Zoom out", 2, 0, 0), zoom("Whole step", 1e9, 0, -1e9), save));
}

function drawTimeline(parent, data, one, rank) {
    const span = [Math.min(0, d3.min(data.boxes, (box) => box.start) ?? 0),
        Math.max(one.end_ns - one.start_ns, d3.max(data.boxes, (box) => box.end) ?? 0)];
    const canvas = element("canvas", { id: "boxes", role: "application", tabindex: 0,
        "aria-roledescription": "timeline", "aria-label": `${timelineName(one)}: ` +
            `${formatCount(data.boxes.length)} boxes by rank and time; the table has the numbers. Arrow ` +
            "keys move, + and - zoom, Home shows the whole step." });
    parent.append(canvas);
    const painter = new BoxPainter(canvas, data, span);
    canvas.width = Math.max(parent.clientWidth - 30, 260);
    canvas.height = Math.min(Math.max(painter.layout.height + BOX_TOP, 80), 620);
    painter.resize();
    const group = painter.layout.ranks.find((row) => row.rank === rank);
    painter.show(0, one.end_ns - one.start_ns, group ? group.y : 0);
    let asked = false;
    const redraw = () => {
        if (asked)
            return;
        asked = true;
        requestAnimationFrame(() => {
            const before = performance.now();
            asked = false;
            painter.paint();
            canvas.dataset.frames = Number(canvas.dataset.frames || 0) + 1;
            canvas.dataset.paintMs = Number(canvas.dataset.paintMs || 0) + performance.now() - before;
            canvas.dataset.view = `${painter.from} ${painter.until}`;
        });
    };
    timelineTools(parent, painter, redraw, one);
    steerTimeline(canvas, painter, redraw);
    painter.paint();
    const kinds = boxKinds.filter((kind) => data.boxes.some((box) => box.kind === kind));
    const names = kinds.includes("phase") ? phases.map((one) => one.plane).filter((name) =>
        data.boxes.some((box) => box.kind === "phase" && box.name === name)) : [];
    legend(parent, [...kinds.filter((kind) => kind !== "phase").map((kind) => ({ kind, name: kind })),
        ...names.map((name) => ({ kind: "phase", name }))].map((key) => ({ name: key.name,
        colour: String(boxColour(key)) })));
}

async function renderTimeline(box, [number, , rank]) {
    box.append(element("h2", {}, "Timeline"));
    const asked = /^\d+$/.test(number || "") ? Number(number) : null;
    const one = asked === null ? timelines[0] : timelines.find(({ step }) => step === asked);
    if (!timelines.length || !one)
        timelineHelp(box, asked);
    if (timelines.length)
        box.append(element("ul", {}, ...timelines.map((row) => element("li", {},
            element("a", { href: `#timeline/${row.step}`,
                "aria-current": row === one ? "true" : null }, timelineName(row))))));
    if (!one)
        return;
    const data = parseTrace(JSON.parse(await traceText(one.step)), one.start_ns);
    const chart = panel(box, timelineName(one));
    drawTimeline(chart, data, one, Number(rank ?? one.rank));
    tableBehind(chart, "The boxes as a table", {
        caption: "Times are from the start of the step on", rows: data.boxes, sort: "time",
        search: "Find a name or rank",
        columns: [
            { title: "rank", kind: "plain", value: (row) => row.rank, show: (row) => rankLink(row.rank) },
            { title: "what", kind: "text", value: (row) => row.name },
            { title: "kind", kind: "text", value: (row) => row.kind },
            { title: "from", kind: "signed", value: (row) => row.start },
            { title: "time", kind: "ns", value: (row) => row.end - row.start },
        ],
    });
    note(box, "Arrows lead from the rank that entered a collective last to the others, from a send to " +
        "its receive, and from a launch to its kernel. They are hidden where more than 600 are in view." +
        (one.share < 1 ? ` The report has the first ${formatShare(one.share)} of this step's events.` : ""));
}
