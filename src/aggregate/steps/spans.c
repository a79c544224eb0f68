/* Grows, joins and measures sets of spans; see spans.h. */
#include "aggregate/steps/spans.h"

#include <stdlib.h>
#include <string.h>

void pw_spans_add(struct pw_spans *s, int64_t start, int64_t end)
{
    if (end <= start)
        return;
    if (s->n == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 1024;
        struct pw_interval *v = realloc(s->v, capacity * sizeof(*v));
        if (!v) {
            s->failed = 1;
            return;
        }
        s->v = v;
        s->capacity = capacity;
    }
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
