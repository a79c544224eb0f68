/* Who is missing in a job that hangs, by /hang: the first sentence of the reports on dumps, and a
 * line for each operation. Called by headline.c and the text report. Pure: no I/O, no allocation.
 */
#ifndef PW_REPORT_CONTENT_HANG_H
#define PW_REPORT_CONTENT_HANG_H

#include <stddef.h>

#include "core/cluster.h"
#include "core/text.h"

/* 1 when the job's files were made of dumps, which are asked who is missing, not who is slow. */
int pw_hang_is_of_dumps(const struct pw_cluster *cluster);

/* 1 when a rank is missing, or is not known to be there, in an operation of dumps, or called
 * another function than others. */
int pw_hang_has_missing(const struct pw_cluster *cluster);

/* "Rank 2 did not reach all_reduce 6 of default_pg, in which ranks 0, 1 and 3 wait."; for dumps
 * without an operation that had not ended, that no rank waits, or that this is not known. Nothing
 * for other jobs. */
void pw_hang_write(const struct pw_cluster *cluster, struct pw_sentence *sentence);

/* The rows of /hang of the operation that begins at row `first`. */
size_t pw_hang_rows(const struct pw_cluster *cluster, size_t first);

/* Writes "all_reduce 6 of default_pg" for a row. */
void pw_hang_operation(const struct pw_row_c_hang *row, struct pw_sentence *sentence);

/* Writes the ranks with this role of n rows, "ranks 0, 1 and 3"; nothing when there are none.
 * Returns how many. */
size_t pw_hang_ranks(const struct pw_row_c_hang *rows, size_t n, int role,
                     struct pw_sentence *sentence);

#endif
