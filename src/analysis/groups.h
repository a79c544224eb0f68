/* Hosts and links that are slow: what the ranks' and the pairs' figures say together. */
#ifndef PW_ANALYSIS_GROUPS_H
#define PW_ANALYSIS_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/straggler.h"

struct pw_host_found {
    size_t host;
    size_t nranks, slow_ranks;
    size_t first, last; /* the median of the ranks' windows: rows of the straggler input */
    int64_t excess_ns;  /* median of the ranks' */
    double confidence;  /* least of the ranks' */
};

struct pw_hosts {
    const int64_t *host_of; /* [nranks] */
    size_t nranks, nhosts;
};

/* Hosts of at least 2 ranks of which at least two thirds are stragglers in steps that all share;
 * none when that is so of half the hosts or more. `out` is [nhosts]; scratch: 3 * nhosts + 3 *
 * nranks values. Returns how many, in the order of the hosts. */
size_t pw_hosts_find(const struct pw_straggler_found *found, size_t nfound,
                     const struct pw_hosts *hosts, struct pw_host_found *out, int64_t *scratch);

/* One pair of ranks: its messages whose transfer was not hidden behind another. */
struct pw_link {
    int64_t dst;
    int64_t kind;     /* only links of one kind (size class, same host or not) are compared */
    int64_t messages; /* counted in the sums */
    double sum_ns, squares_ns; /* of the transfers, and of their squares */
    int64_t error_ns;          /* of the two clocks together; -1: not aligned */
};

struct pw_link_found {
    size_t link;
    double transfer_ns, others_ns; /* its mean, and the median of the means of its kind */
    double confidence;
};

/* Links whose mean transfer is at least 1.5 times the median of at least 4 others of their kind, by
 * more than the clocks' errors, and beyond chance (normal test of the mean, corrected for the
 * number of links, 1 %). Of several into one rank only the slowest: a call that completes several
 * messages ends with it, and the others seem slow too. Scratch: nlinks values. Returns how many of
 * at most `max`. */
size_t pw_links_find(const struct pw_link *links, size_t nlinks, struct pw_link_found *out,
                     size_t max, int64_t *scratch);

#endif
