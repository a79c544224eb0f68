/* Stores captured calls and kernels; see nccl_captured.h. */
#include "collectors/nccl/nccl_captured.h"

#include <stdlib.h>
#include <string.h>

#include "core/ops.h"

enum { MOST_CALLS = 1 << 16 };

static const struct {
    const char *text; /* part of the kernel's name */
    uint16_t op;
    unsigned kind;
} kinds[] = {
    {"AllReduce", PW_OP_Allreduce, PW_NCCL_KERNEL_ALLREDUCE},
    {"AllGather", PW_OP_Allgather, PW_NCCL_KERNEL_ALLGATHER},
    {"ReduceScatter", PW_OP_Reduce_scatter_block, PW_NCCL_KERNEL_REDUCESCATTER},
    {"Broadcast", PW_OP_Bcast, PW_NCCL_KERNEL_BROADCAST},
    {"Reduce_", PW_OP_Reduce, PW_NCCL_KERNEL_REDUCE},
    {"SendRecv", PW_OP_Send, PW_NCCL_KERNEL_MESSAGES},
    {NULL, PW_OP_Recv, PW_NCCL_KERNEL_MESSAGES},
    {NULL, PW_OP_Alltoall, PW_NCCL_KERNEL_MESSAGES},
    {NULL, PW_OP_Gather, PW_NCCL_KERNEL_MESSAGES},
    {NULL, PW_OP_Scatter, PW_NCCL_KERNEL_MESSAGES},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

unsigned pw_nccl_kernel_kinds(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].text && strstr(name, kinds[i].text))
            return kinds[i].kind;
    return PW_NCCL_KERNEL_ANY;
}

static unsigned kind_of(uint16_t op)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].op == op)
            return kinds[i].kind;
    return PW_NCCL_KERNEL_OTHER;
}

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
    c->is_mixed |= c->nunits > 0 && c->units[c->nunits - 1].time > time;
    if (has_room)
        c->units[c->nunits++] =
            (struct pw_nccl_captured_unit){.comm = comm, .time = time, .first = UINT32_MAX};
    return has_room;
}

/* Returns the number of the first kernel that was launched at `time` or later. */
static uint32_t first_from(const struct pw_nccl_captured *c, int64_t time)
{
    uint32_t low = 0, high = c->is_mixed ? 0 : c->nunits;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (c->units[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the kernel of the communicator that was launched next after the call; `nunits` when none
 * is known. */
static uint32_t next_launch(const struct pw_nccl_captured *c, const struct pw_nccl_op *op)
{
    uint32_t found = c->nunits;
    for (uint32_t i = first_from(c, op->call.start); i < c->nunits; i++) {
        const struct pw_nccl_captured_unit *unit = &c->units[i];
        if (unit->comm != op->comm || unit->time < op->call.start ||
            (found < c->nunits && c->units[found].time <= unit->time))
            continue;
        found = i;
        if (!c->is_mixed)
            break;
    }
    return found;
}

static void sort_call(struct pw_nccl_captured *c, uint32_t i)
{
    struct pw_nccl_captured_call *call = &c->calls[i];
    const uint32_t at = call->unit ? c->nunits : next_launch(c, &call->op);
    if (at == c->nunits) /* its launch may be reported later */
        return;
    struct pw_nccl_captured_unit *unit = &c->units[at];
    call->unit = at + 1;
    unit->first = i < unit->first ? i : unit->first;
    unit->kinds |= kind_of(call->op.op);
    unit->ncalls++;
}

void pw_nccl_captured_sort(struct pw_nccl_captured *c)
{
    for (uint32_t i = c->nsorted; i < c->ncalls; i++)
        sort_call(c, i);
    while (c->nsorted < c->ncalls && c->calls[c->nsorted].unit)
        c->nsorted++;
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
