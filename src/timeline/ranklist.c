/* Reads lists of ranks; see ranklist.h. */
#include "timeline/ranklist.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number below n; NULL when there is none. */
static const char *read_rank(const char *at, size_t n, size_t *rank)
{
    if (!isdigit((unsigned char)*at))
        return NULL;
    char *end;
    unsigned long number = strtoul(at, &end, 10);
    *rank = number;
    return number < n ? end : NULL;
}

char *pw_ranklist_parse(const char *list, size_t n, char *problem, size_t size)
{
    char *wanted = calloc(n + 1, 1);
    problem[0] = '\0';
    if (!wanted)
        return NULL;
    if (!list[0])
        memset(wanted, 1, n);
    const char *at = list;
    while (at && *at) {
        size_t first, last;
        at = read_rank(at, n, &first);
        last = first;
        if (at && *at == '-')
            at = read_rank(at + 1, n, &last);
        if (!at || last < first || (*at && *at != ',') || (*at == ',' && !at[1])) {
            at = NULL;
            break;
        }
        memset(wanted + first, 1, last - first + 1);
        at += *at == ',';
    }
    if (at)
        return wanted;
    snprintf(problem, size, "--ranks is '%.60s', but takes ranks 0 to %zu, such as 0-3,7", list,
             n ? n - 1 : 0);
    free(wanted);
    return NULL;
}
