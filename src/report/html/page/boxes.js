/* The boxes of a timeline: parsed from Trace Event JSON, arranged in rows, and painted on a canvas. A
 * frame costs about the same for few boxes and for many: pixels are written into an image, and boxes
 * narrower than a pixel share it. */
const boxKinds = ["step", "phase", "operator", "data", "user", "function", "mpi", "nccl", "gloo",
    "hccl", "mccl", "oneccl", "device", "nonblocking", "kernel", "memcpy", "memset"];
const BOX_ROW = 15, BOX_LEFT = 96, BOX_TOP = 22, BOX_GAP = 6;
const MARK_WIDTH = 3; /* a mark has no length; its name is beside it */

/* Phases have the colours of the other pages. */
function boxColour({ kind, name }) {
    const phase = kind === "phase" ? phases.findIndex((one) => one.plane === name) : -1;
    if (phase >= 0)
        return d3.rgb(phaseColour(phase));
    if (kind === "mark")
        return d3.rgb("#c62828");
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const scale = (boxKinds.indexOf(kind) + 1) / boxKinds.length;
    return d3.rgb(d3.interpolateTurbo(dark ? 0.25 + 0.6 * scale : 0.1 + 0.8 * scale));
}

function cleanName(text) {
    return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "?");
}

/* Returns {boxes, arrows} of Trace Event JSON: times in ns, relative to `zero`. */
function parseTrace(trace, zero) {
    const ns = (us) => Math.round(us * 1000), boxes = [], ends = new Map(), begun = new Map();
    const arrows = [];
    const add = (event, start, end, kind, track) => boxes.push({ rank: event.pid, track, kind,
        name: cleanName(event.name), start: start - zero, end: end - zero });
    for (const event of trace.traceEvents) {
        const start = ns(event.ts || 0);
        if (event.ph === "X")
            add(event, start, start + ns(event.dur), event.cat, event.tid);
        else if (event.ph === "i" && event.cat === "mark")
            add(event, start, start, event.cat, event.tid);
        else if (event.ph === "b")
            begun.set(`${event.pid} ${event.id}`, start);
        else if (event.ph === "e" && begun.has(`${event.pid} ${event.id}`))
            add(event, begun.get(`${event.pid} ${event.id}`), start, event.cat, event.tid + 0.5);
        else if (event.ph === "s")
            ends.set(`${event.cat} ${event.id}`, event);
        else if (event.ph === "f" && ends.has(`${event.cat} ${event.id}`)) {
            const tail = ends.get(`${event.cat} ${event.id}`);
            arrows.push({ from: { rank: tail.pid, track: tail.tid, time: ns(tail.ts) - zero },
                to: { rank: event.pid, track: event.tid, time: start - zero }, name: tail.name });
        }
    }
    return { boxes, arrows };
}

/* Arranges boxes: a group of rows for each rank, in it tracks, in each a row for each depth. Sets
 * box.row; returns {rows: [boxes by start], tops: [y of each row], ranks: [{rank, y}], height,
 * rowOfTrack}. */
function arrangeBoxes(boxes) {
    const layout = { rows: [], tops: [], ranks: [], height: 0, rowOfTrack: new Map() };
    const byRank = d3.groups(boxes, (box) => box.rank).sort((a, b) => a[0] - b[0]);
    for (const [rank, ofRank] of byRank) {
        layout.ranks.push({ rank, y: layout.height });
        const tracks = d3.groups(ofRank, (box) => box.track)
            .sort(([a], [b]) => (b === 65536) - (a === 65536) || a - b);
        for (const [track, list] of tracks)
            arrangeTrack(layout, `${rank} ${track}`, list);
        layout.height += BOX_GAP;
    }
    return layout;
}

function arrangeTrack(layout, key, list) {
    const first = layout.rows.length, ends = [];
    layout.rowOfTrack.set(key, first);
    list.sort((a, b) => a.start - b.start || b.end - a.end);
    for (const box of list) {
        let depth = 0;
        while (depth < ends.length && ends[depth] > box.start)
            depth++;
        ends[depth] = Math.max(box.end, box.start + 1);
        if (!layout.rows[first + depth]) {
            layout.rows[first + depth] = [];
            layout.tops[first + depth] = layout.height;
            layout.height += BOX_ROW;
        }
        box.row = first + depth;
        layout.rows[box.row].push(box);
    }
}

