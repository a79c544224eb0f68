/* The endpoints of messages, sends and receives, as a rank file has them: those that were begun in
 * a span of time, in the order in which they were begun. Called by messages.c, for inputs whose
 * first pass is done. A damaged table ends early; another pass notes the damage. No MPI. */
#ifndef PW_AGGREGATE_MATCH_ENDPOINTS_H
#define PW_AGGREGATE_MATCH_ENDPOINTS_H

#include "aggregate/input/job.h"
#include "analysis/message.h"

/* Times are ns since the job's epoch but for local_enter. */
struct pw_endpoint {
    uint64_t comm_uid;
    int32_t src, dst; /* world ranks */
    int32_t tag;
    int32_t window;     /* of recording, in which it began */
    int32_t completion; /* of a receive: of the call that completed it (messagesums.h) */
    struct pw_message_end at;
    int64_t local_enter; /* of the rank's own clock */
    int64_t bytes;
};

/* An endpoint as it is read; local times of its rank. */
struct pw_endpoint_read {
    struct pw_endpoint endpoint;
    int64_t begun; /* it counts as begun then; mostly its enter (startindex.h) */
    int64_t end;   /* of the call that completed it */
    int receives;
};

typedef void pw_endpoint_taker(void *context, const struct pw_input *input,
                               const struct pw_endpoint_read *read);

/* A local time that was converted last: what one call completes has its times in common. */
struct pw_endpoint_time {
    int64_t local, time;
};

/* Endpoints of one span, in the order of their rows; an input's at a time. The first four members
 * are the caller's. */
struct pw_endpoint_reader {
    const struct pw_world *world;
    pw_endpoint_taker *take; /* gets the endpoints */
    void *context;
    int between_domains; /* 1: those of messages between clock domains only, all of them recorded */
    struct pw_endpoint_read *v;
    size_t n, capacity;
    struct pw_endpoint_turn *turns; /* [capacity] in which they were begun */
    int64_t from, to, floor;
    struct pw_endpoint_time leave, blocked;
    int rises, failed;
};

/* Calls reader->take for the endpoints that count as begun in [from, to), in that order. 0 or
 * -ENOMEM; where the table is damaged, it ends. */
int pw_endpoints_read(struct pw_endpoint_reader *reader, const struct pw_input *input, int64_t from,
                      int64_t to);

void pw_endpoint_reader_fini(struct pw_endpoint_reader *reader);

#endif
