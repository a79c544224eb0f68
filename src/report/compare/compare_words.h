/* The words of a comparison's tables. Used by the files of this folder that print comparisons;
 * other files use compare.h. Writes into the caller's memory: no I/O, no allocation. */
#ifndef PW_REPORT_COMPARE_COMPARE_WORDS_H
#define PW_REPORT_COMPARE_COMPARE_WORDS_H

#include "report/compare/compare.h"

/* A difference that is not significant, with a smaller p than this, is neither slower nor as
 * before: the note below the tables has the limit. */
#define PW_COMPARE_UNLIKELY 0.05

/* The heading of a group's table. */
const char *pw_compare_title(enum pw_compare_group group);

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

/* Write "1.20 s" (of a time below 0: "n/a") and "+12.3 %" (of NaN: "n/a"). Return `out`. */
const char *pw_compare_time(char *out, size_t size, double ns);
const char *pw_compare_percent(char *out, size_t size, double share);

/* Keys of the groups in JSON, and the word for a verdict there. */
const char *pw_compare_key(enum pw_compare_group group);
const char *pw_compare_kind_name(enum pw_compare_kind kind);

#endif
