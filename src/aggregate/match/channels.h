/* Sends and receives find each other: the k-th send of a channel (source, destination, communicator
 * and tag, in one window of recording) meets its k-th receive. What has not met yet waits here.
 * Called by messages.c; a process has the channels of the receivers whose files it reads. No MPI,
 * no I/O. */
#ifndef PW_AGGREGATE_MATCH_CHANNELS_H
#define PW_AGGREGATE_MATCH_CHANNELS_H

#include "aggregate/match/endpoints.h"
#include "core/hash.h"

typedef void pw_channel_match(void *context, const struct pw_endpoint *send,
                              const struct pw_endpoint *receive);
typedef void pw_channel_alone(void *context, const struct pw_endpoint *endpoint, int receives);

struct pw_channels {
    pw_channel_match *match; /* called for each pair that met */
    pw_channel_alone *alone; /* and for each endpoint whose partner cannot come any more */
    void *context;
    /* A receive that ended by so much before a send began is of another, that was not recorded; ns,
     * INT64_MAX where all are. */
    int64_t impossible_ns;
    size_t waiting; /* endpoints */
    struct pw_hash by_key;
    struct pw_channel *v;
    int32_t n;
    struct pw_waiting *endpoints;
    int32_t nendpoints, first_free;
    size_t capacity, endpoints_capacity;
};

struct pw_channels pw_channels_make(pw_channel_match *match, pw_channel_alone *alone,
                                    void *context);

/* Adds the next endpoint of its channel, in the order in which a rank began them. 0 or -ENOMEM. */
int pw_channels_add(struct pw_channels *channels, const struct pw_endpoint *endpoint, int receives);

/* Rank r adds no more endpoints when ends[r] < time: what waits for one of these is alone. At
 * INT64_MAX all are. Channels in which nothing waits are forgotten. */
void pw_channels_end(struct pw_channels *channels, const int64_t *ends, int64_t time);

void pw_channels_fini(struct pw_channels *channels);

#endif
