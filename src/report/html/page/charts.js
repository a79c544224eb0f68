/* Charts over steps or ranks, drawn by D3. Positions are numbered from 0; `names` has the text of
 * each for the axis and the pointer. For the keyboard and for screen readers a chart is a
 * slider. */
const chartMargin = { left: 64, right: 14, top: 8, bottom: 36 };

function chartFrame(parent, { label, count, names, xTitle, most, height, onPick, describe }) {
    const width = Math.max(parent.clientWidth - 30, 260);
    const svg = d3.select(parent).append("svg").attr("viewBox", `0 0 ${width} ${height}`)
        .attr("aria-label", label);
    const x = d3.scaleLinear([0, count || 1], [chartMargin.left, width - chartMargin.right]);
    const y = d3.scaleLinear([0, most || 1], [height - chartMargin.bottom, chartMargin.top])
        .nice(5);
    drawAxes(svg, x, y, { width, height, count, names, xTitle });
    const plot = svg.append("g");
    const at = (event) => {
        const box = svg.node().getBoundingClientRect();
        const i = Math.floor(x.invert((event.clientX - box.left) * width / box.width));
        return i >= 0 && i < count ? i : -1;
    };
    svg.node().addEventListener("mousemove", (event) => {
        if (at(event) >= 0)
            tip.show(event, describe(at(event)));
        else
            tip.hide();
    });
    svg.node().addEventListener("mouseleave", () => tip.hide());
    if (onPick)
        svg.style("cursor", "pointer").node().addEventListener("click", (event) => {
            if (at(event) >= 0)
                onPick(at(event));
        });
    const frame = { svg, plot, x, y, width, height };
    slideByKeys(frame, { count, describe, onPick });
    return frame;
}

function slideByKeys({ svg, x, width, height }, { count, describe, onPick }) {
    let now = 0;
    const node = svg.node(), cursor = svg.append("rect").attr("class", "cursor")
        .attr("y", chartMargin.top).attr("height", height - chartMargin.top - chartMargin.bottom);
    const show = (i) => {
        now = i;
        svg.attr("aria-valuenow", i).attr("aria-valuetext", describe(i));
        cursor.attr("x", x(i)).attr("width", Math.max(x(i + 1) - x(i), 3));
    };
    svg.attr("tabindex", 0).attr("role", "slider").attr("aria-valuemin", 0)
        .attr("aria-valuemax", Math.max(count - 1, 0));
    if (!count)
        return;
    show(0);
    node.addEventListener("keydown", (event) => {
        const to = moveByKey(event.key, [0, now], 1, count);
        if (to) {
            show(to[1]);
            const box = node.getBoundingClientRect();
            tip.show({ clientX: box.left + x(now + 1) * box.width / width, clientY: box.top },
                describe(now));
        } else if (event.key === "Enter" && onPick)
            onPick(now);
        else
            return;
        event.preventDefault();
    });
    node.addEventListener("blur", () => tip.hide());
}

function drawAxes(svg, x, y, { width, height, count, names, xTitle }) {
    const bottom = height - chartMargin.bottom;
    const ticks = x.ticks(Math.min(count, Math.floor(width / 90)))
        .filter((i) => Number.isInteger(i) && i < count);
    svg.append("g").attr("class", "gridline").attr("transform", `translate(${chartMargin.left},0)`)
        .call(d3.axisLeft(y).ticks(5).tickFormat("")
            .tickSize(chartMargin.left + chartMargin.right - width));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${chartMargin.left},0)`)
        .call(d3.axisLeft(y).ticks(5).tickFormat(formatTickNs));
    const axis = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`)
        .call(d3.axisBottom(x).tickValues(ticks).tickFormat((i) => names(i)).tickSizeOuter(0));
    axis.selectAll(".tick").attr("transform", (i) => `translate(${x(i + 0.5)},0)`);
    svg.append("text").attr("class", "soft").attr("x", width - chartMargin.right)
        .attr("y", height - 2).attr("text-anchor", "end").text(xTitle);
}

function legend(parent, entries) {
    const box = d3.select(parent).append("div").attr("class", "legend");
    const items = box.selectAll("span").data(entries).join("span");
    items.append("svg").attr("viewBox", "0 0 22 12").attr("aria-hidden", "true").each(function (d) {
        const svg = d3.select(this);
        if (d.isLine)
            svg.append("line").attr("x2", 22).attr("y1", 6).attr("y2", 6).attr("stroke", d.colour)
                .attr("stroke-width", 2.5).attr("stroke-dasharray", d.dash || null);
        else
            svg.append("rect").attr("width", 22).attr("height", 12).attr("fill", d.fill || d.colour)
                .attr("fill-opacity", d.opacity || 1);
    });
    items.append("span").text((d) => d.name);
}

/* A stepped line over the positions, with gaps where values are not known. */
function stepLine(x, y) {
    return d3.line().defined((d) => Number.isFinite(d[1])).x((d) => x(d[0])).y((d) => y(d[1]))
        .curve(d3.curveStepAfter);
}

