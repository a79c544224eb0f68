/* The first page: which rank is slow, where, what it costs, and advice; then the steps and the
 * efficiency. */
/* What held the job back, also before the end of a job that did not end well. */
function delayVerdict() {
    return report.job.ending ? report.job.ending.verdict_before : report.job.verdict;
}

/* True when the job died or hung. */
function isBadEnd() {
    return report.job.ending !== null || report.job.verdict === "hang";
}

/* The colour of the verdict: red when a rank is to blame, or the job did not end well; green when there is neither advice nor a
 * highlight. */
function mood() {
    if (isBadEnd())
        return "bad";
    if (delayVerdict() === "unknown")
        return "even";
    if (delayVerdict() === "held_back")
        return "bad";
    return report.advice[0].rule === "none" && !report.job.highlights.length ? "good" : "even";
}

function tile(parent, label, value, { words, link, isText }) {
    const made = element("div", { class: `tile ${mood()}` },
        element("div", { class: "label" }, label),
        element("div", { class: `value${isText ? " text" : ""}` }, value),
        words ? element("div", { class: "soft small" }, words) : null,
        link || null);
    parent.append(made);
}

function costWords(worst, loss) {
    const together = isKnown(loss.together_ns) ? `; all stragglers together cost ${formatNs(loss.together_ns)}` : "";
    const ofAll = isKnown(loss.share) ? `${formatShare(loss.share)} of the time of all steps; ` : "";
    const each = worst.steps_hit > 1 ? " more a step" : " more";
    const share = isKnown(worst.slowdown) ? ` (${formatShare(worst.slowdown)})` : "";
    if (worst.kind === "stretch")
        return worst.part === "any" ? `lost${share} in ${worst.steps_words} of the run`
            : `lost${share} ${worst.steps_words}`;
    return `${ofAll}${formatNs(worst.excess_ns)}${each} in ${worst.steps_words}${together}`;
}

/* Where the rank was slow: "in backward"; outside the steps, the part of the run or a time in
 * it. */
function whereWords(worst) {
    if (worst.phase_words || worst.kind !== "stretch")
        return worst.phase_words || "phase not known";
    return worst.part === "any" ? `${worst.steps_words} of the run` : worst.steps_words;
}

function stragglerTiles(parent, worst) {
    const host = worst.of_host && report.hosts.find((row) => row.hostname === worst.hostname);
    const elsewhere = report.stragglers.filter((row) => row.hostname !== worst.hostname).length;
    const more = report.stragglers.length - 1;
    tile(parent, "WHO", host ? host.hostname : `Rank ${worst.rank}`, {
        words: (host ? [`${host.slow_ranks} of its ${plural(host.nranks, "rank")}`,
            elsewhere && `${elsewhere} more elsewhere`]
            : [worst.hostname && `on ${worst.hostname}`, more && `${more} more`])
            .filter(Boolean).join("; "),
        link: element("a", { class: "small", href: `#stragglers/rank/${worst.rank}` },
            "Show its steps"),
    });
    tile(parent, "WHERE", whereWords(worst), {
        words: `cause: ${worst.cause_words || "not known"}`,
    });
    const loss = report.job.losses.find((one) => one.in_headline);
    tile(parent, isKnown(loss.gain_ns) ? "COST TO THE JOB" : "LOST BY IT",
        formatNs(loss.gain_ns ?? loss.lost_ns), { words: costWords(worst, loss) });
}

function stepSpan({ first_step: first, last_step: last }) {
    return first === last ? `Step ${first}` : `Steps ${first}-${last}`;
}

/* Ranks that left no usable file, and those whose calls or communication were not recorded. */
function unseenRanks() {
    const notes = report.completeness.losses.filter(({ rank, what }) => isKnown(rank) && what !== "unrecorded_spawned" &&
        (what === "no_communication" || what.startsWith("unrecorded_")));
    const lost = report.completeness.ranks.filter((row) => !row.present);
    return [...new Set([...lost, ...notes].map((row) => row.rank))].sort((a, b) => a - b);
}

