/* The windows in which the ranks recorded, joined by number. endpoints.c and selection.c ask for a
 * single rank's windows; aggregate.c writes the table, on all processes together. */
#ifndef PW_AGGREGATE_INPUT_WINDOWS_H
#define PW_AGGREGATE_INPUT_WINDOWS_H

#include "aggregate/input/job.h"
#include "aggregate/output/clusterfile.h"

/* Returns the number of the window that contains local_ns, or of the one before it; 0 when there
 * are none. */
int32_t pw_window_of(const struct pw_input *input, int64_t local_ns);

/* Returns 1 when the rank did not record all the time. */
int pw_windows_pause(const struct pw_input *input);

/* Writes /windows. Collective. */
void pw_windows_write(struct pw_clusterfile *file, const struct pw_job *job);

#endif
