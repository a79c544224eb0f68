/* Writes comma-separated values (RFC 4180). A table has the columns of its fields in
 * core/tables.def. Called by formats/export.c and by sections that write more than their tables.
 * Makes names safe to print; errors of the stream are not looked at, but left to the caller. */
#ifndef PW_REPORT_WRITING_CSV_H
#define PW_REPORT_WRITING_CSV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/cluster.h"

/* Writes a line "# name", a line of column names, and the rows. */
void pw_csv_table(FILE *out, const char *name, int table, struct pw_cluster_rows rows);

/* Write a cell: a text of at most `length` bytes, quoted, and so that no spreadsheet takes it for a
 * formula; a number, empty when it is negative or not finite. */
void pw_csv_text(FILE *out, const char *text, size_t length);
void pw_csv_real(FILE *out, double value);

/* Writes a comma, and the time if it is known. */
void pw_csv_ns(FILE *out, int64_t ns);

/* Write a comma before each: the names of a table's fields from number `first` on; the values of
 * these fields, which are all times. */
void pw_csv_names(FILE *out, int table, size_t first);
void pw_csv_times(FILE *out, int table, size_t first, const void *row);

#endif
