/* Steps as columns; see html_columns.h. */
#include "report/html/html_columns.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/statistics.h"
#include "report/json/json_row.h"

void pw_columns_init(const struct pw_figures *figures, struct pw_columns *out)
{
    size_t nsteps = figures->cluster->nstep_rows;
    size_t most = figures->nranks ? PW_COLUMNS_CELLS / figures->nranks : PW_COLUMNS_MOST;
    if (most < PW_COLUMNS_LEAST)
        most = PW_COLUMNS_LEAST;
    if (most > PW_COLUMNS_MOST)
        most = PW_COLUMNS_MOST;
    size_t block = (nsteps + most - 1) / most;
    block = block ? block : 1;
    *out = (struct pw_columns){figures, block, (nsteps + block - 1) / block};
}

static size_t column_end(const struct pw_columns *columns, size_t column)
{
    size_t end = (column + 1) * columns->block, nsteps = columns->figures->cluster->nstep_rows;
    return end < nsteps ? end : nsteps;
}

/* A table of [steps x ranks]; NULL when the run has none. */
static const char *rows_of(const struct pw_cluster *c, int table)
{
    return table == PW_TABLE_c_step_trace    ? (const char *)c->step_trace
           : table == PW_TABLE_c_phase_trace ? (const char *)c->phase_trace
                                             : (const char *)c->gpu_trace;
}

void pw_columns_fill(const struct pw_columns *columns, int table, size_t offset, int64_t *cells)
{
    const struct pw_cluster *c = columns->figures->cluster;
    size_t row_size = pw_table_borrow(table)->row_size, nranks = columns->figures->nranks;
    const char *rows = rows_of(c, table);
    for (size_t k = 0; k < columns->count; k++)
        for (size_t r = 0; r < nranks; r++) {
            struct pw_mean mean = {0};
            for (size_t s = k * columns->block; rows && s < column_end(columns, k); s++) {
                int64_t value;
                memcpy(&value, rows + (s * nranks + r) * row_size + offset, sizeof(value));
                pw_mean_add(&mean, value);
            }
            cells[r * columns->count + k] = pw_mean_value(&mean);
        }
}

static int append(json_t *object, const char *name, int64_t value)
{
    json_t *array = json_object_get(object, name);
    if (!array && json_object_set_new(object, name, array = json_array()))
        return -1;
    return json_array_append_new(array, pw_json_int(value));
}

static int append_steps(const struct pw_columns *columns, size_t k, json_t *object)
{
    const struct pw_row_c_step *steps = columns->figures->cluster->steps;
    size_t begin = k * columns->block, end = column_end(columns, k);
    struct pw_mean duration = {0}, interval = {0}, fp_bp = {0}, tail = {0}, wait = {0};
    for (size_t s = begin; s < end; s++) {
        struct pw_row_c_step_trace mean;
        pw_figures_mean_ranks(columns->figures, s, &mean);
        pw_mean_add(&duration, steps[s].duration_ns);
        pw_mean_add(&interval, mean.interval_ns);
        pw_mean_add(&fp_bp, mean.fp_bp_ns);
        pw_mean_add(&tail, mean.tail_ns);
        pw_mean_add(&wait, mean.wait_ns);
    }
    int bad = append(object, "step", steps[begin].step);
    bad |= append(object, "last", steps[end - 1].step);
    bad |= append(object, "warmup", steps[begin].recorded != PW_RECORDED_ACTIVE);
    bad |= append(object, "slowest_rank", end - begin == 1 ? steps[begin].slowest_rank : -1);
    bad |= append(object, "duration_ns", pw_mean_value(&duration));
    bad |= append(object, "interval_ns", pw_mean_value(&interval));
    bad |= append(object, "fp_bp_ns", pw_mean_value(&fp_bp));
    bad |= append(object, "tail_ns", pw_mean_value(&tail));
    return bad | append(object, "wait_ns", pw_mean_value(&wait));
}

/* How the ranks' own time is spread: the heatmap colours by the distance from the median. */
static int append_spread(const struct pw_columns *columns, size_t k, const int64_t *own,
                         int64_t *sorted, json_t *object)
{
    size_t n = 0;
    for (size_t r = 0; r < columns->figures->nranks; r++)
        if (own[r * columns->count + k] >= 0)
            sorted[n++] = own[r * columns->count + k];
    pw_sort_i64(sorted, n);
    int bad = append(object, "own_p50_ns", n ? pw_quantile_i64(sorted, n, 0.5) : -1);
    bad |= append(object, "own_p95_ns", n ? pw_quantile_i64(sorted, n, 0.95) : -1);
    return bad | append(object, "own_max_ns", n ? sorted[n - 1] : -1);
}

json_t *pw_columns_json(const struct pw_columns *columns)
{
    size_t nranks = columns->figures->nranks;
    int64_t *own = malloc((nranks * columns->count + 1) * sizeof(*own));
    int64_t *sorted = malloc((nranks + 1) * sizeof(*sorted));
    json_t *object = json_object();
    int bad = !own || !sorted || !object;
    if (!bad) {
        pw_columns_fill(columns, PW_TABLE_c_step_trace,
                        offsetof(struct pw_row_c_step_trace, own_ns), own);
        bad = json_object_set_new(object, "block", json_integer((json_int_t)columns->block));
    }
    for (size_t k = 0; k < columns->count && !bad; k++)
        bad = append_steps(columns, k, object) | append_spread(columns, k, own, sorted, object);
    free(own);
    free(sorted);
    if (!bad)
        return object;
    json_decref(object);
    return NULL;
}
