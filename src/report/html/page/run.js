/* The page Clocks and completeness: the job, missing data, and the clocks. */
function property(list, name, value) {
    list.append(element("dt", {}, name), element("dd", {}, value));
}

function jobList(parent) {
    const { job, completeness, steps, clock } = report, list = element("dl");
    panel(parent, "The run", list);
    property(list, "command", job.command || "not known");
    property(list, "job", job.job_id || "not known");
    property(list, "ranks", `${formatCount(completeness.ranks_present)} of ` +
        `${formatCount(completeness.ranks_expected)} present; not closed in order: ` +
        `${formatCount(completeness.ranks_not_closed)}; failed: ` +
        formatCount(completeness.ranks_failed));
    property(list, "events", `${formatCount(completeness.events)} recorded, ` +
        `${formatCount(completeness.dropped_events)} dropped`);
    property(list, "steps", `${formatCount(steps.measured)} measured` +
        ({ calls: "; inferred from repeated calls",
           slices: "; slices of equal length" }[steps.found_by] || ""));
    if (recordingWindows().shown.length)
        property(list, "recorded", recordingWindows().shown.map(({ from, to }) =>
            `steps ${columnSteps[from]}-${report.columns.last[to]}`).join(", "));
    property(list, "clocks", clock.error_max_ns === null ? "not aligned"
        : `error bound of a rank: median ${formatNs(clock.error_median_ns)}, largest ` +
          formatNs(clock.error_max_ns));
    property(list, "profiling", isKnown(completeness.overhead_ns)
        ? `cost ${formatNs(completeness.overhead_ns)} of ${formatNs(completeness.overhead_of_ns)} ` +
          `of rank time (${formatShare(completeness.overhead_share)})` : "cost not known");
    property(list, "profwrap", job.profwrap_version || "not known");
}

/* Each time that the launcher started the ranks; the goodput is that of the text report. */
function epochTable(parent) {
    const { epochs } = report;
    if (!epochs)
        return;
    const box = panel(parent, "Epochs: each time that the launcher started the ranks");
    const least = formatShare(epochs.goodput_least), most = formatShare(epochs.goodput_most);
    note(box, !isKnown(epochs.goodput_least)
        ? "Goodput is not known, because not all steps were recorded."
        : `Goodput: ${least === most ? least : `between ${least} and ${most}`} of ` +
          `${formatNs(epochs.wall_ns)}; restarts took ${formatNs(epochs.restarts_ns)}.` +
          (least === most ? "" : " An epoch numbers its steps from the beginning: it is not known " +
              "which steps it repeats."));
    new Table(box, {
        caption: "One row an epoch", rows: epochs.rows, search: "Find",
        isHit: (row) => row.ended_by !== "finished",
        columns: [
            { title: "epoch", kind: "plain", value: (row) => row.epoch,
              show: (row) => `${row.epoch}${row.shown ? " (this report)" : ""}` },
            { title: "ranks", kind: "count", value: (row) => row.ranks },
            { title: "ran", kind: "ns", value: (row) => row.ran_ns },
            { title: "end", kind: "text", value: (row) => row.words },
            { title: "steps", kind: "count", value: (row) => row.steps },
            { title: "kept", kind: "count", value: (row) => row.kept_steps },
            { title: "in kept steps", kind: "ns", value: (row) => row.kept_ns },
            { title: "restart took", kind: "ns", value: (row) => row.restart_ns },
        ],
    });
}

function lossTable(parent) {
    const { losses } = report.completeness, box = panel(parent, "What is missing or contradictory");
    if (!losses.length) {
        note(box, "Nothing is missing.");
        return;
    }
    new Table(box, {
        caption: "One row each", rows: losses, search: "Find",
        columns: [
            { title: "rank", kind: "plain", value: (row) => row.rank,
              show: (row) => (isKnown(row.rank) ? String(row.rank) : "all") },
            { title: "what", kind: "text", value: (row) => (row.what || "").replace(/_/g, " ") },
            { title: "count", kind: "count", value: (row) => row.count },
            { title: "detail", kind: "text", value: (row) => row.detail },
        ],
    });
}