/* Ranks that may be the slow ones when the evidence does not tell: those without a usable file or
 * recorded calls, or one that has more work and no other of its role. Null: the question is of no
 * single rank. */
function ranksInQuestion() {
    const reason = report.job.ending ? report.job.ending.reason_before : report.job.reason;
    const lost = report.completeness.ranks.filter((row) => !row.present).map((row) => row.rank);
    const unseen = unseenRanks();
    const lone = report.imbalances.find((row) => row.verdict === "cannot_tell" && row.nranks === 1);
    if (reason === "ranks_missing" && lost.length)
        return { ranks: lost, words: `left no usable file${lost.length > 1 ? "s" : ""}, and may be slowest` };
    if (["mpi_not_recorded", "no_communication"].includes(reason) && unseen.length && unseen.length < report.job.ranks)
        return { ranks: unseen, words: unseen.length > 1 ? "are not recorded, and may be slowest"
            : "is not recorded, and may be slowest" };
    if (reason === "no_peers" && lone)
        return { ranks: [lone.first_rank], words: `has more work, and no other rank has its role (${lone.name})` };
    return null;
}

function unknownTile(parent, { ranks, words }) {
    const shown = ranks.slice(0, 6).join(", ") + (ranks.length > 6 ? ` and ${ranks.length - 6} more` : "");
    tile(parent, "WHO", ranks.length === 1 ? `Rank ${ranks[0]}?` : `${plural(ranks.length, "rank")}?`, {
        words: ranks.length === 1 ? `not known: it ${words}` : `not known: ranks ${shown} ${words}` });
}

function evenTiles(parent) {
    const one = report.job.ranks === 1, ranks = isKnown(report.job.ranks) ? report.job.ranks : 0;
    const unknown = delayVerdict() === "unknown";
    const uneven = delayVerdict() === "imbalance" && report.imbalances[0];
    const link = delayVerdict() === "network" && report.network[0];
    const isSpawned = unknown && report.job.reason === "spawned_not_recorded";
    const who = isSpawned ? "Spawned processes" : unknown ? "Not known" : one ? "One rank" : {
        network: link && isKnown(link.src) ? `Ranks ${link.src} - ${link.dst}` : "The network",
        imbalance: uneven && uneven.kind === "role" && uneven.name || "Uneven work", all_slower: "All ranks",
    }[delayVerdict()] || "Nobody";
    const inQuestion = unknown && ranksInQuestion();
    const words = isSpawned ? "the ranks wait for them; they are not recorded"
        : one && !unknown ? "nothing to compare it with"
        : link ? [link.hostname, link.peer_hostname].filter(Boolean).join(" - ")
        : delayVerdict() === "all_slower" ? `${formatCount(ranks)} together`
        : uneven && uneven.ranks ? `more work on ${uneven.nranks > 1 ? "ranks" : "rank"} ${uneven.ranks}`
        : `of ${formatCount(ranks)}`;
    if (inQuestion)
        unknownTile(parent, inQuestion);
    else
        tile(parent, "WHO", who, { words });
    const loss = report.job.losses.find((row) => row.in_headline);
    const trend = delayVerdict() === "all_slower" &&
        report.trends.find((row) => row.cost_ns === loss.lost_ns);
    if (loss && (trend || link || uneven)) {
        const of = trend || link;
        tile(parent, "WHERE", of ? stepSpan(of) : "In every step", {
            words: trend ? `most in ${trend.phase}`
                : link ? `${formatCount(link.transfers)} slow transfers`
                : `${formatNs(uneven.work_ns)} of work, others ${formatNs(uneven.others_ns)}` });
        tile(parent, "COST TO THE JOB", formatNs(loss.gain_ns ?? loss.lost_ns), {
            words: isKnown(loss.share) ? `${formatShare(loss.share)} of ${{
                steps: "the time of all steps", run: "the run", replay: "the replayed time",
            }[loss.share_of]}` : "" });
        return;
    }
    tile(parent, "STEPS", formatCount(report.steps.measured), {
        words: `mean ${formatNs(report.steps.mean_ns)}` });
    const { wait_ns: wait, total_ns: total } = report.mean;
    const isWaitKnown = isKnown(wait) && total > 0;
    tile(parent, "WAITING FOR OTHERS", formatShare(isWaitKnown ? wait / total : null), {
        words: isWaitKnown ? `${formatNs(wait)} of a step` : "" });
}

