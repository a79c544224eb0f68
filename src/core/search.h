/* Binary search in rows that are sorted by one of their numbers. Pure functions, inlined into the
 * loops that search; used by the merge and the analyses. */
#ifndef PW_CORE_SEARCH_H
#define PW_CORE_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The field by which the rows are sorted: an int64_t or int32_t of each row. */
struct pw_search_key {
    size_t row_size, offset, size;
};

#define PW_SEARCH_KEY(type, member) \
    ((struct pw_search_key){sizeof(type), offsetof(type, member), sizeof(((type *)0)->member)})

static inline int64_t pw_search_number(const void *rows, size_t i, struct pw_search_key key)
{
    const char *at = (const char *)rows + i * key.row_size + key.offset;
    int32_t narrow;
    int64_t wide;
    if (key.size == sizeof(narrow)) {
        memcpy(&narrow, at, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, at, sizeof(wide));
    return wide;
}

/* Returns the index of the first of n rows whose number is at least `least`; n when there is
 * none. */
static inline size_t pw_search(const void *rows, size_t n, struct pw_search_key key, int64_t least)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pw_search_number(rows, middle, key) < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns how many of n rows have a number of at most `most`; these are the first rows. */
static inline size_t pw_search_until(const void *rows, size_t n, struct pw_search_key key,
                                     int64_t most)
{
    return most == INT64_MAX ? n : pw_search(rows, n, key, most + 1);
}

#endif
