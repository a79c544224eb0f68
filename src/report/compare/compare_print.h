/* The words of a comparison's tables. Used by compare_print.c and by tests; other files use
 * compare.h. Writes into the caller's memory: no I/O, no allocation. */
#ifndef PW_COMPARE_PRINT_H
#define PW_COMPARE_PRINT_H

#include "report/compare/compare.h"

/* The words of a comparison's tables. Writes into the caller's memory: no I/O, no allocation. */

/* A difference that is not significant, with a smaller p than this, is neither slower nor as
 * before: the note below the tables has the limit. */
#define PW_COMPARE_UNLIKELY 0.05

/* What the column "p" means, below the tables. */
extern const char pw_compare_note[];

struct pw_compare_cells {
    char first[32], second[32]; /* times, such as "1.20 s"; "n/a": not known */
    char change[32];            /* such as "+12.3 %" */
    char chance[32];            /* p */
    const char *verdict;        /* "slower", "faster", "not sure", "as before"; "": not tested */
};

/* Writes the cells of a row, without its name. */
void pw_compare_cells_write(const struct pw_compare_row *row, struct pw_compare_cells *out);

#endif
