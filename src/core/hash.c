/* Open addressing with linear probing, at most half full; see hash.h. */
#include "core/hash.h"

#include <errno.h>
#include <stdlib.h>

enum { FEWEST_SLOTS = 64 };

static struct pw_hash_slot *free_slot(struct pw_hash_slot *slots, size_t capacity, uint32_t value)
{
    size_t at = value & (capacity - 1);
    while (slots[at].item != PW_HASH_NONE)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

int pw_hash_reserve(struct pw_hash *h)
{
    if (2 * (h->n + 1) <= h->capacity)
        return 0;
    size_t capacity = h->capacity ? 2 * h->capacity : FEWEST_SLOTS;
    if (capacity > (size_t)1 << 32)
        return -ENOMEM;
    struct pw_hash_slot *slots = malloc(capacity * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < capacity; i++)
        slots[i].item = PW_HASH_NONE;
    for (size_t i = 0; i < h->capacity; i++)
        if (h->slots[i].item != PW_HASH_NONE)
            *free_slot(slots, capacity, h->slots[i].hash) = h->slots[i];
    free(h->slots);
    h->slots = slots;
    h->capacity = capacity;
    return 0;
}

struct pw_hash_slot *pw_hash_find(const struct pw_hash *h, uint32_t value, pw_hash_same *same,
                                  const void *items, const void *key)
{
    size_t at = value & (h->capacity - 1);
    while (h->slots[at].item != PW_HASH_NONE &&
           (h->slots[at].hash != value || !same(items, h->slots[at].item, key)))
        at = (at + 1) & (h->capacity - 1);
    return &h->slots[at];
}

struct pw_hash_slot *pw_hash_free_slot(const struct pw_hash *h, uint32_t value)
{
    return free_slot(h->slots, h->capacity, value);
}

void pw_hash_take(struct pw_hash *h, struct pw_hash_slot *slot, uint32_t value, int32_t item)
{
    *slot = (struct pw_hash_slot){value, item};
    h->n++;
}

void pw_hash_clear(struct pw_hash *h)
{
    for (size_t i = 0; i < h->capacity; i++)
        h->slots[i].item = PW_HASH_NONE;
    h->n = 0;
}

void pw_hash_fini(struct pw_hash *h)
{
    free(h->slots);
    *h = (struct pw_hash){0};
}
