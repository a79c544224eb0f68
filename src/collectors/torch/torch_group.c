/* Keeps process groups in a table of fixed size, and writes a definition of each; see
 * torch_group.h.
 *
 * A group's uid is a hash of its name, its members and how often this pair was made before: PyTorch
 * requires that all members create groups in the same order, so all compute the same uid. */
#include "collectors/torch/torch_group.h"

#include <stdlib.h>
#include <string.h>

#include "rank/probe/arena.h"
#include "rank/probe/members.h"

enum { GROUPS = 1 << 10 };

static struct pw_torch_group groups[GROUPS];
static _Atomic uint32_t made; /* number of indexes in use */

static _Thread_local struct {
    int32_t *world;
    int size;
    char name[32]; /* PyTorch's names are short: "0", "default_pg", a hash */
} announced __attribute__((tls_model("initial-exec")));

/* How often a (name, members) pair was made. */
static struct {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint32_t count;
} seen[GROUPS];

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 29);
}

static uint32_t occurrence(uint64_t key)
{
    key |= 1;
    for (uint32_t i = 0; i < GROUPS; i++) {
        const uint32_t at = (uint32_t)((key + i) % GROUPS);
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&seen[at].key, &there, key) || there == key)
            return atomic_fetch_add(&seen[at].count, 1);
    }
    return 0;
}

static uint64_t make_uid(const char *name, const int32_t *world, int size)
{
    enum { SALT = 0x676c6f6f };
    uint64_t key = mix(SALT, (uint64_t)size);
    for (const char *c = name; *c; c++)
        key = mix(key, (unsigned char)*c);
    for (int i = 0; i < size && world; i++)
        key = mix(key, (uint64_t)(uint32_t)world[i]);
    return mix(key, occurrence(key));
}

void pw_torch_group_announce(const char *name, const int32_t *world, int size)
{
    enum { MOST = 1 << 24 };
    if (!pw_gate->on)
        return;
    const size_t bytes = sizeof(*world) * (size_t)(size > 0 ? size : 0);
    announced.world = size > 0 && size <= MOST && world ? pw_arena_take(bytes) : NULL;
    announced.size = announced.world ? size : 0;
    if (announced.world)
        memcpy(announced.world, world, bytes);
    strncpy(announced.name, name ? name : "", sizeof(announced.name) - 1);
}

/* ---- records ---- */

static void record_group(struct pw_thread *thread, const struct pw_torch_group *group,
                         const char *name)
{
    const uint32_t id = name[0] ? pw_probe_intern(thread, name) : 0;
    const uint64_t now = pw_probe_now();
    struct pw_record *record = pw_ring_reserve(&thread->ring, now, PW_LOST_OTHER);
    if (!record)
        return;
    *record = (struct pw_record){.type = PW_REC_TORCH_GROUP, .start = now, .end = now};
    record->def.uid = group->uid;
    record->def.comm = group->index;
    record->def.size = group->size;
    record->def.my_rank = group->my_rank;
    record->def.name = id;
    pw_probe_commit(thread);
    pw_members_record(thread, PW_REC_TORCH_MEMBERS, group->index, group->world, group->size);
}

/* ---- the table ---- */

static struct pw_torch_group *place_of(const void *object, bool is_new)
{
    const uintptr_t at = (uintptr_t)object >> 4;
    for (uintptr_t i = 0; object && i < GROUPS; i++) {
        struct pw_torch_group *group = &groups[(at + i) % GROUPS];
        const void *there = atomic_load_explicit(&group->object, memory_order_acquire);
        if (there == object || (!there && is_new))
            return group;
        if (!there)
            break;
    }
    return NULL;
}

/* Returns all ranks of the job when the group has as many members; else NULL. Every launcher of
 * PyTorch sets the number of ranks. */
static const int32_t *whole_job(int size)
{
    const char *text = getenv("WORLD_SIZE");
    if (!text || strtol(text, NULL, 10) != size)
        return NULL;
    int32_t *world = pw_arena_take(sizeof(*world) * (size_t)size);
    for (int i = 0; world && i < size; i++)
        world[i] = i;
    return world;
}

void pw_torch_group_made(struct pw_thread *thread, const void *object, int my_rank, int size)
{
    static atomic_flag lock = ATOMIC_FLAG_INIT;
    const bool is_announced = announced.world && announced.size == size;
    const int32_t *world = is_announced ? announced.world : size > 0 ? whole_job(size) : NULL;
    const char *name = is_announced ? announced.name : "";
    announced.world = NULL;
    /* When two threads create groups at the same time, which PyTorch forbids, one group is not
     * stored. */
    if (atomic_flag_test_and_set(&lock))
        return;
    struct pw_torch_group *group = place_of(object, true);
    if (group) {
        group->index = atomic_fetch_add(&made, 1);
        group->size = size;
        group->my_rank = my_rank;
        group->world = world;
        group->uid = make_uid(name, world, size);
        atomic_store(&group->collectives, 0);
        atomic_store_explicit(&group->object, object, memory_order_release);
        record_group(thread, group, name);
    }
    atomic_flag_clear(&lock);
}

struct pw_torch_group *pw_torch_group_find(const void *object)
{
    return place_of(object, false);
}

int32_t pw_torch_group_world(const struct pw_torch_group *group, int64_t rank)
{
    return group->world && rank >= 0 && rank < group->size ? group->world[rank] : -1;
}
