/* Tables of events that have begun and not ended; see nccl_slot.h. */
#include "collectors/nccl/nccl_slot.h"

#include <string.h>

enum { CALLS = 1 << 11, TASKS = 1 << 11, CHANNELS = 1 << 11, PROXIES = 1 << 11, STEPS = 1 << 12 };
enum { TRIES = 16 }; /* slots that are tried to find a free one */

struct table {
    struct pw_nccl_slot *slots;
    uint64_t mask;
    _Atomic uint64_t next;
};

static struct pw_nccl_slot calls[CALLS], tasks[TASKS], channels[CHANNELS], proxies[PROXIES],
    steps[STEPS];
static struct table tables[PW_NCCL_KINDS] = {
    [PW_NCCL_IS_CALL] = {calls, CALLS - 1, 0},
    [PW_NCCL_IS_TASK] = {tasks, TASKS - 1, 0},
    [PW_NCCL_IS_CHANNEL] = {channels, CHANNELS - 1, 0},
    [PW_NCCL_IS_PROXY] = {proxies, PROXIES - 1, 0},
    [PW_NCCL_IS_STEP] = {steps, STEPS - 1, 0},
};
static _Atomic uint64_t refused, last_number;

uint64_t pw_nccl_number_next(void)
{
    return atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
}

static void clear(struct pw_nccl_slot *slot)
{
    memset((char *)slot + sizeof(slot->number), 0, sizeof(*slot) - sizeof(slot->number));
    slot->comm = UINT32_MAX;
    slot->peer = -1;
}

static int stays(enum pw_nccl_kind kind)
{
    return kind == PW_NCCL_IS_CALL || kind == PW_NCCL_IS_TASK;
}

struct pw_nccl_slot *pw_nccl_slot_take(enum pw_nccl_kind kind)
{
    struct table *table = &tables[kind];
    for (int i = 0; i < TRIES; i++) {
        uint64_t number = atomic_fetch_add_explicit(&table->next, 1, memory_order_relaxed) + 1;
        struct pw_nccl_slot *slot = &table->slots[number & table->mask];
        uint64_t before = atomic_load_explicit(&slot->number, memory_order_relaxed);
        if (before && !stays(kind))
            continue;
        if (before && !slot->is_done)
            atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
        /* Fails only when another thread has taken the slot: it is ahead by a whole table. */
        if (!atomic_compare_exchange_strong_explicit(&slot->number, &before, number,
                                                     memory_order_acq_rel, memory_order_relaxed))
            continue;
        clear(slot);
        return slot;
    }
    atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed);
    return NULL;
}

struct pw_nccl_slot *pw_nccl_slot_find(const void *handle)
{
    enum pw_nccl_kind kind = pw_nccl_handle_kind(handle);
    uint64_t number = pw_nccl_handle_number(handle);
    if (kind >= PW_NCCL_KINDS || !tables[kind].slots || !number)
        return NULL;
    struct pw_nccl_slot *slot = &tables[kind].slots[number & tables[kind].mask];
    return atomic_load_explicit(&slot->number, memory_order_acquire) == number ? slot : NULL;
}

uint64_t pw_nccl_slot_id(const void *handle)
{
    const struct pw_nccl_slot *slot = pw_nccl_slot_find(handle);
    return slot ? slot->id : 0;
}

void pw_nccl_slot_end(enum pw_nccl_kind kind, struct pw_nccl_slot *slot)
{
    slot->is_done = 1;
    if (!stays(kind))
        atomic_store_explicit(&slot->number, 0, memory_order_release);
}

uint64_t pw_nccl_slot_refused(void)
{
    return atomic_load_explicit(&refused, memory_order_relaxed);
}
