/* What other profilers measured: msprof-analyze by step and rank, MindSpore by operator, and HCCL
 * by link and rank. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/figures/figures.h"
#include "analysis/figures/msprof.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/rowgrid.h"
#include "report/writing/safenames.h"

static int print_ranks(const struct pw_page *page, const struct pw_msprof *m)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0},
        {"Steps", 0},
        {"longest\nin", 0},
        {"Computing", 0},
        {"Communi-\ncation", 0},
        {"not over-\nlapped", 0},
        {"Free", 0},
        {"Bubble", 0},
        {"Stage", 0},
        {"Preparing", 0},
    };
    static const enum pw_msprof_part parts[] = {
        PW_MSPROF_COMPUTING, PW_MSPROF_COMM,  PW_MSPROF_EXPOSED,  PW_MSPROF_FREE,
        PW_MSPROF_BUBBLE,    PW_MSPROF_STAGE, PW_MSPROF_PREPARING};
    const size_t count = m->nranks < page->top ? m->nranks : page->top;
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        const struct pw_msprof_rank *r = &m->ranks[i];
        pw_grid_cell(&grid, "%" PRId32, r->rank);
        pw_grid_cell(&grid, "%" PRId64, r->steps);
        pw_grid_cell(&grid, "%" PRId64, r->longest);
        for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++)
            pw_grid_time(&grid, r->mean_ns[parts[p]]);
    }
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err && count < m->nranks)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", m->nranks - count);
    return err ? err
               : pw_page_print(
                     page, 2, 2,
                     "Means over steps, ranks that compute longest first. \"longest in\": "
                     "the number of steps in which the rank computed longest.");
}

static int print_steps(const struct pw_page *page, const struct pw_msprof *m)
{
    static const struct pw_grid_column columns[] = {
        {"Step", 0},      {"Computed\nlongest", 0},
        {"Computing", 0}, {"Median of\nthe others", 0},
        {"longer by", 0}, {"Ranks", 0},
    };
    const size_t count = m->nsteps < page->top ? m->nsteps : page->top;
    struct pw_grid grid;
    if (!m->nsteps)
        return 0;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        const struct pw_msprof_longest *s = &m->steps[i];
        if (s->step < 0)
            pw_grid_cell(&grid, "n/a");
        else
            pw_grid_cell(&grid, "%" PRId64, s->step);
        pw_grid_cell(&grid, "rank %" PRId32, s->rank);
        pw_grid_time(&grid, s->computing_ns);
        pw_grid_time(&grid, s->others_ns);
        pw_grid_share(&grid,
                      s->others_ns > 0 ? (double)s->computing_ns / (double)s->others_ns - 1 : -1);
        pw_grid_cell(&grid, "%" PRId64, s->nranks);
    }
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err && count < m->nsteps)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", m->nsteps - count);
    return err;
}

static int print_longest(const struct pw_page *page, const struct pw_msprof *m)
{
    char share[32];
    if (m->rank < 0)
        return pw_page_print(page, 2, 2,
                             "Which rank computes longest is not known: no step has two ranks.");
    pw_page_percent(share, sizeof(share), m->excess);
    if (m->excess < PW_MSPROF_UNEVEN)
        return pw_page_print(
            page, 2, 2,
            "No rank's computing stands out: rank %" PRId32
            " computes longest most often, %s longer than the median of the others.",
            m->rank, share);
    return pw_page_print(
        page, 2, 2,
        "Rank %" PRId32 " computes longest in %" PRId64
        " of %zu steps, by %s of the median of the others.%s",
        m->rank, m->hits, m->nsteps, share,
        m->has_bubbles ? " There are bubbles: ranks of other stages of a pipeline may compute "
                         "longer by design."
                       : "");
}

static int show_msprof(const struct pw_page *page)
{
    struct pw_msprof m;
    int err = pw_msprof_make(page->figures->cluster, &m);
    if (err)
        return err;
    err = pw_page_print(page, 2, 2,
                        "All numbers of this section are msprof-analyze's, from its "
                        "cluster_analysis_output. It has how long steps were, but not when, so no "
                        "other section rests on them.");
    err = err ? err : print_longest(page, &m);
    err = err ? err : print_ranks(page, &m);
    err = err ? err : print_steps(page, &m);
    pw_msprof_fini(&m);
    return err;
}

static json_t *make_longest(const struct pw_msprof *m)
{
    json_t *array = json_array();
    int bad = !array;
    for (size_t i = 0; i < m->nsteps && i < PW_REPORT_JSON_STEPS && !bad; i++) {
        const struct pw_msprof_longest *s = &m->steps[i];
        json_t *row = json_object();
        bad |= json_object_set_new(row, "step", pw_json_int(s->step));
        bad |= json_object_set_new(row, "rank", pw_json_int(s->rank));
        bad |= json_object_set_new(row, "computing_ns", pw_json_int(s->computing_ns));
        bad |= json_object_set_new(row, "others_median_ns", pw_json_int(s->others_ns));
        bad |= json_object_set_new(row, "ranks", pw_json_int(s->nranks));
        bad |= json_array_append_new(array, row);
    }
    return pw_json_or_null(array, bad);
}

static json_t *make_msprof(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    struct pw_msprof m;
    if (!c->nmsprof_steps)
        return json_null();
    if (pw_msprof_make(c, &m))
        return NULL;
    json_t *all = json_object();
    int bad = !all;
    bad |= json_object_set_new(all, "longest_rank", pw_json_int(m.rank));
    bad |= json_object_set_new(all, "longest_in_steps", pw_json_int(m.rank < 0 ? -1 : m.hits));
    bad |= json_object_set_new(all, "excess", pw_json_real(m.excess));
    bad |= json_object_set_new(all, "longest", make_longest(&m));
    bad |= json_object_set_new(
        all, "steps",
        c->nmsprof_steps > PW_REPORT_JSON_CELLS
            ? json_null()
            : pw_json_rows(PW_TABLE_c_msprof_step, c->msprof_steps, c->nmsprof_steps));
    pw_msprof_fini(&m);
    return pw_json_or_null(all, bad);
}

static int print_sums(const struct pw_page *page, size_t first, size_t end, const char *of)
{
    const struct pw_grid_column columns[] = {
        {of, 1},     {"# of\nCalls", 0}, {"Mean of\nthe ranks", 0},
        {"Most", 0}, {"on rank", 0},     {"Ranks", 0}};
    const struct pw_row_c_mindinsight_sum *rows = page->figures->cluster->mindinsight_sums;
    const size_t n = end - first, count = n < page->top ? n : page->top;
    struct pw_grid grid;
    if (!n)
        return 0;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = first; i < first + count; i++) {
        const double ns = 1e3;
        char name[sizeof(rows[i].name) * 4];
        const char *own = rows[i].name[0] ? rows[i].name : rows[i].type;
        pw_names_printable(name, sizeof(name), own,
                           rows[i].name[0] ? sizeof(rows[i].name) : sizeof(rows[i].type));
        pw_grid_cell(&grid, "%s", name);
        if (rows[i].calls < 0)
            pw_grid_cell(&grid, "n/a");
        else
            pw_grid_cell(&grid, "%" PRId64, rows[i].calls);
        pw_grid_time(&grid, (int64_t)(rows[i].mean_us * ns + 0.5));
        pw_grid_time(&grid, (int64_t)(rows[i].max_us * ns + 0.5));
        pw_grid_cell(&grid, "%" PRId32, rows[i].max_rank);
        pw_grid_cell(&grid, "%" PRId32, rows[i].ranks);
    }
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err && count < n)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", n - count);
    return err;
}

static int show_aicore(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    size_t types = 0;
    while (types < c->nmindinsight_sums && !c->mindinsight_sums[types].name[0])
        types++;
    int err = print_sums(page, 0, types, "Type");
    err = err ? err : print_sums(page, types, c->nmindinsight_sums, "Operator");
    return err ? err
               : pw_page_print(page, 2, 2,
                               "As MindSpore's profiler added them up, without the times at which "
                               "they ran: of a type the sum of its executions on a rank, of an "
                               "operator the mean of its executions.");
}

static json_t *make_aicore(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    const size_t n = c->nmindinsight_sums;
    return n ? pw_json_rows(PW_TABLE_c_mindinsight_sum, c->mindinsight_sums,
                            n < PW_REPORT_JSON_OPERATORS ? n : PW_REPORT_JSON_OPERATORS)
             : json_null();
}

static bool has_msprof(const struct pw_cluster *c)
{
    return c->nmsprof_steps > 0;
}

const struct pw_section pw_section_msprof = {
    .name = "msprof",
    .title = "msprof-analyze: what it computed of each step and rank",
    .flags = PW_SECTION_WHOLE,
    .tables = {PW_TABLE_c_msprof_step},
    .is_of = has_msprof,
    .print = show_msprof,
    .keys = {{"msprof", make_msprof}},
};

static bool has_aicore(const struct pw_cluster *c)
{
    return c->nmindinsight_sums > 0;
}

const struct pw_section pw_section_aicore = {
    .name = "aicore",
    .title = "Operators on the AI core, as MindSpore's profiler added them up",
    .flags = PW_SECTION_WHOLE,
    .tables = {PW_TABLE_c_mindinsight_sum},
    .is_of = has_aicore,
    .print = show_aicore,
    .keys = {{"aicore", make_aicore}},
};

/* What HCCL's own profiler measured: links, the slowest first, and ranks. */