/* Repeats the last value, so that the last position has a width. */
function stepPoints(values) {
    const known = Array.from(values, (value) => (isKnown(value) ? value : NaN));
    return [...known, known[known.length - 1]].map((value, i) => [i, value]);
}

function drawMarks(frame, marks) {
    const groups = frame.plot.append("g").selectAll("g").data(marks).join("g");
    groups.append("rect").attr("x", (d) => frame.x(d.from)).attr("y", chartMargin.top)
        .attr("width", (d) => Math.max(frame.x(d.to + 1) - frame.x(d.from), 2))
        .attr("height", frame.height - chartMargin.top - chartMargin.bottom)
        .attr("fill", "var(--mark)").attr("fill-opacity", 0.13);
}

function nameMarks(frame, marks) {
    const groups = frame.plot.append("g").selectAll("g").data(marks).join("g");
    const isRight = (d) => frame.x(d.from) > 0.8 * frame.width; /* no room to the right */
    groups.append("text").attr("class", "halo")
        .attr("x", (d) => (isRight(d) ? frame.x(d.from) - 4 : frame.x(d.from) + 4))
        .attr("text-anchor", (d) => (isRight(d) ? "end" : "start"))
        .attr("y", (d, i) => chartMargin.top + 12 + 14 * i).style("font-weight", 650).text((d) => d.text);
}

/* Draws a line below the top of the plot: where windows of recording begin, and which steps are
 * warm-up. */
function drawWindows(frame, { shown, warmups }) {
    const group = frame.plot.append("g").attr("class", "windows");
    group.selectAll("rect.warmup").data(warmups).join("rect").attr("class", "warmup")
        .attr("x", frame.x).attr("width", (i) => frame.x(i + 1) - frame.x(i))
        .attr("y", chartMargin.top).attr("fill", "var(--soft)").attr("fill-opacity", 0.18)
        .attr("height", frame.height - chartMargin.top - chartMargin.bottom);
    const windows = group.selectAll("g").data(shown).join("g");
    windows.append("path").attr("fill", "none").attr("stroke", "var(--soft)")
        .attr("stroke-width", 1.5).attr("d", ({ from, to }) => `M${frame.x(from) + 1},` +
            `${frame.height - chartMargin.bottom}V${chartMargin.top}H${frame.x(to + 1) - 1}V` +
            `${chartMargin.top + 10}`);
    windows.filter(({ from, to }) => frame.x(to + 1) - frame.x(from) > 60).append("text")
        .attr("class", "soft").attr("x", ({ from }) => frame.x(from) + 5)
        .attr("y", chartMargin.top + 26).text(({ text }) => text);
    windows.append("title").text(({ text }) => text);
}

function windowKeys({ shown, warmups }) {
    return [shown.length ? { name: "a window of recording begins", colour: "var(--soft)", isLine: true }
        : null, warmups.length ? { name: report.job.ending ? "warm-up, or cut by the end: not in the means"
            : "warm-up, not in the means", colour: "var(--soft)",
                                   opacity: 0.18 } : null].filter(Boolean);
}

function largest(lists) {
    return d3.max(lists, (values) => d3.max(values, (value) => (isKnown(value) ? value : NaN))) || 0;
}

/* series: [{name, values, colour, dash}]; bands: [{name, low, high, opacity}]; marks: [{from, to,
 * text}]; windows: from recordingWindows(). */
function lineChart(parent, { series, bands = [], marks, windows, ...rest }) {
    const lists = series.map((one) => one.values).concat(bands.map((band) => band.high));
    legend(parent, [...series.map((one) => ({ ...one, isLine: true })),
        ...bands.map((band) => ({ ...band, colour: "var(--soft)" })),
        ...(windows ? windowKeys(windows) : [])]);
    const frame = chartFrame(parent, { most: largest(lists), height: 240, ...rest });
    drawMarks(frame, marks || []);
    if (windows)
        drawWindows(frame, windows);
    for (const band of bands) {
        const high = stepPoints(band.high), low = stepPoints(band.low);
        frame.plot.append("path").attr("fill", "var(--soft)").attr("fill-opacity", band.opacity)
            .attr("d", d3.area().defined((d, i) => Number.isFinite(high[i][1] + low[i][1]))
                .x((d) => frame.x(d[0])).y0((d, i) => frame.y(low[i][1])).y1((d) => frame.y(d[1]))
                .curve(d3.curveStepAfter)(high));
    }
    for (const one of series)
        frame.plot.append("path").attr("fill", "none").attr("stroke", one.colour)
            .attr("stroke-width", 1.8).attr("stroke-dasharray", one.dash || null)
            .attr("d", stepLine(frame.x, frame.y)(stepPoints(one.values)));
    nameMarks(frame, marks || []);
    return frame;
}

/* Defines the hatching of waiting time, which is no work. */
function defineHatch(svg) {
    const id = `hatch-${defineHatch.made = (defineHatch.made || 0) + 1}`;
    const pattern = svg.append("defs").append("pattern").attr("id", id)
        .attr("width", 6).attr("height", 6).attr("patternUnits", "userSpaceOnUse")
        .attr("patternTransform", "rotate(45)");
    pattern.append("rect").attr("width", 6).attr("height", 6).attr("fill", "var(--page)");
    pattern.append("rect").attr("width", 2).attr("height", 6).attr("fill", "var(--soft)");
    return `url(#${id})`;
}