/* The tiles when no rank is named and all ranks share the loss that the headline begins with. */
function sharedTiles(parent, loss) {
    const ranks = isKnown(report.job.ranks) ? report.job.ranks : 0;
    tile(parent, "WHO", ranks === 1 ? "The only rank" : "All ranks", {
        words: ranks === 1 ? "" : isKnown(loss.rank) ? `rank ${loss.rank} most`
            : `of ${formatCount(ranks)}, none stands out` });
    tile(parent, "WHERE", {
        data_wait: "Waiting for data", no_cpu: "Ready to run, without a CPU",
        host_late: "GPUs idle: kernels are launched late", transfers: "Transfers that do not overlap with computation",
        all_slower: "Some steps of all ranks", slow_network: "Slow network",
        waits: "Waiting for each other",
    }[loss.kind], { words: `steps of ${formatNs(report.steps.mean_ns)} on average` });
    const isOfJob = loss.kind === "all_slower" || loss.kind === "slow_network";
    const cost = isOfJob || !ranks ? loss.lost_ns : loss.lost_ns / ranks;
    tile(parent, "COST", formatShare(loss.share), {
        words: isKnown(loss.lost_ns) ? `${formatNs(cost)}${isOfJob ? "" : " on each rank"}` : "" });
}

const endWordsOf = {
    exit: (row) => `Exit status ${row.exit_code}`,
    signal: (row) => `Signal ${row.exit_signal}`,
    out_of_memory: () => "Out of memory",
    mpi_abort: (row) => `MPI_Abort, code ${row.abort_code}`,
    mpi_error: (row) => row.mpi_error,
    exception: (row, raised) => (raised ? raised.type : "An exception"),
};

/* The tiles of a job that did not end well: who ended first, how and where. */
function endingTiles(parent) {
    const { ending } = report.job, holders = ending.ranks.filter((one) => one.held > 0);
    const first = holders.length ? holders[0].rank : ending.first[0];
    const row = ending.ranks.find((one) => one.rank === first);
    const host = (report.completeness.ranks.find((one) => one.rank === first) || {}).hostname;
    const raised = ending.exceptions.findLast((one) => one.rank === first && one.is_main);
    const call = report.completeness.open_calls.find((one) => one.rank === first);
    const isOne = ending.first.length === 1;
    const waited = ending.ranks.filter((one) => one.waited).length;
    if (holders.length)
        tile(parent, "WAITED FOR", holders.length === 1 ? `Rank ${first}` : plural(holders.length, "rank"), {
            words: `by ${plural(waited, "rank")}, until a signal ended all` });
    else
        tile(parent, "ENDED FIRST", isOne ? `Rank ${first}` : plural(ending.first.length, "rank"), {
            words: [isOne ? host && `on ${host}` : "the clocks do not tell which was first",
                waited && `${plural(waited, "rank")} waited for ${isOne ? "it" : "them"}`]
                .filter(Boolean).join("; ") });
    tile(parent, "HOW", (endWordsOf[row.how] || (() => "Not known"))(row, raised), {
        words: raised && row.how === "exception" ? `${raised.message}`
            : { not_finalized: "without MPI_Finalize", finalized: "after MPI_Finalize" }[row.mpi] });
    tile(parent, "WHERE", isKnown(row.step) ? `${row.in_step ? "Step" : "After step"} ${row.step}`
        : "Step not known", {
        words: raised && row.how === "exception" ? `${raised.file}:${raised.line}`
            : call ? `in ${callName(call)}${call.comm_name ? ` on ${call.comm_name}` : ""}`
            : row.mpi === "not_finalized" ? "in no MPI call" : "" });
}

