/* Matches point-to-point messages across ranks, and sums them up for each pair of ranks. A send and
 * a receive with the same communicator, source, destination and tag match in the order in which
 * they started, as MPI guarantees. Called on all processes together: by alignment.c to visit
 * messages before clocks are aligned, and by aggregate.c to match and sum them up. Memory holds the
 * sends and receives of one round of time only. */
#ifndef PW_AGGREGATE_MATCH_MESSAGES_H
#define PW_AGGREGATE_MATCH_MESSAGES_H

#include "aggregate/input/job.h"
#include "aggregate/match/graphparts.h"
#include "aggregate/match/messagesums.h"

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
