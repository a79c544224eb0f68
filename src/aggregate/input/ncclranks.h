/* A table of the members of NCCL's communicators, made from all rank files together, because no
 * single file has these data: the rank of the job that each member is, and, before NCCL 2.27, the
 * size of the communicator. aggregate.c makes the table before any event is read; events.c
 * completes each event with it. */
#ifndef PW_AGGREGATE_INPUT_NCCLRANKS_H
#define PW_AGGREGATE_INPUT_NCCLRANKS_H

#include "aggregate/input/job.h"

/* Makes the table that the inputs share. Collective. Returns 0 or -ENOMEM, the same on all
 * processes. */
int pw_ncclranks_make(struct pw_job *job);

/* Completes an event: the peer becomes a rank of the job (-1 when that rank has no file), and bytes
 * that depend on the size of the communicator are set. */
void pw_ncclranks_complete(const struct pw_input *input, struct pw_row_comm_event *event);

#endif
