/* A lock-free bump allocator over anonymous mappings; see arena.h. */
#include "rank/arena.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

enum { BLOCK_BYTES = 1 << 16, LARGE_BYTES = BLOCK_BYTES / 4 };

static _Atomic(char *) block;
static _Atomic uint64_t block_used;

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
    for (;;) {
        char *current = atomic_load(&block);
        if (current) {
            uint64_t at = atomic_fetch_add(&block_used, bytes);
            if (at + bytes <= BLOCK_BYTES && atomic_load(&block) == current)
                return current + at;
        }
        char *fresh = take_mapping(BLOCK_BYTES);
        if (!fresh)
            return NULL;
        /* Until block_used is reset it is past the end, so nobody can take from the new block
         * early. */
        if (atomic_compare_exchange_strong(&block, &current, fresh))
            atomic_store(&block_used, 0);
        else
            munmap(fresh, BLOCK_BYTES);
    }
}
