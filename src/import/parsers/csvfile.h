/* A file of comma-separated values with a head: its rows one by one, cells by the names of columns.
 * Read by ascend.c and mindinsight*.c. Cells may be quoted, and hold line breaks then. No
 * row is kept, and no cell is looked at here. */
#ifndef PW_IMPORT_CSVFILE_H
#define PW_IMPORT_CSVFILE_H

#include <stddef.h>

/* Limits: columns, and bytes of a row. */
enum { PW_CSV_COLUMNS = 4096, PW_CSV_ROW = 64 << 20 };

/* The cells of a row; without white space around them. Good until the call returns. */
struct pw_csv_row {
    const char *names[PW_CSV_COLUMNS], *cells[PW_CSV_COLUMNS];
    size_t n; /* as many as the head has; those that the row lacks are "" */
};

/* "" when there is no such column. */
const char *pw_csv_cell(const struct pw_csv_row *row, const char *name);

/* Calls `take` for each row; it answers 0, or -errno. 0, also for a file that has a head only, or
 * -errno: it cannot be read, or a row has more than PW_CSV_ROW bytes, or its head more than
 * PW_CSV_COLUMNS (-EINVAL); its head lacks this column (-ENOTSUP); it is empty, or its last row has
 * no line break and may have lost its end (-ENODATA: the row is left out). */
int pw_csv_read(const char *path, const char *column,
                int (*take)(void *context, const struct pw_csv_row *row), void *context);

/* Returns the words for such an error, which follow those that name the file. */
const char *pw_csv_error(int err);

#endif
