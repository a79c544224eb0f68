/* Adds each rank's events to the instances, and joins the instances of all processes by
 * user-defined reductions; see instances.h. */
#include "aggregate/match/instances.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/input/events.h"
#include "analysis/collectives.h"
#include "core/limits.h"
#include "core/ops.h"
#include "core/search.h"
#include "core/sort.h"

/* Items in one reduction, which limits MPI's buffers. */
enum { BLOCK = 1 << 14 };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void pw_instance_join(struct pw_instance *into, const struct pw_instance *one)
{
    if (one->nranks == 0)
        return;
    if (into->nranks == 0) {
        *into = *one;
        return;
    }
    /* The penultimate enter of both together: the earlier of the two last ones, or the later of the
     * two penultimate ones. */
    int64_t second = smaller(into->last_enter, one->last_enter);
    second = larger(second, larger(into->penultimate_enter, one->penultimate_enter));
    if (one->last_enter > into->last_enter ||
        (one->last_enter == into->last_enter && one->last_rank < into->last_rank))
        into->last_rank = one->last_rank;
    into->penultimate_enter = second;
    into->first_enter = smaller(into->first_enter, one->first_enter);
    into->last_enter = larger(into->last_enter, one->last_enter);
    into->first_exit = smaller(into->first_exit, one->first_exit);
    into->last_exit = larger(into->last_exit, one->last_exit);
    into->root_enter = smaller(into->root_enter, one->root_enter);
    into->root = into->root > one->root ? into->root : one->root;
    into->bytes = larger(into->bytes, one->bytes);
    into->error_ns =
        into->error_ns < 0 || one->error_ns < 0 ? -1 : larger(into->error_ns, one->error_ns);
    into->step = larger(into->step, one->step);
    into->nranks += one->nranks;
    into->untimed |= one->untimed;
    into->mixed |= one->mixed || into->op != one->op || into->source != one->source;
    into->op = into->op < one->op ? into->op : one->op;
    into->source = into->source < one->source ? into->source : one->source;
}

static void join_instances(void *in, void *inout, int *n, void *type)
{
    const struct pw_instance *from = in;
    struct pw_instance *into = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        pw_instance_join(&into[i], &from[i]);
}

static void join_waits(void *in, void *inout, int *n, void *type)
{
    const struct pw_instance_wait *from = in;
    struct pw_instance_wait *into = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        into[i].sum_ns = pw_sum(into[i].sum_ns, from[i].sum_ns);
        into[i].max_ns = larger(into[i].max_ns, from[i].max_ns);
    }
}

/* Allreduce of `n` items of `size` bytes with `function`, in place, block by block. */
static void reduce(char *items, size_t n, int size, pw_ex_function *function, pw_ex_comm comm)
{
    pw_ex_type type;
    pw_ex_op op;
    pw_ex_type_contiguous(size, PW_EX_BYTE, &type);
    pw_ex_op_create(function, 1, &op);
    for (size_t at = 0; at < n; at += BLOCK) {
        int count = n - at < BLOCK ? (int)(n - at) : BLOCK;
        pw_ex_allreduce(PW_EX_IN_PLACE, items + at * (size_t)size, count, type, op, comm);
    }
    pw_ex_op_free(&op);
    pw_ex_type_free(&type);
}

/* Allreduce of `n` instances, in place. */
static void reduce_instances(struct pw_instance *items, size_t n, pw_ex_comm comm)
{
    reduce((char *)items, n, sizeof(*items), join_instances, comm);
}

/* Allreduce of `n` waits, in place: sums and maxima. */
static void reduce_waits(struct pw_instance_wait *waits, size_t n, pw_ex_comm comm)
{
    reduce((char *)waits, n, sizeof(*waits), join_waits, comm);
}

static int by_uid(const void *a, const void *b)
{
    const struct pw_comm_group *x = a, *y = b;
    return (x->uid > y->uid) - (x->uid < y->uid);
}

/* Sorts the communicators by uid, and joins entries with the same uid: the largest number of
 * collectives counts, and the smallest base. Returns how many are left. */
static size_t join_comms(struct pw_comm_group *comms, size_t n)
{
    size_t kept = 0;
    pw_sort(comms, n, sizeof(*comms), by_uid);
    for (size_t i = 0; i < n; i++) {
        if (kept && comms[kept - 1].uid == comms[i].uid) {
            if (comms[i].collectives > comms[kept - 1].collectives)
                comms[kept - 1].collectives = comms[i].collectives;
            if (comms[i].base < comms[kept - 1].base)
                comms[kept - 1].base = comms[i].base;
        } else {
            comms[kept++] = comms[i];
        }
    }
    return kept;
}

/* Sets input->groups: the index in the job of each of its communicators. */
static void find_groups(const struct pw_instances *in, struct pw_job *job)
{
    for (size_t i = 0; i < job->ninputs; i++) {
        struct pw_input *input = &job->inputs[i];
        for (size_t c = 0; c < input->ncomms; c++) {
            struct pw_comm_group key = {.uid = input->comms[c].uid};
            const struct pw_comm_group *found =
                in->ncomms ? bsearch(&key, in->comms, in->ncomms, sizeof(key), by_uid) : NULL;
            input->groups[c] = found ? (int32_t)(found - in->comms) : -1;
        }
    }
}

