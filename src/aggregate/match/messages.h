/* Point-to-point messages matched across ranks: sends and receives pair by (communicator, source,
 * destination, tag) in the order in which they were begun, which is the order that MPI guarantees.
 */
#ifndef PW_AGGREGATE_MATCH_MESSAGES_H
#define PW_AGGREGATE_MATCH_MESSAGES_H

#include "aggregate/input/job.h"
#include "aggregate/match/graphparts.h"

/* A sum of squares of integers, modulo 2^128. */
struct pw_square_sum {
    uint64_t high, low;
};

/* All messages of one pair of ranks. */
struct pw_pair {
    int32_t src, dst;
    int64_t messages, bytes; /* matched ones, and those that only the sender's file has */
    int64_t matched;
    int64_t late_sender_ns;   /* what receivers waited for a send that came later */
    int64_t late_receiver_ns; /* what senders waited for a receive that came later */
    int64_t transfer_ns;      /* from when both were there until the receive was done */
    /* Of messages that nothing hid: the last to be begun of those that one call completed. The sums
     * are exact, as their order depends on the number of merge processes. */
    int64_t unhidden, unhidden_ns;
    struct pw_square_sum unhidden_squares_ns;
};

/* For qsort: by source, then destination. */
int pw_pair_by_ranks(const void *a, const void *b);

/* Time that a rank waited for a partner: local times of the rank. */
struct pw_message_wait {
    int64_t rank, start, end;
};

struct pw_messages {
    struct pw_pair *pairs; /* whose destination's file this process reads; sorted by (src, dst) */
    size_t npairs;
    struct pw_message_wait *waits; /* of ranks whose files this process reads; sorted by rank */
    size_t nwaits;
    int64_t unmatched; /* sends and receives without a partner, of this process's ranks */
};

/* Tells `graph` of the messages matched here. Collective over job->comm. 0 or -ENOMEM, the same on
 * all processes. */
int pw_messages_match(struct pw_messages *messages, struct pw_job *job,
                      struct pw_graph_parts *graph);

/* What is told of one message: world ranks, when its send was entered and its receive left. */
typedef void pw_message_visitor(void *context, int32_t src, int32_t dst, int64_t send_enter_ns,
                                int64_t receive_leave_ns);

/* Matches without keeping anything: each process visits the messages between clock domains whose
 * receiver's file it reads, but none of ranks that lost events. Times are of the inputs' present
 * maps, since the job's epoch. Collective. 0 or -ENOMEM. */
int pw_messages_visit(struct pw_job *job, pw_message_visitor *visit, void *context);

void pw_messages_fini(struct pw_messages *messages);

/* Cuts a run into rounds of time, so that the messages of one are no more than fit. Times are of a
 * scale that all processes share: since the first operation in the clock domain, which is the end
 * of MPI_Init on all ranks. Clocks need not be aligned for it, and where they are cut changes no
 * result: messages that cross a cut wait for the next round. */

struct pw_rounds {
    int64_t *origins; /* [ndomains] local time of the scale's zero */
    int64_t *ends;    /* [nranks] when a rank begins its last message; INT64_MIN: none */
    int64_t from, to; /* the present round: [from, to); to INT64_MAX: the last */
};

/* Collective. 0 or -ENOMEM, the same on all processes. */
int pw_rounds_begin(struct pw_rounds *rounds, const struct pw_job *job);

/* The next round, of about `most` messages at most on the process that has most of them. It begins
 * with INT64_MIN. 0 when there is none left. Collective. */
int pw_rounds_next(struct pw_rounds *rounds, const struct pw_job *job, int64_t most);

/* A time of the scale in the input's own, and the reverse; INT64_MIN and MAX stay. */
int64_t pw_rounds_to_local(const struct pw_rounds *rounds, const struct pw_input *input,
                           int64_t time);
int64_t pw_rounds_from_local(const struct pw_rounds *rounds, const struct pw_input *input,
                             int64_t local);

void pw_rounds_fini(struct pw_rounds *rounds);

#endif
