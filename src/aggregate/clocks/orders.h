/* Pairs of events of two clock domains whose order is known: what bounds clocks against each other
 * without measuring them (analysis/align.h). */
#ifndef PW_AGGREGATE_CLOCKS_ORDERS_H
#define PW_AGGREGATE_CLOCKS_ORDERS_H

#include "aggregate/match/instances.h"
#include "analysis/align.h"

struct pw_orders {
    struct pw_order *v; /* of domains; the same on all processes */
    size_t n;
};

/* From synchronising collectives (Barrier, and those in which every rank needs every other's data)
 * and from messages, evenly thinned out where there are very many; the same ones whatever the
 * number of processes. Times are local: the inputs must have no maps yet. `instances` are numbered.
 * Collective over job->comm. 0 or -ENOMEM. */
int pw_orders_collect(struct pw_orders *orders, struct pw_job *job,
                      const struct pw_instances *instances);

void pw_orders_fini(struct pw_orders *orders);

#endif
