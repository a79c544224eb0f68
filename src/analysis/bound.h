/* Finds ranks that processes outside the job keep from their CPUs. Called by aggregate/findings and
 * by stretch.h. Pure arithmetic: no I/O, no allocation; the caller gives the scratch memory.
 *
 * One rank of a host may be bound to a CPU on which something else computes, while the other ranks
 * may run anywhere. The scheduler moves the other ranks to that CPU in turn, and they wait for it
 * nearly as long. So waiting alone does not show which rank is bound. Two other values do: the CPUs
 * that each rank may use, and the time for which `others` (the processes outside the job) used
 * these CPUs:
 *
 *   others = busy time of the rank's CPUs - CPU time of the host's ranks there
 *
 * Which CPUs the ranks used is known only from samples. So `others` is limited to the smallest
 * value among the ranks of the host that may use these CPUs and more.
 *
 * `kept` is the time for which others kept the rank from its CPUs. It is a share of the time in
 * which the rank was ready without a CPU (at most its own time). The share is that of others in the
 * use of these CPUs by all but the rank:
 *
 *   kept = ready x others / (busy - the rank's CPU time)
 *
 * A rank is *bound beside others* in a bin when others use a fifth of its CPUs' time or more, and
 * at least 1.5 times as much as they use of the CPUs of the host's other ranks (median, per CPU).
 * For a *narrow* rank, which may use at most half as many CPUs as the others (median), 0.8 times as
 * much is enough. */
#ifndef PW_ANALYSIS_BOUND_H
#define PW_ANALYSIS_BOUND_H

#include <stddef.h>
#include <stdint.h>

#include "core/tables.h"

struct pw_bound_input {
    size_t nbins, nranks;
    int64_t bin_ns;
    const struct pw_row_c_bin_trace *rows; /* [nbins * nranks] */
    const int64_t *host_of;                /* [nranks] hosts, numbered from 0 */
};

enum pw_beside { PW_BESIDE_NOT, PW_BESIDE, PW_BESIDE_NARROW };

/* Arrays of [nbins * nranks]. others_ns and kept_ns are -1 when a rank of the same host is unknown
 * in the bin, or a rank of the job has no file. */
struct pw_bound {
    int64_t *others_ns, *kept_ns;
    uint8_t *beside; /* enum pw_beside */
};

/* Bytes of scratch that pw_bound_measure() needs. */
size_t pw_bound_scratch(const struct pw_bound_input *in);

void pw_bound_measure(const struct pw_bound_input *in, void *scratch, const struct pw_bound *out);

/* A rank, and the bins first .. last. */
struct pw_bound_where {
    size_t rank, first, last;
};

/* The CPUs of that rank in those bins. */
struct pw_bound_found {
    int cpus, lowest, highest; /* CPUs that the rank may use, in the middle one of the bins in which
                                  it is bound */
    int others_cpus; /* the same for the host's other ranks, their median; 0: there are none */
    double share;    /* share of its CPUs' time that others used */
    ptrdiff_t since; /* first bin with these CPUs; -1: the rank had them from the first bin that is
                        known */
};

/* Returns 1 and fills *found when the rank is bound beside others in at least half of the bins,
 * else returns 0. `scratch` has room for nranks values. */
int pw_bound_look(const struct pw_bound_input *in, const struct pw_bound *bound,
                  struct pw_bound_where where, int64_t *scratch, struct pw_bound_found *found);

#endif
