/* Compares two programs over several runs of each, in pairs: the times of the second run of a pair
 * minus those of the first. So what lasts as long as a run, such as another job beside it, is
 * noise, too. Called by cli/commands/cmd_compare.c, which loads one pair after another. */
#ifndef PW_REPORT_COMPARE_COMPARE_RUNS_H
#define PW_REPORT_COMPARE_COMPARE_RUNS_H

#include <stddef.h>
#include <stdio.h>

#include "analysis/statistics.h"
#include "report/compare/compare.h"

/* The fewest pairs of which something is claimed: their interval has a confidence of 93.75 %. */
enum { PW_RUNS_LEAST = 5 };

/* A time that is compared, over the pairs in which both runs have it. Times in ns. */
struct pw_runs_row {
    enum pw_compare_group group; /* never PW_COMPARE_PART */
    int32_t rank;                /* of a row about a rank; else -1 */
    char name[320];
    size_t pairs;
    double a, b;                          /* medians of the first and of the second runs */
    struct pw_median_interval difference; /* of the pairs: second run - first run */
};

struct pw_runs_comparison {
    struct pw_runs_row *rows; /* sorted as those of struct pw_comparison */
    size_t nrows, pairs;
    double threshold; /* share by which the second runs may be slower */
    char unlike[512]; /* other differences between the runs of a pair; "": none */

    enum pw_compare_kind kind;
    char why[320];  /* reason of PW_COMPARE_UNKNOWN */
    int is_slower;  /* the second runs, or their steps, are slower by more than the threshold */
    int has_failed; /* a run failed: nothing was compared, `why` says which run */
    /* what the verdict rests on: the whole run, and the mean step; NULL: not comparable */
    const struct pw_runs_row *run, *steps;
};

struct pw_runs; /* the pairs so far */

/* Returns NULL when memory is short. `threshold` is a share, such as 0.05. */
struct pw_runs *pw_runs_create(double threshold);
void pw_runs_destroy(struct pw_runs *runs);

/* Adds a pair of runs; the clusters are not used after the call. Returns 0 or -ENOMEM. */
int pw_runs_add(struct pw_runs *runs, const struct pw_cluster *a, const struct pw_cluster *b);

/* Compares all pairs. Returns 0 or -ENOMEM. */
int pw_runs_compare(struct pw_runs *runs, struct pw_runs_comparison **out);

/* Makes a comparison that only says which run failed. Returns 0 or -ENOMEM. */
int pw_runs_failed(double threshold, const char *why, struct pw_runs_comparison **out);

void pw_runs_comparison_destroy(struct pw_runs_comparison *comparison);

/* Returns the median difference as a share of the first runs' median; NaN when that is 0. */
double pw_runs_change(const struct pw_runs_row *row);

/* Returns the sign of a difference whose interval does not hold zero; 0: it does, or there are too
 * few pairs. */
int pw_runs_sign(const struct pw_runs_row *row);

/* Writes the first sentence, cut to `size`. */
void pw_runs_headline(const struct pw_runs_comparison *comparison, char *out, size_t size);

/* As pw_compare_text() and the functions after it. */
int pw_runs_text(FILE *out, const struct pw_runs_comparison *comparison, int top);
int pw_runs_json(FILE *out, const struct pw_runs_comparison *comparison);
int pw_runs_markdown(FILE *out, const struct pw_runs_comparison *comparison, int top);

/* One test case, which fails when the comparison is_slower, has an error when it has_failed, and is
 * skipped when it is unknown. */
int pw_runs_junit(FILE *out, const struct pw_runs_comparison *comparison, int top);

#endif
