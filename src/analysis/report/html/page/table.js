/* Tables that can be sorted, searched, and begin with their first rows. A column is
 * {title, kind, value(row), show(row), help}: `kind` is a key of formats; `show` may make a node. */
const FIRST_ROWS = 50;

function compareValues(a, b) {
    if (!isKnown(a) || !isKnown(b))
        return isKnown(a) - isKnown(b);
    return typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
}

class Table {
    constructor(parent, { caption, columns, rows, isHit, isChosen, search, sort, limit }) {
        Object.assign(this, { columns, rows, isHit, isChosen, down: true });
        this.sorted = sort ? columns.findIndex((column) => column.title === sort) : -1;
        this.limit = limit || FIRST_ROWS;
        this.query = "";
        this.head = element("tr", {}, ...columns.map((column, i) => this.headCell(column, i)));
        this.body = element("tbody");
        this.more = element("button", { type: "button", onclick: () => this.showAll() });
        this.count = element("span", { class: "soft small", role: "status" });
        this.element = element("table", {}, element("caption", {}, caption),
            element("thead", {}, this.head), this.body);
        if (search)
            parent.append(this.searchField(search));
        parent.append(this.element, element("div", { class: "tools" }, this.more, this.count));
        this.fill();
    }

    headCell(column, index) {
        const button = element("button", { type: "button", title: column.help || null,
            onclick: () => this.sortBy(index) }, column.title);
        return element("th", { scope: "col", class: column.kind === "text" ? "text" : null },
            button);
    }

    searchField(words) {
        const field = element("input", { type: "search", oninput: () => {
            this.query = field.value.trim().toLowerCase();
            this.fill();
        } });
        return element("div", { class: "tools" }, element("label", {}, `${words} `, field));
    }

    sortBy(index) {
        const isText = this.columns[index].kind === "text";
        this.down = this.sorted === index ? !this.down : !isText;
        this.sorted = index;
        this.fill();
    }

    showAll() {
        this.limit = Infinity;
        this.fill();
    }

    found() {
        const shown = this.rows.filter((row) => this.query === "" || this.columns.some((column) =>
            (formats[column.kind] || formats.plain)(column.value(row)).toLowerCase()
                .includes(this.query)));
        const column = this.columns[this.sorted];
        if (!column)
            return shown;
        const sign = this.down ? -1 : 1;
        return shown.sort((a, b) => {
            const known = isKnown(column.value(b)) - isKnown(column.value(a));
            return known || sign * compareValues(column.value(a), column.value(b));
        });
    }

    fill() {
        const rows = this.found();
        this.body.replaceChildren(...rows.slice(0, this.limit).map((row) => this.bodyRow(row)));
        this.more.hidden = rows.length <= this.limit;
        this.more.textContent = `Show all ${formatCount(rows.length)}`;
        this.count.textContent = rows.length > this.limit
            ? `${this.limit} of ${formatCount(rows.length)} rows are shown`
            : this.query ? `${plural(rows.length, "row")} found` : "";
        [...this.head.children].forEach((cell, i) => {
            if (i === this.sorted)
                cell.setAttribute("aria-sort", this.down ? "descending" : "ascending");
            else
                cell.removeAttribute("aria-sort");
        });
    }

    bodyRow(row) {
        const made = element("tr");
        if (this.isHit && this.isHit(row))
            made.classList.add("hit");
        if (this.isChosen && this.isChosen(row))
            made.classList.add("chosen");
        this.columns.forEach((column) => {
            const shown = column.show ? column.show(row) : formats[column.kind](column.value(row));
            made.append(element("td", { class: column.kind === "text" ? "text" : null },
                shown));
        });
        return made;
    }
}
