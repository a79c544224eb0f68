/* Lines over the time of the run, of ranks that were not sampled at the same times. */
const dashes = [null, "7 3", "2 3", "9 3 2 3", "4 2"];

/* lines: [{name, times, values}], the values of a line are those up to its times; `format` words. */
function timeChart(parent, { label, lines, format, most }) {
    const shown = lines.filter((line) => line.values.some(isKnown));
    if (!shown.length) {
        note(parent, `${label}: not known.`);
        return;
    }
    const width = Math.max(parent.clientWidth - 30, 260), height = 190;
    const svg = d3.select(parent).append("svg").attr("viewBox", `0 0 ${width} ${height}`)
        .attr("role", "img").attr("aria-label", label);
    const x = d3.scaleLinear([0, d3.max(shown, (line) => d3.max(line.times)) || 1],
        [chartMargin.left, width - chartMargin.right]);
    const top = most || d3.max(shown, (line) => d3.max(line.values, (d) => (isKnown(d) ? d : NaN)));
    const y = d3.scaleLinear([0, top || 1], [height - chartMargin.bottom, chartMargin.top]).nice(4);
    svg.append("g").attr("class", "axis").attr("transform", `translate(${chartMargin.left},0)`)
        .call(d3.axisLeft(y).ticks(4).tickFormat(format));
    svg.append("g").attr("class", "axis")
        .attr("transform", `translate(0,${height - chartMargin.bottom})`)
        .call(d3.axisBottom(x).ticks(8).tickFormat((d) => `${d} s`));
    const colour = (i) => d3.interpolateViridis(0.1 + 0.75 * i / Math.max(shown.length - 1, 1));
    svg.append("g").attr("fill", "none").selectAll("path").data(shown).join("path")
        .attr("stroke", (d, i) => colour(i)).attr("stroke-width", 1.6)
        .attr("stroke-dasharray", (d, i) => dashes[i % dashes.length])
        .attr("d", ({ times, values }) => d3.line().defined(isKnown)
            .x((d, i) => x(times[i])).y((d) => y(d)).curve(d3.curveStepBefore)(values))
        .append("title").text((d) => d.name);
    if (shown.length <= 8)
        legend(parent, shown.map((line, i) => ({ name: line.name, isLine: true, colour: colour(i),
            dash: dashes[i % dashes.length] })));
}

/* The ranks to draw: those of the address, else stragglers and others up to a handful. */
function drawnRanks(series, chosen) {
    const ranks = [...new Set(series.map((one) => one.rank))];
    const wanted = Number(chosen);
    return /^\d+$/.test(chosen || "") && ranks.includes(wanted) ? [wanted] : ranks.slice(0, 8);
}

function rankChooser(parent, page, series, chosen) {
    const ranks = [...new Set(series.map((one) => one.rank))].sort(d3.ascending);
    parent.append(element("div", { class: "tools" }, chooser("Show",
        [["", ranks.length > 8 ? "stragglers and others" : "all ranks"],
            ...ranks.map((rank) => [String(rank), `rank ${rank}`])], chosen || "",
        (rank) => { location.hash = rank ? `${page}/${rank}` : page; })));
}

/* Of the rules that are about this page. */
function adviceAbout(parent, rules) {
    const found = report.advice.filter((advice) => rules.includes(advice.rule));
    if (found.length)
        panel(parent, "What to do", adviceList(found));
}

function adviceList(advice) {
    return element("ol", { class: "advice" }, ...advice.map((one) => element("li", {}, one.text,
        one.evidence || isKnown(one.saves_ns) ? element("div", { class: "soft small" },
            (one.saves_ns > 0 ? `Would save up to ${formatNs(one.saves_ns)}` +
                `${isKnown(one.share) ? ` (${formatShare(one.share)})` : ""}. ` : "") +
            (one.evidence ? `Seen: ${one.evidence}. ` : "") + `[${one.rule}]`) : null)));
}
