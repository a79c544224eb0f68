/* Keeps what is captured; see nccl_captured.h. */
#include "collectors/nccl/nccl_captured.h"

#include <stdlib.h>

enum { MOST_CALLS = 1 << 16 };

bool pw_nccl_captured_grow(struct pw_budget *budget, void **array, uint32_t n, uint32_t *capacity,
                           size_t size)
{
    if (n < *capacity)
        return true;
    const uint32_t more = *capacity ? *capacity * 2 : 16;
    const bool is_allowed =
        more <= MOST_CALLS && pw_budget_take(budget, (int64_t)((more - *capacity) * size));
    void *grown = is_allowed ? realloc(*array, more * size) : NULL;
    if (!grown)
        return false;
    *array = grown;
    *capacity = more;
    return true;
}

bool pw_nccl_captured_call(struct pw_nccl_captured *c, const struct pw_nccl_op *op,
                           const struct pw_row_comms *comm)
{
    void *calls = c->calls;
    const bool has_room =
        pw_nccl_captured_grow(c->budget, &calls, c->ncalls, &c->calls_capacity, sizeof(*c->calls));
    c->calls = calls;
    if (has_room)
        c->calls[c->ncalls++] = (struct pw_nccl_captured_call){.op = *op, .comm = *comm};
    return has_room;
}

bool pw_nccl_captured_launch(struct pw_nccl_captured *c, uint32_t comm, int64_t time)
{
    void *units = c->units;
    const bool has_room =
        pw_nccl_captured_grow(c->budget, &units, c->nunits, &c->units_capacity, sizeof(*c->units));
    c->units = units;
    if (has_room)
        c->units[c->nunits++] =
            (struct pw_nccl_captured_unit){.comm = comm, .time = time, .first = UINT32_MAX};
    return has_room;
}

/* The first kernel that was launched then or later. */
static uint32_t first_from(const struct pw_nccl_captured *c, int64_t time)
{
    uint32_t low = 0, high = c->nunits;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (c->units[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pw_nccl_captured_sort(struct pw_nccl_captured *c)
{
    for (; c->nsorted < c->ncalls; c->nsorted++) {
        struct pw_nccl_captured_call *call = &c->calls[c->nsorted];
        uint32_t at = first_from(c, call->op.call.start);
        while (at < c->nunits && c->units[at].comm != call->op.comm)
            at++;
        if (at == c->nunits)
            continue;
        struct pw_nccl_captured_unit *unit = &c->units[at];
        call->unit = at + 1;
        unit->first = c->nsorted < unit->first ? c->nsorted : unit->first;
        unit->ncalls++;
    }
}

const struct pw_nccl_captured_call *pw_nccl_captured_borrow(const struct pw_nccl_captured *c,
                                                            uint32_t unit, uint32_t nth)
{
    for (uint32_t i = c->units[unit].first; i < c->ncalls; i++)
        if (c->calls[i].unit == unit + 1 && nth-- == 0)
            return &c->calls[i];
    return NULL;
}

void pw_nccl_captured_fini(struct pw_nccl_captured *c)
{
    free(c->calls);
    free(c->units);
}