void pw_instances_number(struct pw_instances *in, struct pw_job *job)
{
    *in = (struct pw_instances){0};
    size_t n = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        n += job->inputs[i].ncomms;
    struct pw_comm_group *mine = calloc(n + 1, sizeof(*mine));
    if (!pw_procs_all_ok(&job->procs, mine != NULL))
        pw_procs_out_of_memory(&job->procs);
    n = 0;
    for (size_t i = 0; i < job->ninputs; i++)
        for (size_t c = 0; c < job->inputs[i].ncomms; c++) {
            const struct pw_row_comms *row = &job->inputs[i].comms[c];
            int64_t size = (int64_t)row->size + row->remote_size;
            if (size > 1 && size <= INT32_MAX && row->collectives > 0)
                mine[n++] = (struct pw_comm_group){.uid = row->uid,
                                                   .base = row->first_collective,
                                                   .collectives = row->collectives,
                                                   .size = (int32_t)size};
        }
    n = join_comms(mine, n);
    void *all;
    n = pw_procs_allgather(&job->procs, mine, n, sizeof(*mine), &all);
    free(mine);
    in->comms = all;
    in->ncomms = join_comms(in->comms, n);
    int64_t next = 0;
    for (size_t c = 0; c < in->ncomms; c++) {
        in->comms[c].first = next;
        next += in->comms[c].collectives - in->comms[c].base;
    }
    in->n = (size_t)next;
    find_groups(in, job);
}

int64_t pw_instances_find(const struct pw_instances *in, const struct pw_input *input,
                          const struct pw_row_comm_event *event)
{
    if (pw_op_info(event->op)->cls != PW_CLASS_COLL || event->comm < 0 ||
        (size_t)event->comm >= input->ncomms || input->groups[event->comm] < 0)
        return -1;
    const struct pw_comm_group *group = &in->comms[input->groups[event->comm]];
    if (event->seq < group->base || event->seq >= group->collectives)
        return -1;
    return group->first + event->seq - group->base;
}

const struct pw_comm_group *pw_instances_comm(const struct pw_instances *in, size_t instance)
{
    const struct pw_search_key key = PW_SEARCH_KEY(struct pw_comm_group, first);
    return &in->comms[pw_search_until(in->comms, in->ncomms, key, (int64_t)instance) - 1];
}

int32_t pw_instance_blamed(const struct pw_instance *instance)
{
    int from_root = pw_op_info(instance->op)->shape == PW_SHAPE_FROM_ROOT;
    return from_root && instance->root >= 0 ? instance->root : instance->last_rank;
}

struct fold {
    struct pw_instances *instances;
    const struct pw_world *world;
    ptrdiff_t near, at; /* the input's step looked up last */
    int64_t step;       /* the job's index of that step */
    /* collectives with the time of the request only */
    int64_t nccl_untimed, gloo_untimed;
};

static int64_t step_of(struct fold *fold, const struct pw_input *input, int64_t local_ns)
{
    ptrdiff_t at = pw_input_step_near(input, local_ns, &fold->near);
    if (at < 0)
        return -1;
    if (at != fold->at) {
        fold->step = pw_world_step_index(fold->world, input->steps[at].step);
        fold->at = at;
    }
    return fold->step;
}

static struct pw_instance describe(struct fold *fold, const struct pw_input *input,
                                   const struct pw_row_comm_event *event)
{
    int64_t enter = pw_input_time(input, event->start) - fold->world->epoch_ns;
    int64_t leave = pw_input_time(input, event->end) - fold->world->epoch_ns;
    if (pw_event_is_enqueued(event))
        leave = enter; /* the end is not known, so there is no transfer time */
    return (struct pw_instance){
        .first_enter = enter,
        .last_enter = enter,
        .penultimate_enter = INT64_MIN,
        .first_exit = leave,
        .last_exit = leave,
        .root_enter = (event->flags & PW_FLAG_ROOT) ? enter : INT64_MAX,
        .bytes = event->sent_bytes > event->recv_bytes ? event->sent_bytes : event->recv_bytes,
        .error_ns = fold->world->ranks[input->rank].clock_error_ns,
        .step = step_of(fold, input, event->start),
        .root = (event->flags & PW_FLAG_ROOT) ? (int32_t)input->rank : -1,
        .last_rank = (int32_t)input->rank,
        .nranks = 1,
        .op = event->op,
        .source = event->source,
        .untimed = pw_event_is_enqueued(event) != 0,
    };
}

static void fold_event(void *context, const struct pw_input *input,
                       const struct pw_row_comm_event *event)
{
    struct fold *fold = context;
    int64_t at = pw_instances_find(fold->instances, input, event);
    if (at < 0)
        return;
    if (pw_event_is_enqueued(event))
        *(event->source == PW_SOURCE_GLOO ? &fold->gloo_untimed : &fold->nccl_untimed) += 1;
    struct pw_instance one = describe(fold, input, event);
    pw_instance_join(&fold->instances->items[at], &one);
}

