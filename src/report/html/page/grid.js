/* Draws many numbers as colours on a canvas: ranks by steps, or senders by receivers. When there
 * are more numbers than pixels, a pixel shows the largest of its numbers. */
const unknownColour = [0, 0, 0, 0]; /* transparent: the striped background shows */

function colourTable() {
    return d3.range(256).map((i) => {
        const { r, g, b } = d3.rgb(d3.interpolateCividis(i / 255));
        return [r, g, b, 255];
    });
}

/* Shrinks a grid to the canvas. at(row, column) is a number, or NaN: not known. */
function shrink({ rows, columns, at }, width, height) {
    const w = Math.min(columns, width), h = Math.min(rows, height);
    const values = new Float64Array(w * h).fill(NaN);
    for (let row = 0; row < rows; row++) {
        const base = Math.floor(row * h / rows) * w;
        for (let column = 0; column < columns; column++) {
            const cell = base + Math.floor(column * w / columns), value = at(row, column);
            if (!(values[cell] >= value) && !Number.isNaN(value))
                values[cell] = value;
        }
    }
    return { w, h, values };
}

function paint(canvas, { w, h, values }, top, toShare) {
    const colours = colourTable(), context = canvas.getContext("2d");
    canvas.width = w;
    canvas.height = h;
    const image = context.createImageData(w, h);
    values.forEach((value, i) => {
        const share = Math.max(0, Math.min(1, toShare ? toShare(value) : value / top));
        image.data.set(Number.isNaN(value) ? unknownColour : colours[Math.round(255 * share)],
            4 * i);
    });
    context.putImageData(image, 0, 0);
}

function colourScale(parent, low, high, unknown) {
    const canvas = element("canvas", { width: 256, height: 1, "aria-hidden": "true" });
    paint(canvas, { w: 256, h: 1, values: Float64Array.from(d3.range(256)) }, 255);
    parent.append(element("div", { class: "scale" }, low, canvas, high,
        element("span", { class: "unknown", "aria-hidden": "true" }),
        element("span", {}, unknown)));
}

/* Writes names beside the grid, about every `room` pixels, and those of `hits`. */
function gridTicks(box, count, names, hits, { size, side, room }) {
    const step = Math.max(1, d3.tickStep(0, count, Math.max(1, size / room / 1.2)));
    const at = (i) => 100 * (i + 0.5) / count;
    const isNear = (i) => hits.some((hit) => hit !== i && Math.abs(hit - i) * size / count < room);
    const shown = d3.range(0, count, step).filter((i) => !isNear(i)).concat(hits.slice(0, 12));
    for (const i of new Set(shown)) {
        const tick = element("span", { class: `tick ${side}${hits.includes(i) ? " hit" : ""}` },
            names(i));
        tick.style[side === "y" ? "top" : "left"] = `${at(i)}%`;
        box.append(tick);
    }
}

/* grid: {id, label, rows, columns, at, rowName, columnName, hitRows, frames: [{row, from, to}],
 * describe(row, column), onPick(row, column), top, toShare, height}. */
function drawGrid(parent, grid) {
    const canvas = element("canvas", { id: grid.id, role: "application", tabindex: 0,
        "aria-roledescription": "heatmap", "aria-label": `${grid.label}. Arrow keys move in it` +
            (grid.onPick ? ", Enter opens what is there." : ".") });
    const box = element("div", { class: "heat" }, canvas);
    parent.append(box);
    const size = { width: box.clientWidth, height: grid.height };
    canvas.style.height = `${size.height}px`;
    if (grid.width) {
        canvas.style.width = `${grid.width}px`;
        box.style.width = `${grid.width}px`;
    }
    paint(canvas, shrink(grid, size.width, size.height), grid.top, grid.toShare);
    for (const { row, from, to } of grid.frames || []) {
        const frame = element("div", { class: "frame" });
        const tall = Math.max(100 / grid.rows, 1000 / size.height);
        frame.style.left = `${100 * from / grid.columns}%`;
        frame.style.width = `${100 * (to - from + 1) / grid.columns}%`;
        frame.style.top = `${100 * (row + 0.5) / grid.rows - tall / 2}%`;
        frame.style.height = `${tall}%`;
        box.append(frame);
    }
    gridTicks(box, grid.rows, grid.rowName, grid.hitRows || [],
        { size: size.height, side: "y", room: 18 });
    gridTicks(box, grid.columns, grid.columnName, [],
        { size: grid.width || size.width, side: "x", room: grid.columnRoom || 70 });
    watchGrid(canvas, grid);
    walkGrid(box, canvas, grid);
    return canvas;
}

/* Lets the user move over the grid by the keyboard, beginning at the first frame, which is the
 * worst. */
function walkGrid(box, canvas, grid) {
    const first = (grid.frames || [])[0], cursor = element("div", { class: "cursor", hidden: true });
    let now = first ? [first.row, first.from] : [0, 0], isMoved = false;
    const show = () => {
        const [row, column] = now, area = canvas.getBoundingClientRect();
        cursor.hidden = false;
        cursor.style.left = `${100 * column / grid.columns}%`;
        cursor.style.top = `${100 * row / grid.rows}%`;
        cursor.style.width = `max(6px, ${100 / grid.columns}%)`;
        cursor.style.height = `max(6px, ${100 / grid.rows}%)`;
        tip.show({ clientX: area.left + area.width * (column + 1) / grid.columns,
            clientY: area.top + area.height * (row + 1) / grid.rows }, grid.describe(row, column));
    };
    box.append(cursor);
    canvas.addEventListener("keydown", (event) => {
        const to = moveByKey(event.key, now, grid.rows, grid.columns);
        if (to) {
            now = isMoved ? to : now; /* the first key only shows the position */
            isMoved = true;
            show();
        } else if (event.key === "Enter" && grid.onPick)
            grid.onPick(...now);
        else
            return;
        event.preventDefault();
    });
    canvas.addEventListener("blur", () => {
        cursor.hidden = true;
        tip.hide();
    });
}

function watchGrid(canvas, grid) {
    const at = (event) => {
        const box = canvas.getBoundingClientRect();
        const row = Math.floor((event.clientY - box.top) * grid.rows / box.height);
        const column = Math.floor((event.clientX - box.left) * grid.columns / box.width);
        const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
        return [clamp(row, grid.rows), clamp(column, grid.columns)];
    };
    canvas.addEventListener("mousemove", (event) => tip.show(event, grid.describe(...at(event))));
    canvas.addEventListener("mouseleave", () => tip.hide());
    if (grid.onPick)
        canvas.addEventListener("click", (event) => grid.onPick(...at(event)));
}
