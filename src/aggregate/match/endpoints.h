/* Reads from one rank file the endpoints of messages (sends and receives) that began in a time
 * span, in the order in which they began. Called by messages.c after the first pass over the input.
 * A damaged table ends before the damage; another pass reports the damage. No MPI. */
#ifndef PW_AGGREGATE_MATCH_ENDPOINTS_H
#define PW_AGGREGATE_MATCH_ENDPOINTS_H

#include "aggregate/input/job.h"
#include "analysis/message.h"

/* Times are ns since the job's epoch, except local_enter. */
struct pw_endpoint {
    uint64_t comm_uid;
    int32_t src, dst; /* world ranks */
    int32_t tag;
    int32_t window;     /* the recording window in which it began */
    int32_t completion; /* of a receive: the call that completed it (messagesums.h); else -1 */
    struct pw_message_end at;
    int64_t local_enter; /* on the rank's own clock */
    int64_t bytes;
};

/* An endpoint, and what else a pw_endpoint_taker needs. Times are on the rank's own clock, except
 * those in `endpoint`. */
struct pw_endpoint_read {
    struct pw_endpoint endpoint;
    int64_t begun; /* its enter, or the reader's `floor` if that is later */
    int64_t end;   /* when the call that completed it ended */
    int receives;  /* 1: a receive, 0: a send */
};

/* Called for each endpoint. */
typedef void pw_endpoint_taker(void *context, const struct pw_input *input,
                               const struct pw_endpoint_read *read);

/* The local time that was converted last, and the result. All endpoints that one call completes
 * have the same times, so most conversions repeat the last one. */
struct pw_endpoint_time {
    int64_t local, time;
};

/* Reads one input at a time. The caller sets the first four members, and 0 in all others. */
struct pw_endpoint_reader {
    const struct pw_world *world;
    pw_endpoint_taker *take; /* called for each endpoint */
    void *context;
    /* 1: only messages between two clock domains, and only when both ranks recorded all events */
    int between_domains;
    struct pw_endpoint_read *v; /* [capacity] the endpoints of the span, in file order */
    size_t n, capacity;
    struct pw_endpoint_turn *turns; /* [capacity] sort keys of `v` */
    /* The span, on the rank's own clock. An endpoint of the current block that began before `floor`
     * counts as begun at `floor`: pw_start_index_floor(). */
    int64_t from, to, floor;
    struct pw_endpoint_time leave, blocked;
    int rises;  /* 1: `v` is in order without sorting */
    int failed; /* 1: memory is short */
};

/* Calls reader->take for each endpoint whose `begun` is in [from, to), sorted by `begun`. Returns 0
 * or -ENOMEM; stops without an error where the table is damaged. */
int pw_endpoints_read(struct pw_endpoint_reader *reader, const struct pw_input *input, int64_t from,
                      int64_t to);

void pw_endpoint_reader_fini(struct pw_endpoint_reader *reader);

#endif
