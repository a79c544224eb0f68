/* What NCCL does not say in a rank's own file, and all files say together: which rank of the job
 * each rank of a communicator is, and, before NCCL 2.27, how many there are. aggregate.c makes the
 * table before any event is read; events.c completes each event with it. */
#ifndef PW_AGGREGATE_INPUT_NCCLRANKS_H
#define PW_AGGREGATE_INPUT_NCCLRANKS_H

#include "aggregate/input/job.h"

/* Makes the table that the inputs share. Collective. 0 or -ENOMEM, the same on all processes. */
int pw_ncclranks_make(struct pw_job *job);

/* Fills in what was not known when the event was written: its peer becomes a rank of the job, -1
 * where that rank has no file; and bytes that grow with the size of the communicator. */
void pw_ncclranks_complete(const struct pw_input *input, struct pw_row_comm_event *event);

#endif
