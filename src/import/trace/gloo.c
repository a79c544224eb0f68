/* Joins the records in one pass in the order of their starts: an annotation is joined with the
 * oldest operator that began before it, did the same operation and has no annotation yet. See
 * gloo.h. */
#include "import/trace/gloo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/ops.h"

enum { MOST_CALLS = 1024, MOST_OPEN = 1024, MOST_THREADS = 64 };

struct call {
    int64_t start, end, thread, count;
    uint32_t collective, told;
};

struct pause {
    int64_t thread, start, end;
};

struct joining {
    struct pw_trace *trace;
    struct pw_sorter *out;
    struct call calls[MOST_CALLS]; /* calls that have no annotation yet, the oldest first */
    size_t ncalls;
    struct pw_gloo_op open[MOST_OPEN]; /* operations whose end is not before the current record */
    size_t nopen;
    struct pause pauses[MOST_THREADS]; /* the last pause of each thread */
    size_t npauses;
};

static const struct pause *find_pause(const struct joining *j, int64_t thread)
{
    for (size_t i = 0; i < j->npauses; i++)
        if (j->pauses[i].thread == thread)
            return &j->pauses[i];
    return NULL;
}

static void keep_pause(struct joining *j, const struct pw_gloo_record *r)
{
    struct pause *pause = (struct pause *)find_pause(j, r->thread);
    if (!pause && j->npauses == MOST_THREADS)
        return;
    if (!pause)
        pause = &j->pauses[j->npauses++];
    *pause = (struct pause){r->thread, r->start, r->end};
}

/* Ends an operation. When its thread has no operator open until the operation's end, the thread is
 * taken to wait from the start of that pause on. */
static void finish(struct joining *j, struct pw_gloo_op *op)
{
    const struct pause *pause = op->is_begun ? find_pause(j, op->thread) : NULL;
    if (pause && pause->start < op->end && pause->end >= op->end)
        op->wait_start = pause->start > -op->minus_return ? pause->start : -op->minus_return;
    if (op->wait_start >= op->end)
        op->wait_start = 0;
    pw_sorter_add(j->out, op);
}

static void finish_before(struct joining *j, int64_t time)
{
    size_t kept = 0;
    for (size_t i = 0; i < j->nopen; i++) {
        if (j->open[i].end < time)
            finish(j, &j->open[i]);
        else
            j->open[kept++] = j->open[i];
    }
    j->nopen = kept;
}

static void drop_call(struct joining *j, size_t at)
{
    j->ncalls--;
    memmove(&j->calls[at], &j->calls[at + 1], (j->ncalls - at) * sizeof(*j->calls));
}

static void add_call(struct joining *j, const struct pw_gloo_record *r)
{
    if (j->ncalls == MOST_CALLS)
        drop_call(j, 0);
    j->calls[j->ncalls++] = (struct call){
        .start = r->start,
        .end = r->end,
        .thread = r->thread,
        .count = r->count_in,
        .collective = r->type == PW_GLOO_BEGIN ? r->collective : 0,
        .told = r->type == PW_GLOO_TELL ? r->collective : 0,
    };
}

/* Adds what record_param_comms says to the operator around it on its thread, or as a call of its
 * own when the trace has no such operator. */
static void add_told(struct joining *j, const struct pw_gloo_record *r)
{
    for (size_t i = j->ncalls; i-- > 0;) {
        struct call *call = &j->calls[i];
        if (call->thread == r->thread && call->start <= r->start && call->end >= r->end) {
            call->told = r->collective;
            return;
        }
    }
    add_call(j, r);
}

static uint16_t op_of(const struct joining *j, uint32_t collective)
{
    const struct pw_collective *c = pw_collectives_borrow(&j->trace->collectives, collective);
    return c ? c->op : 0;
}

/* Returns the index of the oldest call of this operation and size, or else of this operation. For
 * an all-reduce it is otherwise the last reduce-scatter, which Gloo does by several all-reduces.
 * Returns j->ncalls when there is none. */
static size_t find_call(const struct joining *j, uint16_t op, int64_t count)
{
    size_t found = j->ncalls, made_of_it = j->ncalls;
    for (size_t i = 0; i < j->ncalls; i++) {
        const struct call *call = &j->calls[i];
        const uint16_t begun = op_of(j, call->collective ? call->collective : call->told);
        if (op == PW_OP_Allreduce && begun == PW_OP_Reduce_scatter_block)
            made_of_it = i;
        if (begun != op)
            continue;
        if (call->count == count)
            return i;
        found = found == j->ncalls ? i : found;
    }
    return found < j->ncalls ? found : made_of_it;
}

static void add_work(struct joining *j, const struct pw_gloo_record *r)
{
    struct pw_gloo_op op = {
        .start = r->start,
        .end = r->end,
        .minus_return = -r->end,
        .count_in = r->count_in,
        .count_out = r->count_out,
        .thread = r->thread,
        .peer = -1,
        .collective = r->collective,
    };
    size_t at = find_call(j, op_of(j, r->collective), r->count_in);
    if (at < j->ncalls) {
        const struct call *call = &j->calls[at];
        const struct pw_collective *begun =
            pw_collectives_borrow(&j->trace->collectives, call->collective);
        op.start = call->start;
        op.minus_return = -call->end;
        op.thread = call->thread;
        op.peer = begun ? begun->peer : -1;
        op.told = call->told;
        op.is_begun = 1;
        if (op_of(j, call->collective) != PW_OP_Reduce_scatter_block)
            drop_call(j, at);
    }
    if (j->nopen == MOST_OPEN) {
        finish(j, &j->open[0]);
        j->open[0] = j->open[--j->nopen];
    }
    j->open[j->nopen++] = op;
}

static void take(struct joining *j, const struct pw_gloo_record *r)
{
    finish_before(j, r->start);
    if (r->type == PW_GLOO_PAUSE)
        keep_pause(j, r);
    else if (r->type == PW_GLOO_BEGIN)
        add_call(j, r);
    else if (r->type == PW_GLOO_TELL)
        add_told(j, r);
    else
        add_work(j, r);
}

int pw_gloo_join(struct pw_trace *trace, struct pw_sorter *records, struct pw_sorter **out)
{
    struct joining *j = calloc(1, sizeof(*j));
    int err = pw_sorter_create(trace->dir, sizeof(struct pw_gloo_op), PW_ROWS_MEMORY_SMALL, out);
    err = err || j ? err : -ENOMEM;
    err = err ? err : pw_sorter_begin(records);
    if (err) {
        free(j);
        return err;
    }
    j->trace = trace;
    j->out = *out;
    for (const struct pw_gloo_record *r; (r = pw_sorter_next(records));)
        take(j, r);
    finish_before(j, INT64_MAX);
    free(j);
    return pw_sorter_error(records);
}
