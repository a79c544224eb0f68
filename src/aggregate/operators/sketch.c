/* See sketch.h. Most durations fall into few classes, which a short sorted list finds quickly. */
#include "aggregate/operators/sketch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"

enum { FINE_BITS = 5, COUNT_BITS = 48 };

static const uint64_t count_mask = ((uint64_t)1 << COUNT_BITS) - 1;

/* Below 64 ns a class is one value. */
static uint64_t class_of(int64_t ns)
{
    uint64_t value = ns > 0 ? (uint64_t)ns : 0;
    if (value < (1 << FINE_BITS))
        return value;
    int shift = 63 - __builtin_clzll(value) - FINE_BITS;
    return ((uint64_t)(shift + 1) << FINE_BITS) + (value >> shift) - (1 << FINE_BITS);
}

static int64_t middle_of(uint64_t number)
{
    if (number < (1 << FINE_BITS))
        return (int64_t)number;
    int shift = (int)(number >> FINE_BITS) - 1;
    uint64_t fine = (number & ((1 << FINE_BITS) - 1)) + (1 << FINE_BITS);
    return (int64_t)((fine << shift) + (((uint64_t)1 << shift) >> 1));
}

static int insert(struct pw_sketch *s, uint32_t at, uint64_t entry)
{
    size_t capacity = s->capacity;
    uint64_t *v = pw_grow(s->v, s->n, sizeof(*v), &capacity);
    if (!v)
        return -ENOMEM;
    s->v = v;
    s->capacity = (uint32_t)capacity;
    memmove(s->v + at + 1, s->v + at, (s->n - at) * sizeof(*s->v));
    s->v[at] = entry;
    s->n++;
    return 0;
}

static int add_class(struct pw_sketch *s, uint64_t number, uint64_t count)
{
    uint32_t low = 0, high = s->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->v[middle] >> COUNT_BITS < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == s->n || s->v[low] >> COUNT_BITS != number)
        return insert(s, low, number << COUNT_BITS | (count & count_mask));
    uint64_t room = count_mask - (s->v[low] & count_mask);
    s->v[low] += count < room ? count : room;
    return 0;
}

int pw_sketch_add(struct pw_sketch *s, int64_t ns, uint64_t count)
{
    return add_class(s, class_of(ns), count);
}

int pw_sketch_join(struct pw_sketch *into, const uint64_t *v, size_t n)
{
    int err = 0;
    for (size_t i = 0; i < n && !err; i++)
        err = add_class(into, v[i] >> COUNT_BITS, v[i] & count_mask);
    return err;
}

int64_t pw_sketch_quantile(const struct pw_sketch *s, double q)
{
    uint64_t all = 0, seen = 0;
    for (uint32_t i = 0; i < s->n; i++)
        all += s->v[i] & count_mask;
    double wanted = ceil(q * (double)all);
    for (uint32_t i = 0; i < s->n; i++) {
        seen += s->v[i] & count_mask;
        if ((double)seen >= wanted)
            return middle_of(s->v[i] >> COUNT_BITS);
    }
    return -1;
}

void pw_sketch_fini(struct pw_sketch *s)
{
    free(s->v);
    *s = (struct pw_sketch){0};
}
