/* One map per clock domain: measured knots, and what the order of events adds to them. Called by
 * alignment.c on all processes together; they share out the knots to be bounded. No files are read
 * here; the arithmetic is in analysis/align.h. */
#ifndef PW_AGGREGATE_CLOCKS_DOMAINMAP_H
#define PW_AGGREGATE_CLOCKS_DOMAINMAP_H

#include <mpi.h>

#include "analysis/align.h"
#include "core/tables.h"

/* Pairs of events of two clock domains whose order is known: what bounds clocks against each other
 * without measuring them (analysis/align.h). */
struct pw_orders {
    struct pw_order *v; /* of domains; the same on all processes */
    size_t n;
};

/* Local time of the domain to cluster time. No knots: the identity in domain 0, else nothing. */
struct pw_domainmap {
    struct pw_row_clock *knots;
    size_t n, capacity;
    size_t measured; /* knots that were measured during the run */
    int inferred;    /* the order of events had a say */
    int64_t bounds, violations, violations_beyond;
};

int pw_domainmap_append(struct pw_domainmap *map, const struct pw_row_clock *knot);

struct pw_domainmap_report {
    int64_t contradictions; /* times at which the bounds disagree with each other */
};

/* Tightens and completes the maps, which hold what was measured, by `orders`, whose times are
 * local and are overwritten. Collective over `comm`; the result is the same on all processes,
 * for any number of them. 0 or -ENOMEM. */
int pw_domainmaps_infer(struct pw_domainmap *maps, size_t ndomains, struct pw_orders *orders,
                        MPI_Comm comm, struct pw_domainmap_report *report);

#endif
