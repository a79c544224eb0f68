/* The windows in which the ranks recorded, joined by number. aggregate.c writes the table, on all
 * processes together; those of a single rank are in input.h. */
#ifndef PW_AGGREGATE_INPUT_WINDOWS_H
#define PW_AGGREGATE_INPUT_WINDOWS_H

#include "aggregate/input/job.h"
#include "aggregate/output/clusterfile.h"

/* Writes /windows. Collective. */
void pw_windows_write(struct pw_clusterfile *file, const struct pw_job *job);

#endif