static int print_links(const struct pw_page *page)
{
    static const struct pw_rowgrid_column columns[] = {
        {"From", "src"},
        {"To", "dst"},
        {"By", "transport"},
        {"Bytes", "bytes"},
        {"Time", "transfer_ns"},
        {"Bandwidth", "bandwidth"},
        {"of the\nothers", "usual_bandwidth"},
    };
    const size_t n = page->figures->cluster->nhccl_links;
    size_t *order;
    if (!n)
        return 0;
    int err = pw_figures_order_hccl_links(page->figures, &order);
    if (err)
        return err;
    err = pw_rowgrid_print(
        page, &(struct pw_rowgrid){PW_TABLE_c_hccl_link, PW_COLUMNS(columns), order, n});
    free(order);
    return err ? err
               : pw_page_print(page, 2, 2,
                               "Of %zu links between ranks, the slowest beside the others of their "
                               "kind first; \"of the others\" is the median.",
                               n);
}

static int hccl_print_ranks(const struct pw_page *page)
{
    static const struct pw_rowgrid_column columns[] = {
        {"Rank", "rank"},          {"# of\nOperations", "operations"},
        {"Elapsed", "elapsed_ns"}, {"Transfer", "transfer_ns"},
        {"Wait", "wait_ns"},       {"of it before\nany transfer", "sync_ns"},
        {"Idle", "idle_ns"},
    };
    const size_t n = page->figures->cluster->nhccl_ranks;
    int err = pw_rowgrid_print(
        page, &(struct pw_rowgrid){PW_TABLE_c_hccl_rank, PW_COLUMNS(columns), NULL, n});
    return err ? err
               : pw_page_print(
                     page, 2, 2,
                     "As HCCL's own profiler measured it, a row for each rank and group.");
}

