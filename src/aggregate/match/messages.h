/* Matches point-to-point messages across ranks, and sums them up for each pair of ranks. A send and
 * a receive with the same communicator, source, destination and tag match in the order in which
 * they started, as MPI guarantees. Called on all processes together: by alignment.c to visit
 * messages before clocks are aligned, and by aggregate.c to match and sum them up. Memory holds the
 * sends and receives of one round of time only. */
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
