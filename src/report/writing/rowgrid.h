/* Prints the rows of a table of the cluster file as a table of the text report: each column is a
 * field, in the format of its unit. Called by sections. Writes on the given page only. */
#ifndef PW_REPORT_WRITING_ROWGRID_H
#define PW_REPORT_WRITING_ROWGRID_H

#include "report/writing/page.h"

struct pw_rowgrid_column {
    const char *title; /* may have two lines */
    const char *field; /* of the table */
};

#define PW_COLUMNS(array) (array), sizeof(array) / sizeof((array)[0])

/* Which rows, in which order, and which columns. */
struct pw_rowgrid {
    int table; /* enum pw_table_id, of those whose rows a struct pw_cluster has */
    const struct pw_rowgrid_column *columns; /* NULL: all fields, with their names as titles */
    size_t ncolumns;
    const size_t *order; /* [count] numbers of rows; NULL: the first `count` */
    size_t count;        /* rows to print; more than page->top are not shown, and it says so */
};

/* Returns 0 or -ENOMEM. */
int pw_rowgrid_print(const struct pw_page *page, const struct pw_rowgrid *rows);

/* All rows of a table, all columns. */
int pw_rowgrid_print_all(const struct pw_page *page, int table);

#endif
