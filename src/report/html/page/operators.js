/* The page of operators: which ones take most time, on which ranks they take longer, and their call
 * paths. */
const mostOperators = 10000; /* LIST_ROWS in html_report.c */

function operatorName(row) {
    return row.name || "(no name)";
}

function longestOperators(parent) {
    const most = 20;
    const rows = report.operators.by_name.filter((row) => row.self_ns > 0).slice(0, most);
    const box = panel(parent, "Most self time, all ranks");
    barChart(box, {
        label: "Self time of the operators that have most; the table has the numbers",
        keys: [{ name: "own work", colour: "var(--accent)" },
            { name: "waiting for other ranks inside it", isHatched: true }],
        rows: rows.map((row) => ({ name: operatorName(row), parts: [
            { value: row.self_ns - row.self_wait_ns, colour: "var(--accent)",
              words: `own work ${formatNs(row.self_ns - row.self_wait_ns)}` },
            { value: row.self_wait_ns, isHatched: true,
              words: `waiting ${formatNs(row.self_wait_ns)}` },
        ] })),
        format: (ns) => `${formatNs(ns)}, ${formatShare(ns / report.operators.self_ns)}`,
    });
}

function slowOperators(parent) {
    const { slow_ranks: slow } = report.operators;
    if (!slow.length)
        return;
    const box = panel(parent, "Ranks that take longer than the others"), list = element("ul");
    box.append(list);
    for (const one of slow.slice(0, 8))
        list.append(element("li", {}, "Rank ", rankLink(one.rank),
            ` spends ${one.ratio.toFixed(1)} x the other ranks' median in `,
            element("code", {}, operatorName(one)),
            `: ${formatNs(one.own_ns)} of own work, others ${formatNs(one.others_median_ns)}.`));
    if (slow.length > 8)
        note(box, `${slow.length - 8} more are in report.json.`);
}

function operatorHeat(parent) {
    const { heat, slow_ranks: slow } = report.operators, { rank } = heat;
    const busy = d3.range(heat.name.length).filter((i) => d3.max(heat.own_ns[i]) > 0);
    const name = busy.map((i) => heat.name[i]), own = busy.map((i) => heat.own_ns[i]);
    if (rank.length < 2 || !name.length)
        return;
    const means = own.map((line) => d3.mean(line)), above = (row, column) =>
        own[row][column] / means[row] - 1;
    const most = d3.max(own, (line, row) => d3.max(line, (_, column) => above(row, column)));
    const top = Math.max(0.1, Math.min(most, 2));
    const frames = slow.map((one) => ({ row: name.indexOf(one.name), from: rank.indexOf(one.rank) }))
        .filter(({ row, from }) => row >= 0 && from >= 0).map((one) => ({ ...one, to: one.from }));
    const box = panel(parent, "Own work of each rank in the operators with most self time");
    box.classList.add("operator-heat");
    drawGrid(box, {
        id: "operator-heat", frames, top,
        label: "Own work by operator and rank, above the mean of the ranks",
        rows: name.length, columns: rank.length, height: 22 * name.length, at: above,
        rowName: (row) => name[row] || "(no name)", columnName: (column) => String(rank[column]),
        hitRows: frames.map(({ row }) => row),
        describe: (row, column) => `rank ${rank[column]}, ${name[row]}\n` +
            `${formatNs(own[row][column])}, ${(own[row][column] / means[row]).toFixed(2)} x the mean`,
        onPick: (row, column) => { location.hash = `#stragglers/rank/${rank[column]}`; },
    });
    colourScale(box, "at the mean or below", `${(1 + top).toFixed(1)} x the mean or more`,
        "not known");
    note(box, "Own work: self time without waiting for other ranks. A row is an operator, a column " +
        "a rank." + (frames.length ? " Framed: ranks that take longer than chance explains." : ""));
}

const operatorGroups = [["by_name", "name"], ["by_type", "type"], ["by_shapes", "name and shapes"]];