/* layers: [{name, values, colour, isHatched}], from the bottom up; line: {name, values}; pointed:
 * positions to point at; windows: from recordingWindows(). */
function stackChart(parent, { layers, line, pointed, marks, windows, ...rest }) {
    const count = rest.count, box = element("div");
    parent.append(box);
    const stacked = d3.stack().keys(d3.range(layers.length))
        .value((i, key) => (Number.isFinite(layers[key].values[i]) ? layers[key].values[i] : 0))(
            d3.range(count));
    const most = Math.max(largest(stacked.map((layer) => layer.map((d) => d[1]))),
        line ? largest([line.values]) : 0);
    const frame = chartFrame(parent, { most, height: 300, ...rest });
    const hatch = defineHatch(frame.svg);
    drawMarks(frame, marks || []);
    const area = d3.area().curve(d3.curveStepAfter).x((d, i) => frame.x(i))
        .y0((d) => frame.y(d[0])).y1((d) => frame.y(d[1]));
    const fills = layers.map((layer) => (layer.isHatched ? hatch : layer.colour));
    frame.plot.append("g").selectAll("path").data(stacked).join("path")
        .attr("fill", (d, i) => fills[i]).attr("data-layer", (d, i) => layers[i].name)
        .attr("stroke", frame.x(1) - frame.x(0) > 5 ? "var(--page)" : "none").attr("stroke-width", 0.6)
        .attr("d", (d) => area([...d, d[d.length - 1]]));
    if (frame.x(1) - frame.x(0) > 5)
        frame.plot.append("g").selectAll("line").data(d3.range(1, count)).join("line")
            .attr("x1", frame.x).attr("x2", frame.x).attr("y1", chartMargin.top)
            .attr("y2", frame.height - chartMargin.bottom).attr("stroke", "var(--panel)")
            .attr("stroke-width", count < 40 ? 4 : 1);
    if (windows)
        drawWindows(frame, windows);
    if (line)
        frame.plot.append("path").attr("fill", "none").attr("stroke", "var(--mark)")
            .attr("stroke-width", 2).attr("d", stepLine(frame.x, frame.y)(stepPoints(line.values)));
    for (const i of pointed || [])
        frame.plot.append("text").attr("x", frame.x(i + 0.5)).attr("text-anchor", "middle")
            .attr("y", frame.y(stacked[stacked.length - 1][i][1]) - 4).attr("class", "pointer")
            .style("fill", "var(--mark)").style("font-weight", 700).text("\u25bc");
    nameMarks(frame, marks || []);
    legend(box, layers.map((layer, i) => ({ ...layer, fill: fills[i] }))
        .concat(line ? [{ name: line.name, colour: "var(--mark)", isLine: true }] : [],
            windows ? windowKeys(windows) : []));
    return frame;
}

/* Horizontal bars with names. Rows are {name, href, total, parts: [{value, colour, isHatched, words}]};
 * a name may be a link; without `total`, the bar is labelled with the sum of its parts. */
function barChart(parent, { label, rows, format, keys }) {
    const width = Math.max(parent.clientWidth - 30, 260), left = Math.min(330, width * 0.36);
    const bar = 24, svg = d3.select(parent).append("svg")
        .attr("role", rows.some((row) => row.href) ? "group" : "img")
        .attr("aria-label", label).attr("viewBox", `0 0 ${width} ${rows.length * bar + 4}`);
    const totals = rows.map((row) => d3.sum(row.parts, (part) => part.value || 0));
    const x = d3.scaleLinear([0, d3.max(totals) || 1], [left, width - 90]);
    const hatch = defineHatch(svg);
    if (keys)
        legend(parent, keys.map((key) => ({ ...key, fill: key.isHatched ? hatch : key.colour })));
    const lines = svg.selectAll("g.row").data(rows).join("g").attr("class", "row")
        .attr("transform", (d, i) => `translate(0,${i * bar})`);
    lines.append((row) => document.createElementNS(svg.node().namespaceURI, row.href ? "a" : "g"))
        .attr("href", (row) => row.href || null)
        .append("text").attr("x", left - 8).attr("y", 16).attr("text-anchor", "end")
        .text((d) => (d.name.length > left / 7 ? `${d.name.slice(0, left / 7 - 1)}\u2026` : d.name))
        .append("title").text((d) => d.name);
    lines.each(function (row, i) {
        let from = 0;
        for (const part of row.parts) {
            const to = from + (part.value || 0);
            d3.select(this).append("rect").attr("x", x(from)).attr("y", 3).attr("height", bar - 7)
                .attr("width", Math.max(x(to) - x(from), 0))
                .attr("fill", part.isHatched ? hatch : part.colour).attr("stroke", "var(--soft)")
                .attr("stroke-width", 0.5).append("title").text(part.words);
            from = to;
        }
        d3.select(this).append("text").attr("x", x(from) + 6).attr("y", 16)
            .text(format(isKnown(row.total) ? row.total : totals[i]));
    });
}