/* Returns the first box of a row that ends after `time`: boxes of a row do not overlap. */
function firstBox(row, time) {
    return d3.bisector((box) => box.end).right(row, time);
}

class BoxPainter {
    constructor(canvas, data, span) {
        Object.assign(this, { canvas, ...data, layout: arrangeBoxes(data.boxes), span });
        this.context = canvas.getContext("2d");
        this.from = span[0];
        this.until = span[1];
        this.scroll = 0;
        this.isSearched = false;
        this.colours = new Map();
    }

    /* Returns the colour of a box, and whether text on it is black. */
    colourOf(box) {
        const key = box.kind === "phase" ? box.name : box.kind;
        if (!this.colours.has(key)) {
            const { r, g, b } = boxColour(box);
            this.colours.set(key, { pixel: (0xff000000 | b << 16 | g << 8 | r) >>> 0,
                isLight: 0.3 * r + 0.59 * g + 0.11 * b > 140 });
        }
        return this.colours.get(key);
    }

    /* Called when the canvas has its size. */
    resize() {
        this.width = this.canvas.width;
        this.height = this.canvas.height;
        this.plot = this.width - BOX_LEFT;
        this.image = this.context.createImageData(this.width, this.height);
        this.pixels = new Uint32Array(this.image.data.buffer);
    }

    x(time) {
        return BOX_LEFT + (time - this.from) * this.plot / (this.until - this.from);
    }

    time(x) {
        return this.from + (x - BOX_LEFT) * (this.until - this.from) / this.plot;
    }

    y(row) {
        return BOX_TOP + this.layout.tops[row] - this.scroll;
    }

    /* Shows [from, until) at this scroll position, each within what there is. */
    show(from, until, scroll) {
        const [low, high] = this.span, length = Math.min(Math.max(until - from, 100), high - low);
        this.from = Math.max(low, Math.min(from, high - length));
        this.until = this.from + length;
        const most = Math.max(0, this.layout.height + BOX_TOP - this.height);
        this.scroll = Math.max(0, Math.min(most, scroll));
    }

    paint() {
        const style = getComputedStyle(this.canvas), labels = [];
        this.pixels.fill(0);
        this.layout.rows.forEach((row, i) => this.paintRow(row, this.y(i), labels));
        this.context.putImageData(this.image, 0, 0);
        this.paintArrows(style);
        this.paintWords(style, labels);
    }

    /* Marks the boxes whose name has this text, "": none. Returns them by time. */
    search(text) {
        const wanted = text.toLowerCase();
        this.hits = wanted ? this.boxes.filter((box) => box.name.toLowerCase().includes(wanted)) : [];
        this.isSearched = wanted !== "";
        for (const box of this.boxes)
            box.isHit = false;
        for (const box of this.hits)
            box.isHit = true;
        return d3.sort(this.hits, (box) => box.start);
    }

    /* Shows a box in the middle, enlarged when it is short. */
    reveal(box) {
        const length = Math.min(this.until - this.from, Math.max(5 * (box.end - box.start), 100));
        const middle = (box.start + box.end) / 2;
        this.show(middle - length / 2, middle + length / 2, this.layout.tops[box.row] - this.height / 2);
    }

    /* Paints the first line of the row, then copies it to the others. Of a search, what was not
     * found is pale, and below what was found. */
    paintRow(row, y, labels) {
        const top = Math.max(BOX_TOP, Math.round(y) + 1), { width, pixels } = this;
        const bottom = Math.min(this.height, Math.round(y) + BOX_ROW - 1);
        if (bottom <= top)
            return;
        const place = { line: top * width, y: Math.round(y) };
        this.paintLine(row, place, this.isSearched ? 0x28000000 : 0xff000000, labels);
        if (this.isSearched)
            this.paintLine(row.filter((box) => box.isHit), place, 0xff000000, labels);
        for (let other = top + 1; other < bottom; other++)
            pixels.copyWithin(other * width, place.line, place.line + width);
    }

