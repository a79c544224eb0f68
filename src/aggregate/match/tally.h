/* What is kept of matched messages: sums for each pair of ranks, and who waited when. */
#ifndef PW_AGGREGATE_MATCH_TALLY_H
#define PW_AGGREGATE_MATCH_TALLY_H

#include "aggregate/match/messages.h"
#include "aggregate/match/sides.h"
#include "aggregate/match/stalledsends.h"
#include "core/hash.h"

struct pw_tally {
    struct pw_messages *out;
    struct pw_graph_parts *graph;
    struct pw_flows flows;
    size_t pairs_capacity, waits_capacity, waits_joined;
    struct pw_message_wait *back; /* what senders waited, for the processes that read their files */
    size_t nback, back_capacity;
    struct pw_hash by_pair, by_call;
    struct pw_completion *calls; /* that complete receives which are not all matched yet */
    int32_t ncalls, calls_capacity, first_free;
    int failed;
};

struct pw_tally pw_tally_make(struct pw_messages *out, struct pw_graph_parts *graph,
                              struct pw_flows flows);

/* The call of rank `dst` that completed a receive, and ended at `end` of the rank's own clock; for
 * side.completion. `until` is when all receives that it
 * completed are known: the time of the round (rounds.h) in which the last of them may be.
 * INT64_MIN: they cannot be told any more, it counts as the only one. */
int32_t pw_tally_call(struct pw_tally *tally, int32_t dst, int64_t end, int64_t until);

void pw_tally_match(struct pw_tally *tally, const struct pw_side *send,
                    const struct pw_side *receive);
void pw_tally_alone(struct pw_tally *tally, const struct pw_side *side, int receives);

/* A send that waited for room; one of tally.flows. */
void pw_tally_add_flow(struct pw_tally *tally, const struct pw_flow_send *send);

/* All receives that were begun before `time` are known: sums up the calls that are complete. */
void pw_tally_calls_until(struct pw_tally *tally, int64_t time);

/* Adds waits of this process's ranks, and joins them when they have become many. */
void pw_tally_add_waits(struct pw_tally *tally, const struct pw_message_wait *waits, size_t n);

/* Leaves `out` in the order that messages.h promises. */
void pw_tally_finish(struct pw_tally *tally);

void pw_tally_fini(struct pw_tally *tally);

#endif
