/* What html/html_packed.c has packed, unpacked when it is first shown. */
async function unpack(id) {
    const text = atob(document.getElementById(id).textContent);
    const packed = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* A key of the report that only one page shows; from then on it is in `report` as others are. */
async function lateKey(name) {
    if (!(name in report))
        report[name] = JSON.parse(new TextDecoder().decode(await unpack(`late-${name}`)));
    return report[name];
}