const endingWords = { well: "well", first: "first", later: "later", unknown: "not known" };

/* How each rank ended, of a job that did not end well. */
function endingTable(parent) {
    const { ending } = report.job;
    if (!ending)
        return;
    const began = Math.min(...ending.ranks.filter((row) => row.ended === "first")
        .map((row) => row.began));
    new Table(panel(parent, "How the ranks ended"), {
        caption: "Those that ended first are the cause", rows: ending.ranks,
        search: "Find a rank", isHit: (row) => row.ended === "first",
        columns: [
            { title: "rank", kind: "plain", value: (row) => row.rank },
            { title: "ended", kind: "text", value: (row) => endingWords[row.ended] },
            { title: "how", kind: "text", value: (row) => row.how.replace(/_/g, " ") },
            { title: "exit status", kind: "plain", value: (row) => row.exit_code, show: endWords },
            { title: "later by", kind: "ns", value: (row) => (isKnown(row.began)
                && row.ended !== "well" ? row.began - began : null) },
            { title: "step", kind: "plain", value: (row) => row.step },
            { title: "waited for the first", kind: "text", value: (row) => (row.waited ? "yes" : "") },
        ],
    });
    if (ending.exceptions.length)
        new Table(panel(parent, "Exceptions that no code caught"), {
            caption: "One row each", rows: ending.exceptions, search: "Find a rank or type",
            columns: [
                { title: "rank", kind: "plain", value: (row) => row.rank },
                { title: "type", kind: "text", value: (row) => row.type },
                { title: "where", kind: "text", value: (row) => `${row.file}:${row.line}` },
                { title: "message", kind: "text", value: (row) => row.message },
            ],
        });
}

/* Of dumps after a hang: who waits in which operation, and who did not reach it. */
function hangTable(parent) {
    const rows = report.job.hang;
    if (!rows.length)
        return;
    new Table(panel(parent, "Operations that had not ended"), {
        caption: "One row for each rank of an operation: who waits, and who is missing", rows,
        search: "Find a rank, operation or group", isHit: (row) => row.role !== "waiting",
        columns: [
            { title: "operation", kind: "plain", value: (row) => row.operation },
            { title: "rank", kind: "plain", value: (row) => row.rank },
            { title: "it is", kind: "text", value: (row) => row.role.replace(/_/g, " ") },
            { title: "call", kind: "text", value: (row) => row.op },
            { title: "communicator", kind: "text", value: (row) => row.comm_name },
            { title: "number", kind: "count", value: (row) => row.seq },
            { title: "peer", kind: "plain", value: (row) => row.peer },
        ],
    });
}

function openCallTable(parent) {
    const calls = report.completeness.open_calls;
    if (!calls.length || report.job.hang.length)
        return;
    const stood = (row) => (isKnown(row.start_ns) && isKnown(row.seen_until)
        ? row.seen_until - row.start_ns : null);
    new Table(panel(parent, "Calls that ranks ended in"), {
        caption: "Entered and never left: where a rank died or hung", rows: calls,
        search: "Find a rank or call", isHit: () => true,
        columns: [
            { title: "rank", kind: "plain", value: (row) => row.rank },
            { title: "call", kind: "text", value: (row) => row.op },
            { title: "communicator", kind: "text", value: (row) => row.comm_name },
            { title: "number", kind: "count", value: (row) => row.seq },
            { title: "peer", kind: "plain", value: (row) => row.peer },
            { title: "at least this long", kind: "ns", value: stood },
        ],
    });
}

const completeWords = ["not closed", "closed in order", "recovered"];

function endWords(row) {
    if (row.exit_signal)
        return `signal ${row.exit_signal}`;
    return isKnown(row.exit_code) ? String(row.exit_code) : "n/a";
}

