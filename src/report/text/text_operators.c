/* Prints operators in the layout of PyTorch's profiler; see sections.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "report/content/operatorlist.h"
#include "report/text/sections.h"
#include "report/writing/page.h"
#include "report/writing/safenames.h"

enum { SLOW_LINES = 5 };

/* The columns of a grouping. */
struct layout {
    const char *group;
    int has_wait, has_shapes, has_quantiles, has_memory, has_imbalance;
};

static int is_group(const char *given, const char *name)
{
    return strcmp(given && *given ? given : "name", name) == 0;
}

static size_t make_columns(const struct layout *l, struct pw_grid_column *columns)
{
    size_t n = 0;
    columns[n++] = (struct pw_grid_column){is_group(l->group, "rank") ? "Rank" : "Name", 1};
    if (l->has_shapes)
        columns[n++] = (struct pw_grid_column){"Shapes", 1};
    columns[n++] = (struct pw_grid_column){"Self %", 0};
    columns[n++] = (struct pw_grid_column){"Self\ntotal", 0};
    if (l->has_wait)
        columns[n++] = (struct pw_grid_column){"waiting for\nother ranks", 0};
    columns[n++] = (struct pw_grid_column){"Total %", 0};
    columns[n++] = (struct pw_grid_column){"Total", 0};
    columns[n++] = (struct pw_grid_column){"Avg", 0};
    if (l->has_quantiles)
        columns[n++] = (struct pw_grid_column){"p95", 0};
    columns[n++] = (struct pw_grid_column){"# of\nCalls", 0};
    if (l->has_memory) {
        columns[n++] = (struct pw_grid_column){"Self\nmemory", 0};
        columns[n++] = (struct pw_grid_column){"Peak\nmemory", 0};
    }
    if (l->has_imbalance)
        columns[n++] = (struct pw_grid_column){"max rank\n/ mean", 0};
    return n;
}

/* Adds a cell of memory, which is negative when more was freed than allocated. */
static void memory_cell(struct pw_grid *grid, int64_t bytes)
{
    char text[32];
    int64_t size = bytes >= 0 ? bytes : bytes == INT64_MIN ? INT64_MAX : -bytes;
    pw_grid_cell(grid, "%s%s", bytes < 0 ? "-" : "", pw_text_bytes(text, sizeof(text), size));
}

static void row_cells(struct pw_grid *grid, const struct pw_page *page, const struct layout *l,
                      const struct pw_optotals *totals, const struct pw_oprow *row)
{
    char label[PW_OPLIST_LABEL], shapes[PW_OPLIST_LABEL];
    pw_grid_cell(grid, "%s",
                 pw_operators_label(page->figures->cluster, l->group, row, label, sizeof(label)));
    if (l->has_shapes)
        pw_grid_cell(grid, "%s", pw_names_printable(shapes, sizeof(shapes), row->shapes, 256));
    pw_grid_share(grid, row->share);
    pw_grid_time(grid, row->self_ns);
    if (l->has_wait)
        pw_grid_time(grid, row->self_wait_ns);
    pw_grid_share(grid, pw_figures_share(row->total_ns, totals->self_ns));
    pw_grid_time(grid, row->total_ns);
    pw_grid_time(grid, row->mean_ns);
    if (l->has_quantiles)
        pw_grid_time(grid, row->p95_ns);
    pw_grid_cell(grid, "%" PRId64, row->calls);
    if (l->has_memory)
        memory_cell(grid, row->self_alloc_bytes);
    if (l->has_memory && row->peak_alloc_bytes >= 0)
        memory_cell(grid, row->peak_alloc_bytes);
    else if (l->has_memory)
        pw_grid_cell(grid, "n/a");
    if (l->has_imbalance && row->imbalance >= 0 && row->imbalance < 1e6)
        pw_grid_cell(grid, "%.2f (%d)", row->imbalance, (int)row->max_rank);
    else if (l->has_imbalance)
        pw_grid_cell(grid, "n/a");
}

