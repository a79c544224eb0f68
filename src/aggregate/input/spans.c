/* Adds spans in any order, sorts and joins them, and searches for a window from the place of the
 * last one; see spans.h. */
#include "aggregate/input/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/search.h"

int pw_waited_init(struct pw_waited *w, const struct pw_spans *spans)
{
    *w = (struct pw_waited){.spans = spans->v, .n = spans->n};
    w->before = malloc((spans->n + 1) * sizeof(*w->before));
    if (!w->before)
        return -ENOMEM;
    int64_t sum = 0;
    for (size_t i = 0; i < spans->n; i++) {
        w->before[i] = sum;
        sum += spans->v[i].end - spans->v[i].start; /* joined and possible: no overflow */
    }
    return 0;
}

void pw_waited_fini(struct pw_waited *w)
{
    free(w->before);
    *w = (struct pw_waited){0};
}

/* Returns the number of spans that start before `time`; searches in growing steps from the last
 * place. */
static size_t started(const struct pw_waited *w, int64_t time)
{
    size_t low = 0, high = w->n, step = 1;
    if (w->near < w->n && w->spans[w->near].start < time &&
        (w->near + 1 == w->n || w->spans[w->near + 1].start >= time))
        return w->near + 1;
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
    return low +
           pw_search(w->spans + low, high - low, PW_SEARCH_KEY(struct pw_interval, start), time);
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

void pw_spans_add(struct pw_spans *s, int64_t start, int64_t end)
{
    if (end <= start)
        return;
    struct pw_interval *v = pw_grow(s->v, s->n, sizeof(*v), &s->capacity);
    s->failed |= !v;
    if (!v)
        return;
    s->v = v;
    s->v[s->n++] = (struct pw_interval){start, end};
}

void pw_spans_join(struct pw_spans *s)
{
    s->n = pw_intervals_union(s->v, s->n);
}

int64_t pw_spans_within(struct pw_spans *s, struct pw_interval window)
{
    if (s->n == 0)
        return 0;
    s->near = pw_intervals_first(s->v, s->n, window.start, s->near);
    int64_t length = pw_intervals_within(s->v + s->near, s->n - s->near, window);
    s->near -= s->near > 0; /* the next window may begin where this one ends */
    return length;
}

void pw_spans_drop(struct pw_spans *s, int64_t time)
{
    size_t first = 0;
    while (first < s->n && s->v[first].end <= time)
        first++;
    if (first)
        memmove(s->v, s->v + first, (s->n - first) * sizeof(*s->v));
    s->n -= first;
}

void pw_spans_fini(struct pw_spans *s)
{
    free(s->v);
    *s = (struct pw_spans){0};
}
