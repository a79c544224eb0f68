/* A comparison as tables; see compare.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/sentence.h"
#include "core/text.h"
#include "report/compare/compare.h"
#include "report/writing/grid.h"
#include "report/writing/page.h"

static const char *const titles[PW_COMPARE_GROUPS] = {
    "The run",
    "Outside the steps: own time of the rank that changed most",
    "Step time",
    "Where a step's time goes, mean of the steps and ranks",
    "Phases: own work in a step, mean of the steps and ranks",
    "Ranks: own work in a step, mean",
    "Collective operations: mean transfer of a call",
    "Operators: self time in a step, mean of the ranks",
};

static const char *time_of(char *out, size_t size, double ns)
{
    return pw_text_ns(out, size, ns < 0 ? -1 : ns < 9e18 ? (int64_t)(ns + 0.5) : INT64_MAX);
}

/* "+12.3 %"; "n/a". */
static const char *change_of(char *out, size_t size, const struct pw_compare_row *row)
{
    double change = pw_compare_change(row);
    if (isnan(change))
        snprintf(out, size, "n/a");
    else if (change >= 100)
        snprintf(out, size, "> 9999 %%");
    else
        snprintf(out, size, fabs(change) < 10 ? "%+.1f %%" : "%+.0f %%", 100 * change);
    return out;
}

static const char *chance_of(char *out, size_t size, double p)
{
    if (p < 0)
        snprintf(out, size, "n/a");
    else
        snprintf(out, size, p < 0.0001 ? "< 0.0001" : p < 0.01 ? "%.4f" : "%.2f", p);
    return out;
}

static const char *verdict_of(const struct pw_compare_row *row)
{
    if (row->p < 0)
        return "";
    if (!pw_compare_is_significant(row))
        return "as before";
    return row->b > row->a ? "slower" : "faster";
}

static void add_cells(struct pw_grid *grid, const struct pw_compare_row *row)
{
    char a[32], b[32], change[32], chance[32];
    pw_grid_cell(grid, "%s", row->name);
    pw_grid_cell(grid, "%s", time_of(a, sizeof(a), row->a));
    pw_grid_cell(grid, "%s", time_of(b, sizeof(b), row->b));
    pw_grid_cell(grid, "%s", change_of(change, sizeof(change), row));
    pw_grid_cell(grid, "%s", chance_of(chance, sizeof(chance), row->p));
    pw_grid_cell(grid, "%s", verdict_of(row));
}

static int print_group(const struct pw_page *page, const struct pw_comparison *c,
                       enum pw_compare_group group)
{
    static const struct pw_grid_column columns[] = {
        {"what", 1}, {"first\nrun", 0}, {"second\nrun", 0}, {"change", 0}, {"p", 0}, {"", 1}};
    struct pw_grid grid;
    size_t shown = 0, rows = 0;
    pw_grid_init(&grid, columns, 6);
    for (size_t i = 0; i < c->nrows; i++) {
        if (c->rows[i].group != group || rows++ >= page->top)
            continue;
        add_cells(&grid, &c->rows[i]);
        shown++;
    }
    int err = shown ? pw_page_print(page, 0, 0, "%s", "") : 0;
    err = !err && shown ? pw_page_print(page, 0, 0, "%s", titles[group]) : err;
    err = !err && shown ? pw_grid_print(&grid, page) : err;
    if (!err && rows > shown)
        err = pw_page_print(page, 2, 2, "%zu more changed less; --top 0 lists them.", rows - shown);
    pw_grid_fini(&grid);
    return err;
}

int pw_compare_text(FILE *out, const struct pw_comparison *comparison, int top)
{
    const struct pw_page page = {
        .out = out, .width = PW_REPORT_WIDTH, .top = top > 0 ? (size_t)top : SIZE_MAX};
    char text[1024];
    pw_compare_headline(comparison, text, sizeof(text));
    int err = pw_page_print(&page, 0, 2, "%s", text);
    if (!err && comparison->unlike[0])
        err = pw_page_print(&page, 0, 2, "The runs are not alike: %s.", comparison->unlike);
    for (int group = 0; group < PW_COMPARE_GROUPS && !err; group++)
        err = print_group(&page, comparison, (enum pw_compare_group)group);
    err = err ? err : pw_page_print(&page, 0, 0, "%s", "");
    if (!err)
        err = pw_page_print(
            &page, 0, 2,
            "p: how likely the steps' spread alone makes such a difference "
            "(permutation test of means, Mann-Whitney of medians). It knows nothing of what "
            "differs from run to run: another placement, another neighbour.");
    return err ? err : ferror(out) ? -EIO : 0;
}
