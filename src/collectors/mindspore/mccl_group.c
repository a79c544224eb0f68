/* Keeps groups in a table of fixed size, by a hash of their members, and writes a definition of
 * each; see mccl_group.h. The hash is the communicator's uid: each member computes the same one. */
#include "collectors/mindspore/mccl_group.h"

#include <stdbool.h>
#include <string.h>

#include "rank/probe/arena.h"
#include "rank/probe/members.h"

enum { GROUPS = 1 << 10, MOST_MEMBERS = 1 << 24 };

static struct pw_mccl_group groups[GROUPS];
static _Atomic uint32_t made; /* indexes that were given */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

static uint64_t uid_of(const uint32_t *world, uint32_t size)
{
    enum { SALT = 0x6d63636c };
    uint64_t uid = mix(SALT, size);
    for (uint32_t i = 0; i < size; i++)
        uid = mix(uid, world[i]);
    return uid | 1;
}

static int32_t place_in(const uint32_t *world, uint32_t size, uint32_t mine)
{
    for (uint32_t i = 0; i < size; i++)
        if (world[i] == mine)
            return (int32_t)i;
    return -1;
}

static void fill(struct pw_mccl_group *group, const uint32_t *world, uint32_t size, uint32_t mine)
{
    int32_t *copy = pw_arena_take(sizeof(*copy) * size);
    if (copy)
        memcpy(copy, world, sizeof(*copy) * size); /* the same bits: ranks are below 2^31 */
    group->world = copy;
    group->size = (int32_t)size;
    group->my_rank = place_in(world, size, mine);
    group->index = atomic_fetch_add(&made, 1);
    atomic_store_explicit(&group->is_ready, 1, memory_order_release);
}

struct pw_mccl_group *pw_mccl_group_find(const uint32_t *world, uint32_t size, uint32_t mine)
{
    if (!world || size < 1 || size > MOST_MEMBERS)
        return NULL;
    const uint64_t uid = uid_of(world, size);
    for (uint32_t i = 0; i < GROUPS; i++) {
        struct pw_mccl_group *group = &groups[(uid + i) % GROUPS];
        uint64_t there = atomic_load_explicit(&group->uid, memory_order_acquire);
        if (!there && atomic_compare_exchange_strong(&group->uid, &there, uid)) {
            fill(group, world, size, mine);
            return group;
        }
        if (there == uid) /* another thread may be filling it at this instant */
            return atomic_load_explicit(&group->is_ready, memory_order_acquire) ? group : NULL;
    }
    return NULL;
}

/* ---- records ---- */

void pw_mccl_group_tell(struct pw_thread *thread, struct pw_mccl_group *group)
{
    if (atomic_exchange(&group->is_told, 1))
        return;
    const uint32_t name = pw_probe_intern(thread, "mccl");
    const uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    *record = (struct pw_record){.type = PW_REC_MCCL_GROUP, .start = now, .end = now};
    record->def.uid = atomic_load(&group->uid);
    record->def.comm = group->index;
    record->def.size = group->size;
    record->def.my_rank = group->my_rank;
    record->def.name = name;
    pw_probe_commit(thread);
    pw_members_record(thread, PW_REC_MCCL_MEMBERS, group->index, group->world, group->size);
}
