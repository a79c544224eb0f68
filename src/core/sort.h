/* qsort() for any number of rows, also for 0. Used by tool code in place of qsort(); not safe
 * in-app, because qsort() may allocate. */
#ifndef PW_CORE_SORT_H
#define PW_CORE_SORT_H

#include <stdlib.h>

/* For comparators of several fields: returns when the values differ, else goes on. */
#define PW_COMPARE(a, b)               \
    do {                               \
        if ((a) != (b))                \
            return (a) < (b) ? -1 : 1; \
    } while (0)

/* qsort() must not get a NULL pointer, even for 0 rows (C11, 7.22.5). Rows that are in order
 * already are left as they are: qsort() would copy them all. */
static inline void pw_sort(void *rows, size_t n, size_t size,
                           int (*compare)(const void *, const void *))
{
    const char *row = rows;
    size_t in_order = 1;
    for (; in_order < n && compare(row, row + size) <= 0; row += size)
        in_order++;
    if (in_order < n)
        qsort(rows, n, size, compare);
}

#endif
