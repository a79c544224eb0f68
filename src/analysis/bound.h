/* Ranks kept from their CPUs by processes that are not ranks of the job. Called by
 * aggregate/findings and by stretch.h. Pure arithmetic: no I/O, no allocation; the caller gives the
 * scratch memory.
 *
 * One rank of a host may be bound to a CPU on which something else computes, while the other ranks
 * may run anywhere. The scheduler moves the other ranks to that CPU in turn, and they wait for it
 * nearly as long. The difference is in which CPUs each rank may use, and how long other processes
 * used those:
 *
 *   others = busy time of the rank's CPUs - CPU time of the host's ranks there
 *
 * For a rank that may use only some CPUs, its use of them is known from the CPU on which it was
 * sampled. So `others` is at most that of any rank of the host that may use these CPUs and more.
 * The time for which the other processes kept the rank from its CPUs is the part of its waiting for
 * a CPU, within its own time, that is the others' part of what it did not use itself:
 *
 *   kept = ready x others / (busy - its own CPU time)
 *
 * A rank is bound beside others in a bin when they use a fifth of its CPUs' time or more, and 1.5
 * times what they use of the other ranks' CPUs (median, for each CPU). For a narrow rank, one that
 * may use at most half as many CPUs as the others (median), 0.8 times that is enough. */
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

/* [nbins * nranks]; others_ns and kept_ns are -1 where they are not known: where not all of the
 * host's ranks are, or a rank of the job is not at all. */
struct pw_bound {
    int64_t *others_ns, *kept_ns;
    uint8_t *beside; /* enum pw_beside */
};

/* Bytes of scratch that pw_bound_measure() needs. */
size_t pw_bound_scratch(const struct pw_bound_input *in);

void pw_bound_measure(const struct pw_bound_input *in, void *scratch, const struct pw_bound *out);

/* A rank in bins first..last. */
struct pw_bound_where {
    size_t rank, first, last;
};

/* What is said of it there. */
struct pw_bound_found {
    int cpus, lowest, highest; /* that it may use in most of the bins */
    int others_cpus; /* that the host's other ranks may use there, their median; 0: none */
    double share;    /* of its CPUs' time there that others used */
    ptrdiff_t since; /* bin in which it was bound so; -1: it was before that was seen */
};

/* 1 and *found when the rank is bound beside others in at least half of the bins. `scratch` has
 * room for nranks values. */
int pw_bound_look(const struct pw_bound_input *in, const struct pw_bound *bound,
                  struct pw_bound_where where, int64_t *scratch, struct pw_bound_found *found);

#endif
