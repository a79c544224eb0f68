/* The page What if: how long the job would have taken with a change, its critical path, slow hosts
 * and the network. */
function scenarioTable(parent, scenarios) {
    const x = d3.scaleLinear([0, d3.max(scenarios, (row) => row.gain_ns) || 1], [0, 180]);
    const meter = (row) => {
        const bar = element("span", { class: "meter", "aria-hidden": "true" });
        bar.style.width = `${x(row.gain_ns || 0)}px`;
        return bar;
    };
    new Table(panel(parent, "The job with a change"), {
        caption: "Replayed from what was measured; largest gain first", rows: scenarios,
        sort: "gain",
        columns: [
            { title: "with", kind: "text", value: (row) => row.words },
            { title: "job takes", kind: "ns", value: (row) => row.without_ns },
            { title: "gain", kind: "ns", value: (row) => row.gain_ns },
            { title: "speed-up", kind: "plain", value: (row) => row.slowdown,
              show: (row) => (isKnown(row.slowdown) ? row.slowdown.toFixed(3) : "n/a") },
            { title: "gain, drawn", kind: "text", value: () => "", show: meter },
        ],
    });
}

function criticalPath(parent, path) {
    const rows = [...path].sort((a, b) => b.share - a.share).slice(0, 15);
    const box = panel(parent, "Critical path: its longest pieces");
    if (!rows.length) {
        note(box, "Not known.");
        return;
    }
    const total = d3.sum(path, (row) => row.path_ns);
    barChart(box, {
        label: `The ${rows.length} longest pieces of the critical path, by rank and phase`,
        rows: rows.map((row) => ({ name: `rank ${row.rank} in ${row.what}`, parts: [{
            value: row.path_ns, colour: "var(--accent)",
            words: `${formatNs(row.path_ns)}, ${formatShare(row.share)} of the path` }] })),
        format: (ns) => `${formatNs(ns)}, ${formatShare(total ? ns / total : null)}`,
    });
    tableBehind(box, "The whole path as a table", {
        caption: "Every piece, the longest first", rows: path, sort: "time", search: "Find a rank",
        columns: [
            { title: "rank", kind: "plain", value: (row) => row.rank,
              show: (row) => rankLink(row.rank) },
            { title: "in", kind: "text", value: (row) => row.what },
            { title: "time", kind: "ns", value: (row) => row.path_ns },
            { title: "of the path", kind: "share", value: (row) => row.share },
        ],
    });
}

function slowHosts(parent) {
    if (!report.hosts.length)
        return;
    new Table(panel(parent, "Slow hosts"), {
        caption: "Hosts whose ranks are slow together", rows: report.hosts,
        isHit: (row) => row === report.hosts[0],
        columns: [
            { title: "host", kind: "text", value: (row) => row.hostname },
            { title: "slow ranks", kind: "count", value: (row) => row.slow_ranks,
              show: (row) => `${row.slow_ranks} of ${row.nranks}` },
            { title: "from step", kind: "plain", value: (row) => row.first_step },
            { title: "to step", kind: "plain", value: (row) => row.last_step },
            { title: "excess", kind: "ns", value: (row) => row.excess_ns },
            { title: "gain", kind: "ns", value: (row) => row.gain_ns },
        ],
    });
}

/* The table of slow transfers between hosts: of one link, of one host, or of all. */
function slowNetwork(parent) {
    if (!report.network.length)
        return;
    const hosts = (row) => [row.hostname, row.peer_hostname].filter(Boolean).join(" - ");
    const ranks = (row) => (isKnown(row.src) ? `${row.src} - ${row.dst}` : "");
    new Table(panel(parent, "Slow network"), {
        caption: "Transfers between hosts that took longer than others of their size; largest gain first",
        rows: report.network, isHit: (row) => row === report.network[0],
        columns: [
            { title: "of", kind: "text", value: (row) => row.scope },
            { title: "hosts", kind: "text", value: (row) => hosts(row) || "all" },
            { title: "ranks", kind: "text", value: ranks },
            { title: "from step", kind: "plain", value: (row) => row.first_step },
            { title: "to step", kind: "plain", value: (row) => row.last_step },
            { title: "transfers", kind: "count", value: (row) => row.transfers },
            { title: "mean", kind: "ns", value: (row) => row.mean_ns },
            { title: "usual", kind: "ns", value: (row) => row.usual_ns },
            { title: "gain", kind: "ns", value: (row) => row.gain_ns },
            { title: "of the steps", kind: "share", value: (row) => row.share },
            { title: "sure", kind: "share", value: (row) => row.confidence },
        ],
    });
}

function renderWhatif(box) {
    box.append(element("h2", {}, "What if"));
    if (report.whatif) {
        scenarioTable(box, report.whatif.scenarios);
        criticalPath(box, report.whatif.critical_path);
        const first = report.whatif.scenarios[0];
        note(box, `Replayed: steps ${first.first_step}-${first.last_step}, ` +
            `${formatNs(first.elapsed_ns)}.`);
    } else {
        note(box, "Not replayed: it needs steps.");
    }
    slowHosts(box);
    slowNetwork(box);
}
