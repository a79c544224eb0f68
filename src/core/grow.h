/* Arrays that double when they are full. For tool code only, mostly the merge, because it
 * allocates. */
#ifndef PW_CORE_GROW_H
#define PW_CORE_GROW_H

#include <stdlib.h>

/* Makes room for one more item in the array `v` of n items of `size` bytes. Returns the array,
 * whose address may have changed, and updates *capacity; NULL when memory is short: then `v` is
 * unchanged and still valid. */
static inline void *pw_grow(void *v, size_t n, size_t size, size_t *capacity)
{
    if (n < *capacity)
        return v;
    size_t larger = *capacity ? 2 * *capacity : 4;
    void *moved = realloc(v, larger * size);
    if (moved)
        *capacity = larger;
    return moved;
}

#endif