/* The tiles of dumps after a hang, as the headline of the first operation. */
function hangTiles(parent) {
    const rows = report.job.hang.filter((one) => one.operation === 0);
    const of = (...roles) => rows.filter((one) => roles.includes(one.role));
    const missing = of("missing", "held"), waiting = of("waiting");
    const unknown = of("no_operations", "no_dump", "cut_dump");
    tile(parent, "WHO", missing.length === 1 ? `Rank ${missing[0].rank}`
        : missing.length ? plural(missing.length, "rank") : "Not known", {
        words: [missing.length && "did not reach the operation",
            unknown.length && `of ${plural(unknown.length, "rank")} it is not known`]
            .filter(Boolean).join("; ") });
    const [one] = rows;
    tile(parent, "WHERE", isKnown(one.seq) && one.seq >= 0 ? `${one.op} ${one.seq}` : one.op, {
        words: one.comm_name && `on ${one.comm_name}` });
    tile(parent, "WAIT IN IT", waiting.length === 1 ? `Rank ${waiting[0].rank}`
        : plural(waiting.length, "rank"), { words: `of ${formatCount(report.job.ranks)}` });
}

function nextTile(parent) {
    const [first, ...rest] = report.advice;
    tile(parent, "DO NEXT", first.text, { isText: true,
        words: rest.length ? `then ${plural(rest.length, "more thing")}, below` : "" });
}

/* Marks for charts over steps: where all ranks were slow, or the stragglers were, the worst ones if
 * there are many. */
function stragglerMarks() {
    const most = 6, isOfAll = delayVerdict() === "all_slower";
    const rows = isOfAll ? [d3.greatest(report.trends.filter((row) => row.kind !== "warm_up"),
        (row) => row.cost_ns)] : report.stragglers.slice(0, most);
    return rows.filter((row) => row && row.kind !== "pauses") /* single steps: no span */
        .map((row) => ({ from: columnOfStep(row.first_step), to: columnOfStep(row.last_step),
            text: isOfAll ? "all ranks" : `rank ${row.rank}` }))
        .filter(({ from, to }) => from >= 0 && to >= 0);
}

function stepSeries(parent) {
    const { columns, steps } = report;
    const box = panel(parent, "Time of each step");
    const flat = (value) => columnSteps.map(() => value);
    lineChart(box, {
        label: `Time of ${columnSteps.length} steps: half are below ${formatNs(steps.p50_ns)}, ` +
            `95th percentile ${formatNs(steps.p95_ns)}, the longest took ${formatNs(steps.max_ns)}`,
        count: columnSteps.length, names: (i) => columnSteps[i], xTitle: "step",
        series: [
            { name: "step", values: columns.duration_ns, colour: "var(--accent)" },
            { name: `median ${formatNs(steps.p50_ns)}`, values: flat(steps.p50_ns),
              colour: "var(--soft)", dash: "6 4" },
            { name: `95th percentile ${formatNs(steps.p95_ns)}`, values: flat(steps.p95_ns),
              colour: "var(--soft)", dash: "2 3" },
        ],
        bands: [
            { name: "own work of ranks: median to 95th percentile", opacity: 0.42,
              low: columns.own_p50_ns, high: columns.own_p95_ns },
            { name: "own work of ranks: 95th percentile to most", opacity: 0.2, low: columns.own_p95_ns,
              high: columns.own_max_ns },
        ],
        marks: stragglerMarks(), windows: recordingWindows(),
        describe: (i) => `${columnName(i)}: ${formatNs(columns.duration_ns[i])}\n` +
            `own work: median ${formatNs(columns.own_p50_ns[i])}, 95 % of ranks below ` +
            `${formatNs(columns.own_p95_ns[i])}, slowest ${formatNs(columns.own_max_ns[i])}` +
            (isKnown(columns.slowest_rank[i]) ? ` (rank ${columns.slowest_rank[i]})` : ""),
        onPick: (i) => { location.hash = `steps/${columnSteps[i]}`; },
    });
    stepSeriesTable(box);
}

