/* Folded stacks (Brendan Gregg's format) from the call paths of operators. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/content/operatorlist.h"
#include "report/report.h"

/* In the format a semicolon ends a frame, and a line a path. */
static void print_path(FILE *out, const struct pw_cluster *c, int32_t row, char *path, size_t size)
{
    static const char mark[] = "\x1f"; /* no name has it: they are printable */
    pw_operators_path(c, row, mark, path, size);
    for (char *at = path; *at; at++)
        *at = *at == ';' ? ':' : *at == mark[0] ? ';' : *at;
    fputs(path, out);
}

int pw_report_folded(FILE *out, const struct pw_cluster *c, const struct pw_report_options *options)
{
    enum { PATH_BYTES = 1 << 16 };
    char *path = malloc(PATH_BYTES);
    (void)options;
    if (!path)
        return -ENOMEM;
    for (size_t i = 0; i < c->noperator_stacks; i++) {
        int64_t us = c->operator_stacks[i].exclusive_ns / 1000;
        if (us <= 0)
            continue;
        print_path(out, c, (int32_t)i, path, PATH_BYTES);
        fprintf(out, " %" PRId64 "\n", us);
    }
    free(path);
    return ferror(out) ? -EIO : 0;
}
