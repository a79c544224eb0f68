/* Reads the events of a rank file, /events/comm, a block at a time. Called by every pass of the
 * merge over events. The first pw_events_read() of an input also builds its index (starts_after,
 * and where messages begin). Visitors get no row with an impossible time or size. No MPI. */
#ifndef PW_AGGREGATE_INPUT_EVENTS_H
#define PW_AGGREGATE_INPUT_EVENTS_H

#include "aggregate/input/input.h"

/* 1 when only the time is known at which the host requested the operation. Then its duration and
 * the rank that waited are unknown. */
static inline int pw_events_is_enqueued(const struct pw_row_comm_event *event)
{
    return event->source != PW_SOURCE_MPI && (event->flags & PW_FLAG_ENQUEUED);
}

/* The time at which the call that began the operation returned. A nonblocking operation goes on
 * after that, while the rank works. */
static inline int64_t pw_events_returned(const struct pw_row_comm_event *event)
{
    if (!(event->flags & PW_FLAG_NONBLOCKING))
        return event->end;
    int64_t waited = event->wait_start ? event->end - event->wait_start : 0;
    return event->start + event->inside_ns - waited;
}

/* Rows in a block. A chunk that profwrap wrote is a whole number of blocks. */
enum { PW_EVENT_BLOCK = 1024 };

typedef void pw_event_visitor(void *context, const struct pw_input *input,
                              const struct pw_row_comm_event *event);

/* 1 when all times and sizes of the row are within core/limits.h, else 0. */
int pw_events_are_possible(const struct pw_row_comm_event *event);

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