function stepSeriesTable(parent) {
    const { columns } = report, of = (name) => (i) => columns[name][i];
    tableBehind(parent, "Steps as a table", {
        caption: columns.block > 1 ? `Rows are means of ${columns.block} steps` : "Every step",
        rows: d3.range(columnSteps.length), search: "Find a step or rank",
        columns: [
            { title: "step", kind: "plain", value: (i) => columnSteps[i],
              show: (i) => stepLink(columnSteps[i]) },
            { title: "time", kind: "ns", value: of("duration_ns") },
            { title: "own, median", kind: "ns", value: of("own_p50_ns") },
            { title: "own, 95 %", kind: "ns", value: of("own_p95_ns") },
            { title: "own, most", kind: "ns", value: of("own_max_ns") },
            { title: "slowest", kind: "plain", value: of("slowest_rank"),
              show: (i) => rankLink(columns.slowest_rank[i]) },
            { title: "kind", kind: "text", value: (i) => (columns.warmup[i] ? "warm-up" : "") },
        ].filter((column) => column.title !== "kind" || columns.warmup.some(Boolean)),
    });
}

const efficiencyParts = {
    field: "parallel_efficiency", name: "Parallel efficiency",
    words: "rank time outside communication",
    children: [
        { field: "load_balance", name: "Load balance", words: "mean / most such time of a rank" },
        { field: "communication_efficiency", name: "Communication", words: "most such time / run time",
          children: [
              { field: "serialisation_efficiency", name: "Serialisation", words: "most own work / time without transfer" },
              { field: "transfer_efficiency", name: "Transfer", words: "time without transfer / replayed time" },
          ] },
    ],
};

function efficiencyTree(parent) {
    const box = panel(parent, "Efficiency: 100 % is best");
    if (!report.efficiency) {
        note(box, "Not known: it needs measured steps, and communication between ranks.");
        return;
    }
    const root = d3.hierarchy(efficiencyParts);
    const width = Math.max(box.clientWidth - 30, 260), height = 230;
    const w = Math.min(150, width / 3 - 18);
    d3.tree().size([height, width - w])(root);
    const words = root.descendants().map(({ data }) =>
        `${data.name} ${formatShare(report.efficiency[data.field])}`).join(", ");
    const svg = d3.select(box).append("svg").attr("viewBox", `0 0 ${width} ${height}`)
        .attr("role", "img").attr("aria-label", words);
    svg.append("g").attr("fill", "none").attr("stroke", "var(--line)").attr("stroke-width", 1.5)
        .selectAll("path").data(root.links()).join("path").attr("d", ({ source, target }) =>
            `M${source.y + w},${source.x}C${source.y + w + 10},${source.x} ` +
            `${target.y - 12},${target.x} ${target.y},${target.x}`);
    const nodes = svg.append("g").selectAll("g").data(root.descendants()).join("g")
        .attr("transform", (d) => `translate(${d.y},${d.x - 27})`);
    nodes.append("rect").attr("width", w).attr("height", 54).attr("rx", 5)
        .attr("fill", "var(--page)").attr("stroke", "var(--line)");
    nodes.append("rect").attr("y", 49).attr("height", 5).attr("rx", 2).attr("fill", "var(--accent)")
        .attr("width", (d) => w * Math.min(1, report.efficiency[d.data.field] || 0));
    nodes.append("text").attr("class", "soft").attr("x", 8).attr("y", 17)
        .style("font-size", w < 125 ? "10px" : null).text((d) => d.data.name);
    nodes.append("text").attr("x", 8).attr("y", 39).style("font-size", "18px")
        .style("font-weight", 700).text((d) => formatShare(report.efficiency[d.data.field]));
    nodes.append("title").text((d) => d.data.words);
    if (report.completeness.losses.some((row) => row.what === "requests_polled"))
        note(box, "The program completes its requests by tests (MPI_Test): waiting between these counts as work, " +
            "so all of these may be lower.");
    note(box, "Parallel efficiency is the share of the ranks' time outside communication; waiting for data " +
        "and idle GPUs count as work here. It is about load balance times communication, and " +
        "communication is about serialisation (ranks that wait for each other in turn) times transfer.");
}

