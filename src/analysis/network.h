/* Finds transfers that took longer than usual: those of one column (a link, a host) in all or some
 * steps, those of all columns in some steps, or those of a link over the whole run. Called by
 * aggregate/findings and aggregate/match. Pure arithmetic: no I/O, no allocation; the caller gives
 * the scratch memory. */
#ifndef PW_ANALYSIS_NETWORK_H
#define PW_ANALYSIS_NETWORK_H

#include <stddef.h>
#include <stdint.h>

/* level[nsteps * ncolumns], by step, then column: the time of the column's transfers in the step /
 * the usual time of such transfers; below 0: there were none. */
struct pw_network_input {
    size_t nsteps, ncolumns;
    const double *level;
};

struct pw_network_found {
    size_t first, last; /* steps */
    /* median level in these steps / that of the other columns, or of the other steps */
    double ratio;
    double confidence;
};

/* Bytes of scratch that the functions need. */
size_t pw_network_scratch(size_t nsteps, size_t ncolumns);

/* Returns 1 and fills *out when the column is slow: in all steps or in a stretch of them. Its ratio
 * in a step is its level / the median level of the other columns (at least 1). Slow in all steps:
 * the median ratio, over 10 steps or more, is at least 1.5 (2 with fewer than 4 other columns); and
 * the ratio is above 1.25 in more steps than chance explains, given how often the other columns are
 * (binomial test at 1 %, corrected for the number of columns). Slow in a stretch: pw_drift_find()
 * finds the stretch in the difference to the other columns, and the ratio is at least 1.5. */
int pw_network_column(const struct pw_network_input *in, size_t column, void *scratch,
                      struct pw_network_found *out);

/* Returns 1 and fills *out when pw_drift_find() finds a stretch of steps in which all columns were
 * slower, by a ratio of 1.5 or more to the other steps. */
int pw_network_stretch(const struct pw_network_input *in, void *scratch,
                       struct pw_network_found *out);

/* Returns 1 when significantly more than half of the steps have a level of 2 or more (sign test at
 * 1 %); out->ratio is the median level. `in` has one column, with levels relative to the fastest
 * transfers of the run. This finds a network that was slow now and then throughout the run. */
int pw_network_unsteady(const struct pw_network_input *in, void *scratch,
                        struct pw_network_found *out);

/* ---- links that are slow over the whole run ---- */

/* One pair of ranks: sums over its messages, without those whose transfer was hidden behind
 * another. */
struct pw_link {
    int64_t dst;
    int64_t kind;     /* only links of one kind (size class, same host or not) are compared */
    int64_t messages; /* number of messages in the sums */
    double sum_ns, squares_ns; /* sum of the transfer times, and of their squares */
    int64_t error_ns;          /* sum of the errors of the two clocks; -1: not aligned */
};

struct pw_link_found {
    size_t link;
    /* mean transfer of the link, and the median of the means of its kind */
    double transfer_ns, others_ns;
    double confidence;
};

/* Finds the links whose mean transfer is at least 1.5 times the median of at least 4 other links of
 * their kind, above it by more than the clock errors, and by more than chance explains (normal test
 * of the mean, corrected for the number of links, 1 %). Of several slow links into one rank only
 * the slowest is kept: a call that completes several messages ends with the slowest one, so the
 * other links look slow, too. Scratch: nlinks values. Returns how many were written to `out`, at
 * most `max`. */
size_t pw_links_find(const struct pw_link *links, size_t nlinks, struct pw_link_found *out,
                     size_t max, int64_t *scratch);

#endif
