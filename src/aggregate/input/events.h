/* The events of a rank file, /events/comm, a block at a time. Called by every pass of the merge
 * over them. The first pw_events_read() of an input notes what the matching of messages and the
 * trace of the rank need. Visitors get no row with an impossible time or size. No MPI. */
#ifndef PW_AGGREGATE_INPUT_EVENTS_H
#define PW_AGGREGATE_INPUT_EVENTS_H

#include "aggregate/input/input.h"

/* Whether the event has only the times at which the host requested it: then neither how long it
 * took is known, nor which rank waited. */
static inline int pw_events_is_enqueued(const struct pw_row_comm_event *event)
{
    return event->source != PW_SOURCE_MPI && (event->flags & PW_FLAG_ENQUEUED);
}

/* When the call that began the operation returned; the rest of a nonblocking one goes on while the
 * rank does other work. */
static inline int64_t pw_events_returned(const struct pw_row_comm_event *event)
{
    if (!(event->flags & PW_FLAG_NONBLOCKING))
        return event->end;
    int64_t waited = event->wait_start ? event->end - event->wait_start : 0;
    return event->start + event->inside_ns - waited;
}

/* Rows of a block: a whole number of them are in a chunk as this program writes it. */
enum { PW_EVENT_BLOCK = 1024 };

typedef void pw_event_visitor(void *context, const struct pw_input *input,
                              const struct pw_row_comm_event *event);

/* 0 when a time or size of the row is beyond what core/limits.h allows. */
int pw_events_are_possible(const struct pw_row_comm_event *event);

/* Calls `visit` for every row of /events/comm, in file order; rows whose end is before their start,
 * or that are not possible, are left out. The first time, it notes in the input when what follows
 * each block starts, and where messages begin. 0, or -errno when the table breaks off. */
int pw_events_read(struct pw_input *input, pw_event_visitor *visit, void *context);

/* The same block by block, for passes that must do something between blocks. */
struct pw_events;

int pw_events_open(const struct pw_input *input, struct pw_events **out);
size_t pw_events_blocks(const struct pw_input *input);
int pw_events_visit(struct pw_events *events, size_t block, pw_event_visitor *visit, void *context);
void pw_events_close(struct pw_events *events);

/* Local time before which no event of block `block` or after it starts; pw_events_read() must have
 * been through. INT64_MAX behind the last. */
int64_t pw_events_start_after(const struct pw_input *input, size_t block);

#endif
