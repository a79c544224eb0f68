/* Point-to-point messages matched across ranks: sends and receives pair by (communicator, source,
 * destination, tag) in the order in which they were begun, which is the order that MPI guarantees;
 * and what is known of each pair of ranks. Called on all processes together: by alignment.c to
 * visit messages before clocks are aligned, and by aggregate.c to match and sum them up. Sends and
 * receives are in memory for one round of time only. */
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
    /* Sums over the messages that nothing hid: the last to be begun of those that one call
     * completed. They are exact, because their order depends on the number of merge processes. */
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

/* Called for one message: world ranks, when its send was entered and its receive left. */
typedef void pw_message_visitor(void *context, int32_t src, int32_t dst, int64_t send_enter_ns,
                                int64_t receive_leave_ns);

/* Matches without keeping anything: each process visits the messages between clock domains whose
 * receiver's file it reads, but none of ranks that lost events. Times are of the inputs' present
 * maps, since the job's epoch. Collective. 0 or -ENOMEM. */
int pw_messages_visit(struct pw_job *job, pw_message_visitor *visit, void *context);

void pw_messages_fini(struct pw_messages *messages);

/* ---- rows of /p2p and /links ---- */

/* Rows of process 0; the others have none. */
struct pw_pairs {
    struct pw_row_c_p2p *rows;
    struct pw_row_c_link *links;
    size_t n, nlinks;
};

/* Collective. Each pair is one process's: the one that reads the receiver's file. 0 or -ENOMEM, the
 * same on all. */
int pw_pairs_make(struct pw_pairs *pairs, const struct pw_job *job,
                  const struct pw_messages *messages);

void pw_pairs_fini(struct pw_pairs *pairs);

#endif
