/* Arrays that double when they are full. For tool code only, mostly the merge, because it
 * allocates. */
#ifndef PW_CORE_GROW_H
#define PW_CORE_GROW_H

#include <stdlib.h>

/* The array `v` of n items of `size` bytes, with room for one more; its address may change, and
 * *capacity with it. NULL when memory is short: then the array is as it was. */
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
