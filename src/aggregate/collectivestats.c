/* See collectivestats.h. */
#include "aggregate/collectivestats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bandwidth.h"
#include "analysis/statistics.h"
#include "core/sort.h"

int64_t pw_collective_critical(const struct pw_instances *in, size_t i)
{
    const struct pw_instance *item = &in->items[i];
    int64_t margin = item->nranks > 1 ? item->last_enter - item->second_enter : 0;
    return margin < in->waits[i].max_ns ? margin : in->waits[i].max_ns;
}

struct pw_row_c_collective pw_collective_row(const struct pw_job *job,
                                             const struct pw_instances *in, size_t i)
{
    const struct pw_instance *item = &in->items[i];
    const struct pw_comm_group *comm = pw_instances_comm(in, i);
    struct pw_row_c_collective row = {
        .comm_uid = comm->uid,
        .seq = (int64_t)i - comm->first,
        .op = item->op,
        .source = item->source,
        .bytes = item->bytes,
        .nranks = comm->size,
        .step = item->step >= 0 ? job->step_numbers[item->step] : -1,
        .last_rank = item->last_rank,
        .complete = item->nranks == comm->size && !item->mixed,
        .error_ns = item->error_ns,
    };
    if (item->nranks == 0) {
        row.last_rank = -1;
        return row;
    }
    row.first_enter = item->first_enter + job->epoch_ns;
    row.last_enter = item->last_enter + job->epoch_ns;
    row.first_exit = item->first_exit + job->epoch_ns;
    row.last_exit = item->last_exit + job->epoch_ns;
    row.wait_ns = in->waits[i].sum_ns;
    row.transfer_ns = item->last_exit - item->last_enter;
    row.critical_ns = pw_collective_critical(in, i);
    if (row.transfer_ns < 0)
        row.transfer_ns = 0;
    row.algbw = pw_algbw(row.bytes, row.transfer_ns);
    row.busbw = row.algbw * pw_busbw_factor(pw_op_info(item->op)->factor, comm->size);
    return row;
}

static int by_group(const void *a, const void *b)
{
    const struct pw_row_c_collective *x = a, *y = b;
    int64_t size_x = pw_size_class(x->bytes), size_y = pw_size_class(y->bytes);
    if (x->comm_uid != y->comm_uid)
        return x->comm_uid < y->comm_uid ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (size_x != size_y)
        return size_x < size_y ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static int is_same_group(const struct pw_row_c_collective *a, const struct pw_row_c_collective *b)
{
    return a->comm_uid == b->comm_uid && a->op == b->op && a->source == b->source &&
           pw_size_class(a->bytes) == pw_size_class(b->bytes);
}

static int64_t mean_i64(const int64_t *values, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (int64_t)n;
}

static void fill_waits(struct pw_row_c_collective_stat *row, const struct pw_row_c_collective *v,
                       size_t n, int64_t *values)
{
    for (size_t i = 0; i < n; i++)
        values[i] = v[i].wait_ns / v[i].nranks; /* per rank */
    pw_sort_i64(values, n);
    row->wait_mean_ns = mean_i64(values, n);
    row->wait_p50_ns = pw_quantile_i64(values, n, 0.5);
    row->wait_p95_ns = pw_quantile_i64(values, n, 0.95);
    row->wait_max_ns = values[n - 1];
}

static void fill_transfers(struct pw_row_c_collective_stat *row,
                           const struct pw_row_c_collective *v, size_t n, int64_t *values)
{
    for (size_t i = 0; i < n; i++)
        values[i] = v[i].transfer_ns;
    pw_sort_i64(values, n);
    row->transfer_mean_ns = mean_i64(values, n);
    row->transfer_p50_ns = pw_quantile_i64(values, n, 0.5);
    row->transfer_p95_ns = pw_quantile_i64(values, n, 0.95);
    row->transfer_max_ns = values[n - 1];
}

static void fill_bandwidths(struct pw_row_c_collective_stat *row,
                            const struct pw_row_c_collective *v, size_t n, double *values)
{
    double k = pw_busbw_factor(pw_op_info(row->op)->factor, row->nranks), sum = 0;
    for (size_t i = 0; i < n; i++)
        values[i] = v[i].algbw;
    pw_sort_f64(values, n);
    row->algbw_p50 = pw_quantile_f64(values, n, 0.5);
    for (size_t i = 0; i < n; i++)
        sum += values[i] * k;
    row->busbw_mean = sum / (double)n;
    row->busbw_p50 = row->algbw_p50 * k;
    row->busbw_p95 = pw_quantile_f64(values, n, 0.95) * k;
    row->busbw_max = values[n - 1] * k;
    for (size_t i = 0; i < n; i++) {
        int64_t with_wait = v[i].last_exit - v[i].first_enter;
        values[i] = pw_algbw(v[i].bytes, with_wait) * k;
    }
    pw_sort_f64(values, n);
    row->busbw_with_wait_p50 = pw_quantile_f64(values, n, 0.5);
}

static struct pw_row_c_collective_stat sum_up(const struct pw_row_c_collective *v, size_t n,
                                              void *values)
{
    struct pw_row_c_collective_stat row = {
        .comm_uid = v->comm_uid,
        .op = v->op,
        .source = v->source,
        .bytes_max = pw_size_class(v->bytes),
        .nranks = v->nranks,
        .count = (int64_t)n,
    };
    for (size_t i = 0; i < n; i++)
        row.bytes += v[i].bytes;
    fill_waits(&row, v, n, values);
    fill_transfers(&row, v, n, values);
    fill_bandwidths(&row, v, n, values);
    return row;
}

static int by_wait(const void *a, const void *b)
{
    const struct pw_row_c_collective_stat *x = a, *y = b;
    int64_t wait_x = x->wait_mean_ns * x->count, wait_y = y->wait_mean_ns * y->count;
    if (wait_x != wait_y)
        return wait_x > wait_y ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (x->bytes_max != y->bytes_max)
        return x->bytes_max < y->bytes_max ? -1 : 1;
    return (x->comm_uid > y->comm_uid) - (x->comm_uid < y->comm_uid);
}

int pw_collectivestats_make(const struct pw_job *job, const struct pw_instances *in,
                            struct pw_row_c_collective_stat **rows, size_t *count)
{
    struct pw_row_c_collective *all = malloc(sizeof(*all) * (in->n + 1));
    struct pw_row_c_collective_stat *stats = malloc(sizeof(*stats) * (in->n + 1));
    int64_t *values = malloc(sizeof(*values) * (in->n + 1));
    size_t n = 0, groups = 0;
    int err = all && stats && values ? 0 : -ENOMEM;
    for (size_t i = 0; !err && i < in->n; i++) {
        all[n] = pw_collective_row(job, in, i);
        n += all[n].complete;
    }
    if (!err)
        pw_sort(all, n, sizeof(*all), by_group);
    for (size_t at = 0; !err && at < n;) {
        size_t end = at + 1;
        while (end < n && is_same_group(&all[at], &all[end]))
            end++;
        stats[groups++] = sum_up(all + at, end - at, values);
        at = end;
    }
    free(all);
    free(values);
    if (err) {
        free(stats);
        return err;
    }
    pw_sort(stats, groups, sizeof(*stats), by_wait);
    *rows = stats;
    *count = groups;
    return 0;
}
