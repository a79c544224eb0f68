/* Writes the report for other programs: the sections as comma-separated values, and the call paths
 * of operators as folded stacks (Brendan Gregg's format). Called through report.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/content/onefigures.h"
#include "report/content/operatorlist.h"
#include "report/report.h"
#include "report/sections/section.h"
#include "report/writing/csv.h"

/* The first table of a section has the section's name, the others their own. */
static int put_section(FILE *out, const struct pw_section *section, const struct pw_figures *f,
                       const struct pw_report_options *options)
{
    for (size_t i = 0; section->tables[i]; i++) {
        const int table = section->tables[i];
        pw_csv_table(out, i ? pw_table_borrow(table)->path + 1 : section->name, table,
                     pw_cluster_rows(f->cluster, table));
    }
    return section->csv ? section->csv(out, f, options) : 0;
}

int pw_report_csv(FILE *out, const struct pw_cluster *c, const struct pw_report_options *options)
{
    struct pw_onefigures one;
    int err = pw_onefigures_take(c, options, &one);
    if (err)
        return err;
    for (size_t i = 0; pw_sections[i] && !err; i++)
        if (pw_section_is_wanted(pw_sections[i], options->sections))
            err = put_section(out, pw_sections[i], one.figures, options);
    pw_onefigures_release(&one);
    return err ? err : ferror(out) ? -EIO : 0;
}

/* Writes a path. In this format a semicolon ends a frame and a newline ends a path, so both are
 * replaced in names. */
static void print_path(FILE *out, const struct pw_cluster *c, int32_t row, char *path, size_t size)
{
    static const char mark[] = "\x1f"; /* separates names; printable names do not contain it */
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
