/* Texts without the C library: what libraries that the loader takes in before everything else
 * (mpi_audit.c, capture.c with rankenv.c) compare names with. Calls nothing, also no strcmp(): they
 * are linked with -nostdlib. */
#ifndef PW_RANK_RUN_BARETEXT_H
#define PW_RANK_RUN_BARETEXT_H

#include <stddef.h>

/* The rest of `text` behind `begin`, or NULL. */
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

/* What is behind the last '/'. */
static inline const char *pw_bare_base_name(const char *path)
{
    const char *name = path;
    for (; *path; path++)
        if (*path == '/')
            name = path + 1;
    return name;
}

#endif