/* The table of the parts of the run; its last row is their sum. */
function partTable(parent) {
    const { rows, run_ns: run, wait_ns: wait, ranks } = report.parts;
    new Table(parent, {
        caption: `The whole wall time: means of ${plural(ranks, "rank")}`,
        rows: [...rows, { part: "the run", words: "", mean_ns: run, share: 1, wait_ns: wait }],
        columns: [
            { title: "part", kind: "text", value: (row) => row.part },
            { title: "what it is", kind: "text", value: (row) => row.words },
            { title: "mean of ranks", kind: "ns", value: (row) => row.mean_ns },
            { title: "of the run", kind: "share", value: (row) => row.share },
            { title: "waiting", kind: "ns", value: (row) => row.wait_ns,
              help: "for other ranks, mean" },
            { title: "longest own", kind: "ns", value: (row) => row.longest_own_ns,
              show: (row) => (row.part === "the run" ? "" : formatNs(row.longest_own_ns)),
              help: "the longest time of a rank, without waiting for others" },
            { title: "on rank", kind: "plain", value: (row) => row.longest_rank,
              show: (row) => (row.part === "the run" ? "" : rankLink(row.longest_rank)) },
        ],
    });
    note(parent, "From the first event or sample on any rank to the last: the run's time at the top " +
        "also includes the launch before and the closing of files after it. n/a: its end is not known " +
        "on all ranks; its time is in the part next to it.");
}

function formatFlops(value) {
    if (!isKnown(value))
        return "n/a";
    const unit = d3.bisectRight([1e9, 1e12, 1e15, 1e18].map((bound) => 0.9995 * bound), value);
    return `${d3.format(".3~r")(value / 10 ** (6 + 3 * unit))} ${"MGTPE"[unit]}FLOP`;
}

function formatMfu(mfu) {
    return isKnown(mfu) ? `${(100 * mfu).toFixed(1)} %` : "n/a";
}

function flopsTable(parent) {
    const { by_rank: ranks, ...all } = report.flops;
    const rate = (value) => (isKnown(value) ? `${formatFlops(value)}/s` : "n/a");
    const perStep = (row) => (row.steps > 0 ? row.flops / row.steps : null);
    new Table(parent, {
        caption: isKnown(all.mfu)
            ? `The job: MFU ${formatMfu(all.mfu)}, ${rate(all.flops_per_s)} of ${rate(all.peak_flops)} in ${all.type}`
            : `The job: ${rate(all.flops_per_s)}; MFU is not known, because not all GPUs have a known ` +
              `peak in ${all.type} (give it with profwrap merge --peak-flops N)`,
        rows: ranks, search: "Find a rank",
        columns: [
            { title: "rank", kind: "plain", value: (row) => row.rank, show: (row) => rankLink(row.rank) },
            { title: "steps", kind: "count", value: (row) => row.steps },
            { title: "a step needs", kind: "plain", value: perStep,
              show: (row) => formatFlops(perStep(row)) },
            { title: "reached", kind: "plain", value: (row) => row.flops_per_s,
              show: (row) => rate(row.flops_per_s) },
            { title: "GPUs", kind: "count", value: (row) => row.gpus },
            { title: "their peak", kind: "plain", value: (row) => row.peak_flops,
              show: (row) => rate(row.peak_flops) },
            { title: "MFU", kind: "plain", value: (row) => row.mfu, show: (row) => formatMfu(row.mfu) },
        ],
    });
    note(parent, "MFU: the FLOPs that the model needs, over what the GPUs could have computed in the " +
        "same steps at their peak, without sparsity.");
}

