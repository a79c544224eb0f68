/* What HCCL's own profiler measured: links, the slowest first, and ranks. */
#include <stdlib.h>

#include "analysis/figures/figures.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/json_row.h"
#include "report/writing/page.h"
#include "report/writing/rowgrid.h"

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

static int print_ranks(const struct pw_page *page)
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
    int err = print_ranks(page);
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
