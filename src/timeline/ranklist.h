/* Lists of ranks as users write them: "0-3,7". */
#ifndef PW_TIMELINE_RANKLIST_H
#define PW_TIMELINE_RANKLIST_H

#include <stddef.h>

/* Whether each of n ranks is in the list; all are in "". The caller frees it. NULL when memory is
 * short, or the list is none or names a rank that there is not: then `problem` says which. */
char *pw_ranklist_parse(const char *list, size_t n, char *problem, size_t size);

#endif
