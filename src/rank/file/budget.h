/* Limits the memory of a rank's collector for tables that grow with the program: names, call
 * stacks, communicators. Charged by the tables of rank/file and by the tool halves of modules.
 * An item that does not fit is refused and counted. Tool code, one thread. */
#ifndef PW_RANK_FILE_BUDGET_H
#define PW_RANK_FILE_BUDGET_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct pw_budget {
    int64_t limit_bytes; /* 0: none */
    int64_t used_bytes;
    int64_t refused; /* items that were not stored */
};

/* Returns 1 and counts the bytes when `bytes` more are allowed; else 0, and counts a refused
 * item. */
static inline int pw_budget_take(struct pw_budget *budget, int64_t bytes)
{
    if (budget->limit_bytes && bytes > budget->limit_bytes - budget->used_bytes) {
        budget->refused++;
        return 0;
    }
    budget->used_bytes += bytes;
    return 1;
}

static inline void pw_budget_give(struct pw_budget *budget, int64_t bytes)
{
    budget->used_bytes -= bytes;
}

/* Makes room for item `index` in the array `v` of *capacity items of `size` bytes; new items are
 * zero. Returns the array; NULL when the budget or memory is short: then `v` is unchanged. */
static inline void *pw_budget_grow(struct pw_budget *budget, void *v, size_t size, uint32_t index,
                                   uint32_t *capacity)
{
    if (index < *capacity)
        return v;
    enum { AT_FIRST = 16 };
    uint64_t larger = *capacity ? *capacity : AT_FIRST;
    while (larger <= index)
        larger *= 2;
    const size_t more = (size_t)(larger - *capacity) * size;
    if (larger > UINT32_MAX || !pw_budget_take(budget, (int64_t)more))
        return NULL;
    char *moved = realloc(v, (size_t)larger * size);
    if (!moved) {
        pw_budget_give(budget, (int64_t)more);
        return NULL;
    }
    memset(moved + *capacity * size, 0, more);
    *capacity = (uint32_t)larger;
    return moved;
}

#endif