static int print_rows(const struct pw_page *page, const struct layout *l,
                      const struct pw_optotals *totals, const struct pw_oplist *list)
{
    struct pw_grid_column columns[PW_GRID_COLUMNS];
    struct pw_grid grid;
    size_t count = list->n < page->top ? list->n : page->top;
    pw_grid_init(&grid, columns, make_columns(l, columns));
    for (size_t i = 0; i < count; i++)
        row_cells(&grid, page, l, totals, &list->rows[i]);
    int err = pw_grid_print(&grid, page);
    pw_grid_fini(&grid);
    if (!err && count < list->n)
        err = pw_page_print(page, 2, 2, "%zu more are not shown (--top 0).", list->n - count);
    return err;
}

static int print_sums(const struct pw_page *page, const struct pw_optotals *totals)
{
    char self[32], wait[32];
    pw_text_ns(self, sizeof(self), totals->self_ns);
    pw_text_ns(wait, sizeof(wait), totals->self_wait_ns);
    int err = pw_page_print(page, 2, 2,
                            "Self time total: %s on %" PRId64 " rank%s, %s of it waiting for other "
                            "ranks; %" PRId64 " calls of %" PRId64 " operators.",
                            self, totals->ranks, totals->ranks == 1 ? "" : "s", wait, totals->calls,
                            totals->names);
    return err ? err
               : pw_page_print(
                     page, 2, 2,
                     "Self: without the operators inside; Total: with them, so a call inside one "
                     "of the same name counts twice. Percentages are of the self time total. max "
                     "rank / mean: the slowest rank's own work (its number) over "
                     "the mean of all ranks.");
}

static int print_slow(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_slow_operator *slow = NULL;
    size_t n = 0;
    int err = pw_operators_slow(c, &slow, &n);
    for (size_t i = 0; i < n && i < SLOW_LINES && !err; i++) {
        char name[PW_OPLIST_LABEL], own[32], others[32];
        const struct pw_row_c_operator *op = &c->operators[slow[i].op];
        pw_names_printable(name, sizeof(name), op->name, sizeof(op->name));
        err = pw_page_print(
            page, 2, 4,
            "Rank %d spends %.1f x the other ranks' median in %s: %s of own work, others %s.",
            (int)slow[i].rank, slow[i].found.ratio, name,
            pw_text_ns(own, sizeof(own), slow[i].found.own_ns),
            pw_text_ns(others, sizeof(others), slow[i].found.others_ns));
    }
    if (!err && n > SLOW_LINES)
        err = pw_page_print(page, 2, 4,
                            "%zu more such pairs of rank and operator are in report.json.",
                            n - SLOW_LINES);
    free(slow);
    return err;
}

int pw_section_operators(const struct pw_page *page)
{
    const struct pw_report_options *wanted = page->options;
    const struct pw_cluster *c = page->figures->cluster;
    struct pw_optotals totals;
    struct pw_oplist list = {0};
    pw_operators_totals(c, &totals);
    struct layout layout = {
        .group = wanted->group_by,
        .has_wait = is_group(wanted->group_by, "rank"),
        .has_shapes = is_group(wanted->group_by, "shapes"),
        .has_quantiles = !is_group(wanted->group_by, "rank"),
        .has_memory = totals.has_memory && !is_group(wanted->group_by, "rank"),
        .has_imbalance = totals.ranks > 1 && is_group(wanted->group_by, "name"),
    };
    int err = pw_operators_list(c, wanted->group_by, wanted->search, wanted->sort, &list);
    if (!err && !list.n)
        err = pw_page_print(page, 2, 2, "No operator has '%s' in its name, type or shapes.",
                            wanted->search ? wanted->search : "");
    else if (!err)
        err = print_rows(page, &layout, &totals, &list);
    err = err ? err : print_sums(page, &totals);
    err = err ? err : print_slow(page);
    free(list.rows);
    return err;
}
