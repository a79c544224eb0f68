/* The frame of the report: the parts that every page has, and the choice of the page. The address
 * after # is page/arguments, so that a link can lead to a rank or a step. A page whose `has` is false
 * says only what was not recorded: it has no tab, and the page Completeness has its words. */
const { recorded } = report;
const pages = [
    { id: "overview", title: "Overview", render: renderOverview },
    { id: "stragglers", title: "Stragglers", render: renderStragglers, has: columnSteps.length > 0 ||
        report.stragglers.length > 0 || report.imbalances.length > 0 },
    { id: "steps", title: "Steps", render: renderSteps, has: columnSteps.length > 0 },
    { id: "timeline", title: "Timeline", render: renderTimeline,
        has: timelines.length > 0 || (isServed && columnSteps.length > 0) },
    { id: "operators", title: "Operators", render: renderOperators,
        has: recorded.operators || recorded.gpu },
    { id: "collectives", title: "Collectives", render: renderCollectives,
        has: report.collectives.length > 0 || recorded.collectives || recorded.hccl },
    { id: "messages", title: "Messages", render: renderMessages, has: recorded.messages },
    { id: "whatif", title: "What if", render: renderWhatif,
        has: report.whatif !== null || report.network.length > 0 },
    { id: "data", title: "Data pipeline", render: renderData, has: report.data_pipeline !== null },
    { id: "resources", title: "Resources", render: renderResources,
        has: report.utilisation !== null || report.memory !== null || recorded.gpu_series },
    { id: "run", title: "Completeness", render: renderRun },
    ...(report.sections_beside.length
        ? [{ id: "tables", title: "Tables", render: renderTables }] : []),
];

/* All pages one below the other, for printing. */
const allPages = { id: "all", title: "All pages", render: async (box) => {
    for (const page of pages.filter(({ has }) => has !== false)) {
        const part = element("div", { id: `page-${page.id}` });
        box.append(part);
        await page.render(part, []);
    }
} };

const main = document.getElementById("main");
let shown = null, shownAddress = null;
let turn = 0;

/* The losses that stand below the headline: with it they are at most three. */
function lossesBeside() {
    const { losses } = report.job, beside = losses.filter((one) => !one.in_headline);
    return beside.slice(0, beside.length < losses.length ? 2 : 3);
}

const marks = { seen: "\u2713", partly: "!", missing: "\u2717", unknown: "?" };

/* One line: what the verdict rests on. */
function basisItems() {
    return report.job.basis.map(({ mark, text }) => element("li", { class: mark },
        element("b", { title: mark, role: "img", "aria-label": mark }, marks[mark]),
        element("span", {}, keepUnits(text))));
}

function renderFrame() {
    const job = report.job;
    document.title = `profwrap: ${job.headline}`;
    const headline = document.getElementById("headline");
    headline.textContent = keepUnits(job.headline);
    headline.classList.toggle("bad", isBadEnd());
    document.getElementById("losses").append(...lossesBeside().map((one) =>
        element("li", {}, keepUnits(one.text))));
    document.getElementById("basis").append(...basisItems());
    document.getElementById("command").textContent = job.command || "";
    document.getElementById("command").title = job.command || "";
    const extent = [plural(job.ranks, "rank")];
    if (isKnown(job.hosts))
        extent.push(plural(job.hosts,
            report.completeness.ranks_present < job.ranks ? "known host" : "host"));
    if (isKnown(job.run_ns))
        extent.push(formatNs(job.run_ns));
    document.getElementById("extent").textContent = extent.join(", ");
    const missing = document.getElementById("missing");
    missing.hidden = !job.incomplete;
    missing.textContent = job.incomplete ? `Incomplete: ${job.incomplete}.` : "";
    const only = document.getElementById("only");
    only.hidden = !job.restriction;
    only.textContent = job.restriction ? `Only ${job.restriction}.` : "";
    document.getElementById("pages").append(...pages.map((page) =>
        element("a", { href: `#${page.id}`, hidden: page.has === false }, page.title)));
}

function markPage(page) {
    for (const link of document.getElementById("pages").children) {
        const mine = pages.find(({ id }) => link.getAttribute("href") === `#${id}`);
        link.hidden = mine.has === false && mine !== page; /* an address may lead to it */
        if (mine === page) {
            link.setAttribute("aria-current", "page");
            link.parentElement.scrollLeft = link.offsetLeft - link.parentElement.offsetLeft - 60;
        } else
            link.removeAttribute("aria-current");
    }
}

/* Draws a page into a box, which replaces the present page when it is complete. When two are drawn
 * at once, the later one is shown. */
async function render() {
    const [id, ...rest] = location.hash.slice(1).split("/");
    const page = [...pages, allPages].find((candidate) => candidate.id === id) || pages[0];
    const mine = ++turn, isNew = shown !== null && shown !== page;
    if (id === "main")
        return;
    markPage(page);
    tip.hide();
    const box = element("div", { id: `page-${page.id}` });
    if (shown !== page)
        main.replaceChildren(box);
    else
        main.append(box);
    const failed = await Promise.resolve(page.render(box, rest)).then(() => null, (error) => error);
    if (mine !== turn)
        return;
    const focused = main.contains(document.activeElement) ? document.activeElement.id : "";
    if (failed)
        box.append(element("p", {}, `This page cannot be shown: ${failed.message}`));
    main.replaceChildren(box);
    shown = page;
    if (isNew) {
        main.focus({ preventScroll: true });
        window.scrollTo(0, 0);
    } else if (focused)
        document.getElementById(focused)?.focus({ preventScroll: true });
    const target = box.querySelector("[data-target]");
    if (target && shownAddress !== location.hash)
        target.scrollIntoView({ block: "start" });
    shownAddress = location.hash;
    performance.mark("drawn");
    document.body.dataset.ready = location.hash || "#overview";
    if (failed)
        throw failed;
}

let resizing = 0;
window.addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(render, 150);
});
window.addEventListener("hashchange", render);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
renderFrame();
render();
