/* Sorts the values of a group and takes means and quantiles; see collectives.h. */
#include "analysis/collectives.h"

#include <math.h>

#include "analysis/statistics.h"
#include "core/limits.h"
#include "core/ops.h"

double pw_busbw_factor(enum pw_op_factor factor, int64_t nranks)
{
    double n = (double)nranks;
    if (nranks < 1)
        return 0;
    switch (factor) {
    case PW_FACTOR_AR:
        return 2 * (n - 1) / n;
    case PW_FACTOR_AG:
        return (n - 1) / n;
    case PW_FACTOR_ONE:
        return 1;
    default:
        return 0;
    }
}

double pw_algbw(int64_t bytes, int64_t transfer_ns)
{
    return bytes > 0 && transfer_ns > 0 ? (double)bytes * 1e9 / (double)transfer_ns : 0;
}

double pw_algbw_resolved(int64_t bytes, int64_t transfer_ns, int64_t error_ns)
{
    return transfer_ns < error_ns ? 0 : pw_algbw(bytes, transfer_ns);
}

int64_t pw_size_class(int64_t bytes)
{
    int64_t top = 0;
    while (top < bytes)
        top = 2 * top + 1;
    return top;
}

/* What is not known of one of them is not known of all. */
static int is_known(const int64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] < 0)
            return 0;
    return 1;
}

static int64_t mean_i64(const int64_t *values, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum = pw_sum(sum, values[i]);
    return sum / (int64_t)n;
}

static int64_t per_rank(int64_t ns, int64_t nranks)
{
    return ns < 0 ? -1 : ns / nranks;
}

static void fill_waits(struct pw_row_c_collective_stat *row, const struct pw_collective_group *g)
{
    const size_t n = g->n;
    int64_t *values = g->values;
    for (size_t i = 0; i < n; i++)
        values[i] = per_rank(g->row(g->context, i).wait_ns, row->nranks);
    if (!is_known(values, n)) {
        row->wait_mean_ns = row->wait_p50_ns = row->wait_p95_ns = row->wait_max_ns = -1;
        return;
    }
    pw_sort_i64(values, n);
    row->wait_mean_ns = mean_i64(values, n);
    row->wait_p50_ns = pw_quantile_i64(values, n, 0.5);
    row->wait_p95_ns = pw_quantile_i64(values, n, 0.95);
    row->wait_max_ns = values[n - 1];
}

static void fill_transfers(struct pw_row_c_collective_stat *row,
                           const struct pw_collective_group *g)
{
    const size_t n = g->n;
    int64_t *values = g->values;
    for (size_t i = 0; i < n; i++)
        values[i] = g->row(g->context, i).transfer_ns;
    if (!is_known(values, n)) {
        row->transfer_mean_ns = row->transfer_p50_ns = -1;
        row->transfer_p95_ns = row->transfer_max_ns = -1;
        return;
    }
    pw_sort_i64(values, n);
    row->transfer_mean_ns = mean_i64(values, n);
    row->transfer_p50_ns = pw_quantile_i64(values, n, 0.5);
    row->transfer_p95_ns = pw_quantile_i64(values, n, 0.95);
    row->transfer_max_ns = values[n - 1];
}

/* Values of 0 are unknown: their time was too short to measure, so they are faster than all known
 * ones. A quantile that falls on one of them is unknown. */
static double quantile_known(double *values, size_t n, double q)
{
    for (size_t i = 0; i < n; i++)
        values[i] = values[i] > 0 ? values[i] : INFINITY;
    pw_sort_f64(values, n);
    double value = pw_quantile_f64(values, n, q);
    return isfinite(value) ? value : 0;
}

static void fill_bandwidths(struct pw_row_c_collective_stat *row,
                            const struct pw_collective_group *g)
{
    const size_t n = g->n;
    double k = pw_busbw_factor(pw_op_info(row->op)->factor, row->nranks), sum = 0;
    double *values = g->values;
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        values[i] = g->row(g->context, i).algbw;
    row->algbw_p50 = quantile_known(values, n, 0.5);
    row->busbw_p50 = row->algbw_p50 * k;
    row->busbw_p95 = quantile_known(values, n, 0.95) * k;
    while (known < n && isfinite(values[known]))
        sum += values[known++] * k;
    /* The known values are the slowest, so with less than half of them a mean would be too low. */
    row->busbw_mean = row->busbw_p50 > 0 ? sum / (double)known : 0;
    row->busbw_max = row->busbw_p50 > 0 ? values[known - 1] * k : 0;
    for (size_t i = 0; i < n; i++) {
        struct pw_row_c_collective v = g->row(g->context, i);
        /* Without a transfer time the bandwidth is unknown. */
        values[i] = v.transfer_ns > 0
                        ? pw_algbw_resolved(v.bytes, v.last_exit - v.first_enter, v.error_ns) * k
                        : 0;
    }
    row->busbw_with_wait_p50 = quantile_known(values, n, 0.5);
}

struct pw_row_c_collective_stat pw_collectives_sum_up(const struct pw_collective_group *g)
{
    struct pw_row_c_collective v = g->row(g->context, 0);
    struct pw_row_c_collective_stat row = {
        .comm_uid = v.comm_uid,
        .op = v.op,
        .source = v.source,
        .bytes_max = pw_size_class(v.bytes),
        .nranks = v.nranks,
        .count = (int64_t)g->n,
    };
    for (size_t i = 0; i < g->n; i++)
        row.bytes = pw_sum(row.bytes, g->row(g->context, i).bytes);
    fill_waits(&row, g);
    fill_transfers(&row, g);
    fill_bandwidths(&row, g);
    return row;
}

int pw_collectives_by_wait(const void *a, const void *b)
{
    const struct pw_row_c_collective_stat *x = a, *y = b;
    double wait_x = (double)x->wait_mean_ns * (double)x->count;
    double wait_y = (double)y->wait_mean_ns * (double)y->count;
    if (wait_x != wait_y)
        return wait_x > wait_y ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (x->bytes_max != y->bytes_max)
        return x->bytes_max < y->bytes_max ? -1 : 1;
    return (x->comm_uid > y->comm_uid) - (x->comm_uid < y->comm_uid);
}
