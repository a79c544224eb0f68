/* The page of the timeline: ranks by time, of the steps whose events the report has
 * (html_timeline.c), or of any step when a server has sent the page (`profwrap report --serve`). */
const timelines = JSON.parse(document.getElementById("timelines").textContent);
const isServed = "served" in document.getElementById("timelines").dataset;
const answers = new Map(), ANSWERS_KEPT = 16;

/* Asks the server, which has the same address as the page. */
async function askServer(question) {
    const answer = await fetch(question).catch(() => {
        throw new Error("the server does not answer: 'profwrap report --serve' has ended");
    });
    if (!answer.ok)
        throw new Error((await answer.text()).trim());
    return answer;
}

/* Returns the object that the server sends for a step; keeps the last ones. */
function askStep(question) {
    if (!answers.has(question)) {
        const answer = askServer(question).then((found) => found.json());
        answer.catch(() => answers.delete(question));
        answers.set(question, answer);
        if (answers.size > ANSWERS_KEPT)
            answers.delete(answers.keys().next().value);
    }
    return answers.get(question);
}

/* Returns a timeline with its packed events: of one step, or of the step among several in which the
 * rank (null: all) took longest. Null: the report does not have it. */
async function readTimeline(first, last, rank) {
    const known = timelines.find(({ step }) => step === first && step === last);
    if (isServed)
        return { ...await askStep(`step/${first}/${last}/${rank ?? known?.rank ?? -1}`),
            ...(known ? { why: known.why, rank: known.rank } : {}) };
    return known ? { ...known, packed: document.getElementById(`timeline-${first}`).textContent } : null;
}

/* Returns the Trace Event JSON of a timeline, as text. */
async function traceText(one) {
    return new TextDecoder().decode(await unpackText(one.packed));
}

const timelineWhy = { longest: ": the longest", typical: ": a typical one", asked: "",
    all_slower: ": the longest of those in which all ranks were slower",
    network: ": the longest of those with slow transfers" };

function timelineName({ step, why, rank }) {
    return `Step ${step}${timelineWhy[why] ?? (why === "ending" ? `: the last of rank ${rank}`
        : `: the worst of rank ${rank}`)}`;
}

/* Returns the address of the timeline of a column of a chart for a rank; null: the report does not
 * have its events. */
function timelineAddress(column, rank) {
    const first = columnSteps[column], last = report.columns.last[column];
    if (!isServed && (first !== last || !timelines.some((one) => one.step === first)))
        return null;
    return `timeline/${first}${first === last ? "" : `-${last}`}/rank/${rank}`;
}

/* How to get a timeline that the report does not have. */
function timelineHelp(parent, step) {
    const steps = step === null ? "" : ` --steps ${step}`;
    parent.append(element("p", {}, step === null ? "The report has no events of single steps: they " +
        "are in the rank files, which were not beside cluster.h5, or were too large to read. "
        : `The report does not have the events of step ${step}. `,
    element("code", {}, "profwrap report --serve DIR"), " shows them on this page; ",
    element("code", {}, `profwrap report --format chrome${steps} -o timeline.json DIR`),
    " writes them for Perfetto."));
}

/* The call as the first sentence has it. */
function callName({ source, op }) {
    return source === "mpi" ? `MPI_${op}` : op;
}

/* The calls that ranks ended in, as boxes: they have no event, because nobody left them. */
function openBoxes({ cluster_ns: zero, start_ns: start, end_ns: end }, shown) {
    const ranks = new Set(shown.map((box) => box.rank));
    return report.completeness.open_calls.filter((row) => ranks.has(row.rank) &&
        isKnown(row.start_ns) && isKnown(row.seen_until) &&
        row.start_ns < zero + end - start && row.seen_until > zero)
        .map((row) => ({ rank: row.rank, track: row.thread, kind: row.source,
            name: `${callName(row)}, never left`, start: row.start_ns - zero, end: row.seen_until - zero }));
}

/* The text beside the pointer: the same numbers as in the table. */
function boxWords(box) {
    const when = box.kind === "mark" ? "at" : `${formatNs(box.end - box.start)}, from`;
    return `rank ${box.rank}: ${box.name}\n${box.kind}, ${when} ${formatSignedNs(box.start)}`;
}

function moveTimeline(painter, factor, shift, scroll, middle = 0.5) {
    const length = painter.until - painter.from, at = painter.from + middle * length;
    painter.show(at - middle * length * factor + shift * length,
        at + (1 - middle) * length * factor + shift * length, painter.scroll + scroll);
}

/* Zoom and pan by pointer, wheel and keys. The wheel scrolls the page until the timeline has the focus,
 * by a click or Tab; with Ctrl it always zooms. `redraw` paints in the next frame. */
