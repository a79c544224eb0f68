/* Keeps the last looks at the ranks' counters; see livecause.h. */
#include "report/live/livecause.h"

#include <errno.h>
#include <stdlib.h>

int pw_livecause_init(struct pw_livecause *c, size_t nranks)
{
    *c = (struct pw_livecause){.nranks = nranks};
    c->looks = calloc(PW_LIVECAUSE_LOOKS * nranks, sizeof(*c->looks));
    c->usage = calloc(nranks, sizeof(*c->usage));
    c->scratch = calloc(nranks, sizeof(*c->scratch));
    if (c->looks && c->usage && c->scratch)
        return 0;
    pw_livecause_fini(c);
    return -ENOMEM;
}

void pw_livecause_fini(struct pw_livecause *c)
{
    free(c->looks);
    free(c->usage);
    free(c->scratch);
    *c = (struct pw_livecause){0};
}

void pw_livecause_restart(struct pw_livecause *c)
{
    c->nlooks = 0;
}

static struct pw_livecause_look *look_at(const struct pw_livecause *c, int64_t i)
{
    return &c->looks[(size_t)(i % PW_LIVECAUSE_LOOKS) * c->nranks];
}

struct pw_livecause_look *pw_livecause_add(struct pw_livecause *c, int64_t step)
{
    struct pw_livecause_look *look = look_at(c, c->nlooks);
    c->steps[c->nlooks++ % PW_LIVECAUSE_LOOKS] = step;
    for (size_t r = 0; r < c->nranks; r++)
        look[r] = (struct pw_livecause_look){.usage = {.samples = -1}};
    return look;
}

static int64_t grown(int64_t before, int64_t after)
{
    return before < 0 || after < before ? -1 : after - before;
}

static struct pw_usage usage_between(const struct pw_livecause_look *a,
                                     const struct pw_livecause_look *b)
{
    if (a->usage.samples < 0 || b->usage.samples < 0)
        return (struct pw_usage){.own_ns = -1, .total_ns = -1, .cpu_ns = -1};
    return (struct pw_usage){
        .own_ns = (int64_t)(b->own_ns - a->own_ns),
        .total_ns = (int64_t)(b->total_ns - a->total_ns),
        .cpu_ns = grown(a->usage.cpu_ns, b->usage.cpu_ns),
        .runq_ns = grown(a->usage.runq_ns, b->usage.runq_ns),
        .throttled_ns = -1,
        .involuntary_cs = grown(a->usage.involuntary_cs, b->usage.involuntary_cs),
        .major_faults = grown(a->usage.major_faults, b->usage.major_faults),
        .io_bytes = grown(a->usage.io_bytes, b->usage.io_bytes),
        .child_faults = grown(a->usage.child_faults, b->usage.child_faults),
        .samples = grown(a->usage.samples, b->usage.samples),
    };
}

enum pw_cause pw_livecause_find(struct pw_livecause *c, size_t rank, enum pw_phase phase,
                                int64_t first)
{
    const int64_t last = c->nlooks - 1;
    const int64_t oldest = c->nlooks > PW_LIVECAUSE_LOOKS ? c->nlooks - PW_LIVECAUSE_LOOKS : 0;
    int64_t from = oldest;
    while (from < last && c->steps[from % PW_LIVECAUSE_LOOKS] + 1 < first)
        from++;
    if (from >= last)
        return PW_CAUSE_UNKNOWN;
    for (size_t r = 0; r < c->nranks; r++)
        c->usage[r] = usage_between(&look_at(c, from)[r], &look_at(c, last)[r]);
    return pw_cause_find(c->usage, c->nranks, rank, phase, c->scratch).cause;
}
