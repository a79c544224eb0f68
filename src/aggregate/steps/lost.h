/* When records of a rank were lost, so that nothing can be said of what it did meanwhile. */
#ifndef PW_AGGREGATE_STEPS_LOST_H
#define PW_AGGREGATE_STEPS_LOST_H

#include "aggregate/input/job.h"
#include "aggregate/steps/spans.h"

/* Spans of local time, joined, in which records of these kinds were lost, a bit each:
 * 1U << enum pw_lost. Calls of threads without a ring are no gap in what the others recorded. */
void pw_lost_find(const struct pw_input *input, unsigned kinds, struct pw_spans *out);

/* The same of what says how long it worked: communication and steps; and where a rank says amounts
 * of work, but of no step all of them, whatever may have been some. */
void pw_lost_find_work(const struct pw_input *input, struct pw_spans *out);

/* Whether any of them lies in the window. */
int pw_lost_in(struct pw_spans *lost, const struct pw_row_step *step);

/* Once the bins of a rank are made: those with lost records become unknown. */
void pw_lost_clear_bins(const struct pw_spans *lost, const struct pw_input *input,
                        const struct pw_world *world, struct pw_row_c_bin_trace *bins);

#endif
