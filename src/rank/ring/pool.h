/* Buffers in shared memory for CUPTI, which writes GPU records in its own format and returns a
 * buffer when it is full. The buffers are in the rank's segment, so that the collector can still
 * read them after the program was killed.
 *
 * The GPU modules call these functions. The half in the application takes, completes and
 * frees buffers; the half in the collector only reads, and only after the application has ended. */
#ifndef PW_RANK_RING_POOL_H
#define PW_RANK_RING_POOL_H

#include "rank/ring/segment.h"

enum {
    PW_POOL_SLOTS = 32,
    PW_POOL_SLOT = 256 << 10, /* bytes of a buffer */
    PW_POOL_NOTES = 256 << 10,
};

enum pw_pool_state {
    PW_POOL_FREE = 0, /* all its bytes are 0 */
    PW_POOL_FILLING,  /* CUPTI writes into it */
    PW_POOL_COMPLETE, /* returned by CUPTI; not all of it is converted to ring records yet */
};

struct pw_pool_slot {
    _Atomic uint32_t state;
    _Atomic uint32_t used; /* bytes that CUPTI wrote; valid when complete */
    _Atomic uint32_t done; /* bytes of these that were converted */
    _Atomic uint32_t turn; /* order of completion: larger than that of the buffer completed
                            * before */
};

struct pw_pool {
    _Atomic int32_t owner_pid; /* the process that uses the pool; 0: none yet */
    _Atomic uint32_t turns;
    struct pw_pool_slot slots[PW_POOL_SLOTS];
    /* What the reader must know to convert the buffers, written by the owner. */
    _Alignas(PW_SEGMENT_PAGE) unsigned char notes[PW_POOL_NOTES];
    _Alignas(PW_SEGMENT_PAGE) unsigned char bytes[PW_POOL_SLOTS][PW_POOL_SLOT];
};
static_assert(sizeof(struct pw_pool) <= PW_POOL_BYTES, "the segment has room for it");

/* Allocates the pool's memory, clears what an earlier process left in it, and maps it. In-app safe.
 * Returns 0 or -errno (-ENOSPC: shared memory is short). */
int pw_pool_create(const char *segment_name, struct pw_segment_shared *segment,
                   struct pw_pool **out);

/* Maps a pool that has memory. Returns 0 or -errno; -ENOENT when the pool has no memory. */
int pw_pool_attach(const char *segment_name, const struct pw_segment_shared *segment,
                   struct pw_pool **out);

void pw_pool_detach(struct pw_pool *pool);

/* Reserves a free buffer for CUPTI. Returns its index; -1 when no buffer is free. */
int pw_pool_take(struct pw_pool *pool);

/* Returns the index of the buffer that begins at this address; -1: none. */
int pw_pool_find(const struct pw_pool *pool, const void *address);

/* Marks the buffer as complete; CUPTI has written `used` bytes. */
void pw_pool_complete(struct pw_pool *pool, int slot, size_t used);

/* Returns the index of the complete buffer that was completed first; -1: no buffer is complete. */
int pw_pool_oldest(const struct pw_pool *pool);

/* Clears a buffer whose bytes were all converted, and makes it free again. */
void pw_pool_free(struct pw_pool *pool, int slot);

#endif
