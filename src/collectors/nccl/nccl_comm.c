/* A table of communicators; see nccl_comm.h. */
#include "collectors/nccl/nccl_comm.h"

#include <string.h>

#include "collectors/nccl/nccl_slot.h"

enum { COMMS = 1 << 9 };

static struct pw_nccl_comm comms[COMMS];
static _Atomic uint64_t last_number;
static _Atomic uint32_t last_record;

static void fill(struct pw_nccl_comm *comm, const struct pw_nccl_comm_about *about)
{
    atomic_store(&comm->is_defined, 0);
    atomic_store(&comm->collectives, 0);
    atomic_store(&comm->captures, 0);
    for (int i = 0; i < PW_NCCL_FUNCS; i++)
        atomic_store(&comm->next[i], 0);
    atomic_store(&comm->launch_start, 0);
    atomic_store(&comm->launch_end, 0);
    atomic_store(&comm->plan_start, 0);
    atomic_store(&comm->plan_end, 0);
    comm->record = atomic_fetch_add(&last_record, 1);
    comm->size = about->size;
    comm->rank = about->rank;
    comm->nodes = about->nodes;
    comm->version = about->version;
    comm->name[0] = '\0';
    if (about->name)
        strncat(comm->name, about->name, sizeof(comm->name) - 1);
    atomic_store(&comm->uid, about->uid);
}

struct pw_nccl_comm *pw_nccl_comm_open(const struct pw_nccl_comm_about *about)
{
    for (int i = 0; i < COMMS; i++) {
        uint64_t number = atomic_fetch_add(&last_number, 1) + 1, free = 0;
        struct pw_nccl_comm *comm = &comms[number % COMMS];
        if (!atomic_compare_exchange_strong(&comm->number, &free, number))
            continue;
        fill(comm, about);
        return comm;
    }
    return NULL;
}

void *pw_nccl_comm_handle(const struct pw_nccl_comm *comm)
{
    return pw_nccl_handle(PW_NCCL_IS_COMM, atomic_load(&comm->number));
}

struct pw_nccl_comm *pw_nccl_comm_find(const void *handle)
{
    uint64_t number = pw_nccl_handle_number(handle);
    enum pw_nccl_kind kind = pw_nccl_handle_kind(handle);
    if ((kind != PW_NCCL_IS_COMM && kind != PW_NCCL_IS_LAUNCH) || !number)
        return NULL;
    struct pw_nccl_comm *comm = &comms[number % COMMS];
    return atomic_load_explicit(&comm->number, memory_order_acquire) == number ? comm : NULL;
}

void pw_nccl_comm_close(struct pw_nccl_comm *comm)
{
    atomic_store(&comm->number, 0);
}

void pw_nccl_comm_learn(struct pw_nccl_comm *comm, uint64_t uid, int32_t rank, const char *name)
{
    if (__builtin_expect(atomic_load_explicit(&comm->uid, memory_order_relaxed) != 0, 1))
        return;
    comm->rank = rank;
    if (name && !comm->name[0])
        strncat(comm->name, name, sizeof(comm->name) - 1);
    atomic_store(&comm->uid, uid);
}

void pw_nccl_comm_define(struct pw_nccl_comm *comm, struct pw_thread *thread)
{
    if (__builtin_expect(atomic_load_explicit(&comm->is_defined, memory_order_relaxed), 1) ||
        !atomic_load(&comm->uid) || atomic_exchange(&comm->is_defined, 1))
        return;
    uint32_t name = comm->name[0] ? pw_probe_intern(thread, comm->name) : 0;
    uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    *record = (struct pw_record){.type = PW_REC_NCCL_COMM,
                                 .start = now,
                                 .end = now,
                                 .nccl_comm = {.uid = atomic_load(&comm->uid),
                                               .comm = comm->record,
                                               .size = comm->size,
                                               .my_rank = comm->rank,
                                               .nodes = comm->nodes,
                                               .name = name}};
    pw_probe_commit_record(thread, record);
}

uint32_t pw_nccl_comm_count(struct pw_nccl_comm *comm)
{
    return atomic_fetch_add_explicit(&comm->collectives, 1, memory_order_relaxed) + 1;
}

uint32_t pw_nccl_comm_count_func(struct pw_nccl_comm *comm, int func, uint64_t number)
{
    if (func < 0 || func >= PW_NCCL_FUNCS)
        return 0;
    if (number < atomic_load_explicit(&comm->next[func], memory_order_relaxed))
        return 0;
    atomic_store_explicit(&comm->next[func], number + 1, memory_order_relaxed);
    uint64_t sum = 0;
    for (int i = 0; i < PW_NCCL_FUNCS; i++)
        sum += atomic_load_explicit(&comm->next[i], memory_order_relaxed);
    return (uint32_t)sum;
}

/* ---- the capture method of this process ---- */

static _Atomic int best = PW_NCCL_BY_CALLS;

void pw_nccl_method_set(enum pw_nccl_method method)
{
    int before = atomic_load_explicit(&best, memory_order_relaxed);
    while ((int)method < before && !atomic_compare_exchange_weak(&best, &before, method))
        ;
}

int pw_nccl_method_is(enum pw_nccl_method method)
{
    return atomic_load_explicit(&best, memory_order_relaxed) == (int)method;
}
