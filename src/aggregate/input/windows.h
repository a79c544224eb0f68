/* When the ranks recorded: their windows, joined by number. endpoints.c and selection.c ask for a
 * rank's own; aggregate.c has the table written, on all processes together. */
#ifndef PW_AGGREGATE_INPUT_WINDOWS_H
#define PW_AGGREGATE_INPUT_WINDOWS_H

#include "aggregate/input/job.h"
#include "aggregate/output/clusterfile.h"

/* The window of `input` in which `local_ns` lies, or the one before it; 0 where there are none. */
int32_t pw_window_of(const struct pw_input *input, int64_t local_ns);

/* Whether anything was not recorded between the rank's first and last window, or before or after
 * them. */
int pw_windows_pause(const struct pw_input *input);

/* Writes /windows. Collective. */
void pw_windows_write(struct pw_clusterfile *file, const struct pw_job *job);

#endif
