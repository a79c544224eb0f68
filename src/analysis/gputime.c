/* Sweeps over the activities with a cursor that closes windows as it passes them; see gputime.h. */
#include "analysis/gputime.h"

#include <string.h>

enum {
    COMPUTE = 1 << PW_GPU_COMPUTE,
    COMM = 1 << PW_GPU_COMM,
    COPY = 1 << PW_GPU_COPY,
    WAIT = 1 << PW_GPU_WAIT,
    CALL = 1 << PW_GPU_CALL,
    DEVICE = COMPUTE | COMM | COPY,
    MASKS = 1 << PW_GPU_KINDS,
};

void pw_gputime_begin(struct pw_gputime *g, struct pw_gpu_window *windows, size_t n)
{
    *g = (struct pw_gputime){.windows = windows, .n = n};
    for (size_t i = 0; i < n; i++)
        windows[i] = (struct pw_gpu_window){.start = windows[i].start, .end = windows[i].end};
    for (int kind = 0; kind < PW_GPU_KINDS; kind++)
        g->until[kind] = INT64_MIN;
    g->cursor = INT64_MIN;
    g->device_until = n ? windows[0].start : INT64_MIN;
}

/* Returns the time in which a kind in `some` and no kind in `without` was active, ns. */
static int64_t sum_masks(const int64_t *by_mask, int some, int without)
{
    int64_t sum = 0;
    for (int mask = 0; mask < MASKS; mask++)
        if ((mask & some) && !(mask & without))
            sum += by_mask[mask];
    return sum;
}

static void fill(struct pw_gpu_window *w, const int64_t *by_mask)
{
    w->busy_ns = sum_masks(by_mask, DEVICE, 0);
    w->compute_ns = sum_masks(by_mask, COMPUTE, 0);
    w->comm_ns = sum_masks(by_mask, COMM, 0);
    w->comm_exposed_ns = sum_masks(by_mask, COMM, COMPUTE);
    w->copy_ns = sum_masks(by_mask, COPY, 0);
    w->wait_exposed_ns = sum_masks(by_mask, WAIT, COMPUTE);
    w->call_ns = sum_masks(by_mask, COMM | CALL, 0);
    w->call_exposed_ns = sum_masks(by_mask, COMM | CALL, COMPUTE);
    w->covered_ns = sum_masks(by_mask, COMPUTE | COMM | CALL, 0);
}

/* Returns the kinds that are active at the cursor, as bits; *until: when that changes. */
static int mask_at(const struct pw_gputime *g, int64_t *until)
{
    int mask = 0;
    for (int kind = 0; kind < PW_GPU_KINDS; kind++)
        if (g->until[kind] > g->cursor) {
            mask |= 1 << kind;
            *until = g->until[kind] < *until ? g->until[kind] : *until;
        }
    return mask;
}

static void close_window(struct pw_gputime *g)
{
    fill(&g->windows[g->at++], g->by_mask);
    memset(g->by_mask, 0, sizeof(g->by_mask));
}

/* Moves the cursor to `to`, before which no further activity begins. */
static void advance(struct pw_gputime *g, int64_t to)
{
    while (g->cursor < to) {
        int64_t next = to;
        int mask = mask_at(g, &next);
        while (g->at < g->n && g->windows[g->at].end <= g->cursor)
            close_window(g);
        int inside = g->at < g->n && g->windows[g->at].start <= g->cursor;
        if (g->at < g->n) {
            int64_t edge = inside ? g->windows[g->at].end : g->windows[g->at].start;
            next = edge < next ? edge : next;
        }
        if (mask) {
            g->all_by_mask[mask] += next - g->cursor;
            g->by_mask[mask] += inside ? next - g->cursor : 0;
        }
        g->cursor = next;
    }
}

static void count_idle(struct pw_gpu_window *w, enum pw_gpu_idle idle, int64_t ns)
{
    if (idle == PW_GPU_IDLE_HOST)
        w->idle_host_ns += ns;
    else if (idle == PW_GPU_IDLE_GAP)
        w->idle_gap_ns += ns;
}

