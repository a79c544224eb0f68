/* Whose GPU takes longer for the same kernels: those of the same name and launch configuration.
 *
 * A kernel's mean length on a rank is compared with the median of the other ranks' means. Were all
 * GPUs alike, each would be the slowest at about one kernel in as many as there are ranks: more of
 * that than chance explains (binomial test, corrected for the number of ranks) tells who is slow,
 * and sums tell by how much. */
#ifndef PW_ANALYSIS_KERNELRANK_H
#define PW_ANALYSIS_KERNELRANK_H

#include <stddef.h>
#include <stdint.h>

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
