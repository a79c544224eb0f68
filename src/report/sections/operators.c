/* Operators: self time, and ranks on which they take longer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figures.h"
#include "core/text.h"
#include "report/content/operatorlist.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/csv.h"
#include "report/writing/json_row.h"
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

/* Who profiles a training with PyTorch may expect its operators, as torch.profiler shows them. */
static int print_only_phases(const struct pw_page *page)
{
    const struct pw_cluster *c = page->figures->cluster;
    int has_others = c->imported[0] || !pw_figures_advice(page->figures).is_training;
    for (size_t i = 0; i < c->noperators; i++)
        has_others |= c->operators[i].kind != PW_KIND_PHASE;
    return has_others || !c->noperators
               ? 0
               : pw_page_print(
                     page, 2, 2,
                     "Only phases were recorded. PyTorch's operators are recorded, too, by "
                     "'from profwrap.torch import profile' in place of torch.profiler's "
                     "(docs/python.md).");
}

static int show_operators(const struct pw_page *page)
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
    err = err ? err : print_only_phases(page);
    free(list.rows);
    return err;
}

static int set_text(json_t *row, const char *key, const char *text, size_t length)
{
    return json_object_set_new(row, key, pw_json_text(text, *text ? length : 0));
}

static json_t *make_row(const struct pw_cluster *c, const struct pw_oprow *from)
{
    json_t *row = json_object();
    const struct {
        const char *name;
        int64_t value;
    } figures[] = {
        {"calls", from->calls},     {"total_ns", from->total_ns},
        {"self_ns", from->self_ns}, {"self_wait_ns", from->self_wait_ns},
        {"min_ns", from->min_ns},   {"mean_ns", from->mean_ns},
        {"max_ns", from->max_ns},   {"p50_ns", from->p50_ns},
        {"p95_ns", from->p95_ns},   {"peak_alloc_bytes", from->peak_alloc_bytes},
    };
    int bad = 0;
    if (from->op >= 0)
        bad |= set_text(row, "name", from->name, sizeof(c->operators->name));
    if (*from->type)
        bad |= set_text(row, "type", from->type, sizeof(c->operators->type));
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        bad |= json_object_set_new(row, figures[i].name, pw_json_int(figures[i].value));
    bad |= json_object_set_new(row, "alloc_bytes", json_integer(from->alloc_bytes));
    bad |= json_object_set_new(row, "self_alloc_bytes", json_integer(from->self_alloc_bytes));
    bad |= json_object_set_new(row, "share", pw_json_real(from->share));
    return pw_json_or_null(row, bad);
}

/* Adds the keys that only this grouping has. */
static int add_own(json_t *row, const struct pw_cluster *c, const char *group,
                   const struct pw_oprow *from)
{
    if (group[0] == 'n') {
        const struct pw_row_c_operator *op = &c->operators[from->op];
        int bad = json_object_set_new(row, "kind", json_string(pw_enum_name(PW_F_KIND, op->kind)));
        bad |= json_object_set_new(row, "ranks", pw_json_int(op->ranks));
        bad |= json_object_set_new(row, "max_rank", pw_json_int(op->max_rank));
        bad |= json_object_set_new(row, "max_rank_own_ns", pw_json_int(op->max_rank_own_ns));
        return bad | json_object_set_new(row, "imbalance", pw_json_real(op->imbalance));
    }
    if (group[0] == 's' && group[1] == 'h')
        return set_text(row, "shapes", from->shapes, sizeof(c->operator_shapes->shapes));
    if (group[0] == 'r')
        return json_object_set_new(row, "rank", pw_json_int(from->index));
    return 0;
}

static json_t *make_list(const struct pw_cluster *c, const char *group, size_t most)
{
    struct pw_oplist list = {0};
    json_t *array = json_array();
    int bad = pw_operators_list(c, group, NULL, NULL, &list);
    for (size_t i = 0; i < list.n && i < most && !bad; i++) {
        json_t *row = make_row(c, &list.rows[i]);
        bad |= add_own(row, c, group, &list.rows[i]);
        bad |= json_array_append_new(array, row);
    }
    free(list.rows);
    return pw_json_or_null(array, bad);
}

/* Makes the rows of call paths, with frames of functions; each row has the number of its parent's
 * row. */
static json_t *make_stacks(const struct pw_cluster *c, size_t most)
{
    json_t *array = json_array();
    int bad = !array;
    for (size_t i = 0; i < c->noperator_stacks && i < most && !bad; i++) {
        const struct pw_row_c_operator_stack *from = &c->operator_stacks[i];
        const struct pw_row_c_operator *op = &c->operators[from->operator_row];
        json_t *row = json_object();
        bad |= json_object_set_new(row, "parent", pw_json_int(from->parent));
        bad |= set_text(row, "name", op->name, sizeof(op->name));
        bad |= json_object_set_new(row, "kind", json_string(pw_enum_name(PW_F_KIND, op->kind)));
        bad |= json_object_set_new(row, "calls", pw_json_int(from->calls));
        bad |= json_object_set_new(row, "total_ns", pw_json_int(from->total_ns));
        bad |= json_object_set_new(row, "exclusive_ns", pw_json_int(from->exclusive_ns));
        bad |= json_array_append_new(array, row);
    }
    return pw_json_or_null(array, bad);
}

