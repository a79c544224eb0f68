/* String functions that do not use the C library. For libraries that the loader loads before all
 * others and that are linked with -nostdlib: mpi_audit.c, and capture.c with rankenv.c. Calls no
 * function, not even strcmp(). */
#ifndef PW_RANK_RUN_BARETEXT_H
#define PW_RANK_RUN_BARETEXT_H

#include <stddef.h>

/* Returns the rest of `text` after the prefix `begin`; NULL when `text` does not begin with it. */
static inline const char *pw_bare_after(const char *text, const char *begin)
{
    while (*begin && *text == *begin) {
        text++;
        begin++;
    }
    return *begin ? NULL : text;
}

static inline int pw_bare_is_same(const char *a, const char *b)
{
    const char *rest = pw_bare_after(a, b);
    return rest && !*rest;
}

/* Returns the text after the last '/'. */
static inline const char *pw_bare_base_name(const char *path)
{
    const char *name = path;
    for (; *path; path++)
        if (*path == '/')
            name = path + 1;
    return name;
}

#endif
