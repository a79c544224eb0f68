/* The rows of a comparison, from two loaded cluster files. Between compare.c and compare_rows.c
 * only; others use compare.h. Prints nothing. */
#ifndef PW_REPORT_COMPARE_COMPARE_ROWS_H
#define PW_REPORT_COMPARE_COMPARE_ROWS_H

#include "report/compare/compare.h"

/* A comparison while it is built; arrays of two have the first run at index 0. */
struct pw_compare_building {
    const struct pw_cluster *runs[2];
    struct pw_comparison *out; /* parts and steps are known */
    double *walls[2];          /* per measured step, as from pw_runparts_find() */
    size_t *rows[2];
    double *values[2]; /* room for a value per measured step */
    size_t nvalues[2], capacity;
    int error;
};

/* "rank 3 (node-a)", "rank 3 (node-a, then node-b)", from one row of /ranks in each run. */
void pw_compare_rank_name(const struct pw_compare_building *b, size_t first, size_t second,
                          char *out, size_t size);

/* Fills b->out->outside. */
void pw_compare_find_outside(struct pw_compare_building *b);

/* Adds all rows to b->out. 0 or -ENOMEM. */
int pw_compare_rows(struct pw_compare_building *b);

#endif
