/* Collectives for the HTML report; see html_collectives.h. */
#include "report/html/html_collectives.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/json/json_keys.h"
#include "report/json/json_row.h"

/* Most waiting first; equal ones in file order. */
static int compare_waits(const void *a, const void *b)
{
    const struct pw_row_c_collective *const *x = a, *const *y = b;
    if ((*x)->wait_ns != (*y)->wait_ns)
        return (*x)->wait_ns > (*y)->wait_ns ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

static json_t *op(const struct pw_row_c_collective *row)
{
    return json_string(pw_enum_name(PW_F_OP, row->op));
}

static json_t *comm(const struct pw_row_c_collective *row)
{
    return json_sprintf("0x%" PRIx64, row->comm_uid);
}

static json_t *seq(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->seq);
}

static json_t *step(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->step);
}

static json_t *bytes(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->bytes);
}

static json_t *nranks(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->nranks);
}

static json_t *last_rank(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->last_rank);
}

static json_t *wait(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->wait_ns);
}

static json_t *transfer(const struct pw_row_c_collective *row)
{
    return pw_json_int(row->transfer_ns);
}

/* Of an instance that was not seen whole, no bandwidth is known. */
static json_t *busbw(const struct pw_row_c_collective *row)
{
    return pw_json_real(row->complete && row->busbw > 0 ? row->busbw : -1);
}

static const struct column {
    const char *name;
    json_t *(*make)(const struct pw_row_c_collective *row);
} columns[] = {
    {"op", op},
    {"comm", comm},
    {"seq", seq},
    {"step", step},
    {"bytes", bytes},
    {"nranks", nranks},
    {"wait_ns", wait},
    {"busbw", busbw},
    {"last_rank", last_rank},
    {"transfer_ns", transfer},
};

static json_t *make_column(const struct column *column, const struct pw_row_c_collective **rows,
                           size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, column->make(rows[i]))) {
            json_decref(array);
            array = NULL;
        }
    return array;
}

json_t *pw_html_collectives(const struct pw_figures *figures)
{
    const struct pw_cluster *c = figures->cluster;
    size_t n = c->ncollectives < PW_HTML_COLLECTIVES ? c->ncollectives : PW_HTML_COLLECTIVES;
    const struct pw_row_c_collective **rows = malloc((c->ncollectives + 1) * sizeof(*rows));
    json_t *object = rows ? json_object() : NULL;
    int bad = json_object_set_new(object, "total", json_integer((json_int_t)c->ncollectives));
    for (size_t i = 0; i < c->ncollectives && !bad; i++)
        rows[i] = &c->collectives[i];
    if (!bad)
        qsort(rows, c->ncollectives, sizeof(struct pw_row_c_collective *), compare_waits);
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]) && !bad; i++)
        bad = json_object_set_new(object, columns[i].name, make_column(&columns[i], rows, n));
    free(rows);
    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}

json_t *pw_html_collective_stats(const struct pw_figures *figures)
{
    return pw_json_collectives_most(figures, PW_HTML_COLLECTIVE_STATS);
}

json_t *pw_html_collective_totals(const struct pw_figures *figures)
{
    const struct pw_cluster *c = figures->cluster;
    double best = 0;
    for (size_t i = 0; i < c->ncollective_stats; i++)
        if (c->collective_stats[i].busbw_max > best)
            best = c->collective_stats[i].busbw_max;
    return json_pack("{s:I, s:o}", "rows", (json_int_t)c->ncollective_stats, "busbw_max",
                     pw_json_real(best));
}