function fileTable(parent) {
    new Table(panel(parent, "Rank files"), {
        caption: "One row a rank", rows: report.completeness.ranks, search: "Find a rank or host",
        isHit: (row) => !row.present || row.complete !== 1 || row.dropped_events > 0,
        columns: [
            { title: "rank", kind: "count", value: (row) => row.rank },
            { title: "host", kind: "text", value: (row) => row.hostname },
            { title: "file", kind: "text", value: (row) => (row.present
                ? completeWords[row.complete] || "not known" : "missing") },
            { title: "exit status", kind: "plain", value: (row) => row.exit_code, show: endWords },
            { title: "events", kind: "count", value: (row) => row.events },
            { title: "dropped", kind: "count", value: (row) => row.dropped_events },
            { title: "ran for", kind: "ns", value: (row) => row.run_ns },
            { title: "profiling cost", kind: "ns", value: (row) => row.overhead_ns },
        ],
    });
}

/* Draws the error bound of each host's clock. Smaller differences between ranks are not
 * significant. */
function clockBounds(parent) {
    const most = 16, hosts = d3.rollups(report.clock.ranks, (rows) => d3.max(rows, (row) => row.error_ns),
        (row) => row.hostname || "?").filter(([, error]) => error > 0);
    if (hosts.length < 2)
        return;
    const rows = d3.sort(hosts, ([, error]) => -error).slice(0, most);
    barChart(parent, {
        label: "Error bound of each host's clock; the table has the numbers",
        rows: rows.map(([name, error]) => ({ name, parts: [{ value: error,
            colour: "var(--accent)", words: `at most ${formatNs(error)}` }] })),
        format: (ns) => `\u00b1 ${formatNs(ns)}`,
    });
    note(parent, "Differences between ranks below these error bounds are not significant." +
        (hosts.length > most ? ` Of ${formatCount(hosts.length)} hosts, those with the largest.` : ""));
}

function clockTable(parent) {
    const box = panel(parent, "Clocks");
    if (!report.clock.ranks.length) {
        note(box, "This file has no clock table.");
        return;
    }
    clockBounds(box);
    const drift = (row) => (isKnown(row.drift_ppm)
        ? `${row.drift_ppm.toFixed(3)} \u00b1 ${row.drift_error_ppm.toFixed(3)}` : "n/a");
    new Table(box, {
        caption: "How each rank's clock relates to the cluster's", rows: report.clock.ranks,
        search: "Find a rank or host", isHit: (row) => row.source === "none",
        columns: [
            { title: "rank", kind: "count", value: (row) => row.rank },
            { title: "host", kind: "text", value: (row) => row.hostname },
            { title: "domain", kind: "count", value: (row) => row.domain },
            { title: "known by", kind: "text", value: (row) => row.source },
            { title: "offset", kind: "signed", value: (row) => row.offset_ns },
            { title: "drift, ppm", kind: "plain", value: (row) => row.drift_ppm, show: drift },
            { title: "error bound", kind: "ns", value: (row) => row.error_ns },
            { title: "measured", kind: "count", value: (row) => row.active_knots },
            { title: "order bounds", kind: "count", value: (row) => row.bounds },
            { title: "contradicted", kind: "count", value: (row) => row.violations_beyond },
        ],
    });
}

/* What the pages without a tab say, in a list. */
async function notRecorded(parent) {
    const list = element("dl");
    for (const page of pages.filter(({ has }) => has === false)) {
        const made = element("div");
        await page.render(made, []);
        property(list, page.title, [...made.querySelectorAll("p")].map((one) => one.textContent).join(" "));
    }
    if (list.children.length)
        panel(parent, "Not recorded", list);
}

async function renderRun(box) {
    box.append(element("h2", {}, "Clocks and completeness"));
    jobList(box);
    epochTable(box);
    lossTable(box);
    endingTable(box);
    hangTable(box);
    openCallTable(box);
    fileTable(box);
    clockTable(box);
    await notRecorded(box);
}
