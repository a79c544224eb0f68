/* Matches sends and receives: the k-th send of a channel (source, destination, communicator and
 * tag, in one window of recording) with its k-th receive. Endpoints without a partner so far wait
 * here. Called by messages.c; a process has the channels of the receivers whose files it reads. No
 * MPI, no I/O. */
#ifndef PW_AGGREGATE_MATCH_CHANNELS_H
#define PW_AGGREGATE_MATCH_CHANNELS_H

#include "aggregate/match/endpoints.h"
#include "core/hash.h"

typedef void pw_channel_match(void *context, const struct pw_endpoint *send,
                              const struct pw_endpoint *receive);
typedef void pw_channel_alone(void *context, const struct pw_endpoint *endpoint, int receives);

struct pw_channels {
    pw_channel_match *match; /* called for each matched pair */
    pw_channel_alone *alone; /* called for each endpoint whose partner can no longer come */
    void *context;
    /* A receive that ended by more than this before the send began belongs to another send, which
     * was not recorded; ns. INT64_MAX: all sends were recorded. */
    int64_t impossible_ns;
    size_t waiting; /* number of endpoints that wait */
    struct pw_hash by_key;
    struct pw_channel *v;
    int32_t n;
    struct pw_waiting *endpoints;
    int32_t nendpoints, first_free;
    size_t capacity, endpoints_capacity;
};

struct pw_channels pw_channels_make(pw_channel_match *match, pw_channel_alone *alone,
                                    void *context);

/* Adds the next endpoint of its channel. The endpoints of a rank are added in the order of their
 * starts. Returns 0 or -ENOMEM. */
int pw_channels_add(struct pw_channels *channels, const struct pw_endpoint *endpoint, int receives);

/* A rank r with ends[r] < time adds no more endpoints. Calls `alone` for each endpoint that waits
 * for such a rank; with time INT64_MAX, for each endpoint that waits. Then deletes empty
 * channels. */
void pw_channels_end(struct pw_channels *channels, const int64_t *ends, int64_t time);

void pw_channels_fini(struct pw_channels *channels);

#endif
