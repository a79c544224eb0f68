/* Stragglers, work that is uneven by design, slow hosts, the efficiency of the run, and what would
 * change it. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advice/findings.h"
#include "analysis/advice/verdict.h"
#include "analysis/figures/figures.h"
#include "core/text.h"
#include "report/content/operatorlist.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/words.h"

struct slow_list {
    struct pw_slow_operator *v;
    size_t n;
};

/* Writes "; over the run 3.0 x the others' median in conv2d, 1.3 x in gemm" for the first two
 * operators in which the rank is slow; "" when there is none. */
static void operator_words(const struct pw_cluster *c, const struct slow_list *slow, int32_t rank,
                           char *out, size_t size)
{
    int used = 0, named = 0;
    out[0] = '\0';
    for (size_t i = 0; i < slow->n && named < 2; i++) {
        const struct pw_row_c_operator *op = &c->operators[slow->v[i].op];
        if (slow->v[i].rank != rank || used < 0 || (size_t)used >= size)
            continue;
        used += snprintf(out + used, size - (size_t)used, "%s%.1f x %s %.40s",
                         named ? ", " : "; over the run ", slow->v[i].found.ratio,
                         named ? "in" : "the others' median in", op->name);
        named++;
    }
}

/* Adds the note "in backward, 80 % sure; cause: blocked off the CPU: evidence". The confidence is
 * about whether the rank is a straggler, not about the cause. */
static void cause_note(struct pw_grid *grid, const struct pw_row_c_straggler *row,
                       const char *operators)
{
    const char *phase = pw_words_phase(row->phase), *cause = pw_cause_title(row->cause);
    char confidence[32], sure[64] = "";
    if (row->confidence >= 0)
        snprintf(sure, sizeof(sure), "%s%s sure", phase[0] ? ", " : "",
                 pw_page_percent(confidence, sizeof(confidence), row->confidence));
    pw_grid_note(grid, "%s%s%scause: %s%s%.256s%s", phase, sure, phase[0] || sure[0] ? "; " : "",
                 cause[0] ? cause : "unknown", row->evidence[0] ? ": " : "", row->evidence,
                 operators);
}

static int is_lossy(const struct pw_figures *f, int32_t rank)
{
    int64_t row = pw_figures_row(f, rank);
    return row >= 0 && pw_figures_is_lossy(f, (size_t)row);
}

static int has_lossy(const struct pw_figures *f, size_t count)
{
    int found = 0;
    for (size_t i = 0; i < count; i++)
        found |= is_lossy(f, f->cluster->stragglers[i].rank);
    return found;
}

static void straggler_cells(struct pw_grid *grid, const struct pw_page *page,
                            const struct pw_row_c_straggler *row, const struct slow_list *slow)
{
    char text[96], operators[160];
    pw_grid_cell(grid, "%" PRId32 "%s", row->rank, is_lossy(page->figures, row->rank) ? "!" : "");
    pw_grid_cell(grid, "%.64s", row->hostname);
    pw_grid_cell(grid, "%s", pw_enum_name(PW_F_STRAGGLER, row->kind));
    pw_grid_cell(grid, "%s", pw_words_steps(page->figures, row, text, sizeof(text)));
    pw_grid_cell(grid, "%s", pw_page_cross_ns(page, text, sizeof(text), row->excess_ns));
    pw_grid_cell(grid, "%s", pw_page_percent(text, sizeof(text), row->slowdown));
    pw_grid_time(grid, row->lost_ns);
    pw_grid_time(grid, row->blame_ns);
    pw_grid_time(grid, row->critical_ns);
    pw_grid_time(grid, row->gain_ns);
    operators[0] = '\0';
    if (row->part == PW_PART_ANY) /* operators say nothing of a part such as MPI_Init */
        operator_words(page->figures->cluster, slow, row->rank, operators, sizeof(operators));
    cause_note(grid, row, operators);
}

