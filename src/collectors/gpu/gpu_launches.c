/* A table of the last calls by their correlation numbers; see gpu_launches.h. */
#include "collectors/gpu/gpu_launches.h"

#include <stdlib.h>
#include <string.h>

/* Stores the last ranges of each thread, so that a launch can be assigned to the range around it. A
 * range is added when it has ended. */

struct pw_gpu_spans;

enum { LANES = 1 << 16, FIRST_ROOM = 256, MOST_ROOM = 1 << 15, MOST_SCANNED = 4096 };

struct span {
    int64_t start, end;
    uint32_t name;
};

/* The spans [first, next); number i is at index i & (room - 1). */
struct lane {
    struct span *spans;
    uint32_t room;
    uint64_t first, next;
};

struct pw_gpu_spans {
    struct lane *lanes[LANES];
};

/* Returns NULL when memory is short. */
static struct pw_gpu_spans *gpu_spans_create(void)
{
    return calloc(1, sizeof(struct pw_gpu_spans));
}

/* Makes room for one more span: doubles the array up to a limit, then removes the oldest span. */
static int make_room(struct lane *lane)
{
    uint32_t room = lane->room ? lane->room * 2 : FIRST_ROOM;
    if (lane->next - lane->first < lane->room)
        return 1;
    struct span *grown = room <= MOST_ROOM ? malloc(room * sizeof(*grown)) : NULL;
    if (grown) {
        for (uint64_t i = lane->first; i < lane->next; i++)
            grown[i & (room - 1)] = lane->spans[i & (lane->room - 1)];
        free(lane->spans);
        lane->spans = grown;
        lane->room = room;
    } else if (lane->room) {
        lane->first++;
    }
    return lane->room != 0;
}

/* Adds a range of lane `lane`; ranges inside it must have been added before. `name` is a row of
 * /strings. */
static void gpu_spans_add(struct pw_gpu_spans *spans, uint16_t lane, int64_t start, int64_t end,
                          uint32_t name)
{
    struct lane *l = spans->lanes[lane];
    if (!l)
        l = spans->lanes[lane] = calloc(1, sizeof(*l));
    if (l && make_room(l))
        l->spans[l->next++ & (l->room - 1)] = (struct span){start, end, name};
}

/* Returns the number of the first span that ended at `time` or later. */
static uint64_t first_after(const struct lane *l, int64_t time)
{
    uint64_t low = l->first, high = l->next;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (l->spans[middle & (l->room - 1)].end < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* An inner range ends before the range around it, so the first span that contains the time is the
 * innermost. */
static int gpu_spans_find(const struct pw_gpu_spans *spans, uint16_t lane, int64_t time,
                          uint32_t *name)
{
    const struct lane *l = spans->lanes[lane];
    if (!l)
        return 0;
    uint64_t at = first_after(l, time);
    uint64_t last = l->next - at < MOST_SCANNED ? l->next : at + MOST_SCANNED;
    for (; at < last; at++) {
        const struct span *span = &l->spans[at & (l->room - 1)];
        if (span->start > time)
            continue;
        *name = span->name;
        return 1;
    }
    return 0;
}

static void gpu_spans_destroy(struct pw_gpu_spans *spans)
{
    if (!spans)
        return;
    for (int i = 0; i < LANES; i++)
        if (spans->lanes[i]) {
            free(spans->lanes[i]->spans);
            free(spans->lanes[i]);
        }
    free(spans);
}

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
    struct pw_gpu_spans *spans = l ? gpu_spans_create() : NULL;
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
    gpu_spans_add(l->spans, lane, start, end, name);
}

void pw_gpu_launches_phase(struct pw_gpu_launches *l, int64_t start, int64_t end, uint32_t name)
{
    gpu_spans_add(l->spans, PHASES, start, end, name);
}

static void name_call(const struct pw_gpu_launches *l, struct call *call)
{
    if (call->lane < 0)
        call->lane = pw_gpu_launches_lane(l, call->tid);
    if (!call->is_named && call->lane >= 0)
        call->is_named =
            gpu_spans_find(l->spans, (uint16_t)call->lane, call->time, &call->name) != 0;
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
        gpu_spans_find(l->spans, PHASES, call->time, &out->name);
    return call->is_named;
}

void pw_gpu_launches_destroy(struct pw_gpu_launches *l)
{
    if (!l)
        return;
    gpu_spans_destroy(l->spans);
    free(l->calls);
    free(l);
}
