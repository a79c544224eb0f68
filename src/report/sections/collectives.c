/* Collective operations, with waits and transfers separately, their communicators, and messages
 * between two ranks. */
#include <inttypes.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

#include "analysis/figures/figures.h"
#include "core/ops.h"
#include "core/text.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/rowgrid.h"

static void cross_cell(struct pw_grid *grid, const struct pw_page *page, int64_t ns)
{
    char time[40];
    pw_grid_cell(grid, "%s", pw_page_cross_ns(page, time, sizeof(time), ns));
}

static void rate_cell(struct pw_grid *grid, double rate, int is_bound)
{
    char text[32];
    if (!(rate < 1e18)) /* true for NaN, too */
        rate = 0;
    pw_grid_cell(grid, "%s%s", is_bound && rate > 0 ? ">" : "",
                 pw_text_rate(text, sizeof(text), rate));
}

static void stat_cells(struct pw_grid *grid, const struct pw_page *page,
                       const struct pw_row_c_collective_stat *stat)
{
    char size[32];
    int beside = pw_advice_is_nonblocking(stat->op);
    int64_t mean = stat->count > 0 && stat->bytes >= 0 ? stat->bytes / stat->count : -1;
    pw_grid_cell(grid, "%s", pw_op_info(stat->op)->name);
    pw_grid_cell(grid, "%s", pw_text_bytes(size, sizeof(size), mean));
    pw_grid_cell(grid, "%" PRId32, stat->nranks);
    pw_grid_cell(grid, "%" PRId64, stat->count);
    cross_cell(grid, page, stat->wait_mean_ns);
    cross_cell(grid, page, stat->wait_p95_ns);
    cross_cell(grid, page, stat->transfer_p50_ns);
    cross_cell(grid, page, stat->transfer_p95_ns);
    rate_cell(grid, stat->busbw_p50, beside);
    rate_cell(grid, stat->busbw_max, beside);
}

static int print_stats(const struct pw_page *page, const size_t *rows, size_t count)
{
    static const struct pw_grid_column columns[] = {
        {"operation", 1},   {"mean\nsize", 0},  {"ranks", 0},         {"count", 0},
        {"wait\nmean", 0},  {"wait\np95", 0},   {"transfer\np50", 0}, {"transfer\np95", 0},
        {"bus bw\np50", 0}, {"bus bw\nmax", 0},
    };
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        stat_cells(&grid, page, &page->figures->cluster->collective_stats[rows[i]]);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    return err;
}

static int explain_stats(const struct pw_page *page, const size_t *rows, size_t count)
{
    const struct pw_cluster *c = page->figures->cluster;
    int beside = 0, unmatched = 0, err = 0;
    for (size_t i = 0; i < count; i++)
        beside |= pw_advice_is_nonblocking(c->collective_stats[rows[i]].op);
    for (size_t i = 0; i < c->ncollectives; i++)
        unmatched += !c->collectives[i].complete;
    if (count < c->ncollective_stats)
        err = pw_page_print(page, 2, 2, "Most time first; %zu more are not shown (--top 0).",
                            c->ncollective_stats - count);
    if (!err && beside)
        err =
            pw_page_print(page, 2, 2,
                          "> nonblocking: the transfer includes computation that ran beside it, so "
                          "the bandwidth is a lower bound.");
    if (!err && unmatched)
        err =
            pw_page_print(page, 2, 2, "%d of %zu operations were not recorded by all their ranks.",
                          unmatched, c->ncollectives);
    return err;
}

static int show_collectives(const struct pw_page *page)
{
    size_t n = page->figures->cluster->ncollective_stats, *rows = NULL;
    int err = pw_figures_order_collectives(page->figures, &rows);
    size_t count = n < page->top ? n : page->top;
    if (!err)
        err = print_stats(page, rows, count);
    if (!err)
        err = explain_stats(page, rows, count);
    if (!err)
        err =
            pw_page_print(page, 2, 2,
                          "wait: per rank, until the last rank arrived; transfer: after that. Bus "
                          "bandwidth is of the transfer alone.");
    free(rows);
    return err;
}

static void pair_cells(struct pw_grid *grid, const struct pw_page *page,
                       const struct pw_row_c_p2p *pair)
{
    char size[32];
    pw_grid_cell(grid, "%" PRId32, pair->src);
    pw_grid_cell(grid, "%" PRId32, pair->dst);
    pw_grid_cell(grid, "%" PRId64, pair->messages);
    pw_grid_cell(grid, "%s", pw_text_bytes(size, sizeof(size), pair->bytes));
    cross_cell(grid, page, pair->late_sender_ns);
    cross_cell(grid, page, pair->late_receiver_ns);
    cross_cell(grid, page, pair->transfer_ns);
}

static int print_pairs(const struct pw_page *page, const size_t *rows, size_t count)
{
    static const struct pw_grid_column columns[] = {
        {"from", 0},           {"to", 0},       {"messages", 0}, {"bytes", 0}, {"late\nsender", 0},
        {"late\nreceiver", 0}, {"transfer", 0},
    };
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        pair_cells(&grid, page, &page->figures->cluster->p2p[rows[i]]);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    return err;
}

static int show_p2p(const struct pw_page *page)
{
    size_t n = page->figures->cluster->np2p, *rows = NULL;
    int err = pw_figures_order_p2p(page->figures, &rows);
    size_t count = n < page->top ? n : page->top;
    if (!err)
        err = print_pairs(page, rows, count);
    if (!err && count < n)
        err = pw_page_print(page, 2, 2, "Most bytes first; %zu more pairs are not shown (--top 0).",
                            n - count);
    if (!err)
        err = pw_page_print(page, 2, 2, "Times are sums over the messages of the pair.");
    free(rows);
    return err;
}

