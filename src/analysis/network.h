/* Whether transfers took longer than usual: of one column (a link, a host) in all or some steps, of
 * all columns in some steps, or of a link over the whole run. Called by aggregate/findings and
 * aggregate/match. Pure arithmetic: no I/O, no allocation; the caller gives the scratch memory. */
#ifndef PW_ANALYSIS_NETWORK_H
#define PW_ANALYSIS_NETWORK_H

#include <stddef.h>
#include <stdint.h>

/* level: [nsteps * ncolumns] time of the transfers of a column in a step over what is usual for
 * such transfers, step-major; below 0: there were none. */
struct pw_network_input {
    size_t nsteps, ncolumns;
    const double *level;
};

struct pw_network_found {
    size_t first, last; /* steps */
    double ratio;       /* median level inside over that of the others, or of the other steps */
    double confidence;
};

/* Bytes of scratch that the functions need. */
size_t pw_network_scratch(size_t nsteps, size_t ncolumns);

/* 1 when the column is slow. In all steps: its level is 1.5 times (with fewer than 4 others, 2
 * times) the median of the others' in the same step, in the median of 10 steps or more, and at most
 * what is usual counts for others that are faster than that; and more steps are above 1.25 times
 * than chance explains, given how often that is so of the others (binomial test, corrected for the
 * number of columns, 1 %). In a stretch: as pw_drift_find() finds it in the difference to the
 * others, and 1.5 times. */
int pw_network_column(const struct pw_network_input *in, size_t column, void *scratch,
                      struct pw_network_found *out);

/* 1 when there is a stretch of steps in which all columns were slower than in the others, as
 * pw_drift_find() finds it, 1.5 times or more. */
int pw_network_stretch(const struct pw_network_input *in, void *scratch,
                       struct pw_network_found *out);

/* 1 when most steps have a level of 2 or more, beyond chance (sign test, 1 %). For one column,
 * whose levels are relative to the fastest transfers of the run: this finds a network that was slow
 * now and then throughout the run. out->ratio is the median level. */
int pw_network_unsteady(const struct pw_network_input *in, void *scratch,
                        struct pw_network_found *out);

/* Links that are slow over the whole run. */

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
 * number of links, 1 %). Where several links into one rank are slow only the slowest counts: a call
 * that completes several messages ends with the slowest, so that the others seem slow, too.
 * Scratch: nlinks values. Returns how many of at most `max`. */
size_t pw_links_find(const struct pw_link *links, size_t nlinks, struct pw_link_found *out,
                     size_t max, int64_t *scratch);

#endif
