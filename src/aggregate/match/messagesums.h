/* Sums over matched messages: for each pair of ranks, and the times in which ranks waited. Called
 * by messages.c. No MPI; only pw_flows_find() reads files. When memory is short `failed` is set,
 * which the caller checks after each round. */
#ifndef PW_AGGREGATE_MATCH_MESSAGESUMS_H
#define PW_AGGREGATE_MATCH_MESSAGESUMS_H

#include "aggregate/match/endpoints.h"
#include "aggregate/match/graphparts.h"
#include "analysis/message.h"
#include "core/hash.h"

/* A sum of squares of integers, modulo 2^128. */
struct pw_square_sum {
    uint64_t high, low;
};

/* All messages of one pair of ranks. */
struct pw_pair {
    int32_t src, dst;
    int64_t messages, bytes; /* of matched messages, and of sends without a matched receive */
    int64_t matched;
    int64_t late_sender_ns;   /* time that receivers waited for a later send */
    int64_t late_receiver_ns; /* time that senders waited for a later receive */
    int64_t transfer_ns;      /* time from when both sides were ready to the end of the receive */
    /* Sums over the messages whose transfer was not hidden: their number, their transfer times, and
     * the squares of these. When one call completed several messages, only the one that started
     * last was not hidden. The sums are integers, because the order of the additions depends on the
     * number of processes. */
    int64_t unhidden, unhidden_ns;
    struct pw_square_sum unhidden_squares_ns;
};

/* Compares for qsort: by source, then by destination. */
int pw_pair_by_ranks(const void *a, const void *b);

/* A time in which a rank waited for a partner, in local times of the rank. */
struct pw_message_wait {
    int64_t rank, start, end;
};

struct pw_messages {
    /* pairs whose receiver's file this process reads; sorted by (src, dst) */
    struct pw_pair *pairs;
    size_t npairs;
    struct pw_message_wait *waits; /* of ranks whose files this process reads; sorted by rank */
    size_t nwaits;
    int64_t unmatched; /* number of sends and receives of this process's ranks without a partner */
};

/* Flows: sends that ended before the receiver began to wait for them, and may still have waited for
 * room in MPI's buffers (analysis/message.h). They are noted while messages are matched.
 * Afterwards, the receivers' files are read around these sends to see whether the receiver was
 * outside MPI. */

/* Times are ns since the job's epoch, except local_ and near_local, which are local times. */
struct pw_flow_send {
    struct pw_interval stood;
    int64_t local_stood; /* start of `stood` on the sender's clock */
    int64_t local_enter; /* enter of the call that began the send, on the sender's clock */
    int64_t near_local;  /* about the start of `stood`, on the receiver's clock */
    int32_t src, dst;
    struct pw_flow found;
};

struct pw_flows {
    struct pw_flow_send *v;
    size_t n, capacity;
    int64_t least_ns; /* shorter sends are ignored; INT64_MAX: all are */
    int failed;
};

struct pw_flows pw_flows_make(const struct pw_world *world);

/* Reads the events of the receivers, which are all inputs of this process, and keeps only the sends
 * that waited. Returns 0 or -ENOMEM. */
int pw_flows_find(struct pw_flows *flows, const struct pw_job *job);

struct pw_message_sums {
    struct pw_messages *out;
    struct pw_graph_parts *graph;
    struct pw_flows flows;
    size_t pairs_capacity, waits_capacity, waits_joined;
    /* waits of senders, to be sent to the processes that read the senders' files */
    struct pw_message_wait *back;
    size_t nback, back_capacity, calls_capacity;
    struct pw_hash by_pair, by_call;
    /* calls that completed receives, while not all of these are matched */
    struct pw_completion *calls;
    int32_t ncalls, first_free;
    int failed;
};

struct pw_message_sums pw_message_sums_make(struct pw_messages *out, struct pw_graph_parts *graph,
                                            struct pw_flows flows);

/* Returns the number of a call that completed a receive, for endpoint.completion. The call is of
 * rank `dst` and ended at `end` (local time). All receives of the call are known after the round
 * (messages.c) that contains time `until`. `until` INT64_MIN: the other receives can no longer be
 * found, and this receive counts as the only one. */
int32_t pw_message_sums_call(struct pw_message_sums *sums, int32_t dst, int64_t end, int64_t until);

void pw_message_sums_match(struct pw_message_sums *sums, const struct pw_endpoint *send,
                           const struct pw_endpoint *receive);
void pw_message_sums_alone(struct pw_message_sums *sums, const struct pw_endpoint *endpoint,
                           int receives);

/* Adds a send of sums.flows that waited for room in MPI's buffers. */
void pw_message_sums_add_flow(struct pw_message_sums *sums, const struct pw_flow_send *send);

/* To be called when all receives that started before `time` are known. Sums up the calls whose
 * receives are all matched. */
void pw_message_sums_calls_until(struct pw_message_sums *sums, int64_t time);

/* Adds waits of this process's ranks; joins them when there are many. */
void pw_message_sums_add_waits(struct pw_message_sums *sums, const struct pw_message_wait *waits,
                               size_t n);

/* Sorts `out`. */
void pw_message_sums_finish(struct pw_message_sums *sums);

void pw_message_sums_fini(struct pw_message_sums *sums);

#endif
