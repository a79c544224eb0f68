/* Operators as JSON, in each grouping; see json_keys.h. */
#include "report/json/json_keys.h"

#include <stdlib.h>

#include "report/content/operatorlist.h"
#include "report/json/json_row.h"
#include "report/report.h"
#include "report/writing/safenames.h"

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

json_t *pw_json_operators(const struct pw_figures *f)
{
    return pw_json_operators_most(f, PW_REPORT_JSON_OPERATORS);
}
