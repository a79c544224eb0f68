/* Compares two runs: what takes longer in the second, by how much, and whether that is more than
 * the spread of the steps explains. Called by cli/commands/cmd_compare.c with two loaded clusters,
 * which it does not change. */
#ifndef PW_REPORT_COMPARE_COMPARE_H
#define PW_REPORT_COMPARE_COMPARE_H

#include <stdio.h>

#include "report/compare/compare_rows.h"

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

/* Prints `top` rows of each group; 0: all. Returns 0, -ENOMEM or -EIO. */
int pw_compare_text(FILE *out, const struct pw_comparison *comparison, int top);
int pw_compare_json(FILE *out, const struct pw_comparison *comparison);
int pw_compare_markdown(FILE *out, const struct pw_comparison *comparison, int top);

/* One test case, which fails when pw_compare_is_slower(), and is skipped when the comparison is
 * unknown. Its output is the text report. */
int pw_compare_junit(FILE *out, const struct pw_comparison *comparison, int top);

#endif
