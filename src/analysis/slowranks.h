/* Which ranks take longer than the others in the same operator or the same GPU kernels. Called by
 * report/content (operators) and aggregate/gpu (kernels). Pure arithmetic: no I/O, no allocation.
 */
#ifndef PW_ANALYSIS_SLOWRANKS_H
#define PW_ANALYSIS_SLOWRANKS_H

#include <stddef.h>
#include <stdint.h>

/* Fewer other ranks say too little about how much ranks differ by chance. */
enum { PW_OPRANK_FEW = 12 };

struct pw_oprank {
    size_t rank;               /* index */
    int64_t own_ns, others_ns; /* its own work, and the median of the others' */
    double ratio;
};

/* own_ns[n] is each rank's whole own work in one operator. Finds the rank that takes longest, when
 * that is above the others' median by more than each of: 3 x 1.4826 x their MAD, twice their whole
 * range (only with fewer than PW_OPRANK_FEW others), a tenth of that median, and least_ns.
 * `scratch` has room for n. Returns 1, or 0 when there is none: fewer than 2 ranks, or most ranks
 * do not call it. */
int pw_oprank_find(const int64_t *own_ns, size_t n, int64_t least_ns, int64_t *scratch,
                   struct pw_oprank *out);

/* Whose GPU takes longer for the same kernels: those of the same name and launch configuration.
 *
 * A kernel's mean length on a rank is compared with the median of the other ranks' means. If all
 * GPUs were alike, each would be the slowest in about one kernel of n, n being the number of ranks.
 * A rank that is the slowest more often than chance explains (binomial test, corrected for the
 * number of ranks) is slow; the sums over kernels tell by how much. */

struct pw_kernelrank_input {
    size_t nkernels, nranks;
    const int64_t *calls, *total_ns; /* [nkernels * nranks], 0 where a rank has not run it */
};

struct pw_kernelrank_found {
    double slowdown;   /* its kernels' time over what the others need for them; -1: not known */
    double confidence; /* 1 - the chance of being slowest as often, corrected; 0..1 */
    size_t worst;      /* the kernel with most of the excess */
    int64_t excess_ns; /* of that kernel, over all its calls; 0: it is at no kernel slower */
    /* What these are made of: ns, and the kernels compared, of which it is the slowest at some. */
    double spent_ns, expected_ns, chances;
    int64_t kernels, slowest;
};

/* `out` has nranks items, `scratch` room for nranks values. Kernels that fewer than 2 other ranks
 * have run are left out. */
void pw_kernelrank_find(const struct pw_kernelrank_input *in, int64_t *scratch,
                        struct pw_kernelrank_found *out);

#endif
