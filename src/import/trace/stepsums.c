/* One pass over tasks that are sorted by start; see stepsums.h. */
#include "import/trace/stepsums.h"

#include <stdlib.h>

#include "core/grow.h"
#include "core/limits.h"

void pw_stepsums_begin(struct pw_stepsums *s)
{
    s->at = s->nsteps;
    s->now = s->computing_until = s->comm_until = INT64_MIN;
}

void pw_stepsums_add_step(struct pw_stepsums *s, int64_t step, int64_t start, int64_t end)
{
    struct pw_stepsum *more = pw_grow(s->steps, s->nsteps, sizeof(*s->steps), &s->steps_capacity);
    s->failed |= !more;
    if (!more)
        return;
    s->steps = more;
    more[s->nsteps++] = (struct pw_stepsum){.step = step, .start = start, .end = end};
}

/* Adds the time from `from` to `to`, in which the same was running, to the steps that it is in. */
static void add_span(struct pw_stepsums *s, int64_t from, int64_t to, int computing, int comm)
{
    while (s->at < s->nsteps && s->steps[s->at].end <= from)
        s->at++;
    for (size_t i = s->at; i < s->nsteps && s->steps[i].start < to; i++) {
        struct pw_stepsum *step = &s->steps[i];
        const int64_t begin = from > step->start ? from : step->start,
                      end = to < step->end ? to : step->end, ns = pw_difference(end, begin);
        step->computing_ns = pw_sum(step->computing_ns, computing ? ns : 0);
        step->comm_ns = pw_sum(step->comm_ns, comm ? ns : 0);
        step->exposed_ns = pw_sum(step->exposed_ns, comm && !computing ? ns : 0);
        step->crossed |= begin > from || end < to;
    }
}

/* Follows the time to `to`. */
static void advance(struct pw_stepsums *s, int64_t to)
{
    while (s->now < to) {
        const int computing = s->computing_until > s->now, comm = s->comm_until > s->now;
        int64_t next = to;
        if (!computing && !comm)
            break;
        next = computing && s->computing_until < next ? s->computing_until : next;
        next = comm && s->comm_until < next ? s->comm_until : next;
        add_span(s, s->now, next, computing, comm);
        s->now = next;
    }
    s->now = to;
}

void pw_stepsums_add_task(struct pw_stepsums *s, int is_comm, int64_t start, int64_t end)
{
    int64_t *until = is_comm ? &s->comm_until : &s->computing_until;
    if (start > s->now)
        advance(s, start);
    *until = end > *until ? end : *until;
}

void pw_stepsums_end(struct pw_stepsums *s)
{
    advance(s, INT64_MAX);
}

struct pw_hcclsum *pw_stepsums_operations(struct pw_stepsums *s, int64_t step)
{
    for (size_t i = s->noperations; i-- > 0;)
        if (s->operations[i].step == step)
            return &s->operations[i];
    struct pw_hcclsum *more =
        pw_grow(s->operations, s->noperations, sizeof(*s->operations), &s->operations_capacity);
    s->failed |= !more;
    if (!more)
        return NULL;
    s->operations = more;
    more[s->noperations] = (struct pw_hcclsum){.step = step};
    return &more[s->noperations++];
}

struct pw_linksum *pw_stepsums_link(struct pw_stepsums *s, int32_t src, int32_t dst)
{
    for (size_t i = 0; i < s->nlinks; i++)
        if (s->links[i].src == src && s->links[i].dst == dst)
            return &s->links[i];
    struct pw_linksum *more = pw_grow(s->links, s->nlinks, sizeof(*s->links), &s->links_capacity);
    s->failed |= !more;
    if (!more)
        return NULL;
    s->links = more;
    more[s->nlinks] = (struct pw_linksum){.src = src, .dst = dst};
    return &more[s->nlinks++];
}

void pw_stepsums_fini(struct pw_stepsums *s)
{
    free(s->steps);
    free(s->operations);
    free(s->links);
    *s = (struct pw_stepsums){0};
}
