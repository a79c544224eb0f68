/* Which of a caller's items has a key: a hash table of indices, without the items and keys, which
 * stay the caller's. Called by the merge, the import and the timeline. Tool code, because it
 * allocates. */
#ifndef PW_CORE_HASH_H
#define PW_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { PW_HASH_NONE = -1 };

struct pw_hash_slot {
    uint32_t hash;
    int32_t item; /* PW_HASH_NONE: free */
};

/* {0} is an empty one. */
struct pw_hash {
    struct pw_hash_slot *slots;
    size_t capacity, n; /* 0 or a power of two; slots that are taken */
};

typedef int pw_hash_same(const void *items, int32_t item, const void *key);

/* Makes room for one more, after which slots found before are void. 0 or -ENOMEM. */
int pw_hash_reserve(struct pw_hash *hash);

/* The slot of the item that is the same as `key`, or the free one where it belongs: the caller
 * gives it an item with pw_hash_take(). There must have been room. */
struct pw_hash_slot *pw_hash_find(const struct pw_hash *hash, uint32_t value, pw_hash_same *same,
                                  const void *items, const void *key);

/* A free slot for an item that is known not to be there. */
struct pw_hash_slot *pw_hash_free_slot(const struct pw_hash *hash, uint32_t value);

void pw_hash_take(struct pw_hash *hash, struct pw_hash_slot *slot, uint32_t value, int32_t item);

/* Forgets all items; the room stays. */
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
