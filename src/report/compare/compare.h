/* Compares two runs: what takes longer in the second, by how much, and whether that is more than
 * the spread of the steps explains. Called by cli/commands/cmd_compare.c with two loaded clusters,
 * which it does not change. */
#ifndef PW_REPORT_COMPARE_COMPARE_H
#define PW_REPORT_COMPARE_COMPARE_H

#include <stddef.h>
#include <stdio.h>

#include "analysis/parts.h"
#include "analysis/steptimes.h"
#include "core/cluster.h"

/* A comparison of two runs, and its rows, which are made from two loaded cluster files. */

/* ---- the parts of a run, which add up to its wall time ---- */

/* Times in ns; -1: not known. run = before + measured + unmeasured + between + after. When before
 * and after are not known, outside is their sum. */
struct pw_runparts {
    double run;        /* longest time of a rank */
    double before;     /* until the last rank began the first step */
    double measured;   /* in measured steps */
    double unmeasured; /* in warm-up steps and partial steps */
    double between;    /* between steps */
    double after;      /* since the last rank ended the last step */
    double outside;    /* before + after */
    size_t nsteps;     /* number of measured steps */
};

/* Finds the parts of the job's run. With `with_parts`, the ranks' parts (/part_trace,
 * analysis/parts.h) tell when the first step began and how long the run lasted after the last step.
 * The first step then begins when the last rank begins it, because the others wait for that rank.
 * Without `with_parts`, the first step begins with its first rank, and the time after the last step
 * is known only if recording was not paused. All other time outside steps counts as before them,
 * including the launch and the closing of the files.
 *
 * Fills walls[] and rows[] for each measured step; both have room for every row of /steps. `walls`:
 * its duration, from the end of the step before on the last rank to its own end on the last rank.
 * `rows`: its row. When clocks are not aligned, only `outside` is known of the time that is not in
 * steps. */
void pw_runparts_find(const struct pw_cluster *cluster, int with_parts, double *walls, size_t *rows,
                      struct pw_runparts *out);

/* ---- the comparison ---- */

enum pw_compare_group {
    PW_COMPARE_RUN,        /* parts of the wall time */
    PW_COMPARE_PART,       /* own time in a part of the run, of the rank that changed most */
    PW_COMPARE_STEP,       /* step time: mean, median, tail */
    PW_COMPARE_TIME,       /* means over ranks of own work, waiting, … */
    PW_COMPARE_PHASE,      /* means over ranks of own work */
    PW_COMPARE_RANK,       /* own work of a rank */
    PW_COMPARE_COLLECTIVE, /* transfer of an operation, per call */
    PW_COMPARE_OPERATOR,   /* self time, mean over ranks, per step */
    PW_COMPARE_GROUPS
};

/* A compared time in ns. It is a mean over the measured steps when there are samples. */
struct pw_compare_row {
    enum pw_compare_group group;
    int32_t rank; /* of a row about a rank; else -1 */
    char name[320];
    double a, b;             /* first and second run; -1: missing */
    size_t a_steps, b_steps; /* number of samples; 0: only a and b are known */
    double p;                /* probability of such a difference by chance; -1: not known */
};

enum pw_compare_kind {
    PW_COMPARE_UNKNOWN, /* cannot tell */
    PW_COMPARE_SAME,    /* all differences are noise, or too small to matter */
    PW_COMPARE_SLOWER,
    PW_COMPARE_FASTER
};

/* The part of the run that a difference of the wall time is in. */
enum pw_compare_place {
    PW_COMPARE_IN_STEPS,      /* all measured steps except the few */
    PW_COMPARE_IN_FEW_STEPS,  /* the few: extreme steps (pw_steppair()) */
    PW_COMPARE_IN_SLOW_STEPS, /* the slowest tenth, when the means do not differ */
    PW_COMPARE_BEFORE,        /* before the first step */
    PW_COMPARE_BETWEEN,       /* between steps */
    PW_COMPARE_AFTER,         /* after the last step */
    PW_COMPARE_OUTSIDE,       /* before or after the steps; it is not known which */
    PW_COMPARE_PLACES
};

/* A difference: time of the second run - time of the first, scaled to the steps of the second,
 * ns. */
struct pw_compare_difference {
    enum pw_compare_place place;
    double ns, p;
    int is_sure;
};

