/* A table of sums that grows with the operators; see opwindows.h. */
#include "aggregate/operators/opwindows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/limits.h"

int pw_opwindows_reserve(struct pw_opwindows *windows, size_t nops)
{
    size_t capacity = windows->capacity ? windows->capacity : 64;
    while (capacity < nops)
        capacity *= 2;
    if (capacity == windows->capacity)
        return 0;
    int64_t *sums = realloc(windows->self_ns, capacity * windows->nwindows * sizeof(*sums));
    if (!sums)
        return -ENOMEM;
    memset(sums + windows->capacity * windows->nwindows, 0,
           (capacity - windows->capacity) * windows->nwindows * sizeof(*sums));
    windows->self_ns = sums;
    windows->capacity = capacity;
    return 0;
}

void pw_opwindows_add(struct pw_opwindows *windows, uint64_t mask, int32_t op, int64_t ns)
{
    int64_t *sums = windows->self_ns + (size_t)op * windows->nwindows;
    for (size_t w = 0; w < windows->nwindows; w++)
        if (mask >> w & 1)
            sums[w] = pw_sum(sums[w], ns);
}

int64_t pw_opwindows_self(const struct pw_opwindows *windows, int32_t op, size_t window)
{
    if (op < 0 || (size_t)op >= windows->capacity)
        return 0;
    int64_t ns = windows->self_ns[(size_t)op * windows->nwindows + window];
    return ns > 0 ? ns : 0;
}

void pw_opwindows_fini(struct pw_opwindows *windows)
{
    free(windows->self_ns);
    *windows = (struct pw_opwindows){0};
}
