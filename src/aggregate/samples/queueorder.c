/* Puts the queues of all ranks in the order of the pipeline; see pipelinequeues.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/samples/pipelinequeues.h"
#include "core/limits.h"
#include "core/sort.h"

/* A queue of the job, by name. */
struct known {
    const struct pw_row_c_queue *row; /* the first that says where it is */
    int32_t place;
};

/* What the program did not place comes after what it did, hosts' before devices', by name. */
static int by_place(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    if (x->place != y->place)
        return (uint32_t)x->place < (uint32_t)y->place ? -1 : 1; /* -1 is the last */
    int side = strncmp(y->row->side, x->row->side, sizeof(x->row->side));
    return side ? side : strncmp(x->row->queue, y->row->queue, sizeof(x->row->queue));
}

static int by_name(const void *a, const void *b)
{
    const struct pw_row_c_queue *x = a, *y = b;
    int order = strncmp(x->queue, y->queue, sizeof(x->queue));
    if (order)
        return order;
    if (x->place != y->place)
        return (uint32_t)x->place < (uint32_t)y->place ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_rank(const void *a, const void *b)
{
    const struct pw_row_c_queue *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static int is_same(const struct pw_row_c_queue *a, const struct pw_row_c_queue *b)
{
    return strncmp(a->queue, b->queue, sizeof(a->queue)) == 0;
}

/* Of the rows, which are sorted by name. */
static size_t list_names(const struct pw_row_c_queue *rows, size_t n, struct known *known)
{
    size_t names = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !is_same(&rows[i - 1], &rows[i]))
            known[names++] = (struct known){&rows[i], rows[i].place};
    pw_sort(known, names, sizeof(*known), by_place);
    return names < PW_PIPELINE_QUEUES ? names : PW_PIPELINE_QUEUES;
}

static int32_t place_of(const struct known *known, size_t names, const struct pw_row_c_queue *row)
{
    for (size_t i = 0; i < names; i++)
        if (is_same(known[i].row, row))
            return (int32_t)i;
    return -1;
}

static double joined_mean(double a, int64_t a_n, double b, int64_t b_n)
{
    if (a < 0 || a_n <= 0)
        return b;
    if (b < 0 || b_n <= 0)
        return a;
    return (a * (double)a_n + b * (double)b_n) / ((double)a_n + (double)b_n);
}

static void join(struct pw_row_c_queue *all, const struct pw_row_c_queue *one)
{
    all->usage = joined_mean(all->usage, all->samples, one->usage, one->samples);
    all->mean_size = joined_mean(all->mean_size, all->samples, one->mean_size, one->samples);
    all->samples = pw_sum(all->samples, one->samples);
    all->empty_samples = pw_sum(all->empty_samples, one->empty_samples);
    all->empty_share = all->samples > 0 ? (double)all->empty_samples / (double)all->samples : -1;
    all->capacity = one->capacity > all->capacity ? one->capacity : all->capacity;
    all->steps = pw_sum(all->steps, one->steps);
    all->steps_empty = pw_sum(all->steps_empty, one->steps_empty);
    if (one->first_empty_step >= 0 &&
        (all->first_empty_step < 0 || one->first_empty_step < all->first_empty_step))
        all->first_empty_step = one->first_empty_step;
    if (one->last_empty_step > all->last_empty_step)
        all->last_empty_step = one->last_empty_step;
}

/* All ranks' row of each queue, first; the others follow with their places. */
static size_t build(const struct pw_row_c_queue *rows, size_t n, const struct known *known,
                    size_t names, struct pw_row_c_queue *out)
{
    size_t count = names;
    for (size_t i = 0; i < names; i++) {
        out[i] = *known[i].row;
        out[i].rank = -1;
        out[i].place = (int32_t)i;
        out[i].samples = out[i].empty_samples = out[i].capacity = out[i].steps = 0;
        out[i].steps_empty = 0;
        out[i].usage = out[i].mean_size = out[i].empty_share = -1;
        out[i].first_empty_step = out[i].last_empty_step = -1;
    }
    for (size_t i = 0; i < n; i++) {
        int32_t place = place_of(known, names, &rows[i]);
        if (place < 0)
            continue;
        out[count] = rows[i];
        out[count].place = place;
        join(&out[place], &out[count++]);
    }
    pw_sort(out + names, count - names, sizeof(*out), by_rank);
    return count;
}

/* From this process's rows to places; what has none goes. */
static void place_series(struct pw_queues *q, const struct known *known, size_t names)
{
    size_t kept = 0;
    for (size_t i = 0; i < q->nseries; i++) {
        struct pw_row_c_queue_series point = q->series[i];
        point.place = place_of(known, names, &q->rows[point.place]);
        if (point.place >= 0)
            q->series[kept++] = point;
    }
    q->nseries = kept;
}

int pw_queues_arrange(struct pw_queues *q, const struct pw_job *job)
{
    void *gathered;
    size_t n = pw_job_allgather(job, q->rows, q->n, sizeof(*q->rows), &gathered);
    struct pw_row_c_queue *rows = gathered;
    struct known *known = malloc((n + 1) * sizeof(*known));
    struct pw_row_c_queue *out = malloc((n + PW_PIPELINE_QUEUES + 1) * sizeof(*out));
    int err = known && out ? 0 : -ENOMEM, worst;
    MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, job->comm);
    if (!worst) {
        pw_sort(rows, n, sizeof(*rows), by_name);
        size_t names = list_names(rows, n, known);
        place_series(q, known, names);
        size_t count = build(rows, n, known, names, out);
        free(q->rows);
        q->rows = out;
        q->n = count;
        out = NULL;
    }
    free(out);
    free(known);
    free(gathered);
    return worst;
}
