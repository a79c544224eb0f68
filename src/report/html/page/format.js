/* Numbers as the text report writes them (src/core/text.c); null is "not known". */
const report = JSON.parse(document.getElementById("data").textContent);

function isKnown(value) {
    return value !== null && value !== undefined;
}

function formatNs(ns) {
    if (!isKnown(ns))
        return "n/a";
    if (ns < 1000)
        return `${Math.round(ns)} ns`;
    if (ns < 999.5e3)
        return `${(ns / 1e3).toFixed(ns < 99.95e3 ? 1 : 0)} us`;
    if (ns < 999.5e6)
        return `${(ns / 1e6).toFixed(ns < 99.95e6 ? 1 : 0)} ms`;
    if (ns < 599.5e9)
        return `${(ns / 1e9).toFixed(ns < 9.995e9 ? 2 : 1)} s`;
    if (ns < 3600e9)
        return `${(ns / 60e9).toFixed(0)} min`;
    const minutes = Math.floor(ns / 60e9) % 60;
    return `${Math.floor(ns / 3600e9)} h ${String(minutes).padStart(2, "0")} min`;
}

/* For offsets of clocks, which may be negative. */
function formatSignedNs(ns) {
    return isKnown(ns) && ns < 0 ? `-${formatNs(-ns)}` : formatNs(ns);
}

/* For the ticks of an axis: without trailing zeros. */
function formatTickNs(ns) {
    return ns === 0 ? "0" : formatNs(ns).replace(/\.0+ /, " ").replace(/(\.\d*?)0+ /, "$1 ");
}

function formatBytes(bytes) {
    if (!isKnown(bytes))
        return "n/a";
    if (bytes < 1024)
        return `${bytes} B`;
    let value = bytes / 1024, unit = 0;
    for (; value >= 1024 && unit < 4; unit++)
        value /= 1024;
    return `${value.toFixed(1)} ${["KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}

function formatRate(rate) {
    if (!isKnown(rate) || !(rate > 0))
        return "n/a";
    if (rate < 0.95e6)
        return `${(rate / 1e3).toFixed(1)} kB/s`;
    return rate < 0.95e9 ? `${(rate / 1e6).toFixed(1)} MB/s` : `${(rate / 1e9).toFixed(1)} GB/s`;
}

function formatShare(share) {
    if (!isKnown(share))
        return "n/a";
    const percent = 100 * share;
    return `${percent.toFixed(percent < 9.95 ? 1 : 0)} %`;
}

/* Keeps numbers in a sentence on one line with their units. */
function keepUnits(text) {
    return text.replace(/(\d) (?=(%|ns|us|ms|s|min|h|[KMGTP]iB|[kMG]B\/s)(?![\w/]))/g, "$1\u00a0");
}

const groupDigits = d3.format(",d");

function formatCount(count) {
    return isKnown(count) ? groupDigits(count) : "n/a";
}

const formats = {
    ns: formatNs,
    signed: formatSignedNs,
    bytes: formatBytes,
    rate: formatRate,
    share: formatShare,
    count: formatCount,
    plain: (value) => (isKnown(value) ? String(value) : "n/a"),
    text: (value) => (isKnown(value) ? String(value) : ""),
};

function plural(count, word) {
    return `${formatCount(count)} ${word}${count === 1 ? "" : "s"}`;
}
