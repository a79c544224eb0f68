/* The lists of the JSON report and own work by operator and rank; see html_operators.h. */
#include "report/html/html_operators.h"

#include <string.h>

#include "report/json/json_operators.h"
#include "report/json/json_row.h"

enum { LIST_ROWS = 10000, HEAT_OPERATORS = 24, HEAT_CELLS = 1 << 16 };

/* The ranks, in the order of the file, which are the columns. */
static json_t *make_ranks(const struct pw_cluster *c)
{
    json_t *array = json_array();
    int bad = !array;
    for (size_t i = 0; i < c->noperator_ranks && !bad; i++)
        if (c->operator_ranks[i].operator_row == -1)
            bad = json_array_append_new(array, json_integer(c->operator_ranks[i].rank));
    if (!bad)
        return array;
    json_decref(array);
    return NULL;
}

/* One operator's own work on each of `ranks`; rows [first, end) are its, in the order of ranks. */
static json_t *make_line(const struct pw_cluster *c, const json_t *ranks, size_t first, size_t end)
{
    json_t *line = json_array();
    int bad = !line;
    for (size_t i = 0; i < json_array_size(ranks) && !bad; i++) {
        int64_t rank = json_integer_value(json_array_get(ranks, i)), own = 0;
        while (first < end && c->operator_ranks[first].rank < rank)
            first++;
        const struct pw_row_c_operator_rank *row = &c->operator_ranks[first];
        if (first < end && row->rank == rank && row->self_ns > row->self_wait_ns &&
            row->self_wait_ns >= 0)
            own = row->self_ns - row->self_wait_ns;
        bad = json_array_append_new(line, json_integer(own));
    }
    if (!bad)
        return line;
    json_decref(line);
    return NULL;
}

static json_t *make_heat(const struct pw_cluster *c)
{
    json_t *heat = json_object(), *name = json_array(), *type = json_array(), *own = json_array();
    json_t *ranks = make_ranks(c);
    size_t columns = json_array_size(ranks), lines = 0;
    int bad = json_object_set_new(heat, "name", name);
    bad |= json_object_set_new(heat, "type", type);
    bad |= json_object_set_new(heat, "own_ns", own);
    bad |= json_object_set_new(heat, "rank", ranks);
    for (size_t at = 0, end; at < c->noperator_ranks && !bad; at = end) {
        int32_t row = c->operator_ranks[at].operator_row;
        for (end = at + 1; end < c->noperator_ranks && c->operator_ranks[end].operator_row == row;)
            end++;
        if (row < 0 || lines == HEAT_OPERATORS || (lines + 1) * columns > HEAT_CELLS)
            continue;
        const struct pw_row_c_operator *op = &c->operators[row];
        bad |= json_array_append_new(name, pw_json_text(op->name, sizeof(op->name)));
        bad |= json_array_append_new(type, pw_json_text(op->type, sizeof(op->type)));
        bad |= json_array_append_new(own, make_line(c, ranks, at, end));
        lines++;
    }
    if (!bad)
        return heat;
    json_decref(heat);
    return NULL;
}

json_t *pw_html_operators(const struct pw_figures *f)
{
    json_t *operators = pw_json_operators_most(f, LIST_ROWS);
    if (json_is_object(operators) &&
        json_object_set_new(operators, "heat", make_heat(f->cluster))) {
        json_decref(operators);
        return NULL;
    }
    return operators;
}