static int print_stragglers(const struct pw_page *page, size_t count)
{
    static const struct pw_grid_column columns[] = {
        {"rank", 0},  {"host", 1}, {"kind", 1},  {"held back", 1}, {"excess", PW_GRID_KEPT},
        {"of it", 0}, {"lost", 0}, {"blame", 0}, {"critical", 0},  {"gain", PW_GRID_KEPT},
    };
    struct pw_grid grid;
    struct slow_list slow = {0};
    int err = pw_operators_slow(page->figures->cluster, &slow.v, &slow.n);
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        straggler_cells(&grid, page, &page->figures->cluster->stragglers[i], &slow);
    err = err ? err : pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    free(slow.v);
    return err;
}

/* Writes "Not known: <what>3 of 8 ranks <why>". */
static void add_unknown(struct pw_sentence *s, const char *what, int64_t ranks, int64_t of,
                        const char *why)
{
    pw_sentence_add(s, "Not known: %s%" PRId64 " of %" PRId64 " ranks %s", what, ranks, of, why);
}

/* Writes which evidence is missing: without it, an empty table does not mean that no rank is slow,
 * and rows of the table are no finding. */
static void write_unknown(const struct pw_figures *f, const struct pw_verdict *v,
                          struct pw_sentence *s)
{
    switch (v->wanting) {
    case PW_WANTING_RANKS:
        pw_sentence_add(s, "Not known: no rank left a usable file.");
        break;
    case PW_WANTING_RECORDED_MPI:
        add_unknown(s, "MPI calls of ", v->unrecorded.ranks, f->expected,
                    "were not recorded, so it is unknown which rank waited for which.");
        break;
    case PW_WANTING_COMMUNICATION:
        if (v->unrecorded.is_silent)
            pw_sentence_add(s, "Not known: no communication between ranks was recorded, so it is "
                               "unknown which rank waited for which.");
        else
            add_unknown(s, "no communication of ", v->unrecorded.silent_ranks, f->expected,
                        "was recorded, so it is unknown how long these waited.");
        break;
    case PW_WANTING_ALL_RANKS:
        add_unknown(s, "", f->expected - f->present, f->expected,
                    "left no usable file, and the slowest may be among them.");
        break;
    case PW_WANTING_SPAWNED:
        pw_sentence_add(s, "Not known: the ranks wait for processes that MPI_Comm_spawn started, "
                           "which are not recorded.");
        break;
    case PW_WANTING_STEPS:
        pw_sentence_add(s, "Not known: without steps, ranks cannot be compared.");
        break;
    case PW_WANTING_MORE_STEPS:
        pw_sentence_add(s, "Not known: only %" PRId64 " step%s measured.", f->measured,
                        f->measured == 1 ? " was" : "s were");
        break;
    case PW_WANTING_WAITS:
        pw_sentence_add(s,
                        "Not known: of %" PRId64 " kernels of communication is not known which "
                        "ranks they are of, so it is unknown which rank waited for which.",
                        v->nccl.unmatched);
        break;
    case PW_WANTING_NCCL_TIMES:
        pw_sentence_add(s,
                        "Not known: only the enqueueing of %" PRId64 " NCCL operations was "
                        "recorded, so it is unknown which rank waited for which.",
                        v->nccl.untimed);
        break;
    case PW_WANTING_NCCL_REPLAYS:
        pw_sentence_add(s,
                        "Not known: the operations of %" PRId64 " NCCL kernels in replayed CUDA "
                        "graphs are unknown, and so is which rank waited for which.",
                        v->nccl.unplaced);
        break;
    case PW_WANTING_CLOCKS:
        pw_sentence_add(s, "Not known: the ranks' clocks are not aligned, so it is unknown "
                           "which rank waited for which.");
        break;
    case PW_WANTING_BLOCKING:
        pw_sentence_add(s,
                        "Not known: ranks poll for their requests by MPI_Test and the like, so it "
                        "is unknown how long they waited.");
        break;
    case PW_WANTING_PEERS:
        pw_sentence_add(s, "Cannot tell: rank %" PRId32 " is the only one of its role.",
                        v->alone->first_rank);
        break;
    case PW_WANTING_NOTHING:
        break;
    }
}

static int print_unknown(const struct pw_page *page, const struct pw_verdict *verdict)
{
    char text[256];
    struct pw_sentence s = pw_sentence_on(text, sizeof(text));
    write_unknown(page->figures, verdict, &s);
    return pw_page_print(page, 2, 2, "%s", text);
}

