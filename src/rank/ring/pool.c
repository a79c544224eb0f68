/* Allocates, completes and frees buffers; see pool.h. */
#include "rank/ring/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int pw_pool_create(const char *segment_name, struct pw_segment_shared *segment,
                   struct pw_pool **out)
{
    void *map;
    int err = pw_segment_allocate_pool(segment_name, segment, sizeof(struct pw_pool));
    err = err ? err : pw_segment_map_pool(segment_name, segment, sizeof(struct pw_pool), &map);
    if (err)
        return err;
    struct pw_pool *pool = map;
    if (atomic_load(&pool->owner_pid))
        memset(pool, 0, sizeof(*pool));
    atomic_store(&pool->owner_pid, getpid());
    *out = pool;
    return 0;
}

int pw_pool_attach(const char *segment_name, const struct pw_segment_shared *segment,
                   struct pw_pool **out)
{
    void *map;
    int err = pw_segment_map_pool(segment_name, segment, sizeof(struct pw_pool), &map);
    if (!err)
        *out = map;
    return err;
}

void pw_pool_detach(struct pw_pool *pool)
{
    munmap(pool, sizeof(*pool));
}

int pw_pool_take(struct pw_pool *pool)
{
    for (int i = 0; i < PW_POOL_SLOTS; i++) {
        uint32_t free = PW_POOL_FREE;
        if (atomic_compare_exchange_strong(&pool->slots[i].state, &free, PW_POOL_FILLING))
            return i;
    }
    return -1;
}

int pw_pool_find(const struct pw_pool *pool, const void *address)
{
    uintptr_t offset = (uintptr_t)address - (uintptr_t)pool->bytes;
    return offset < sizeof(pool->bytes) && offset % PW_POOL_SLOT == 0 ? (int)(offset / PW_POOL_SLOT)
                                                                      : -1;
}

void pw_pool_complete(struct pw_pool *pool, int slot, size_t used)
{
    struct pw_pool_slot *s = &pool->slots[slot];
    atomic_store(&s->used, (uint32_t)(used < PW_POOL_SLOT ? used : PW_POOL_SLOT));
    atomic_store(&s->turn, atomic_fetch_add(&pool->turns, 1));
    atomic_store(&s->state, PW_POOL_COMPLETE);
}

int pw_pool_oldest(const struct pw_pool *pool)
{
    int oldest = -1;
    uint32_t turn = 0;
    for (int i = 0; i < PW_POOL_SLOTS; i++) {
        const struct pw_pool_slot *s = &pool->slots[i];
        if (atomic_load(&s->state) != PW_POOL_COMPLETE)
            continue;
        uint32_t mine = atomic_load(&s->turn);
        if (oldest < 0 || (int32_t)(mine - turn) < 0) {
            oldest = i;
            turn = mine;
        }
    }
    return oldest;
}

void pw_pool_free(struct pw_pool *pool, int slot)
{
    struct pw_pool_slot *s = &pool->slots[slot];
    /* If the program is killed while the library fills the buffer, the first zero marks the end of
     * the records. */
    memset(pool->bytes[slot], 0, atomic_load(&s->used));
    atomic_store(&s->used, 0);
    atomic_store(&s->done, 0);
    atomic_store(&s->state, PW_POOL_FREE);
}