function operatorColumns(group) {
    const rows = report.operators[group];
    const hasMemory = rows.some((row) => row.alloc_bytes !== 0 || row.peak_alloc_bytes > 0);
    const share = (ns) => (isKnown(ns) ? ns / report.operators.self_ns : null);
    const signed = (bytes) => (bytes < 0 ? `-${formatBytes(-bytes)}` : formatBytes(bytes));
    const columns = [
        group !== "by_type" && { title: "name", kind: "text", value: operatorName },
        { title: "type", kind: "text", value: (row) => row.type },
        group === "by_shapes" && { title: "shapes", kind: "text", value: (row) => row.shapes },
        { title: "self %", kind: "share", value: (row) => row.share },
        { title: "self total", kind: "ns", value: (row) => row.self_ns,
          help: "without the operators inside" },
        { title: "total %", kind: "share", value: (row) => share(row.total_ns),
          help: "with the operators inside; a call inside one of the same name counts twice" },
        { title: "total", kind: "ns", value: (row) => row.total_ns },
        { title: "avg", kind: "ns", value: (row) => row.mean_ns },
        { title: "p50", kind: "ns", value: (row) => row.p50_ns },
        { title: "p95", kind: "ns", value: (row) => row.p95_ns },
        { title: "max", kind: "ns", value: (row) => row.max_ns },
        { title: "# of calls", kind: "count", value: (row) => row.calls },
        hasMemory && { title: "self mem", kind: "bytes", value: (row) => row.self_alloc_bytes,
                       show: (row) => signed(row.self_alloc_bytes) },
        hasMemory && { title: "peak mem", kind: "bytes", value: (row) => row.peak_alloc_bytes,
                       help: "most that was allocated and not freed in a call, at any time in it" },
        group === "by_name" && report.operators.ranks > 1 && {
            title: "max / mean", kind: "plain", value: (row) => row.imbalance,
            help: "own work of the rank that takes longest / mean of all ranks",
            show: (row) => (isKnown(row.imbalance)
                ? element("span", {}, `${row.imbalance.toFixed(2)} (`, rankLink(row.max_rank), ")")
                : "n/a") },
    ];
    return columns.filter(Boolean);
}

function operatorTable(parent) {
    const box = panel(parent, "All operators"), place = element("div");
    const draw = (group) => {
        place.replaceChildren();
        new Table(place, { caption: "Percentages are of the self time of all operators and ranks",
            rows: report.operators[group], columns: operatorColumns(group), limit: 20,
            search: "Find an operator", sort: "self total" });
        if (report.operators[group].length >= mostOperators)
            note(place, `Only the ${formatCount(mostOperators)} with most self time are here; ` +
                "cluster.h5 has more.");
    };
    box.append(element("div", { class: "tools" },
        chooser("A row for each", operatorGroups, "by_name", draw)), place);
    draw("by_name");
}

/* Makes a tree of the call paths, with one root. Each row has the number of its parent's row, which
 * comes before it. */
function stackTree() {
    const root = { name: "all", children: [], exclusive_ns: 0, calls: 0 };
    const nodes = [];
    for (const row of report.operators.stacks) {
        const node = { name: operatorName(row), kind: row.kind, calls: row.calls, children: [],
            exclusive_ns: row.exclusive_ns || 0 };
        nodes.push(node);
        (isKnown(row.parent) ? nodes[row.parent] : root).children.push(node);
    }
    return d3.hierarchy(root).sum((d) => d.exclusive_ns)
        .sort((a, b) => d3.ascending(a.data.name, b.data.name));
}

const kindColours = { operator: "var(--accent)", function: "var(--soft)", user: "var(--good)",
    data: "var(--warn-text)", phase: "var(--mark)" };

function drawFlames(place, root, focus, onPick) {
    const width = Math.max(place.clientWidth, 260), line = 20;
    const rootWidth = focus.x1 - focus.x0 || 1;
    const x = (value) => (value - focus.x0) / rootWidth * width;
    const shown = root.descendants().filter((d) => d.x1 > focus.x0 && d.x0 < focus.x1 &&
        (d.x1 - d.x0) / rootWidth * width >= 1);
    const height = (d3.max(shown, (d) => d.depth) + 1) * line;
    place.replaceChildren();
    const svg = d3.select(place).append("svg").attr("id", "flames").attr("role", "group")
        .attr("aria-label", "Call paths by their time: arrow keys move, Enter enlarges one")
        .attr("viewBox", `0 0 ${width} ${height}`);
    const boxes = svg.selectAll("g").data(shown).join("g").style("cursor", "pointer")
        .attr("transform", (d) => `translate(${Math.max(x(d.x0), 0)},${d.depth * line})`);
    const wide = (d) => Math.min(x(d.x1), width) - Math.max(x(d.x0), 0);
    const words = (d) => `${d.data.name}\n${formatNs(d.value)}, ${formatShare(d.value / root.value)}` +
        (d.data.calls ? `\n${plural(d.data.calls, "call")}` : "");
    boxes.append("rect").attr("width", wide).attr("height", line - 1).attr("rx", 2)
        .attr("fill", (d) => kindColours[d.data.kind] || "var(--line)").attr("fill-opacity", 0.32);
    boxes.filter((d) => wide(d) > 30).append("text").attr("x", 4).attr("y", 14)
        .text((d) => (d.data.name.length > wide(d) / 7
            ? `${d.data.name.slice(0, Math.max(wide(d) / 7 - 1, 1))}\u2026` : d.data.name));
    boxes.each(function (d) {
        this.addEventListener("mousemove", (event) => tip.show(event, words(d)));
        this.addEventListener("mouseleave", () => tip.hide());
        this.addEventListener("click", () => onPick(d));
    });
    boxes.attr("role", "button").attr("tabindex", (d) => (d === focus ? 0 : -1))
        .attr("aria-label", (d) => words(d).replace(/\n/g, ", "));
    walkFlames(boxes, words, onPick);
}