static int print_none(const struct pw_page *page)
{
    const struct pw_figures *f = page->figures;
    char clock[32];
    if (f->expected < 2)
        return pw_page_print(page, 2, 2, "None: there is only one rank.");
    return pw_page_print(
        page, 2, 2,
        "None in %" PRId64 " measured steps of %" PRId64 " ranks; clock error at most %s.",
        f->measured, f->present, pw_text_ns(clock, sizeof(clock), f->clock_error_max_ns));
}

static int print_imbalances(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    int err = 0;
    for (size_t i = 0; i < c->nimbalances && i < page->top && !err; i++) {
        const struct pw_row_c_imbalance *row = &c->imbalances[i];
        char text[768], gain[32];
        struct pw_sentence s = pw_sentence_on(text, sizeof(text));
        pw_imbalance_write(row, &s);
        if (row->gain_ns >= 0)
            pw_sentence_add(&s, "; sharing it out evenly: gain %s",
                            pw_text_ns(gain, sizeof(gain), row->gain_ns));
        err = pw_page_print(page, 2, 4, "%s.", text);
    }
    return err;
}

static int print_all(const struct pw_page *page)
{
    size_t n = page->figures->cluster->nstragglers;
    size_t count = n < page->top ? n : page->top;
    const struct pw_verdict verdict = pw_figures_advice(page->figures).verdict;
    int err = 0, is_unknown = verdict.kind == PW_VERDICT_UNKNOWN;
    if (n == 0)
        return is_unknown ? print_unknown(page, &verdict) : print_none(page);
    if (is_unknown)
        err = print_unknown(page, &verdict);
    err = err ? err : print_stragglers(page, count);
    if (!err && count < n)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", n - count);
    if (!err && has_lossy(page->figures, count))
        err = pw_page_print(
            page, 2, 2,
            "! part of what this rank did is missing: its figures cover only what was recorded.");
    if (err)
        return err;
    return pw_page_print(page, 2, 2,
                         "excess: own time above the other ranks' median: mean of the steps held "
                         "back, or sum over the stretch; of it: as a share of the step or stretch; "
                         "lost: excess of all steps; blame: time that all other ranks together "
                         "waited for it; critical: time by which it alone was the last; gain: what "
                         "the job would save if it were as fast as the others, which is not lost: "
                         "then the next slowest rank holds the steps back, and waits that it "
                         "caused may end elsewhere.");
}

static int show_stragglers(const struct pw_page *page)
{
    int err = print_all(page);
    return err ? err : print_imbalances(page);
}

static int show_efficiency(const struct pw_page *page)
{
    const struct pw_figures *f = page->figures;
    char share[32];
    const struct pw_row_c_efficiency *row = pw_figures_efficiency(f);
    int err = pw_page_print(page, 2, 2, "%-9s parallel efficiency: rank time outside communication",
                            pw_page_percent(share, sizeof(share), row->parallel_efficiency));
    if (!err)
        err = pw_page_print(page, 2, 2, "%-9s load balance: mean / most such time of a rank",
                            pw_page_percent(share, sizeof(share), row->load_balance));
    if (!err)
        err = pw_page_print(page, 2, 2, "%-9s communication efficiency: most such time / run time",
                            pw_page_percent(share, sizeof(share), row->communication_efficiency));
    if (!err && row->serialisation_efficiency >= 0)
        err = pw_page_print(page, 2, 2, "%-9s serialisation: most own work / time without transfer",
                            pw_page_percent(share, sizeof(share), row->serialisation_efficiency));
    if (!err && row->transfer_efficiency >= 0)
        err = pw_page_print(page, 2, 2, "%-9s transfer: time without transfer / replayed time",
                            pw_page_percent(share, sizeof(share), row->transfer_efficiency));
    if (!err && pw_advice_is_polled(f->cluster))
        err = pw_page_print(page, 2, 2,
                            "! the program completes its requests by tests (MPI_Test): waiting "
                            "between these counts as work, so all these may be lower.");
    if (err || !f->measured)
        return err;
    return pw_page_print(page, 2, 2, "Over %" PRId64 " measured steps of %" PRId64 " ranks.",
                         f->measured, f->present);
}

