/* What is known of pairs of ranks: rows of /p2p, and the slow ones of them, of /links. */
#ifndef PW_AGGREGATE_MATCH_PAIRS_H
#define PW_AGGREGATE_MATCH_PAIRS_H

#include "aggregate/match/messages.h"

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