/* One box at a time can be reached by Tab. From it, arrow keys lead to its callees, its caller, and
 * its neighbours. */
function walkFlames(boxes, words, onPick) {
    const nodes = new Map(boxes.nodes().map((node, i) => [boxes.data()[i], node]));
    const shown = (list) => (list || []).find((one) => nodes.has(one));
    const beside = (d, way) => {
        const row = [...nodes.keys()].filter((one) => one.depth === d.depth)
            .sort((a, b) => a.x0 - b.x0);
        return row[row.indexOf(d) + way];
    };
    boxes.each(function (d) {
        this.addEventListener("focus", () => {
            const { right, bottom } = this.getBoundingClientRect();
            tip.show({ clientX: Math.min(right, innerWidth - 40), clientY: bottom }, words(d));
        });
        this.addEventListener("blur", () => tip.hide());
        this.addEventListener("keydown", (event) => {
            const ways = { ArrowDown: () => shown(d.children), ArrowUp: () => shown([d.parent]),
                ArrowLeft: () => beside(d, -1), ArrowRight: () => beside(d, 1) };
            if (event.key === "Enter" || event.key === " ")
                onPick(d);
            else if (!(event.key in ways))
                return;
            event.preventDefault();
            const next = event.key in ways ? ways[event.key]() : null;
            if (next) {
                this.setAttribute("tabindex", -1);
                nodes.get(next).setAttribute("tabindex", 0);
                nodes.get(next).focus();
            }
        });
    });
}

function flameGraph(parent) {
    const root = stackTree();
    if (!(root.value > 0))
        return;
    d3.partition()(root);
    const box = panel(parent, "Call paths"), place = element("div");
    const whole = element("button", { type: "button", onclick: () => draw(root) }, "Show all");
    const draw = (focus) => {
        tip.hide();
        whole.hidden = focus === root;
        const isFocused = place.contains(document.activeElement);
        drawFlames(place, root, focus, draw);
        if (isFocused)
            place.querySelector("[tabindex='0']").focus();
    };
    const kinds = Object.keys(kindColours).filter((kind) =>
        report.operators.stacks.some((row) => row.kind === kind));
    legend(box, kinds.map((kind) => ({ name: kind, colour: kindColours[kind], opacity: 0.32 })));
    box.append(element("div", { class: "tools" }, whole), place);
    draw(root);
    note(box, "A box is as wide as the time of all calls with this path, over all ranks; what it has " +
        "called is below it. Choose a box to see it larger.");
    if (report.operators.stacks.length >= mostOperators)
        note(box, `Only the first ${formatCount(mostOperators)} paths are here: profwrap report ` +
            "--format folded has all.");
    tableBehind(box, "Call paths as a table", {
        caption: "Time of all calls with this path, over all ranks", sort: "self", limit: 20,
        rows: root.descendants().filter((node) => node.depth), search: "Find a path",
        columns: [
            { title: "path", kind: "text", value: (node) => node.ancestors().reverse().slice(1)
                .map(({ data }) => data.name).join(" > ") },
            { title: "calls", kind: "count", value: (node) => node.data.calls },
            { title: "self", kind: "ns", value: (node) => node.data.exclusive_ns },
            { title: "total", kind: "ns", value: (node) => node.value },
        ],
    });
}

function allOperators(box) {
    const { self_ns: self, self_wait_ns: wait, calls, names, ranks } = report.operators;
    note(box, `Self time total: ${formatNs(self)} on ${plural(ranks, "rank")}, ${formatNs(wait)} of ` +
        `it waiting for other ranks; ${plural(calls, "call")} of ${plural(names, "operator")}.`);
    slowOperators(box);
    longestOperators(box);
    operatorHeat(box);
    operatorTable(box);
    flameGraph(box);
}

/* Arguments: `gpu/3` shows the GPU of rank 3; `kernels` shows the kernels. */
async function renderOperators(box, [what, number]) {
    await lateKey("operators");
    await lateKey("gpu");
    box.append(element("h2", {}, "Operators"));
    if (report.operators)
        allOperators(box);
    else
        note(box, "No operators were recorded: profwrap.h marks them.");
    await renderGpus(box, what === "gpu" && /^\d+$/.test(number || "") ? Number(number) : null);
    if (report.gpu)
        await renderKernels(box, what === "kernels");
}