function steerTimeline(canvas, painter, redraw) {
    let last = null;
    const place = (event) => {
        const box = canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
        last = place(event);
        canvas.focus({ preventScroll: true });
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
        if (!event.ctrlKey && document.activeElement !== canvas)
            return;
        event.preventDefault();
        tip.hide();
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

/* A field that finds boxes by their names; Enter goes from one to the next. */
function timelineSearch(painter, redraw) {
    const status = element("span", { class: "soft small", role: "status" });
    let found = [], at = -1;
    const field = element("input", { type: "search", id: "find-box", size: 18,
        oninput: () => {
            found = painter.search(field.value.trim());
            at = -1;
            status.textContent = !field.value.trim() ? "" : found.length
                ? `${formatCount(found.length)} found; Enter: the next one` : "none found in this step";
            redraw();
        },
        onkeydown: (event) => {
            if (event.key !== "Enter" || !found.length)
                return;
            at = (at + (event.shiftKey ? found.length - 1 : 1)) % found.length;
            painter.reveal(found[at]);
            status.textContent = `${at + 1} of ${formatCount(found.length)}: ` +
                boxWords(found[at]).replace("\n", "; ");
            redraw();
        } });
    return [element("label", {}, "Find ", field), status];
}

function timelineTools(parent, painter, redraw, one) {
    const zoom = (words, ...how) => element("button", { type: "button", onclick: () => {
        moveTimeline(painter, ...how);
        redraw();
    } }, words);
    const problem = element("span", { class: "soft small", role: "status" });
    const save = element("button", { type: "button", onclick: async () => {
        problem.textContent = isServed ? "Reading the rank files\u2026" : "";
        await saveTimeline(one, painter).then(() => { problem.textContent = ""; },
            (error) => { problem.textContent = error.message; });
    } }, "Save for Perfetto");
    parent.append(element("div", { class: "tools" }, zoom("Zoom in", 0.5, 0, 0),
        zoom("Zoom out", 2, 0, 0), zoom("Whole step", 1e9, 0, -1e9), save, problem,
        ...timelineSearch(painter, redraw)));
    note(parent, "Drag: move. Wheel: zoom, after a click, or with Ctrl. A point shows what it is.");
}

/* Saves the step as JSON; of a server, what all ranks did in the times that are in view. */
async function saveTimeline(one, painter) {
    const view = [Math.floor(painter.from), Math.ceil(painter.until)];
    const blob = isServed ? await (await askServer(`perfetto/${one.step}/${view.join("/")}`)).blob()
        : new Blob([await traceText(one)], { type: "application/json" });
    const link = element("a", { href: URL.createObjectURL(blob),
        download: `step-${one.step}.${isServed ? "pftrace" : "json"}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
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

/* A field and buttons to choose the step, when a server can send any. */
function timelineChooser(parent, asked, rank) {
    const column = columnOfStep(asked), n = columnSteps.length;
    const go = (i) => { location.hash = timelineAddress(i, rank); };
    const field = element("input", { type: "number", id: "timeline-step", min: columnSteps[0],
        max: report.columns.last[n - 1], value: asked,
        onchange: () => { location.hash = `timeline/${Number(field.value)}/rank/${rank}`; } });
    parent.append(element("div", { class: "tools" }, element("label", {}, "Step ", field),
        element("button", { type: "button", disabled: column <= 0, onclick: () => go(column - 1) },
            "Earlier"),
        element("button", { type: "button", disabled: column < 0 || column >= n - 1,
            onclick: () => go(column + 1) }, "Later")));
}

/* The steps whose events the report has, or that a server was asked for. */
function timelineList(parent, one) {
    if (timelines.length)
        parent.append(element("ul", {}, ...timelines.map((row) => element("li", {},
            element("a", { href: `#timeline/${row.step}`,
                "aria-current": row.step === one?.step ? "true" : null }, timelineName(row))))));
}

function timelineNotes(parent, one) {
    const missing = one.unread ? ` ${plural(one.unread, "rank file")} cannot be read.` : "";
    note(parent, "Arrows lead from the rank that entered a collective last to the others, from a send " +
        "to its receive, and from a launch to its kernel. They are hidden where more than 600 are in " +
        "view." + (one.share < 1 ? ` The report has the first ${formatShare(one.share)} of this step's ` +
        "events." : "") + missing);
}

/* Returns [first step, last step, rank] of "17/rank/3" or "16-19/rank/3"; null: not given. */
function timelineAsked([steps, , rank]) {
    const found = /^(\d+)(?:-(\d+))?$/.exec(steps || "");
    const first = found ? Number(found[1]) : timelines[0]?.step ?? null;
    return [first, found && found[2] ? Number(found[2]) : first,
        /^\d+$/.test(rank || "") ? Number(rank) : null];
}

async function renderTimeline(box, address) {
    box.append(element("h2", {}, "Timeline"));
    const [first, last, rank] = timelineAsked(address);
    if (isServed && first === null) {
        note(box, "The times of no step are known.");
        return;
    }
    const wait = element("p", { class: "soft", role: "status" }, "Reading the rank files\u2026");
    if (isServed)
        box.append(wait);
    let problem = "";
    const one = await readTimeline(first, last, rank).catch(({ message }) => {
        problem = message;
    });
    wait.remove();
    if (isServed)
        timelineChooser(box, one?.step ?? first, rank ?? one?.rank ?? -1);
    if (problem)
        box.append(element("p", { role: "alert" }, problem));
    else if (!one)
        timelineHelp(box, first);
    timelineList(box, one);
    if (!one)
        return;
    const data = parseTrace(JSON.parse(await traceText(one)), one.start_ns);
    data.boxes.push(...openBoxes(one, data.boxes));
    const chart = panel(box, timelineName(one));
    drawTimeline(chart, data, one, rank ?? one.rank);
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
    timelineNotes(box, one);
}
