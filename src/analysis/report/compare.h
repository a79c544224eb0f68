/* Two runs side by side: what takes how much longer in the second, and whether that is more than
 * the spread of the steps. */
#ifndef PW_ANALYSIS_REPORT_COMPARE_H
#define PW_ANALYSIS_REPORT_COMPARE_H

#include <stddef.h>
#include <stdio.h>

#include "core/cluster.h"

enum pw_compare_group {
    PW_COMPARE_STEP,       /* step time */
    PW_COMPARE_TIME,       /* means over ranks of own work, waiting, … */
    PW_COMPARE_PHASE,      /* means over ranks of own work */
    PW_COMPARE_RANK,       /* own work of a rank */
    PW_COMPARE_COLLECTIVE, /* transfer of an operation, per call */
    PW_COMPARE_OPERATOR,   /* self time, mean over ranks, per step */
    PW_COMPARE_GROUPS
};

/* Times are ns, medians over the measured steps where there are samples, else means. */
struct pw_compare_row {
    enum pw_compare_group group;
    char name[320];
    double a, b;             /* -1: not there */
    size_t a_steps, b_steps; /* samples; 0: only the means are known */
    double p;                /* that they differ by chance; -1 without samples */
};

struct pw_comparison {
    struct pw_compare_row *rows; /* by group; in a group the largest change of time first */
    size_t nrows;
    double threshold; /* share by which B may be slower */
    char unlike[512]; /* what else differs between the runs; "" for nothing */
};

/* `threshold` as a share (0.05). 0; -ENODATA and one sentence in `problem` when one of them has no
 * measured steps; -ENOMEM. */
int pw_compare(const struct pw_cluster *a, const struct pw_cluster *b, double threshold,
               struct pw_comparison **out, char *problem, size_t size);
void pw_comparison_destroy(struct pw_comparison *comparison);

/* b / a - 1; NaN when either is not there. */
double pw_compare_change(const struct pw_compare_row *row);

/* Whether the difference is beyond what the steps' spread explains. */
int pw_compare_is_significant(const struct pw_compare_row *row);

/* Whether B's steps are significantly slower by more than the threshold. */
int pw_compare_is_slower(const struct pw_comparison *comparison);

/* The first line of the text: cut to `size`. */
void pw_compare_headline(const struct pw_comparison *comparison, char *out, size_t size);

/* `top` rows of each group, 0 for all. 0, -ENOMEM or -EIO. */
int pw_compare_text(FILE *out, const struct pw_comparison *comparison, int top);
int pw_compare_json(FILE *out, const struct pw_comparison *comparison);

#endif
