/* Writes what is known of pairs of ranks: /p2p, and the slow ones of them, /links. */
#ifndef PW_AGGREGATE_PAIRS_H
#define PW_AGGREGATE_PAIRS_H

#include "aggregate/clusterfile.h"
#include "aggregate/messages.h"

/* Collective. Each pair is one process's: the one that reads the receiver's file. */
void pw_pairs_write(struct pw_clusterfile *file, const struct pw_job *job,
                    const struct pw_messages *messages);

#endif
