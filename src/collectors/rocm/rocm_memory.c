/* A hash table with open addressing, by address; see rocm_memory.h. */
#include "collectors/rocm/rocm_memory.h"

#include <stddef.h>

enum { PLACES = 1 << 16, TRIES = 64 };

/* Keys are addresses; handles have the lowest bit set. 0: never used; 1: was used, is free now. */
enum { FREE, WAS_USED };

static struct kept {
    uint64_t key, bytes, since;
    int device;
} places[PLACES];

static uint64_t key_of(const struct pw_rocm_place *place)
{
    return place->address << 1 | place->is_handle;
}

static struct kept *place_of(uint64_t key, int try)
{
    return &places[((size_t)((key * 0x9e3779b97f4a7c15ull) >> 40) + (size_t)try) % PLACES];
}

static struct kept *find(uint64_t key)
{
    for (int i = 0; i < TRIES; i++) {
        struct kept *p = place_of(key, i);
        if (p->key == key)
            return p;
        if (p->key == FREE)
            return NULL;
    }
    return NULL;
}

static struct kept *find_free(uint64_t key)
{
    for (int i = 0; i < TRIES; i++)
        if (place_of(key, i)->key <= WAS_USED)
            return place_of(key, i);
    return NULL;
}

static struct pw_rocm_change remove_from(struct kept *p)
{
    p->key = WAS_USED;
    return (struct pw_rocm_change){p->device, -(int64_t)p->bytes};
}

bool pw_rocm_memory_allocate(const struct pw_rocm_place *place, struct pw_rocm_change given,
                             struct pw_rocm_change *replaced)
{
    const uint64_t key = key_of(place);
    struct kept *before = key > WAS_USED ? find(key) : NULL;
    *replaced = before ? remove_from(before) : (struct pw_rocm_change){0};
    struct kept *p = key > WAS_USED ? find_free(key) : NULL;
    if (p)
        *p = (struct kept){key, (uint64_t)given.delta_bytes, place->ns, given.device};
    return p != NULL;
}

/* When the record of a free is later than the next allocation at the same address, the entry
 * belongs to the newer allocation. */
bool pw_rocm_memory_free(const struct pw_rocm_place *place, struct pw_rocm_change *freed)
{
    const uint64_t key = key_of(place);
    struct kept *p = key > WAS_USED ? find(key) : NULL;
    if (!p || place->ns < p->since)
        return false;
    *freed = remove_from(p);
    return true;
}
