/* Reads the events of a rank file, /events/comm, a block at a time. Called by every pass of the
 * merge over events. The first pw_events_read() of an input also builds its index (starts_after,
 * and where messages begin). Visitors get no row with an impossible time or size. No MPI. */
#ifndef PW_AGGREGATE_INPUT_EVENTS_H
#define PW_AGGREGATE_INPUT_EVENTS_H

#include "aggregate/input/input.h"

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
