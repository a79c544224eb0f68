/* qsort() of any number of rows, none included. Used by tool code in place of qsort(). */
#ifndef PW_CORE_SORT_H
#define PW_CORE_SORT_H

#include <stdlib.h>

/* qsort() may not be given NULL, not even for no rows (C11, 7.22.5). */
static inline void pw_sort(void *rows, size_t n, size_t size,
                           int (*compare)(const void *, const void *))
{
    if (n > 1)
        qsort(rows, n, size, compare);
}

#endif
