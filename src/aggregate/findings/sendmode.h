/* Which sends wait for their receive: the synchronous ones, and those of sizes that MPI does not
 * buffer (rendezvous). */
#ifndef PW_AGGREGATE_FINDINGS_SENDMODE_H
#define PW_AGGREGATE_FINDINGS_SENDMODE_H

#include "aggregate/match/graphparts.h"

enum { PW_SENDMODE_SIZES = 520 }; /* eighths of powers of two */

/* Of sends that stood still before their receive came, by size: how many waited for it, and how
 * many had left by then. */
struct pw_sendmode {
    int64_t waited[PW_SENDMODE_SIZES], left[PW_SENDMODE_SIZES];
};

void pw_sendmode_see(struct pw_sendmode *mode, const struct pw_graph_op *send,
                     const struct pw_graph_op *receive);

/* 1: it would wait, were the receive late: it is synchronous, or 9 of 10 of its size did, of 3 or
 * more. */
int pw_sendmode_waits(const struct pw_sendmode *mode, const struct pw_graph_op *send);

#endif