/* A part of the run outside the steps, and the rank whose own time in it changed most. a, b: its
 * own time in the two runs, ns; alike: number of ranks that changed at least half as much, of the
 * `known` ranks. */
struct pw_compare_outside {
    enum pw_part part;
    int32_t rank;
    char name[128]; /* the rank and its host */
    double a, b;
    size_t alike, known;
};

struct pw_comparison {
    struct pw_compare_row *rows; /* sorted by group. The run, its parts and its steps are in fixed
                                    order; other groups have the largest change first */
    size_t nrows;
    double threshold;   /* share by which the second run may be slower */
    char unlike[512];   /* other differences between the runs; "": none */
    char ended[2][160]; /* a sentence about the end of a run that did not end well; "": it did. The
                           time after the last step is then not compared */

    enum pw_compare_kind kind;
    char why[320];  /* reason of PW_COMPARE_UNKNOWN */
    int is_partial; /* that reason: a run was running, or most of its ranks left no usable file */
    struct pw_compare_difference differences[PW_COMPARE_PLACES]; /* sure ones first, then by size */
    size_t ndifferences;
    /* sum of the sure differences, and as a share of the first run; 0: there are none */
    double ns, share;
    double steps_share; /* the same of the steps alone, if sure; else 0 */
    struct pw_runparts parts[2];
    struct pw_parts_known parts_known;           /* parts that are known in both runs */
    struct pw_compare_outside outside[PW_PARTS]; /* one for each of these parts */
    size_t noutside;
    struct pw_steppair steps; /* valid when has_steps */
    int has_steps;
    int64_t few_step; /* number of the slowest extreme step, and the rank whose own work caused it;
                         -1: none */
    int32_t few_rank;
    size_t ranks_alike, ranks_known; /* number of ranks that changed at least half as much as the
                                        first, of all known ranks */
};

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

/* Compares two runs; `threshold` is a share, such as 0.05. Returns 0 or -ENOMEM. */
int pw_compare(const struct pw_cluster *a, const struct pw_cluster *b, double threshold,
               struct pw_comparison **out);
void pw_comparison_destroy(struct pw_comparison *comparison);

/* Returns the part and rank that explain half of a difference before or after the steps; NULL:
 * there is none. */
const struct pw_compare_outside *
pw_compare_outside_of(const struct pw_comparison *comparison,
                      const struct pw_compare_difference *difference);

/* Returns b / a - 1; NaN when one of them is missing. */
double pw_compare_change(const struct pw_compare_row *row);

/* Returns 1 when the difference is more than the spread of the steps explains. */
int pw_compare_is_significant(const struct pw_compare_row *row);

/* Returns 1 when the second run, or its steps, are significantly slower, and by more than the
 * threshold. */
int pw_compare_is_slower(const struct pw_comparison *comparison);

/* Writes the first sentence, cut to `size`; before it, how runs ended that did not end well. */
void pw_compare_headline(const struct pw_comparison *comparison, char *out, size_t size);

/* Writes the sentences after it: figures of the steps, other differences, and how long the runs
 * took; "" when nothing is known of these. */
void pw_compare_details(const struct pw_comparison *comparison, char *out, size_t size);

/* A difference that is not significant, with a smaller p than this, is neither slower nor as
 * before: the note below the tables has the limit. */
#define PW_COMPARE_UNLIKELY 0.05

/* The cells of a row of a table, between its name and its verdict. */
struct pw_compare_cells {
    char text[5][40];    /* times, the change, and p or an interval: as the columns say */
    const char *verdict; /* "slower", "faster", "not sure", "as before"; "": not tested */
};

/* Writes the cells of a row: the first and the second time, the change, and p. */
void pw_compare_cells_write(const struct pw_compare_row *row, struct pw_compare_cells *out);

/* Prints `top` rows of each group; 0: all. Returns 0, -ENOMEM or -EIO. */
int pw_compare_text(FILE *out, const struct pw_comparison *comparison, int top);
int pw_compare_json(FILE *out, const struct pw_comparison *comparison);
int pw_compare_markdown(FILE *out, const struct pw_comparison *comparison, int top);

/* One test case, which fails when pw_compare_is_slower(), and is skipped when the comparison is
 * unknown. Its output is the text report. */
int pw_compare_junit(FILE *out, const struct pw_comparison *comparison, int top);

#endif
