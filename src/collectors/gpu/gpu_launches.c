/* A table of the last calls by their correlation numbers; see gpu_launches.h. */
#include "collectors/gpu/gpu_launches.h"

#include <stdlib.h>

#include "collectors/gpu/gpu_spans.h"

/* CUPTI increments correlation numbers, so each of the last CALLS calls has a place of its own. */
/* PHASES: the lane under which phases of the program are stored; no thread has it. */
enum { CALLS = 1 << 18, THREADS = 1 << 12, PHASES = UINT16_MAX };

struct call {
    int64_t time;
    int32_t tid, lane; /* lane -1: the thread has not recorded anything yet */
    uint32_t correlation, name;
    bool is_there, is_named;
};

struct pw_gpu_launches {
    struct pw_gpu_spans *spans;
    struct call *calls; /* NULL before the first */
    size_t nthreads;
    struct {
        int32_t tid, lane;
    } threads[THREADS];
};

struct pw_gpu_launches *pw_gpu_launches_create(void)
{
    struct pw_gpu_launches *l = calloc(1, sizeof(*l));
    struct pw_gpu_spans *spans = l ? pw_gpu_spans_create() : NULL;
    if (!spans) {
        free(l);
        return NULL;
    }
    l->spans = spans;
    return l;
}

void pw_gpu_launches_thread(struct pw_gpu_launches *l, int32_t tid, uint16_t lane)
{
    size_t at = 0;
    while (at < l->nthreads && l->threads[at].tid != tid)
        at++;
    if (at == THREADS)
        return;
    l->nthreads += at == l->nthreads;
    l->threads[at].tid = tid;
    l->threads[at].lane = lane;
}

int32_t pw_gpu_launches_lane(const struct pw_gpu_launches *l, int32_t tid)
{
    for (size_t i = 0; i < l->nthreads; i++)
        if (l->threads[i].tid == tid)
            return l->threads[i].lane;
    return -1;
}

void pw_gpu_launches_range(struct pw_gpu_launches *l, uint16_t lane, int64_t start, int64_t end,
                           uint32_t name)
{
    pw_gpu_spans_add(l->spans, lane, start, end, name);
}

void pw_gpu_launches_phase(struct pw_gpu_launches *l, int64_t start, int64_t end, uint32_t name)
{
    pw_gpu_spans_add(l->spans, PHASES, start, end, name);
}

static void name_call(const struct pw_gpu_launches *l, struct call *call)
{
    if (call->lane < 0)
        call->lane = pw_gpu_launches_lane(l, call->tid);
    if (!call->is_named && call->lane >= 0)
        call->is_named =
            pw_gpu_spans_find(l->spans, (uint16_t)call->lane, call->time, &call->name) != 0;
}

void pw_gpu_launches_call(struct pw_gpu_launches *l, uint32_t correlation, int32_t tid,
                          int64_t time)
{
    if (!l->calls)
        l->calls = calloc(CALLS, sizeof(*l->calls));
    if (!l->calls)
        return;
    struct call *call = &l->calls[correlation & (CALLS - 1)];
    /* A runtime call and the driver call that it makes have the same number: keep the outer one,
     * which began first. */
    if (call->is_there && call->correlation == correlation && call->time <= time)
        return;
    *call = (struct call){
        .time = time, .tid = tid, .lane = -1, .correlation = correlation, .is_there = true};
    name_call(l, call);
}

bool pw_gpu_launches_find(struct pw_gpu_launches *l, uint32_t correlation,
                          struct pw_gpu_launch *out)
{
    struct call *call = l->calls ? &l->calls[correlation & (CALLS - 1)] : NULL;
    *out = (struct pw_gpu_launch){.time = -1, .lane = -1};
    if (!call || !call->is_there || call->correlation != correlation)
        return false;
    name_call(l, call);
    *out = (struct pw_gpu_launch){call->time, call->lane, call->name};
    if (!call->is_named)
        pw_gpu_spans_find(l->spans, PHASES, call->time, &out->name);
    return call->is_named;
}

void pw_gpu_launches_destroy(struct pw_gpu_launches *l)
{
    if (!l)
        return;
    pw_gpu_spans_destroy(l->spans);
    free(l->calls);
    free(l);
}
