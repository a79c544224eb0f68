/* What HCCL's own profiler measured, on the page Collectives: the times of each rank, and the links
 * between ranks. Only imported profiles of Ascend's devices have these figures. */
function hcclRanks(parent) {
    const box = panel(parent, "HCCL: times of each rank");
    new Table(box, {
        caption: "A row for each rank and group",
        rows: report.hccl.ranks, search: "Find a rank",
        columns: [
            { title: "rank", kind: "plain", value: (row) => row.rank, show: (row) => rankLink(row.rank) },
            { title: "communicator", kind: "text", value: (row) => row.comm_uid },
            { title: "operations", kind: "count", value: (row) => row.operations },
            { title: "elapsed", kind: "ns", value: (row) => row.elapsed_ns },
            { title: "transfer", kind: "ns", value: (row) => row.transfer_ns },
            { title: "wait", kind: "ns", value: (row) => row.wait_ns },
            { title: "of it before any transfer", kind: "ns", value: (row) => row.sync_ns },
            { title: "idle", kind: "ns", value: (row) => row.idle_ns },
        ],
    });
    note(box, "As HCCL's own profiler measured it. The waiting in the other tables of this page is " +
        "computed from when all ranks entered.");
}

function hcclLinks(parent) {
    const { links, links_total: total } = report.hccl;
    const box = panel(parent, "HCCL: links between ranks");
    new Table(box, {
        caption: `The slowest beside the others of their kind first${links.length < total
            ? `: ${formatCount(links.length)} of ${formatCount(total)}` : ""}`,
        rows: links, search: "Find a rank",
        columns: [
            { title: "from", kind: "plain", value: (row) => row.src, show: (row) => rankLink(row.src) },
            { title: "to", kind: "plain", value: (row) => row.dst, show: (row) => rankLink(row.dst) },
            { title: "by", kind: "text", value: (row) => row.transport },
            { title: "transfers", kind: "count", value: (row) => row.transfers },
            { title: "bytes", kind: "bytes", value: (row) => row.bytes },
            { title: "time", kind: "ns", value: (row) => row.transfer_ns },
            { title: "bandwidth", kind: "rate", value: (row) => row.bandwidth_bytes_per_s },
            { title: "of the others", kind: "rate", value: (row) => row.usual_bandwidth_bytes_per_s,
              help: "median of the other links by the same transport" },
            { title: "times as long", kind: "plain", value: (row) => row.slowness,
              show: (row) => (isKnown(row.slowness) ? row.slowness.toFixed(2) : "n/a") },
        ],
    });
}

async function renderHccl(box) {
    await lateKey("hccl");
    if (!report.hccl)
        return;
    if (report.hccl.ranks.length)
        hcclRanks(box);
    if (report.hccl.links.length)
        hcclLinks(box);
}
