/* The page Tables: the rows of sections that have no page of their own, as the cluster file has
 * them. The unit of a column is in its name. */
const unitKinds = [[/_ns$/, "ns"], [/bytes_per_s$/, "rate"], [/bytes$/, "bytes"], [/share$/, "share"]];

function kindOf(rows, name) {
    const known = rows.find((row) => isKnown(row[name]));
    if (known && typeof known[name] === "string")
        return "text";
    const unit = unitKinds.find(([pattern]) => pattern.test(name));
    if (unit)
        return unit[1];
    if (known && !Number.isInteger(known[name]))
        return "plain";
    return /(^|_)(rank|step|device|src|dst)$/.test(name) ? "plain" : "count";
}

function columnOf(rows, name) {
    const kind = kindOf(rows, name), value = (row) => row[name];
    const column = { title: name.replace(/_ns$/, "").replaceAll("_", " "), kind, value };
    return name === "rank" ? { ...column, show: (row) => (isKnown(row.rank) ? rankLink(row.rank)
        : "n/a") } : column;
}

async function renderTables(box) {
    await lateKey("tables");
    for (const section of report.sections_beside) {
        const part = panel(box, section.title);
        const tables = report.tables.filter((t) => t.section === section.name && t.total > 0);
        for (const { name, total, rows } of tables)
            new Table(part, {
                caption: total > rows.length ? `The first ${formatCount(rows.length)} of ` +
                    `${formatCount(total)} rows of ${name} in cluster.h5` : `${name} in cluster.h5`,
                rows, search: "Find",
                columns: Object.keys(rows[0]).map((key) => columnOf(rows, key)),
            });
    }
}
