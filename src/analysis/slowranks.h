/* Finds the ranks that take longer than the others in the same operator or the same GPU kernels.
 * Called by report/content (operators) and aggregate/gpu (kernels). Pure arithmetic: no I/O, no
 * allocation. */
#ifndef PW_ANALYSIS_SLOWRANKS_H
#define PW_ANALYSIS_SLOWRANKS_H

#include <stddef.h>
#include <stdint.h>

/* With fewer other ranks, the median deviation is too uncertain, and their range is used as
 * well. */
enum { PW_OPRANK_FEW = 12 };

struct pw_oprank {
    size_t rank;               /* index */
    int64_t own_ns, others_ns; /* the rank's own work, and the median of the others' */
    double ratio;
};

/* own_ns[n] is each rank's whole own work in one operator. Finds the rank that takes longest, if
 * its excess over the others' median is larger than each of these limits: 3 x 1.4826 x the others'
 * MAD; twice their range (only with fewer than PW_OPRANK_FEW others); a tenth of their median;
 * least_ns. `scratch` has room for n values. Returns 1 and fills *out, or returns 0 when no rank is
 * that slow, with fewer than 2 ranks, or when most ranks do not call the operator. */
int pw_oprank_find(const int64_t *own_ns, size_t n, int64_t least_ns, int64_t *scratch,
                   struct pw_oprank *out);

/* Finds the ranks whose GPU takes longer for the same kernels: those of the same name and launch
 * configuration.
 *
 * A kernel's mean length on a rank is compared with the median of the other ranks' means. If all
 * GPUs were alike, each would be the slowest in about one kernel of n, n being the number of ranks.
 * A rank that is the slowest more often than chance explains (binomial test, corrected for the
 * number of ranks) is slow; the sums over kernels tell by how much. */

struct pw_kernelrank_input {
    size_t nkernels, nranks;
    const int64_t *calls, *total_ns; /* [nkernels * nranks], 0: the rank has not run the kernel */
};

struct pw_kernelrank_found {
    double slowdown;   /* time of the rank's kernels / the time that the other ranks need for them;
                          -1: not known */
    double confidence; /* 1 - the corrected chance of being the slowest this often; 0..1 */
    size_t worst;      /* the kernel with most of the excess */
    int64_t excess_ns; /* excess of that kernel over all its calls; 0: the rank is slower in no
                          kernel */
    /* Sums for the members above: ns; expected number of kernels in which the rank is the slowest;
     * number of kernels compared, and of those in which it is the slowest. */
    double spent_ns, expected_ns, chances;
    int64_t kernels, slowest;
};

/* Fills out[nranks]. Kernels that fewer than 3 ranks have run are ignored. In a job of two ranks,
 * the kernels of both count for the slowdown, but not for the confidence: either rank may have
 * other data. `scratch` has room for nranks values. */
void pw_kernelrank_find(const struct pw_kernelrank_input *in, int64_t *scratch,
                        struct pw_kernelrank_found *out);

#endif
