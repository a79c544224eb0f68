/* A lock-free bump allocator over anonymous mappings; see arena.h. */
#include "rank/probe/arena.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

enum { BLOCK_BYTES = 1 << 16, LARGE_BYTES = BLOCK_BYTES / 4 };

/* Each block has its own counter of used bytes. So a thread that still uses an old block while
 * another thread has added a newer one can only take bytes of the old block. */
struct block {
    _Atomic uint64_t used;
    _Alignas(16) char bytes[];
};

static _Atomic(struct block *) newest;

static void *take_mapping(size_t bytes)
{
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return map == MAP_FAILED ? NULL : map;
}

void *pw_arena_take(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes >= LARGE_BYTES)
        return take_mapping(bytes);
    const uint64_t room = BLOCK_BYTES - sizeof(struct block);
    for (;;) {
        struct block *current = atomic_load(&newest);
        if (current) {
            uint64_t at = atomic_fetch_add(&current->used, bytes);
            if (at + bytes <= room)
                return current->bytes + at;
        }
        struct block *fresh = take_mapping(BLOCK_BYTES);
        if (!fresh)
            return NULL;
        if (!atomic_compare_exchange_strong(&newest, &current, fresh))
            munmap(fresh, BLOCK_BYTES);
    }
}