    paintLine(row, { line, y }, alpha, labels) {
        const { from, width } = this, scale = this.plot / (this.until - from);
        let done = BOX_LEFT; /* the first pixel without a box */
        for (let i = firstBox(row, from); i < row.length && row[i].start < this.until; i++) {
            const box = row[i], left = Math.max(done, BOX_LEFT + Math.floor((box.start - from) * scale));
            const end = BOX_LEFT + Math.floor((box.end - from) * scale);
            const isMark = box.kind === "mark", least = isMark ? MARK_WIDTH : 1;
            const right = Math.min(width, Math.max(end - (end - left > 4 ? 1 : 0), left + least));
            if (right <= done || left >= width)
                continue;
            box.shade = box.shade || this.colourOf(box);
            this.pixels.fill((box.shade.pixel & 0xffffff | alpha) >>> 0, line + left, line + right);
            done = right;
            const next = i + 1 < row.length ? BOX_LEFT + Math.floor((row[i + 1].start - from) * scale) : width;
            const words = isMark ? { box, left: right, right: next, y } : { box, left, right, y };
            if (words.right - words.left > 34 && (box.isHit || !this.isSearched))
                labels.push(words);
        }
    }

    paintWords(style, labels) {
        const { context } = this;
        context.font = `11px ${style.fontFamily}`;
        for (const { box, left, right, y } of labels) {
            const most = Math.floor((right - left - 6) / 6.4);
            const text = box.name.length > most ? `${box.name.slice(0, most - 1)}\u2026` : box.name;
            context.fillStyle = box.kind === "mark" ? style.color
                : this.colourOf(box).isLight ? "#000" : "#fff";
            if (y >= BOX_TOP)
                context.fillText(text, left + 3, y + 11);
        }
        context.fillStyle = style.color;
        for (const { rank, y } of this.layout.ranks)
            if (y - this.scroll >= 0)
                context.fillText(`rank ${rank}`, 4, BOX_TOP + y - this.scroll + 11);
        const scale = d3.scaleLinear([this.from, this.until], [BOX_LEFT, this.width]);
        for (const tick of scale.ticks(Math.floor(this.plot / 120))) {
            context.fillRect(scale(tick), BOX_TOP - 6, 1, 6);
            context.fillText(tick < 0 ? `-${formatTickNs(-tick)}` : formatTickNs(tick),
                scale(tick) + 3, BOX_TOP - 8);
        }
    }

    /* Arrows whose both ends are in view; none when they would hide the boxes. */
    paintArrows(style) {
        const { context } = this, end = ({ rank, track, time }) => {
            const row = this.layout.rowOfTrack.get(`${rank} ${track}`);
            return row === undefined ? null : [this.x(time), this.y(row) + BOX_ROW / 2];
        };
        const inView = this.arrows.filter(({ from, to }) => to.time >= this.from &&
            from.time < this.until);
        this.arrowsShown = inView.length <= 600 ? inView.length : 0;
        if (!this.arrowsShown)
            return;
        context.strokeStyle = style.color;
        context.globalAlpha = 0.55;
        context.beginPath();
        for (const { from, to } of inView) {
            const a = end(from), b = end(to);
            if (!a || !b || Math.max(a[1], b[1]) < BOX_TOP || Math.min(a[0], b[0]) < BOX_LEFT)
                continue;
            context.moveTo(...a);
            context.lineTo(...b);
            context.lineTo(b[0] - 5, b[1] - 3 * Math.sign(b[1] - a[1] || 1));
        }
        context.stroke();
        context.globalAlpha = 1;
    }

    /* Returns the box at a pixel, or null. */
    at(x, y) {
        const row = this.layout.tops.findIndex((top, i) => y >= this.y(i) && y < this.y(i) + BOX_ROW);
        if (row < 0 || x < BOX_LEFT || y < BOX_TOP)
            return null;
        const time = this.time(x), slack = (this.until - this.from) / this.plot;
        const box = this.layout.rows[row][firstBox(this.layout.rows[row], time - slack)];
        return box && box.start <= time + slack ? box : null;
    }
}
