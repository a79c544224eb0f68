/* Buffers in shared memory for a library of the application that writes records in a form of its
 * own and hands them over when they are full (CUPTI). They lie in the rank's segment, so that what
 * such a library had written when the program was killed can be read by the collector.
 *
 * The application takes, completes and frees them; the collector only reads, after its end. */
#ifndef PW_RANK_RING_POOL_H
#define PW_RANK_RING_POOL_H

#include "rank/ring/segment.h"

enum {
    PW_POOL_SLOTS = 32,
    PW_POOL_SLOT = 256 << 10, /* bytes of each */
    PW_POOL_NOTES = 256 << 10,
};

enum pw_pool_state {
    PW_POOL_FREE = 0, /* all zero */
    PW_POOL_FILLING,  /* the library's */
    PW_POOL_COMPLETE, /* handed over, and not yet all made into records */
};

struct pw_pool_slot {
    _Atomic uint32_t state;
    _Atomic uint32_t used; /* bytes, once complete */
    _Atomic uint32_t done; /* of these, made into records */
    _Atomic uint32_t turn; /* rises from one that is completed to the next */
};

struct pw_pool {
    _Atomic int32_t owner_pid; /* who fills it; 0: no process has */
    _Atomic uint32_t turns;
    struct pw_pool_slot slots[PW_POOL_SLOTS];
    /* What the owner wants to be known of how to read the buffers. */
    _Alignas(PW_SEGMENT_PAGE) unsigned char notes[PW_POOL_NOTES];
    _Alignas(PW_SEGMENT_PAGE) unsigned char bytes[PW_POOL_SLOTS][PW_POOL_SLOT];
};
static_assert(sizeof(struct pw_pool) <= PW_POOL_BYTES, "the segment has room for it");

/* Gives the pool memory, empties it of what a process before this one left, and maps it. In-app
 * safe. 0 or -errno (-ENOSPC: shared memory is short). */
int pw_pool_create(const char *segment_name, struct pw_segment_shared *segment,
                   struct pw_pool **out);

/* Maps one that was given memory. -ENOENT when none was. */
int pw_pool_attach(const char *segment_name, const struct pw_segment_shared *segment,
                   struct pw_pool **out);

void pw_pool_detach(struct pw_pool *pool);

/* A free buffer's index, which is then the library's; -1 when there is none. */
int pw_pool_take(struct pw_pool *pool);

/* Which buffer begins at this address, -1 none. */
int pw_pool_find(const struct pw_pool *pool, const void *address);

/* The library has written `used` bytes. */
void pw_pool_complete(struct pw_pool *pool, int slot, size_t used);

/* The buffer that was completed first, of those that are; -1 when none is. */
int pw_pool_oldest(const struct pw_pool *pool);

/* Its bytes are all made into records. */
void pw_pool_free(struct pw_pool *pool, int slot);

#endif
