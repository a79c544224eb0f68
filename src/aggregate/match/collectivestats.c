/* See collectivestats.h. */
#include "aggregate/match/collectivestats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collectives.h"
#include "core/limits.h"
#include "core/sort.h"

/* What the job would have gained, to first order, had the last rank entered with the last but one:
 * ns, and no more than any rank waited. */
static int64_t critical_ns(const struct pw_instances *in, size_t i)
{
    const struct pw_instance *item = &in->items[i];
    int64_t margin = item->nranks > 1 ? item->last_enter - item->penultimate_enter : 0;
    return margin < in->waits[i].max_ns ? margin : in->waits[i].max_ns;
}

struct pw_blame pw_collective_sum_blame(const struct pw_instances *in, int32_t rank, int64_t from,
                                        int64_t until)
{
    struct pw_blame sum = {0, 0};
    for (size_t i = 0; i < in->n; i++) {
        const struct pw_instance *item = &in->items[i];
        if (item->nranks < 2 || item->mixed || item->last_enter < from ||
            item->last_enter >= until || pw_instance_blamed(item) != rank)
            continue;
        sum.blame_ns += in->waits[i].sum_ns;
        sum.critical_ns += critical_ns(in, i);
    }
    return sum;
}

struct pw_row_c_collective pw_collective_row(const struct pw_world *world,
                                             const struct pw_instances *in, size_t i)
{
    const struct pw_instance *item = &in->items[i];
    const struct pw_comm_group *comm = pw_instances_comm(in, i);
    struct pw_row_c_collective row = {
        .comm_uid = comm->uid,
        .seq = (int64_t)i - comm->first + comm->base,
        .op = item->op,
        .source = item->source,
        .bytes = item->bytes,
        .nranks = comm->size,
        .step = item->nranks && item->step >= 0 ? world->step_numbers[item->step] : -1,
        .last_rank = item->last_rank,
        .complete = item->nranks == comm->size && !item->mixed,
        .error_ns = item->error_ns,
    };
    if (item->nranks == 0) {
        row.last_rank = -1;
        return row;
    }
    row.first_enter = item->first_enter + world->epoch_ns;
    row.last_enter = item->last_enter + world->epoch_ns;
    row.first_exit = item->first_exit + world->epoch_ns;
    row.last_exit = item->last_exit + world->epoch_ns;
    row.wait_ns = in->waits[i].sum_ns;
    row.transfer_ns = item->last_exit - item->last_enter;
    row.critical_ns = critical_ns(in, i);
    if (row.transfer_ns < 0)
        row.transfer_ns = 0;
    row.algbw = pw_algbw_resolved(row.bytes, row.transfer_ns, row.error_ns);
    row.busbw = row.algbw * pw_busbw_factor(pw_op_info(item->op)->factor, comm->size);
    return row;
}

/* Instances by (communicator, operation, size class): indices, sorted. */
struct grouping {
    const struct pw_world *world;
    const struct pw_instances *in;
    uint32_t *order;
    void *values; /* room for a number of each */
};

static int compare_groups(const struct pw_instances *in, size_t a, size_t b)
{
    const struct pw_instance *x = &in->items[a], *y = &in->items[b];
    uint64_t uid_x = pw_instances_comm(in, a)->uid, uid_y = pw_instances_comm(in, b)->uid;
    int64_t size_x = pw_size_class(x->bytes), size_y = pw_size_class(y->bytes);
    if (uid_x != uid_y)
        return uid_x < uid_y ? -1 : 1;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    if (size_x != size_y)
        return size_x < size_y ? -1 : 1;
    return (x->source > y->source) - (x->source < y->source);
}

static int by_group(const void *a, const void *b, void *context)
{
    const struct grouping *g = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = compare_groups(g->in, x, y);
    return order ? order : (x > y) - (x < y); /* of one communicator: by sequence number */
}

/* A group's row i. */
struct member {
    const struct grouping *g;
    size_t first;
};

static struct pw_row_c_collective row_at(const void *context, size_t i)
{
    const struct member *member = context;
    const struct grouping *g = member->g;
    return pw_collective_row(g->world, g->in, g->order[member->first + i]);
}

/* The complete instances of the job, in groups. */
static size_t list_complete(struct grouping *g)
{
    size_t n = 0;
    for (size_t i = 0; i < g->in->n; i++) {
        const struct pw_instance *item = &g->in->items[i];
        if (!item->mixed && item->nranks == pw_instances_comm(g->in, i)->size)
            g->order[n++] = (uint32_t)i;
    }
    qsort_r(g->order, n, sizeof(*g->order), by_group, g);
    return n;
}

static int append(struct pw_row_c_collective_stat **rows, size_t *count,
                  struct pw_row_c_collective_stat row)
{
    if ((*count & (*count - 1)) == 0) { /* a power of two: full */
        struct pw_row_c_collective_stat *more = realloc(*rows, sizeof(*more) * 2 * (*count + 1));
        if (!more)
            return -ENOMEM;
        *rows = more;
    }
    (*rows)[(*count)++] = row;
    return 0;
}

int pw_collectivestats_make(const struct pw_world *world, const struct pw_instances *in,
                            struct pw_row_c_collective_stat **rows, size_t *count)
{
    struct grouping g = {world, in, malloc(sizeof(*g.order) * (in->n + 1)),
                         malloc(sizeof(int64_t) * (in->n + 1))};
    struct pw_row_c_collective_stat *stats = malloc(sizeof(*stats));
    size_t groups = 0;
    int err = g.order && g.values && stats ? 0 : -ENOMEM;
    size_t n = err ? 0 : list_complete(&g);
    for (size_t at = 0; !err && at < n;) {
        size_t end = at + 1;
        while (end < n && compare_groups(in, g.order[at], g.order[end]) == 0)
            end++;
        const struct member member = {&g, at};
        const struct pw_collective_group group = {row_at, &member, end - at, g.values};
        err = append(&stats, &groups, pw_collectives_sum_up(&group));
        at = end;
    }
    free(g.order);
    free(g.values);
    if (err) {
        free(stats);
        return err;
    }
    pw_sort(stats, groups, sizeof(*stats), pw_collectives_by_wait);
    *rows = stats;
    *count = groups;
    return 0;
}