static json_t *make_stragglers(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    json_t *array = pw_json_rows(PW_TABLE_c_straggler, c->stragglers, c->nstragglers);
    int bad = !array;
    for (size_t i = 0; i < c->nstragglers && !bad; i++)
        bad = json_object_set_new(
            json_array_get(array, i), "resolvable",
            f->clock_error_max_ns < 0
                ? json_null()
                : json_boolean(c->stragglers[i].without_clocks ||
                               !pw_figures_is_unresolved(f, c->stragglers[i].excess_ns)));
    return pw_json_or_null(array, bad);
}

static json_t *make_hosts(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_host, f->cluster->hosts_slow, f->cluster->nhosts_slow);
}

static json_t *make_roles(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_role, f->cluster->roles, f->cluster->nroles);
}

static json_t *make_imbalances(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_imbalance, f->cluster->imbalances, f->cluster->nimbalances);
}

static json_t *make_efficiency(const struct pw_figures *f)
{
    const struct pw_row_c_efficiency *row = pw_figures_efficiency(f);
    return row ? pw_json_row(PW_TABLE_c_efficiency, row) : json_null();
}

static struct pw_lack lack_of_efficiency(const struct pw_figures *f)
{
    if (pw_figures_efficiency(f))
        return (struct pw_lack){0};
    return f->has_silent_ranks ? (struct pw_lack){"No communication between ranks, or of some, was "
                                                  "recorded.",
                                                  "See --activities."}
                               : (struct pw_lack){"Not known: it needs measured steps.", NULL};
}

const struct pw_section pw_section_stragglers = {
    .name = "stragglers",
    .title = "Stragglers",
    .flags = PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_straggler, PW_TABLE_c_imbalance, PW_TABLE_c_role, PW_TABLE_c_host},
    .print = show_stragglers,
    .keys = {{"stragglers", make_stragglers},
             {"imbalances", make_imbalances},
             {"roles", make_roles},
             {"hosts", make_hosts}},
};

const struct pw_section pw_section_efficiency = {
    .name = "efficiency",
    .title = "Efficiency",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_efficiency},
    .lacks = lack_of_efficiency,
    .print = show_efficiency,
    .keys = {{"efficiency", make_efficiency}},
};

/* The run replayed with something changed, its critical path, and slow parts of the network. */

static int print_scenarios(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"with", 1}, {"job\ntakes", 0}, {"gain", 0}, {"speed-up", 0}};
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_grid grid;
    char text[192];
    pw_grid_init(&grid, columns, 4);
    for (size_t i = 0; i < c->nwhatif; i++) {
        const struct pw_row_c_whatif *row = &c->whatif[i];
        if (row->gain_ns < row->elapsed_ns / 1000) /* less than 0.1 % */
            continue;
        pw_grid_cell(&grid, "%s", pw_words_whatif(row, text, sizeof(text)));
        pw_grid_time(&grid, row->without_ns);
        pw_grid_time(&grid, row->gain_ns);
        pw_grid_cell(&grid, "%.3f", row->slowdown);
    }
    int err = grid.ncells ? pw_grid_print(&grid, page)
                          : pw_page_print(page, 2, 2, "No change would gain 0.1 %% or more.");
    pw_grid_fini(&grid);
    return err;
}

/* Prints the longest pieces of the critical path. */
static int print_path(const struct pw_page *page)
{
    enum { SHOWN = 5 };
    const struct pw_cluster *c = page->figures->cluster;
    char line[512] = "";
    double above = 2;
    for (int k = 0; k < SHOWN; k++) {
        const struct pw_row_c_path *most = NULL;
        char share[32];
        for (size_t i = 0; i < c->npath; i++)
            if (c->path[i].share < above && (!most || c->path[i].share > most->share))
                most = &c->path[i];
        if (!most)
            break;
        above = most->share;
        size_t used = strlen(line);
        snprintf(line + used, sizeof(line) - used, "%srank %" PRId32 " in %.16s %s", k ? ", " : "",
                 most->rank, most->what, pw_page_percent(share, sizeof(share), most->share));
    }
    return line[0] ? pw_page_print(page, 2, 4, "Critical path, longest pieces: %s.", line) : 0;
}