/* Ends the gap before `a` and adds it to the windows that it overlaps. */
static void end_gap(struct pw_gputime *g, const struct pw_gpu_activity *a, struct pw_gpu_news *news)
{
    news->gap_start = g->device_until;
    news->gap_end = a->start;
    if (a->launch >= 0 && a->launch > g->device_until)
        news->idle = PW_GPU_IDLE_HOST;
    else if (a->launch >= 0 && g->began && a->start - g->device_until < PW_GPU_GAP_NS)
        news->idle = PW_GPU_IDLE_GAP;
    else
        news->idle = PW_GPU_IDLE_OTHER;
    if (g->began)
        count_idle(&g->all, news->idle, news->gap_end - news->gap_start);
    while (g->gap_at < g->n && g->windows[g->gap_at].end <= news->gap_start)
        g->gap_at++;
    for (size_t i = g->gap_at; i < g->n && g->windows[i].start < news->gap_end; i++) {
        struct pw_gpu_window *w = &g->windows[i];
        int64_t start = w->start > news->gap_start ? w->start : news->gap_start;
        int64_t end = w->end < news->gap_end ? w->end : news->gap_end;
        count_idle(w, news->idle, end > start ? end - start : 0);
    }
}

static void enter_device(struct pw_gputime *g, const struct pw_gpu_activity *a,
                         struct pw_gpu_news *news)
{
    if (a->start > g->device_until && g->device_until != INT64_MIN)
        end_gap(g, a, news);
    if (!g->began)
        g->all = (struct pw_gpu_window){.start = a->start, .end = a->end};
    g->began = 1;
    g->device_until = a->end > g->device_until ? a->end : g->device_until;
    g->all.end = a->end > g->all.end ? a->end : g->all.end;
}

static int64_t fresh(const struct pw_gputime *g, const struct pw_gpu_activity *a)
{
    int64_t from = a->start;
    from = g->until[PW_GPU_COMPUTE] > from ? g->until[PW_GPU_COMPUTE] : from;
    from = g->until[PW_GPU_COPY] > from ? g->until[PW_GPU_COPY] : from;
    return a->end > from ? a->end - from : 0;
}

struct pw_gpu_news pw_gputime_add(struct pw_gputime *g, const struct pw_gpu_activity *activity)
{
    struct pw_gpu_activity a = *activity;
    struct pw_gpu_news news = {0};
    if (a.start < g->cursor) {
        g->late++;
        a.start = g->cursor;
    }
    if (a.end <= a.start)
        return news;
    if (g->cursor == INT64_MIN)
        g->cursor = g->n && g->windows[0].start < a.start ? g->windows[0].start : a.start;
    advance(g, a.start);
    if (a.kind < PW_GPU_DEVICE_KINDS)
        enter_device(g, &a, &news);
    if (a.kind == PW_GPU_COMPUTE || a.kind == PW_GPU_COPY)
        news.fresh_ns = fresh(g, &a);
    int64_t *until = &g->until[a.kind];
    *until = a.end > *until ? a.end : *until;
    return news;
}

static void fill_other(struct pw_gpu_window *w)
{
    w->idle_other_ns = w->end - w->start - w->busy_ns - w->idle_host_ns - w->idle_gap_ns;
}

void pw_gputime_end(struct pw_gputime *g)
{
    int64_t last = INT64_MIN;
    for (int kind = 0; kind < PW_GPU_KINDS; kind++)
        last = g->until[kind] > last ? g->until[kind] : last;
    if (g->cursor != INT64_MIN)
        advance(g, last);
    while (g->at < g->n)
        close_window(g);
    fill(&g->all, g->all_by_mask);
    fill_other(&g->all);
    for (size_t i = 0; i < g->n; i++)
        fill_other(&g->windows[i]);
}
