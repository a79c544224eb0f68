/* Unpacks data that html_planes.c packed. */
async function unpackText(text) {
    const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Unpacks the data of an element, when a page first shows them. */
function unpack(id) {
    return unpackText(document.getElementById(id).textContent);
}

/* Unpacks a key of the report that only one page shows, and adds it to `report`. */
async function lateKey(name) {
    if (!(name in report))
        report[name] = JSON.parse(new TextDecoder().decode(await unpack(`late-${name}`)));
    return report[name];
}
/* The planes of html_planes.c: figures of every rank in every step. planeCodes maps a 16-bit code
 * to a number. */
const planeCodes = Float64Array.from({ length: 65536 }, (_, code) => {
    const n = code - 1, exponent = n >> 11;
    if (n < 0)
        return NaN;
    return exponent === 0 ? n : (2048 + (n & 2047)) * 2 ** (exponent - 1);
});

const planes = {
    ranks: report.ranks.rank.length,
    columns: columnSteps.length,
    unpacked: new Map(),

    has(name) {
        return document.getElementById(`plane-${name}`) !== null;
    },

    /* Float64Array, [rank row x columns], NaN: not known; null when the run has no such plane. */
    get(name) {
        if (!this.unpacked.has(name))
            this.unpacked.set(name, this.has(name) ? this.unpack(name) : Promise.resolve(null));
        return this.unpacked.get(name);
    },

    async unpack(name) {
        const bytes = await unpack(`plane-${name}`), n = bytes.length / 2;
        const unit = 2 ** Number(document.getElementById(`plane-${name}`).dataset.shift);
        const values = new Float64Array(n);
        for (let i = 0; i < n; i++)
            values[i] = planeCodes[bytes[i] * 256 + bytes[n + i]] * unit;
        return values;
    },

    /* The values of one rank in every column. */
    async ofRank(name, row) {
        const values = await this.get(name);
        return values && values.subarray(row * this.columns, (row + 1) * this.columns);
    },

    /* The values of every rank in one column. */
    async ofColumn(name, column) {
        const values = await this.get(name);
        return values && d3.range(this.ranks).map((row) => values[row * this.columns + column]);
    },
};
