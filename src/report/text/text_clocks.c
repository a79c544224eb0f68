/* The clocks: how each domain's relates to the cluster's, and how sure that is. */
#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "report/text/sections.h"
#include "report/writing/grid.h"

/* "+2.00 s", "-5.1 us" */
static void offset_cell(struct pw_grid *grid, int64_t ns)
{
    char time[32];
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    pw_text_ns(time, sizeof(time), size > INT64_MAX ? INT64_MAX : (int64_t)size);
    pw_grid_cell(grid, "%s%s", ns < 0 ? "-" : "+", time);
}

static void drift_cell(struct pw_grid *grid, const struct pw_row_c_clock *row)
{
    if (row->drift_error_ppm <= 0 || row->drift_error_ppm > 100)
        pw_grid_cell(grid, "n/a");
    else
        pw_grid_cell(grid, "%+.2f ± %.2f ppm", row->drift_ppm, row->drift_error_ppm);
}

static void domain_cells(struct pw_grid *grid, const struct pw_row_c_clock *row, size_t ranks)
{
    char error[32];
    int is_reference = row->domain == 0, is_known = row->error_ns >= 0;
    if (row->hostname[0])
        pw_grid_cell(grid, "%.64s", row->hostname);
    else
        pw_grid_cell(grid, "not known (rank %" PRId32 ")", row->rank);
    pw_grid_cell(grid, "%zu", ranks);
    if (is_reference || !is_known) {
        pw_grid_cell(grid, is_reference ? "0" : "n/a");
        pw_grid_cell(grid, is_reference ? "0" : "n/a");
    } else {
        offset_cell(grid, row->offset_ns);
        drift_cell(grid, row);
    }
    pw_grid_cell(grid, "%s", pw_text_ns(error, sizeof(error), row->error_ns));
    pw_grid_cell(grid, "%" PRId64, row->active_knots);
    pw_grid_cell(grid, "%" PRId64, row->bounds);
    pw_grid_cell(grid, "%.16s", row->source);
    pw_grid_cell(grid, "%" PRId64 " / %" PRId64, row->violations, row->violations_beyond);
}

/* Ranks of the domain when `row` is its first, else 0. */
static size_t ranks_of(const struct pw_cluster *c, size_t row)
{
    size_t ranks = 0;
    for (size_t r = 0; r < c->nclocks; r++) {
        if (c->clocks[r].domain != c->clocks[row].domain)
            continue;
        if (r < row)
            return 0;
        ranks++;
    }
    return ranks;
}

static int print_domains(const struct pw_page *page, size_t *hidden)
{
    static const struct pw_grid_column columns[] = {
        {"host", 1},     {"ranks", 0},  {"offset", 0}, {"drift", 0},      {"error", 0},
        {"measured", 0}, {"bounds", 0}, {"from", 1},   {"violations", 0},
    };
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_grid grid;
    size_t shown = 0;
    pw_grid_init(&grid, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t r = 0; r < c->nclocks; r++) {
        size_t ranks = c->clocks[r].domain < 0 ? 0 : ranks_of(c, r);
        if (ranks == 0)
            continue;
        if (shown < page->top) {
            domain_cells(&grid, &c->clocks[r], ranks);
            shown++;
        } else {
            ++*hidden;
        }
    }
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    return err;
}

int pw_section_clocks(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    size_t hidden = 0, several = 0;
    for (size_t r = 0; r < c->nclocks; r++)
        several |= c->clocks[r].domain > 0;
    if (!c->nclocks)
        return pw_page_print(page, 2, 2, "Not known: this cluster file does not say.");
    if (!several)
        return pw_page_print(page, 2, 2, "All ranks are on one clock.");
    int err = print_domains(page, &hidden);
    if (!err && hidden)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", hidden);
    if (err)
        return err;
    return pw_page_print(
        page, 2, 2,
        "offset: to be added to the host's clock, in the middle of the run; drift: how much faster "
        "it runs than the first; error: bound over the whole run; measured: exchanges with other "
        "hosts; bounds: pairs of events in known order; violations: of these, how many contradict "
        "the corrected times / by more than the error.");
}