static int print_groups(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    char a[32], b[32];
    int err = 0;
    for (size_t i = 0; i < c->nhosts_slow && !err; i++)
        err = pw_page_print(
            page, 2, 4,
            "Host %.64s is slow: %" PRId32 " of its %" PRId32 " ranks, by %s in steps %" PRId64
            "-%" PRId64 "; gain %s.",
            c->hosts_slow[i].hostname, c->hosts_slow[i].slow_ranks, c->hosts_slow[i].nranks,
            pw_text_ns(a, sizeof(a), c->hosts_slow[i].excess_ns), c->hosts_slow[i].first_step,
            c->hosts_slow[i].last_step, pw_text_ns(b, sizeof(b), c->hosts_slow[i].gain_ns));
    for (size_t i = 0; i < c->nnetwork && i < page->top && !err; i++) {
        char text[320];
        struct pw_sentence s = pw_sentence_on(text, sizeof(text));
        pw_network_say(&c->network[i], &s);
        err = pw_page_print(page, 2, 4, "%s.", text);
    }
    for (size_t i = 0; i < c->nlinks_slow && i < page->top && !err; i++)
        err = pw_page_print(page, 2, 4,
                            "Messages from rank %" PRId32 " to %" PRId32
                            " take %s, those of similar pairs %s: %.1f times as long.",
                            c->links_slow[i].src, c->links_slow[i].dst,
                            pw_text_ns(a, sizeof(a), c->links_slow[i].transfer_ns),
                            pw_text_ns(b, sizeof(b), c->links_slow[i].others_ns),
                            c->links_slow[i].ratio);
    return err;
}

static int show_whatif(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    char time[32], residual[32];
    if (c->nwhatif == 0 || page->figures->has_silent_ranks) {
        int err = pw_page_print(page, 2, 2, "Not replayed: it needs %s.",
                                page->figures->has_silent_ranks
                                    ? "the communication of all ranks, which was not recorded"
                                    : "steps");
        return err ? err : print_groups(page);
    }
    int err = print_scenarios(page);
    err = err ? err : print_path(page);
    err = err ? err : print_groups(page);
    double off = fabs(c->whatif[0].residual);
    return err ? err
               : pw_page_print(
                     page, 2, 4,
                     "Replayed: steps %" PRId64 "-%" PRId64
                     ", %s. The replay without a change differs from the measured time by %s.",
                     c->whatif[0].first_step, c->whatif[0].last_step,
                     pw_text_ns(time, sizeof(time), c->whatif[0].elapsed_ns),
                     pw_page_percent(residual, sizeof(residual), off));
}

static json_t *make_network(const struct pw_figures *f)
{
    return pw_json_rows(PW_TABLE_c_network, f->cluster->network, f->cluster->nnetwork);
}

static json_t *make_whatif(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (c->nwhatif == 0 || f->has_silent_ranks)
        return json_null();
    json_t *whatif = json_object();
    int bad = json_object_set_new(whatif, "scenarios",
                                  pw_json_rows(PW_TABLE_c_whatif, c->whatif, c->nwhatif));
    bad |= json_object_set_new(whatif, "critical_path",
                               pw_json_rows(PW_TABLE_c_path, c->path, c->npath));
    return pw_json_or_null(whatif, bad);
}

static struct pw_lack lack_of_whatif(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if ((c->nwhatif && !f->has_silent_ranks) || c->nhosts_slow || c->nnetwork || c->nlinks_slow)
        return (struct pw_lack){0};
    if (f->has_silent_ranks)
        return (struct pw_lack){"Not replayed: it needs the communication of all ranks, which was "
                                "not recorded.",
                                "See --activities."};
    return (struct pw_lack){"Not replayed: it needs steps.", NULL};
}

const struct pw_section pw_section_whatif = {
    .name = "whatif",
    .title = "What if: the run replayed with something changed",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_whatif, PW_TABLE_c_path, PW_TABLE_c_network},
    .lacks = lack_of_whatif,
    .print = show_whatif,
    .keys = {{"whatif", make_whatif}, {"network", make_network}},
};
