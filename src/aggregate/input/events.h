/* Reads the events of a rank file, /events/comm, a block at a time. Called by every pass of the
 * merge over events. The first pw_events_read() of an input also builds its index (starts_after,
 * and where messages begin). Visitors get no row with an impossible time or size. No MPI. */
#ifndef PW_AGGREGATE_INPUT_EVENTS_H
#define PW_AGGREGATE_INPUT_EVENTS_H

#include "aggregate/input/input.h"
#include "aggregate/input/job.h"

/* A table of the members of NCCL's communicators, made from all rank files together, because no
 * single file has these data: the rank of the job that each member is, and, before NCCL 2.27, the
 * size of the communicator. aggregate.c makes the table before any event is read; events.c
 * completes each event with it. */

/* Makes the table that the inputs share. Collective. Returns 0 or -ENOMEM, the same on all
 * processes. */
int pw_ncclranks_make(struct pw_job *job);

/* When a rank enters a collective of Gloo on GPU memory: Gloo copies the tensors to the host first,
 * and a copy waits for the kernels before it. aggregate.c finds these copies before any event is
 * read; events.c and gpuevents.c complete each event with them. No MPI but the agreement on memory.
 */

/* Fills input->entries of all inputs of this process. Collective. Returns 0 or -ENOMEM, the same on
 * all processes. */
int pw_hostcopies_find(struct pw_job *job);

/* Moves the start of a collective to the end of its copies, and the start of the call that waits
 * for it to the first such time. Other events stay as they are. */
void pw_hostcopies_complete(const struct pw_input *input, struct pw_row_comm_event *event);

/* Rows in a block. A chunk that profwrap wrote is a whole number of blocks. */
enum { PW_EVENT_BLOCK = 1024 };

typedef void pw_event_visitor(void *context, const struct pw_input *input,
                              const struct pw_row_comm_event *event);

/* Calls `visit` for every row of /events/comm, in file order, without rows that are impossible or
 * end before their start. Returns 0, or -errno when the table is damaged. */
int pw_events_read(struct pw_input *input, pw_event_visitor *visit, void *context);

/* The same, block by block. */
struct pw_events;

int pw_events_open(const struct pw_input *input, struct pw_events **out);
size_t pw_events_blocks(const struct pw_input *input);
int pw_events_visit(struct pw_events *events, size_t block, pw_event_visitor *visit, void *context);
void pw_events_close(struct pw_events *events);

/* Local time before which no event of block `block`, or of a later one, starts; INT64_MAX after the
 * last block. pw_events_read() must have ended before. */
int64_t pw_events_start_after(const struct pw_input *input, size_t block);

#endif