/* The rows of the bars of a step: the mean, and the ranks with the most and the least own time. */
function stepBarRows() {
    const { ranks, mean } = report, own = ranks.own_ns;
    const known = d3.range(own.length).filter((row) => isKnown(own[row]));
    const value = (row, field) => (row < 0 ? mean[field] : ranks[field][row]);
    /* Waits during which the rank's GPU computes cost no time: they are in no part of the step. */
    const of = (row) => (field) => (field === "wait_ns" && isKnown(value(row, "own_ns"))
        ? Math.max(0, value(row, "total_ns") - value(row, "own_ns")) : value(row, field));
    const rows = [{ name: `mean of ${plural(known.length, "rank")}`, of: of(-1) }];
    if (known.length < 2)
        return known.length ? rows : [];
    const most = d3.greatest(known, (row) => own[row]), least = d3.least(known, (row) => own[row]);
    for (const [words, row] of [["most own work", most], ["least own work", least]])
        rows.push({ name: `${words}: rank ${ranks.rank[row]}`, of: of(row), rank: ranks.rank[row],
            href: `#stragglers/rank/${ranks.rank[row]}` });
    return rows;
}

/* Where a step goes. The parts are those of the pages Steps and Stragglers; communication that
 * is not overlapped is drawn below each bar, because it may be inside any of the parts. */
function stepBars(parent) {
    const rows = stepBarRows();
    if (!rows.length)
        return;
    const box = panel(parent, "Where a step goes"), { ranks } = report;
    const shown = phases.map((phase, i) => ({ ...phase, colour: phaseColour(i),
        isHatched: phase.plane === "wait" })).filter(({ field }) => d3.max(ranks[field]) > 0);
    const exposed = { field: "comm_exposed_ns", name: "communication that is not overlapped",
        colour: "var(--accent)" };
    const isExposed = rows.some((row) => row.of(exposed.field) > 0);
    const part = (row, layer) => ({ value: row.of(layer.field), colour: layer.colour,
        isHatched: layer.isHatched, words: `${layer.name}: ${formatNs(row.of(layer.field))}` });
    barChart(box, {
        label: "Where a step goes: own work by phase and waiting, of the mean, and of the ranks with most " +
            "and least own work; the table has the numbers",
        keys: isExposed ? [...shown, exposed] : shown, format: formatNs,
        rows: rows.flatMap((row) => [{ name: row.name, href: row.href, total: row.of("total_ns"),
            parts: shown.map((layer) => part(row, layer)) },
        isExposed ? { name: "in which: communication", total: row.of(exposed.field),
            parts: [part(row, exposed)] } : null].filter(Boolean)),
    });
    tableBehind(box, "Where a step goes, as a table", {
        caption: `Means of ${plural(report.steps.measured, "measured step")}`, rows,
        columns: [
            { title: "of", kind: "text", value: (row) => row.name },
            ...[{ field: "total_ns", name: "step" }, ...shown, exposed].map(({ field, name }) => ({
                title: name, kind: "ns", value: (row) => row.of(field) })),
        ],
    });
    note(box, "Own work of a phase is without waiting for other ranks. Other work is what is left, " +
        "transfers outside the phases, too. Waits while the rank's GPU computes are not drawn: they " +
        "take no time of the step. Communication that is not overlapped includes the waiting, and is " +
        "part of the phases in which it happened.");
}

function renderOverview(box) {
    const tiles = element("div", { class: "tiles" });
    box.append(element("h2", { class: "skip" }, "Overview"), tiles);
    const shared = report.job.highlights.find((one) => one.in_headline);
    if (report.job.ending)
        endingTiles(tiles);
    else if (report.job.hang.length)
        hangTiles(tiles);
    else if (report.stragglers.length && delayVerdict() === "held_back")
        stragglerTiles(tiles, report.stragglers[0]);
    else if (shared)
        sharedTiles(tiles, shared);
    else
        evenTiles(tiles);
    nextTile(tiles);
    const pair = element("div", { class: "columns" });
    box.append(pair);
    if (columnSteps.length)
        stepSeries(pair);
    else
        note(panel(pair, "Time of each step"), "No steps are known: see 'What to do'.");
    efficiencyTree(pair);
    stepBars(box);
    panel(box, "What to do", adviceList(report.advice));
    if (report.flops)
        flopsTable(panel(box, "FLOP/s and MFU"));
    if (report.parts)
        partTable(panel(box, "Parts of the run"));
}