static json_t *make_slow(const struct pw_cluster *c)
{
    struct pw_slow_operator *slow = NULL;
    size_t n = 0;
    json_t *array = json_array();
    int bad = pw_operators_slow(c, &slow, &n);
    for (size_t i = 0; i < n && !bad; i++) {
        const struct pw_row_c_operator *op = &c->operators[slow[i].op];
        json_t *row = json_object();
        bad |= set_text(row, "name", op->name, sizeof(op->name));
        bad |= set_text(row, "type", op->type, sizeof(op->type));
        bad |= json_object_set_new(row, "rank", pw_json_int(slow[i].rank));
        bad |= json_object_set_new(row, "own_ns", pw_json_int(slow[i].found.own_ns));
        bad |= json_object_set_new(row, "others_median_ns", pw_json_int(slow[i].found.others_ns));
        bad |= json_object_set_new(row, "ratio", pw_json_real(slow[i].found.ratio));
        bad |= json_array_append_new(array, row);
    }
    free(slow);
    return pw_json_or_null(array, bad);
}

json_t *pw_json_operators_most(const struct pw_figures *f, size_t most)
{
    const struct pw_cluster *c = f->cluster;
    struct pw_optotals totals;
    pw_operators_totals(c, &totals);
    if (!totals.names)
        return json_null();
    json_t *all = json_object();
    int bad = json_object_set_new(all, "names", pw_json_int(totals.names));
    bad |= json_object_set_new(all, "calls", pw_json_int(totals.calls));
    bad |= json_object_set_new(all, "self_ns", pw_json_int(totals.self_ns));
    bad |= json_object_set_new(all, "self_wait_ns", pw_json_int(totals.self_wait_ns));
    bad |= json_object_set_new(all, "ranks", pw_json_int(totals.ranks));
    bad |= json_object_set_new(all, "slow_ranks", make_slow(c));
    bad |= json_object_set_new(all, "by_name", make_list(c, "name", most));
    bad |= json_object_set_new(all, "by_type", make_list(c, "type", most));
    bad |= json_object_set_new(all, "by_shapes", make_list(c, "shapes", most));
    bad |= json_object_set_new(all, "by_rank", make_list(c, "rank", SIZE_MAX));
    bad |= json_object_set_new(all, "stacks", make_stacks(c, most));
    return pw_json_or_null(all, bad);
}

static json_t *make_operators(const struct pw_figures *f)
{
    return pw_json_operators_most(f, PW_REPORT_JSON_OPERATORS);
}

static struct pw_lack lack_of_operators(const struct pw_figures *f)
{
    struct pw_optotals totals;
    pw_operators_totals(f->cluster, &totals);
    return totals.names ? (struct pw_lack){0}
                        : (struct pw_lack){"None were recorded.", PW_HOW_TO_MARK};
}

static void put_operator(FILE *out, const struct pw_cluster *c, const char *group,
                         const struct pw_oprow *row)
{
    char label[PW_OPLIST_LABEL];
    pw_operators_label(c, group, row, label, sizeof(label));
    pw_csv_text(out, label, sizeof(label));
    fputc(',', out);
    pw_csv_text(out, row->type, *row->type ? sizeof(c->operators->type) : 0);
    fputc(',', out);
    pw_csv_text(out, row->shapes, *row->shapes ? sizeof(c->operator_shapes->shapes) : 0);
    const int64_t *figures = &row->calls;
    for (int i = 0; i < PW_OPROW_FIGURES; i++)
        if (figures[i] < 0 && &figures[i] != &row->alloc_bytes &&
            &figures[i] != &row->self_alloc_bytes)
            fputc(',', out);
        else
            fprintf(out, ",%" PRId64, figures[i]);
    fputc(',', out);
    pw_csv_real(out, row->share);
    fputc(',', out);
    pw_csv_real(out, row->imbalance);
    fputc('\n', out);
}

static int put_operators(FILE *out, const struct pw_figures *f,
                         const struct pw_report_options *options)
{
    const struct pw_cluster *c = f->cluster;
    struct pw_oplist list = {0};
    int err = pw_operators_list(c, options->group_by, options->search, options->sort, &list);
    if (err)
        return err;
    fputs("# operators\nname,type,shapes,calls,total_ns,self_ns,self_wait_ns,min_ns,mean_ns,max_ns,"
          "p50_ns,p95_ns,alloc_bytes,self_alloc_bytes,peak_alloc_bytes,share,imbalance\n",
          out);
    for (size_t i = 0; i < list.n; i++)
        put_operator(out, c, options->group_by, &list.rows[i]);
    free(list.rows);
    return 0;
}

const struct pw_section pw_section_operators = {
    .name = "operators",
    .title = "Operators: self time, and ranks on which they take longer",
    .flags = PW_SECTION_WHOLE | PW_SECTION_PAGE,
    .lacks = lack_of_operators,
    .how_imported = "Trace with activities=[ProfilerActivity.CPU, ...] of torch.profiler.",
    .print = show_operators,
    .keys = {{"operators", make_operators}},
    .csv = put_operators,
};
