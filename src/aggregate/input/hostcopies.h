/* When a rank enters a collective of Gloo on GPU memory: Gloo copies the tensors to the host first,
 * and a copy waits for the kernels before it. aggregate.c finds these copies before any event is
 * read; events.c and gpuevents.c complete each event with them. No MPI but the agreement on memory.
 */
#ifndef PW_AGGREGATE_INPUT_HOSTCOPIES_H
#define PW_AGGREGATE_INPUT_HOSTCOPIES_H

#include "aggregate/input/job.h"

/* Fills input->entries of all inputs of this process. Collective. Returns 0 or -ENOMEM, the same on
 * all processes. */
int pw_hostcopies_find(struct pw_job *job);

/* Moves the start of a collective to the end of its copies, and the start of the call that waits
 * for it to the first such time. Other events stay as they are. */
void pw_hostcopies_complete(const struct pw_input *input, struct pw_row_comm_event *event);

#endif