int pw_instances_build(struct pw_instances *in, struct pw_job *job)
{
    in->items = calloc(in->n + 1, sizeof(*in->items));
    in->waits = calloc(in->n + 1, sizeof(*in->waits));
    int all_ok = pw_procs_all_ok(&job->procs, in->items && in->waits);
    if (!all_ok)
        return -ENOMEM;
    for (size_t i = 0; i < job->ninputs; i++) {
        struct fold fold = {.instances = in, .world = &job->world, .at = -1};
        if (pw_events_read(&job->inputs[i], fold_event, &fold))
            pw_job_note(job, job->inputs[i].rank, "damaged", 1,
                        "/events/comm cannot be read to the end");
        if (fold.gloo_untimed)
            pw_job_note(job, job->inputs[i].rank, "gloo_untimed", fold.gloo_untimed,
                        "Gloo's collectives, of which only is known when they began: waits in them "
                        "are not known");
        if (fold.nccl_untimed)
            pw_job_note(job, job->inputs[i].rank, "nccl_untimed", fold.nccl_untimed,
                        job->world.imported[0]
                            ? "NCCL collectives of which the file has only when they were enqueued"
                            : "NCCL collectives without GPU times: waits in them are not known; "
                              "--level 2 records the times");
        if (job->inputs[i].impossible)
            pw_job_note(job, job->inputs[i].rank, "damaged", job->inputs[i].impossible,
                        "events with impossible times or sizes are ignored");
        if (job->inputs[i].uncounted)
            pw_job_note(
                job, job->inputs[i].rank, "damaged", job->inputs[i].uncounted,
                "communicators with more collectives than its events can show; these are ignored");
    }
    reduce_instances(in->items, in->n, job->procs.comm);
    return 0;
}

void pw_instances_share_waits(struct pw_instances *in, const struct pw_procs *procs)
{
    reduce_waits(in->waits, in->n, procs->comm);
}

void pw_instances_fini(struct pw_instances *in)
{
    free(in->comms);
    free(in->items);
    free(in->waits);
    *in = (struct pw_instances){0};
}

/* ---- rows of /collectives and /collective_stats ---- */

/* First-order estimate of what the job would have gained if the last rank had entered with the
 * penultimate one, ns; at most the longest wait of a rank. */
static int64_t critical_ns(const struct pw_instances *in, size_t i)
{
    const struct pw_instance *item = &in->items[i];
    int64_t margin = item->nranks > 1 ? item->last_enter - item->penultimate_enter : 0;
    return margin < in->waits[i].max_ns ? margin : in->waits[i].max_ns;
}

/* How long the ranks waited for the last that recorded the instance: where a member did not, they
 * may have waited for that one from then on. */
static struct pw_instance_wait wait_for_recorded(const struct pw_instances *in, size_t i)
{
    const struct pw_instance *item = &in->items[i];
    struct pw_instance_wait wait = in->waits[i];
    const int64_t most = item->last_enter - item->first_enter;
    if (item->nranks == pw_instances_comm(in, i)->size)
        return wait;
    wait.max_ns = wait.max_ns < most ? wait.max_ns : most;
    if (wait.sum_ns / (item->nranks - 1) > most)
        wait.sum_ns = most * (item->nranks - 1);
    return wait;
}

struct pw_blame pw_collective_sum_blame(const struct pw_instances *in, int32_t rank, int64_t from,
                                        int64_t until)
{
    struct pw_blame sum = {0};
    if (!in->n)
        sum.blame_ns = sum.critical_ns = -1;
    for (size_t i = 0; i < in->n; i++) {
        const struct pw_instance *item = &in->items[i];
        if (item->nranks < 2 || item->mixed || item->last_enter < from ||
            item->last_enter - in->waits[i].max_ns >= until)
            continue;
        sum.all_ns += in->waits[i].sum_ns;
        if (pw_instance_blamed(item) != rank)
            continue;
        const struct pw_instance_wait wait = wait_for_recorded(in, i);
        sum.blame_ns += wait.sum_ns;
        sum.critical_ns += critical_ns(in, i);
        sum.longest_ns += wait.max_ns;
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
    if (item->untimed)
        row.wait_ns = row.transfer_ns = row.critical_ns = -1;
    row.algbw = pw_algbw_resolved(row.bytes, row.transfer_ns, row.error_ns);
    row.busbw = row.algbw * pw_busbw_factor(pw_op_info(item->op)->factor, comm->size);
    return row;
}

/* Indices of the instances, sorted by communicator, operation and size class. */
struct grouping {
    const struct pw_world *world;
    const struct pw_instances *in;
    uint32_t *order;
    void *values; /* room for one number for each instance */
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
    return order ? order : (x > y) - (x < y); /* within a communicator: by sequence number */
}

/* Reads the values of row i of a group. */
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

/* Lists the complete instances of the job, in groups. Returns how many. */
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
    if ((*count & (*count - 1)) == 0) { /* a power of two: the array is full */
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
