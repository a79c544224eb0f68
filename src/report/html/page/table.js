/* Tables that can be sorted and searched, and that at first show only their first rows. A column is
 * {title, kind, value(row), show(row), words(row), help}: `kind` is a key of formats; `show` may
 * make a node; `words` are searched instead of the value. */
const longestWord = 20; /* longest word, in characters, that is not broken into lines */
const FIRST_ROWS = 25, MORE_ROWS = 1000;

function compareValues(a, b) {
    if (!isKnown(a) || !isKnown(b))
        return isKnown(a) - isKnown(b);
    return typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
}

class Table {
    constructor(parent, { caption, columns, rows, isHit, isChosen, onPick, search, sort, limit }) {
        Object.assign(this, { columns, rows, isHit, isChosen, onPick, down: true });
        this.sorted = sort ? columns.findIndex((column) => column.title === sort) : -1;
        this.limit = limit || FIRST_ROWS;
        this.query = "";
        this.head = element("tr", {}, ...columns.map((column, i) => this.headCell(column, i)));
        this.body = element("tbody");
        this.more = element("button", { type: "button", onclick: () => this.showMore() });
        this.count = element("span", { class: "soft small", role: "status" });
        this.element = element("table", {}, element("caption", {}, caption),
            element("thead", {}, this.head), this.body);
        if (search)
            parent.append(this.searchField(search));
        parent.append(element("div", { class: "wide" }, this.element),
            element("div", { class: "tools" }, this.more, this.count));
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

    showMore() {
        this.limit += MORE_ROWS;
        this.fill();
    }

    words(column, row) {
        const shown = column.words ? column.words(row) : formats[column.kind](column.value(row));
        return shown.toLowerCase();
    }

    found() {
        const shown = this.rows.filter((row) => this.query === "" || this.columns.some((column) =>
            this.words(column, row).includes(this.query)));
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
        this.more.textContent = rows.length <= this.limit + MORE_ROWS
            ? `Show all ${formatCount(rows.length)}` : `Show ${formatCount(MORE_ROWS)} more`;
        this.count.textContent = rows.length > this.limit
            ? `${formatCount(this.limit)} of ${formatCount(rows.length)} rows are shown`
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
        if (this.onPick) {
            made.classList.add("pick"); /* a click on the row; for the keyboard, a link in the row does the same */
            made.addEventListener("click", (event) => {
                if (!event.target.closest("a") && getSelection().isCollapsed)
                    this.onPick(row);
            });
        }
        this.columns.forEach((column) => {
            const shown = column.show ? column.show(row) : formats[column.kind](column.value(row));
            const isShort = typeof shown === "string" && shown.length <= longestWord;
            made.append(element("td", { class: column.kind === "text"
                ? `text${isShort ? " short" : ""}` : null }, shown));
        });
        return made;
    }
}

/* The numbers of a chart as a table, for readers who cannot see the chart or need exact values. It
 * is made when it is opened. */
function tableBehind(parent, words, options) {
    const list = element("details", {}, element("summary", {}, words));
    list.addEventListener("toggle", () => {
        if (list.open && list.children.length === 1)
            new Table(list, options);
    });
    parent.append(list);
}
