/* A hash table that finds which item of the caller's array has a key. It stores indices only; the
 * items and keys stay in the caller's array. Called by the merge, the import and the timeline. Tool
 * code, because it allocates. */
#ifndef PW_CORE_HASH_H
#define PW_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { PW_HASH_NONE = -1 };

struct pw_hash_slot {
    uint32_t hash;
    int32_t item; /* PW_HASH_NONE: free */
};

/* An empty table is {0}. */
struct pw_hash {
    struct pw_hash_slot *slots;
    size_t capacity, n; /* slots: 0 or a power of two; slots in use */
};

typedef int pw_hash_same(const void *items, int32_t item, const void *key);

/* Makes room for one more item. Returns 0 or -ENOMEM. Slots that were found before are then
 * invalid. */
int pw_hash_reserve(struct pw_hash *hash);

/* Returns the slot of the item that equals `key`, or the free slot where such an item belongs;
 * pw_hash_take() puts an item there. Call pw_hash_reserve() first. */
struct pw_hash_slot *pw_hash_find(const struct pw_hash *hash, uint32_t value, pw_hash_same *same,
                                  const void *items, const void *key);

/* Returns a free slot for an item that is known not to be in the table. */
struct pw_hash_slot *pw_hash_free_slot(const struct pw_hash *hash, uint32_t value);

void pw_hash_take(struct pw_hash *hash, struct pw_hash_slot *slot, uint32_t value, int32_t item);

/* Removes all items and keeps the memory. */
void pw_hash_clear(struct pw_hash *hash);

void pw_hash_fini(struct pw_hash *hash);

/* Mixes a number into a hash value: the finaliser of MurmurHash3 (Austin Appleby, public domain).
 */
static inline uint64_t pw_hash_mix(uint64_t hash, uint64_t number)
{
    uint64_t x = hash * 0x9e3779b97f4a7c15u + number;
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

#endif
