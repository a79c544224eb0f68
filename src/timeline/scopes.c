/* Follows the operators in the order of their starts with a stack of open slices, one for each
 * level; see scopes.h. */
#include "timeline/scopes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/sort.h"

/* The character between the levels of a name; '\0': the name has no scope. A name with '.' must be
 * a path of identifiers and numbers: "aten::add.out" and "x 1.5" are none. */
static char separator_of(const char *name)
{
    if (strchr(name, '/'))
        return '/';
    const char *c = name;
    while (isalnum((unsigned char)*c) || *c == '_' || *c == '.')
        c++;
    return *c || !strchr(name, '.') ? '\0' : '.';
}

void pw_scopes_add(struct pw_scopes *s, int64_t start, int64_t end, const char *name)
{
    if (!separator_of(name))
        return;
    struct pw_scoped *v = pw_grow(s->v, s->n, sizeof(*v), &s->capacity);
    s->failed |= !v;
    if (!v)
        return;
    s->v = v;
    s->v[s->n++] = (struct pw_scoped){start, end, name};
}

void pw_scopes_break(struct pw_scopes *s, int64_t time)
{
    int64_t *breaks = pw_grow(s->breaks, s->nbreaks, sizeof(*breaks), &s->breaks_capacity);
    s->failed |= !breaks;
    if (!breaks)
        return;
    s->breaks = breaks;
    s->breaks[s->nbreaks++] = time;
}

/* An open slice. */
struct run {
    const char *name;
    size_t from, to; /* of its level in `name`; the scope is name[0 .. to) */
    int is_operator; /* 1: the last level of an operator's name, not only a scope */
    int64_t start, end;
};

struct drawing {
    struct run open[PW_SCOPE_LEVELS];
    int n, most;
    pw_scope_draw *draw;
    void *context;
};

static void close_from(struct drawing *d, int level, int64_t time)
{
    while (d->n > level) {
        const struct run *run = &d->open[--d->n];
        const struct pw_scope_slice slice = {d->n, run->name + run->from, run->to - run->from,
                                             run->start, run->end < time ? run->end : time};
        d->draw(d->context, &slice);
    }
}

/* Whether the operator's level ending at `to` is in the open slice. An operator that runs again has
 * a slice of its own. */
static int continues(const struct run *run, const struct pw_scoped *op, size_t to, int is_last)
{
    if (run->to != to || memcmp(run->name, op->name, to) != 0)
        return 0;
    return !(is_last && run->is_operator && op->start >= run->end);
}

static void take(struct drawing *d, const struct pw_scoped *op)
{
    const char separator = separator_of(op->name);
    size_t from = 0;
    int level = 0, is_last = 0;
    for (; !is_last; level++) {
        const char *end = strchr(op->name + from, separator);
        is_last = !end || level + 1 == PW_SCOPE_LEVELS;
        const size_t to = is_last ? strlen(op->name) : (size_t)(end - op->name);
        if (level < d->n && !continues(&d->open[level], op, to, is_last))
            close_from(d, level, op->start);
        if (level == d->n)
            d->open[d->n++] = (struct run){op->name, from, to, is_last, op->start, op->end};
        if (d->open[level].end < op->end)
            d->open[level].end = op->end;
        from = to + 1;
    }
    close_from(d, level, op->start);
    d->most = d->n > d->most ? d->n : d->most;
}

static int by_start(const void *a, const void *b)
{
    const struct pw_scoped *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end < y->end) - (x->end > y->end); /* one that encloses others comes first */
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int pw_scopes_draw(struct pw_scopes *s, pw_scope_draw *draw, void *context)
{
    struct drawing d = {.draw = draw, .context = context};
    size_t at = 0;
    pw_sort(s->v, s->n, sizeof(*s->v), by_start);
    pw_sort(s->breaks, s->nbreaks, sizeof(*s->breaks), by_time);
    for (size_t i = 0; i < s->n; i++) {
        for (; at < s->nbreaks && s->breaks[at] <= s->v[i].start; at++)
            close_from(&d, 0, s->breaks[at]);
        take(&d, &s->v[i]);
    }
    close_from(&d, 0, INT64_MAX);
    s->n = 0;
    return d.most;
}

void pw_scopes_fini(struct pw_scopes *s)
{
    free(s->v);
    free(s->breaks);
    *s = (struct pw_scopes){0};
}
