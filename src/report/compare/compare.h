/* Two runs side by side: what takes how much longer in the second, and whether that is more than
 * the spread of the steps. Called by cli/cmd_compare.c with two loaded clusters, which it does not
 * change. */
#ifndef PW_REPORT_COMPARE_COMPARE_H
#define PW_REPORT_COMPARE_COMPARE_H

#include <stddef.h>
#include <stdio.h>

#include "analysis/parts.h"
#include "analysis/steptimes.h"
#include "core/cluster.h"

/* The wall time of a run in parts that add up to it. */

/* Times are ns, -1 where they are not known. run = before + measured + unmeasured + between +
 * after, where before and after are known, else outside is their sum. */
struct pw_runparts {
    double run;        /* longest time of a rank */
    double before;     /* until the last rank began the first step */
    double measured;   /* in measured steps */
    double unmeasured; /* in steps that warm up or were recorded in part */
    double between;    /* between steps */
    double after;      /* since the last rank ended the last step */
    double outside;    /* before and after */
    size_t nsteps;     /* measured ones */
};

/* Finds the parts of the job's run; those of each rank's run are in /part_trace (analysis/parts.h).
 * With `with_parts` these say when the first step began (when its last rank began it, because the
 * others wait for that rank) and how long the run went on after the last step. Without, the first
 * step begins with its first rank, and the time after the last step is known only when the run was
 * recorded without a pause, so that its window ends with the program. All other time outside steps
 * counts as before them, with the launch and the closing of the files.
 *
 * `walls` and `rows` have room for every row of /steps: of each measured step its duration (how
 * much longer than the one before the last rank took to end it), and its row. Where clocks are not
 * aligned only the sum of what is not in steps is known, as `outside`. */
void pw_runparts_find(const struct pw_cluster *cluster, int with_parts, double *walls, size_t *rows,
                      struct pw_runparts *out);

/* The comparison. */

enum pw_compare_group {
    PW_COMPARE_RUN,        /* parts of the wall time */
    PW_COMPARE_PART,       /* own time in a part of the run of the rank that changed most */
    PW_COMPARE_STEP,       /* step time: mean, median, tail */
    PW_COMPARE_TIME,       /* means over ranks of own work, waiting, … */
    PW_COMPARE_PHASE,      /* means over ranks of own work */
    PW_COMPARE_RANK,       /* own work of a rank */
    PW_COMPARE_COLLECTIVE, /* transfer of an operation, per call */
    PW_COMPARE_OPERATOR,   /* self time, mean over ranks, per step */
    PW_COMPARE_GROUPS
};

/* Times are ns: of the run, means over the measured steps where there are samples, else means. */
struct pw_compare_row {
    enum pw_compare_group group;
    int32_t rank; /* of a row of ranks, else -1 */
    char name[320];
    double a, b;             /* -1: not there */
    size_t a_steps, b_steps; /* samples; 0: only what is in a and b is known */
    double p;                /* that they differ by chance; -1 not known */
};

enum pw_compare_kind {
    PW_COMPARE_UNKNOWN, /* cannot tell */
    PW_COMPARE_SAME,    /* no difference that is more than noise, and not too small to matter */
    PW_COMPARE_SLOWER,
    PW_COMPARE_FASTER
};

/* Where a difference of the wall time is. */
enum pw_compare_place {
    PW_COMPARE_IN_STEPS,      /* all measured steps but the few */
    PW_COMPARE_IN_FEW_STEPS,  /* steps so long that nothing else is like them */
    PW_COMPARE_IN_SLOW_STEPS, /* the slowest tenth, where the mean says nothing */
    PW_COMPARE_BEFORE,        /* before the first step */
    PW_COMPARE_BETWEEN,       /* between steps */
    PW_COMPARE_AFTER,         /* after the last step */
    PW_COMPARE_OUTSIDE,       /* before and after, where it is not known which */
    PW_COMPARE_PLACES
};

/* What differs there: ns of the second run less the first's, at as many steps as the second. */
struct pw_compare_difference {
    enum pw_compare_place place;
    double ns, p;
    int is_sure;
};

/* A part of the run outside steps: the rank whose own time in it (not waiting for others) changed
 * most, in ns, and for how many ranks it changed by half as much or more. */
struct pw_compare_outside {
    enum pw_part part;
    int32_t rank;
    char name[128]; /* the rank and its host */
    double a, b;
    size_t alike, known;
};

struct pw_comparison {
    struct pw_compare_row *rows; /* by group; the run, its parts and its steps in order, in the
                                    other groups the largest change of time first */
    size_t nrows;
    double threshold; /* share by which B may be slower */
    char unlike[512]; /* what else differs between the runs; "" for nothing */

    enum pw_compare_kind kind;
    char why[320]; /* of `unknown` */
    struct pw_compare_difference
        differences[PW_COMPARE_PLACES]; /* the largest first, sure ones before */
    size_t ndifferences;
    double ns, share;   /* all sure differences, and their share of the first run; 0 for none */
    double steps_share; /* of the steps alone, where that is sure, else 0 */
    struct pw_runparts parts[2];
    struct pw_parts_known parts_known;           /* in both runs */
    struct pw_compare_outside outside[PW_PARTS]; /* of the parts that are known in both */
    size_t noutside;
    struct pw_steppair steps; /* where has_steps */
    int has_steps;
    int64_t few_step; /* number of the slowest of the few steps, and the rank whose own work makes
                         it so long; -1: none */
    int32_t few_rank;
    size_t ranks_alike,
        ranks_known; /* rows of ranks that changed half as much as the first or more */
};

/* `threshold` as a share (0.05). 0 or -ENOMEM. */
int pw_compare(const struct pw_cluster *a, const struct pw_cluster *b, double threshold,
               struct pw_comparison **out);
void pw_comparison_destroy(struct pw_comparison *comparison);

/* The rank whose time explains half of a difference before or after the steps; NULL: no rank's
 * does. */
const struct pw_compare_outside *
pw_compare_outside_of(const struct pw_comparison *comparison,
                      const struct pw_compare_difference *difference);

/* b / a - 1; NaN when either is not there. */
double pw_compare_change(const struct pw_compare_row *row);

/* Whether the difference is beyond what the steps' spread explains. */
int pw_compare_is_significant(const struct pw_compare_row *row);

/* Whether B is slower than noise explains, and by more than the threshold: the run, or its steps.
 */
int pw_compare_is_slower(const struct pw_comparison *comparison);

/* The first line of the text: cut to `size`. */
void pw_compare_headline(const struct pw_comparison *comparison, char *out, size_t size);

/* `top` rows of each group, 0 for all. 0, -ENOMEM or -EIO. */
int pw_compare_text(FILE *out, const struct pw_comparison *comparison, int top);
int pw_compare_json(FILE *out, const struct pw_comparison *comparison);

#endif
