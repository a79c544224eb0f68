/* The page of messages: how much ranks send to each other, and how long they wait for each
 * other. */
const messageViews = [
    ["bytes", "bytes", formatBytes],
    ["messages", "messages", formatCount],
    ["late_sender_ns", "receivers waited for late senders", formatNs],
    ["late_receiver_ns", "senders waited for late receivers", formatNs],
    ["transfer_ns", "transfer", formatNs],
];
let messageView = "bytes";
let messageScope = "ranks";

function matrixOf(cells, field, side) {
    const values = new Float64Array(side * side).fill(NaN);
    cells.src.forEach((source, i) => {
        values[source * side + cells.dst[i]] = cells[field][i];
    });
    return values;
}

/* Sums a matrix of ranks by host. */
function matrixOfHosts({ cells }) {
    const hosts = [...new Set(report.ranks.hostname)], side = hosts.length;
    const host = report.ranks.hostname.map((name) => hosts.indexOf(name));
    const fields = messageViews.map(([field]) => field), sums = new Map();
    cells.src.forEach((source, i) => {
        const key = host[source] * side + host[cells.dst[i]];
        const sum = sums.get(key) || Object.fromEntries(fields.map((field) => [field, 0]));
        for (const field of fields)
            sum[field] += cells[field][i];
        sums.set(key, sum);
    });
    const keys = [...sums.keys()], made = { src: keys.map((key) => Math.floor(key / side)),
        dst: keys.map((key) => key % side) };
    for (const field of fields)
        made[field] = keys.map((key) => sums.get(key)[field]);
    return { names: hosts.map((name) => name || "?"), cells: made, scope: "hosts" };
}

/* True when a view by host differs from the view by rank: some ranks share a host that is known. */
function canShowHosts() {
    const hosts = new Set(report.ranks.hostname).size;
    return report.messages.scope === "ranks" && hosts > 1 && hosts < report.ranks.rank.length;
}

function slowFrames({ names, scope }) {
    const at = (rank) => names.indexOf(String(rank));
    return scope === "ranks" ? report.slow_links.map((link) => ({ row: at(link.src),
        from: at(link.dst), to: at(link.dst) })).filter(({ row, from }) => row >= 0 && from >= 0) : [];
}

function messageMatrix(parent) {
    const shown = messageScope === "hosts" && canShowHosts() ? matrixOfHosts(report.messages)
        : report.messages;
    const { names, cells, scope } = shown, side = names.length;
    const [field, words, format] = messageViews.find(([id]) => id === messageView);
    const values = matrixOf(cells, field, side);
    const most = d3.max(values) || 1, least = d3.min(values, (d) => (d > 0 ? d : NaN)) || 1;
    const toShare = (value) => (value > 0 && most > least
        ? 0.08 + 0.92 * Math.log(value / least) / Math.log(most / least) : value > 0 ? 1 : 0);
    const noun = { ranks: "rank", hosts: "host", blocks: "ranks" }[scope];
    const room = parent.clientWidth - (scope === "hosts" ? 130 : 110);
    const unit = Math.max(200, Math.min(520, side * (scope === "hosts" ? 56 : 30), room)), frames = slowFrames(shown);
    drawGrid(parent, {
        id: "matrix", frames, hitRows: frames.map(({ row }) => row),
        label: `Matrix of ${words} from each ${noun} (row) to each (column); the table has the ` +
            "largest pairs",
        rows: side, columns: side, height: unit, width: unit, columnRoom: scope === "ranks" ? 30 : 110,
        at: (row, column) => values[row * side + column], toShare,
        rowName: (row) => (scope === "hosts" ? names[row] : `${noun} ${names[row]}`),
        columnName: (column) => names[column],
        describe: (row, column) => `from ${noun} ${names[row]} to ${noun} ${names[column]}\n${words}: ` +
            (Number.isNaN(values[row * side + column]) ? "none" : format(values[row * side + column])),
    });
    if (most > least)
        colourScale(parent, format(least), `${format(most)} (logarithmic)`, "none");
    else
        note(parent, `All that there are: ${format(most)}. Striped: none.`);
    note(parent, "Rows send, columns receive." + (frames.length ? " Framed: slow links." : ""));
}

function slowLinks(parent) {
    if (!report.slow_links.length)
        return;
    new Table(panel(parent, "Slow links"), {
        caption: "Pairs whose messages take longer than those of similar pairs, whichever rank waits",
        rows: report.slow_links, isHit: (row) => row === report.slow_links[0],
        columns: [
            { title: "from", kind: "plain", value: (row) => row.src, show: (row) => rankLink(row.src) },
            { title: "to", kind: "plain", value: (row) => row.dst, show: (row) => rankLink(row.dst) },
            { title: "messages", kind: "count", value: (row) => row.messages },
            { title: "transfer", kind: "ns", value: (row) => row.transfer_ns },
            { title: "of similar pairs", kind: "ns", value: (row) => row.others_ns },
            { title: "times as long", kind: "plain", value: (row) => row.ratio,
              show: (row) => (isKnown(row.ratio) ? row.ratio.toFixed(1) : "n/a") },
            { title: "sure", kind: "share", value: (row) => row.confidence },
        ],
    });
}

function pairTable(parent) {
    const { pairs, pairs_total: total } = report.messages;
    new Table(panel(parent, "Pairs of ranks"), {
        caption: pairs.length < total
            ? `The ${pairs.length} with most bytes, of ${formatCount(total)}` : "All pairs",
        rows: pairs, search: "Find a rank", sort: "bytes",
        columns: [
            { title: "from", kind: "plain", value: (row) => row.src, show: (row) => rankLink(row.src) },
            { title: "to", kind: "plain", value: (row) => row.dst, show: (row) => rankLink(row.dst) },
            { title: "messages", kind: "count", value: (row) => row.messages },
            { title: "bytes", kind: "bytes", value: (row) => row.bytes },
            { title: "late sender", kind: "ns", value: (row) => row.late_sender_ns },
            { title: "late receiver", kind: "ns", value: (row) => row.late_receiver_ns },
            { title: "transfer", kind: "ns", value: (row) => row.transfer_ns },
        ],
    });
    note(parent.lastChild, "Late sender: time that receivers waited for it; late receiver: time that " +
        "senders waited.");
}

async function renderMessages(box) {
    box.append(element("h2", {}, "Point-to-point messages"));
    await lateKey("messages");
    if (!report.messages.cells.src.length) {
        note(box, "No messages between ranks were recorded.");
        return;
    }
    slowLinks(box);
    const pair = element("div", { class: "halves" });
    box.append(pair);
    messageMatrix(panel(pair, "Communication matrix", element("div", { class: "tools" },
        canShowHosts() ? chooser("Of", [["ranks", "ranks"], ["hosts", "hosts"]], messageScope,
            (scope) => {
                messageScope = scope;
                render();
            }) : null,
        chooser("Colour:", messageViews, messageView, (view) => {
            messageView = view;
            render();
        }))));
    pairTable(pair);
}
