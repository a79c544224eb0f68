/* Prefix sums over spans of waiting, looked up near the last place; see waited.h. */
#include "aggregate/steps/waited.h"

#include <errno.h>
#include <stdlib.h>

int pw_waited_init(struct pw_waited *w, const struct pw_spans *spans)
{
    *w = (struct pw_waited){.spans = spans->v, .n = spans->n};
    w->before = malloc((spans->n + 1) * sizeof(*w->before));
    if (!w->before)
        return -ENOMEM;
    int64_t sum = 0;
    for (size_t i = 0; i < spans->n; i++) {
        w->before[i] = sum;
        sum += spans->v[i].end - spans->v[i].start; /* apart, and within core/limits.h */
    }
    return 0;
}

void pw_waited_fini(struct pw_waited *w)
{
    free(w->before);
    *w = (struct pw_waited){0};
}

/* The number of spans that start before `time`, looked for in growing steps from `near`. */
static size_t started(const struct pw_waited *w, int64_t time)
{
    size_t low = 0, high = w->n, step = 1;
    if (w->near < w->n && w->spans[w->near].start < time) {
        low = w->near + 1;
        while (low + step < high && w->spans[low + step].start < time) {
            low += step;
            step *= 2;
        }
        high = low + step < high ? low + step : high;
    } else {
        high = w->near < w->n ? w->near : w->n;
        while (step < high && w->spans[high - step].start >= time) {
            high -= step;
            step *= 2;
        }
        low = step < high ? high - step : 0;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->spans[middle].start < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t until(struct pw_waited *w, int64_t time)
{
    size_t n = started(w, time);
    w->near = n ? n - 1 : 0;
    if (!n)
        return 0;
    const struct pw_interval *last = &w->spans[n - 1];
    return w->before[n - 1] + (time < last->end ? time : last->end) - last->start;
}

int64_t pw_waited_within(struct pw_waited *w, int64_t start, int64_t end)
{
    if (!w->n || end <= start)
        return 0;
    int64_t all = until(w, end);
    return all - until(w, start);
}