json_t *pw_json_collectives_most(const struct pw_figures *f, size_t most)
{
    const struct pw_cluster *c = f->cluster;
    size_t *order = NULL, n = c->ncollective_stats < most ? c->ncollective_stats : most;
    json_t *array = json_array();
    int bad = pw_figures_order_collectives(f, &order);
    for (size_t i = 0; i < n && !bad; i++) {
        const struct pw_row_c_collective_stat *stat = &c->collective_stats[order[i]];
        json_t *row = pw_json_row(PW_TABLE_c_collective_stat, stat);
        int64_t mean = stat->count > 0 ? stat->bytes / stat->count : -1;
        bad |= json_object_set_new(row, "mean_bytes", pw_json_int(mean));
        bad |= json_object_set_new(row, "bandwidth_is_lower_bound",
                                   json_boolean(pw_advice_is_nonblocking(stat->op)));
        bad |= json_array_append_new(array, row);
    }
    free(order);
    return pw_json_or_null(array, bad);
}

static json_t *make_collectives(const struct pw_figures *f)
{
    return pw_json_collectives_most(f, SIZE_MAX);
}

/* Returns the pair's mean transfer time / that of similar pairs; null unless the pair is slow. */
static json_t *score_of(const struct pw_cluster *c, const struct pw_row_c_p2p *pair)
{
    for (size_t i = 0; i < c->nlinks_slow; i++)
        if (c->links_slow[i].src == pair->src && c->links_slow[i].dst == pair->dst)
            return pw_json_real(c->links_slow[i].ratio);
    return json_null();
}

static json_t *make_links(const struct pw_figures *f)
{
    size_t *order = NULL;
    json_t *array = json_array();
    int bad = pw_figures_order_p2p(f, &order);
    for (size_t i = 0; i < f->cluster->np2p && i < PW_REPORT_JSON_LINKS && !bad; i++) {
        json_t *row = pw_json_row(PW_TABLE_c_p2p, &f->cluster->p2p[order[i]]);
        bad |= json_object_set_new(row, "score", score_of(f->cluster, &f->cluster->p2p[order[i]]));
        bad |= json_array_append_new(array, row);
    }
    free(order);
    return pw_json_or_null(array, bad);
}

static struct pw_lack lack_of_collectives(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (c->ncollective_stats)
        return (struct pw_lack){0};
    if (c->ncollectives)
        return (struct pw_lack){"None was recorded by all its members, so waits and bandwidth are "
                                "not known.",
                                NULL};
    if (pw_figures_advice(f).verdict.nccl.unmatched)
        return (struct pw_lack){"Which ranks the kernels of communication are of is not known, and "
                                "so are waits and bandwidth.",
                                NULL};
    return (struct pw_lack){
        "None were recorded.",
        f->expected > 1 && !c->np2p ? "If ranks communicate, record it: see --activities." : NULL};
}

static struct pw_lack lack_of_p2p(const struct pw_figures *f)
{
    return f->cluster->np2p ? (struct pw_lack){0} : (struct pw_lack){"None were recorded.", NULL};
}

const struct pw_section pw_section_collectives = {
    .name = "collectives",
    .title = "Collective operations: waiting and transfer separately",
    .flags = PW_SECTION_DUMPS | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_collective_stat},
    .lacks = lack_of_collectives,
    .print = show_collectives,
    .keys = {{"collectives", make_collectives}},
};

const struct pw_section pw_section_p2p = {
    .name = "p2p",
    .title = "Point-to-point messages",
    .flags = PW_SECTION_WHOLE | PW_SECTION_DUMPS | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_p2p, PW_TABLE_c_link},
    .lacks = lack_of_p2p,
    .print = show_p2p,
    .keys = {{"links", make_links}},
};

/* The communicators, if there are several: which group of ranks waits longest, and for whom. */

static bool has_several(const struct pw_cluster *c)
{
    return c->ncommunicators > 1;
}

static int show_communicators(const struct pw_page *page)
{
    static const struct pw_rowgrid_column columns[] = {
        {"communicator", "name"},
        {"ranks", "ranks"},
        {"size", "nranks"},
        {"collectives", "collectives"},
        {"bytes", "bytes"},
        {"wait of\na rank", "wait_ns"},
        {"of the\nrun", "wait_share"},
        {"transfer", "transfer_ns"},
        {"waits most\nfor rank", "late_rank"},
        {"of it", "late_wait_ns"},
    };
    const struct pw_rowgrid rows = {PW_TABLE_c_communicator, PW_COLUMNS(columns), NULL,
                                    page->figures->cluster->ncommunicators};
    int err = pw_rowgrid_print(page, &rows);
    return err ? err
               : pw_page_print(page, 2, 2,
                               "The wait is the sum over the collectives that all members "
                               "recorded, divided by the number of members; \"of it\": the part "
                               "that was for that rank, which may have been late because it waited "
                               "in another communicator.");
}

const struct pw_section pw_section_communicators = {
    .name = "communicators",
    .title = "Communicators: which group of ranks waits longest, and for whom",
    .flags = PW_SECTION_WHOLE,
    .tables = {PW_TABLE_c_communicator},
    .is_of = has_several,
    .print = show_communicators,
};
