/* What is kept of matched messages: sums for each pair of ranks, and which rank waited when. Called
 * by messages.c. No MPI; only pw_flows_find() reads files. Memory that is short is noted in
 * `failed`, which the caller looks at after each round. */
#ifndef PW_AGGREGATE_MATCH_MESSAGESUMS_H
#define PW_AGGREGATE_MATCH_MESSAGESUMS_H

#include "aggregate/match/endpoints.h"
#include "aggregate/match/messages.h"
#include "analysis/message.h"
#include "core/hash.h"

/* Sends that stood still for their receiver although they were over before it stood still for them
 * (analysis/message.h). They are noted as messages are matched; whether the receiver was away
 * meanwhile is read from its file afterwards, only around them. */

/* Times are ns since the job's epoch but for those called local, of the rank's own clock. */
struct pw_flow_send {
    struct pw_interval stood;
    int64_t local_stood; /* when that began */
    int64_t local_enter; /* of the call that began the send */
    int64_t near_local;  /* the receiver's time about when it began */
    int32_t src, dst;
    struct pw_flow found;
};

struct pw_flows {
    struct pw_flow_send *v;
    size_t n, capacity;
    int64_t least_ns; /* shorter sends are not looked at; INT64_MAX: none is */
    int failed;
};

struct pw_flows pw_flows_make(const struct pw_world *world);

/* Reads what the receivers did, all of which are inputs of this process, and leaves the sends that
 * waited. 0 or -ENOMEM. */
int pw_flows_find(struct pw_flows *flows, const struct pw_job *job);

struct pw_message_sums {
    struct pw_messages *out;
    struct pw_graph_parts *graph;
    struct pw_flows flows;
    size_t pairs_capacity, waits_capacity, waits_joined;
    struct pw_message_wait *back; /* what senders waited, for the processes that read their files */
    size_t nback, back_capacity, calls_capacity;
    struct pw_hash by_pair, by_call;
    struct pw_completion *calls; /* that complete receives which are not all matched yet */
    int32_t ncalls, first_free;
    int failed;
};

struct pw_message_sums pw_message_sums_make(struct pw_messages *out, struct pw_graph_parts *graph,
                                            struct pw_flows flows);

/* The call of rank `dst` that completed a receive and ended at `end` of the rank's own clock; for
 * endpoint.completion. `until` is when all receives that it completed are known: the time of the
 * round (messages.c) in which the last of them may be. INT64_MIN: they can no longer be found, and
 * the receive counts as the only one. */
int32_t pw_message_sums_call(struct pw_message_sums *sums, int32_t dst, int64_t end, int64_t until);

void pw_message_sums_match(struct pw_message_sums *sums, const struct pw_endpoint *send,
                           const struct pw_endpoint *receive);
void pw_message_sums_alone(struct pw_message_sums *sums, const struct pw_endpoint *endpoint,
                           int receives);

/* A send that waited for room; one of sums.flows. */
void pw_message_sums_add_flow(struct pw_message_sums *sums, const struct pw_flow_send *send);

/* All receives that were begun before `time` are known: sums up the calls that are complete. */
void pw_message_sums_calls_until(struct pw_message_sums *sums, int64_t time);

/* Adds waits of this process's ranks, and joins them when they have become many. */
void pw_message_sums_add_waits(struct pw_message_sums *sums, const struct pw_message_wait *waits,
                               size_t n);

/* Leaves `out` in the order that messages.h promises. */
void pw_message_sums_finish(struct pw_message_sums *sums);

void pw_message_sums_fini(struct pw_message_sums *sums);

#endif
