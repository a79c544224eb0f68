/* Matches point-to-point messages across ranks, and sums them up for each pair of ranks. A send and
 * a receive with the same communicator, source, destination and tag match in the order in which
 * they started, as MPI guarantees. Called on all processes together: by alignment.c to visit
 * messages before clocks are aligned, and by aggregate.c to match and sum them up. Memory holds the
 * sends and receives of one round of time only. */
#ifndef PW_AGGREGATE_MATCH_MESSAGES_H
#define PW_AGGREGATE_MATCH_MESSAGES_H

#include "aggregate/input/job.h"
#include "aggregate/match/endpoints.h"
#include "aggregate/match/graphparts.h"
#include "aggregate/match/messagesums.h"
#include "core/hash.h"

/* Matches sends and receives: the k-th send of a channel (source, destination, communicator and
 * tag, in one window of recording) with its k-th receive. Endpoints without a partner so far wait
 * here. No MPI, no I/O. */

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

/* Matches all messages, and adds them to `graph`. Collective over job->comm. Returns 0 or -ENOMEM,
 * the same on all processes. */
int pw_messages_match(struct pw_messages *messages, struct pw_job *job,
                      struct pw_graph_parts *graph);

/* Called for a message, with world ranks, the enter of its send, and the end of its receive. */
typedef void pw_message_visitor(void *context, int32_t src, int32_t dst, int64_t send_enter_ns,
                                int64_t receive_leave_ns);

/* Matches messages and keeps nothing: each process visits the messages between clock domains whose
 * receiver's file it reads, except those of ranks that lost events. Times are mapped by the inputs'
 * present clock maps, since the job's epoch. Collective. Returns 0 or -ENOMEM. */
int pw_messages_visit(struct pw_job *job, pw_message_visitor *visit, void *context);

void pw_messages_fini(struct pw_messages *messages);

/* ---- rows of /p2p and /links ---- */

/* Filled on process 0, empty on the others. */
struct pw_pairs {
    struct pw_row_c_p2p *rows;
    struct pw_row_c_link *links;
    size_t n, nlinks;
};

/* Gathers the pairs, and makes the rows. Each pair is on one process, which reads the receiver's
 * file. Collective. Returns 0 or -ENOMEM, the same on all processes. */
int pw_pairs_make(struct pw_pairs *pairs, const struct pw_job *job,
                  const struct pw_messages *messages);

void pw_pairs_fini(struct pw_pairs *pairs);

#endif
