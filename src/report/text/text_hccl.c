/* The section on what HCCL's own profiler measured: links, the slowest first, and ranks. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/figures/figures.h"
#include "report/text/sections.h"
#include "report/writing/page.h"

static void add_bandwidth(struct pw_grid *grid, double bandwidth)
{
    const double giga = 1e9;
    if (bandwidth < 0)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%.4g GB/s", bandwidth / giga);
}

static void add_link(struct pw_grid *grid, const struct pw_row_c_hccl_link *link)
{
    pw_grid_cell(grid, "%" PRId32, link->src);
    pw_grid_cell(grid, "%" PRId32, link->dst);
    pw_grid_cell(grid, "%.16s", link->transport);
    pw_grid_bytes(grid, link->bytes);
    pw_grid_time(grid, link->transfer_ns);
    add_bandwidth(grid, link->bandwidth);
    add_bandwidth(grid, link->usual_bandwidth);
}

static int print_links(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"From", 0},           {"To", 0}, {"By", 1}, {"Bytes", 0}, {"Time", 0}, {"Bandwidth", 0},
        {"of the\nothers", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    const size_t n = c->nhccl_links, count = n < page->top ? n : page->top;
    size_t *order;
    if (!n)
        return 0;
    int err = pw_figures_order_hccl_links(page->figures, &order);
    if (err)
        return err;
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++)
        add_link(&grid, &c->hccl_links[order[i]]);
    err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    free(order);
    return err ? err
               : pw_page_print(page, 2, 2,
                               "Of %zu links between ranks, the slowest beside the others of their "
                               "kind first; \"of the others\" is the median.",
                               n);
}

static int print_ranks(const struct pw_page *page)
{
    static const struct pw_grid_column columns[] = {
        {"Rank", 0}, {"# of\nOperations", 0},           {"Elapsed", 0}, {"Transfer", 0},
        {"Wait", 0}, {"of it before\nany transfer", 0}, {"Idle", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    const size_t count = c->nhccl_ranks < page->top ? c->nhccl_ranks : page->top;
    struct pw_grid grid;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < count; i++) {
        const struct pw_row_c_hccl_rank *r = &c->hccl_ranks[i];
        pw_grid_cell(&grid, "%" PRId32, r->rank);
        pw_grid_cell(&grid, "%" PRId64, r->operations);
        pw_grid_time(&grid, r->elapsed_ns);
        pw_grid_time(&grid, r->transfer_ns);
        pw_grid_time(&grid, r->wait_ns);
        pw_grid_time(&grid, r->sync_ns);
        pw_grid_time(&grid, r->idle_ns);
    }
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err && count < c->nhccl_ranks)
        err =
            pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", c->nhccl_ranks - count);
    return err ? err
               : pw_page_print(
                     page, 2, 2,
                     "As HCCL's own profiler measured it, a row for each rank and group.");
}

int pw_section_hccl(const struct pw_page *page)
{
    int err = print_ranks(page);
    return err ? err : print_links(page);
}
