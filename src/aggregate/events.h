/* Streaming over the events of a rank file, a block at a time. */
#ifndef PW_AGGREGATE_EVENTS_H
#define PW_AGGREGATE_EVENTS_H

#include "aggregate/input.h"

/* Flags of /events/comm that the merge reads; values as in rank/record.h, which writes them. */
enum {
    PW_EVENT_ERROR = 1,
    PW_EVENT_RECV_PART = 2,
    PW_EVENT_NONBLOCKING = 4,
    PW_EVENT_CANCELLED = 8,
    PW_EVENT_ROOT = 64,
};

typedef void pw_event_visitor(void *context, const struct pw_input *input,
                              const struct pw_row_comm_event *event);

/* Calls `visit` for every row of /events/comm, in file order; rows whose end is before their start
 * are left out. 0, or -errno when the table breaks off. */
int pw_events_read(const struct pw_input *input, pw_event_visitor *visit, void *context);

#endif
