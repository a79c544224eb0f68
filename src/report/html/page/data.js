/* The data pipeline: its queues, what is between them, and what is too slow. */
function pipelineGraph(parent, { queues, operators }) {
    const place = new Map(queues.map((queue) => [queue.queue, queue]));
    const nodes = operators.flatMap((operator) => [
        { kind: "operator", name: operator.operator || "?", suspect: operator.suspect },
        ...(operator.right ? [{ kind: "queue", name: operator.right,
            queue: place.get(operator.right) }] : [])]);
    const w = 118, gap = 26, width = nodes.length * (w + gap), height = 74;
    const words = nodes.map((node) => node.kind === "queue"
        ? `queue ${node.name} ${formatShare(node.queue.usage)} full`
        : `${node.name}${node.suspect ? " (suspect)" : ""}`).join(", then ");
    const svg = d3.select(parent).append("svg").attr("viewBox", `0 0 ${width} ${height}`)
        .attr("role", "img").attr("aria-label", words).style("max-width", `${width}px`);
    const groups = svg.selectAll("g").data(nodes).join("g")
        .attr("transform", (d, i) => `translate(${i * (w + gap) + 2},10)`);
    groups.filter((d, i) => i > 0).append("path").attr("d", `M${-gap},26H-6m-6,-5l6,5l-6,5`)
        .attr("fill", "none").attr("stroke", "var(--soft)").attr("stroke-width", 1.5);
    groups.append("rect").attr("width", w).attr("height", 54).attr("fill", "var(--page)")
        .attr("rx", (d) => (d.kind === "queue" ? 0 : 14))
        .attr("stroke", (d) => (d.suspect ? "var(--mark)" : "var(--line)"))
        .attr("stroke-width", (d) => (d.suspect ? 3 : 1.5));
    groups.filter((d) => d.kind === "queue").append("rect").attr("y", 46).attr("height", 8)
        .attr("fill", "var(--accent)").attr("width", (d) => w * (d.queue.usage || 0));
    groups.append("text").attr("x", w / 2).attr("y", 20).attr("text-anchor", "middle")
        .text((d) => (d.name.length > 16 ? `${d.name.slice(0, 15)}…` : d.name));
    groups.append("text").attr("class", "soft").attr("x", w / 2).attr("y", 38)
        .attr("text-anchor", "middle").text((d) => (d.kind === "queue"
            ? `${formatShare(d.queue.usage)} full` : d.suspect ? "suspect" : ""));
    groups.append("title").text((d) => d.name);
}

function queueTable(parent, data) {
    const rows = [...data.queues, ...(data.ranks || [])], slow = new Set(data.ranks_slow);
    new Table(parent, {
        caption: "Queues over the measured steps", rows, search: "Find a queue or rank",
        isHit: (row) => slow.has(row.rank),
        columns: [
            { title: "rank", kind: "text", value: (row) => (isKnown(row.rank) ? String(row.rank)
                : "all") },
            { title: "queue", kind: "text", value: (row) => row.queue },
            { title: "side", kind: "text", value: (row) => row.side },
            { title: "filled by", kind: "text", value: (row) => row.filled_by || "n/a" },
            { title: "usage", kind: "share", value: (row) => row.usage },
            { title: "empty", kind: "share", value: (row) => row.empty_share },
            { title: "capacity", kind: "count", value: (row) => row.capacity },
            { title: "steps", kind: "count", value: (row) => row.steps },
            { title: "that found it empty", kind: "count", value: (row) => row.steps_empty },
        ],
    });
    note(parent, "usage: mean of size / capacity; empty: samples with nothing in it. Marked: ranks " +
        "whose pipeline is too slow.");
}

function renderData(box, [rank]) {
    box.append(element("h2", {}, "Data pipeline"));
    const data = report.data_pipeline;
    if (!data) {
        note(box, "Not known: no queue was sampled. profwrap_queue() records how full a queue is; " +
            "for PyTorch's DataLoader profwrap.watch() does.");
        return;
    }
    adviceAbout(box, ["data_processing_slow", "data_transfer_slow", "data_wait", "data_starvation",
        "blocked_off_cpu_data", "slow_data"]);
    pipelineGraph(panel(box, "The pipeline, all ranks together"), data);
    rankChooser(box, "data", data.series, rank);
    const ranks = drawnRanks(data.series, rank);
    data.queues.forEach((queue, place) => {
        timeChart(panel(box, `Queue '${queue.queue}': items in it`), {
            label: `Size of queue ${queue.queue} over the run`, format: (d) => String(d),
            most: queue.capacity || null,
            lines: data.series.filter((one) => one.place === place && ranks.includes(one.rank))
                .map((one) => ({ name: `rank ${one.rank}`, times: one.time_s, values: one.size })),
        });
    });
    queueTable(panel(box, "Queues"), data);
}