static int show_hccl(const struct pw_page *page)
{
    int err = hccl_print_ranks(page);
    return err ? err : print_links(page);
}

static json_t *make_links(const struct pw_figures *f)
{
    size_t *order = NULL;
    json_t *array = json_array();
    int bad = !array || pw_figures_order_hccl_links(f, &order);
    for (size_t i = 0; i < f->cluster->nhccl_links && i < PW_REPORT_JSON_LINKS && !bad; i++) {
        json_t *row = pw_json_row(PW_TABLE_c_hccl_link, &f->cluster->hccl_links[order[i]]);
        bad |= json_object_set_new(row, "slowness",
                                   pw_json_real(pw_figures_hccl_slowness(f, order[i])));
        bad |= json_array_append_new(array, row);
    }
    free(order);
    return pw_json_or_null(array, bad);
}

static json_t *make_hccl(const struct pw_figures *f)
{
    const struct pw_cluster *c = f->cluster;
    if (!c->nhccl_ranks && !c->nhccl_links)
        return json_null();
    json_t *all = json_object();
    int bad = !all;
    bad |= json_object_set_new(all, "ranks",
                               pw_json_rows(PW_TABLE_c_hccl_rank, c->hccl_ranks, c->nhccl_ranks));
    bad |= json_object_set_new(all, "links", make_links(f));
    bad |= json_object_set_new(all, "links_total", json_integer((json_int_t)c->nhccl_links));
    return pw_json_or_null(all, bad);
}

static bool has_hccl(const struct pw_cluster *c)
{
    return c->nhccl_ranks > 0 || c->nhccl_links > 0;
}

const struct pw_section pw_section_hccl = {
    .name = "hccl",
    .title = "HCCL: transfers, waits and links",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .tables = {PW_TABLE_c_hccl_rank, PW_TABLE_c_hccl_link},
    .is_of = has_hccl,
    .print = show_hccl,
    .keys = {{"hccl", make_hccl}},
};
