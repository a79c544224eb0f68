/* One map for each clock domain, from measured knots and from the order of events. Called by
 * alignment.c on all processes together; each computes the bounds of a share of the knots. No files
 * are read here; the arithmetic is in analysis/align.h. */
#ifndef PW_AGGREGATE_CLOCKS_DOMAINMAP_H
#define PW_AGGREGATE_CLOCKS_DOMAINMAP_H

#include <mpi.h>

#include "analysis/align.h"
#include "core/tables.h"

/* Pairs of events in two clock domains whose order is known. They bound the difference of the
 * clocks without a measurement (analysis/align.h). */
struct pw_orders {
    struct pw_order *v; /* first and second are domains; the same on all processes */
    size_t n;
};

/* Map from the domain's local time to cluster time. Without knots it is the identity for domain 0,
 * and unknown for others. */
struct pw_domainmap {
    struct pw_row_clock *knots;
    size_t n, capacity;
    size_t measured; /* knots that were measured during the run */
    int inferred;    /* 1: the order of events was used */
    int64_t bounds, violations, violations_beyond;
};

int pw_domainmap_append(struct pw_domainmap *map, const struct pw_row_clock *knot);

struct pw_domainmap_report {
    int64_t contradictions; /* times at which bounds contradict each other */
};

/* Improves the maps, which hold the measured knots, by the orders. The times of `orders` are local
 * and are overwritten. Collective over `comm`; the result is the same on all processes and for any
 * number of them. Returns 0 or -ENOMEM. */
int pw_domainmaps_infer(struct pw_domainmap *maps, size_t ndomains, struct pw_orders *orders,
                        MPI_Comm comm, struct pw_domainmap_report *report);

#endif
