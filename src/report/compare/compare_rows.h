/* Makes the rows of a comparison from two loaded cluster files. Shared by compare.c and
 * compare_rows.c only; other files use compare.h. Prints nothing. */
#ifndef PW_REPORT_COMPARE_COMPARE_ROWS_H
#define PW_REPORT_COMPARE_COMPARE_ROWS_H

#include "report/compare/compare.h"

/* A comparison while it is built. Arrays of two have the first run at index 0. */
struct pw_compare_building {
    const struct pw_cluster *runs[2];
    struct pw_comparison *out; /* `parts` and `steps` are filled before the rows */
    double *walls[2];          /* [measured steps] from pw_runparts_find() */
    size_t *rows[2];
    double *values[2]; /* room for a value of each measured step */
    size_t nvalues[2], capacity;
    int error;
};

/* Writes "rank 3 (node-a)" or "rank 3 (node-a, then node-b)"; first and second are rows of /ranks
 * in the two runs. */
void pw_compare_rank_name(const struct pw_compare_building *b, size_t first, size_t second,
                          char *out, size_t size);

/* Fills b->out->outside. */
void pw_compare_find_outside(struct pw_compare_building *b);

/* Adds all rows to b->out. Returns 0 or -ENOMEM. */
int pw_compare_rows(struct pw_compare_building *b);

#endif
