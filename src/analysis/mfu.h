/* Achieved FLOP/s, and the share of the peak that they are (MFU); docs/metrics.md has the formulas.
 */
#ifndef PW_ANALYSIS_MFU_H
#define PW_ANALYSIS_MFU_H

#include <stdint.h>

/* What a program may say it needs for a step: more is no number of FLOPs. */
#define PW_MOST_FLOPS 1e30

/* What the options of the merge say of the model and of GPUs; 0: they do not. */
struct pw_flops_given {
    double peak;     /* FLOP/s of a GPU, or of a rank without one */
    double per_step; /* FLOPs that the model needs on each rank in a step */
    char type[8];    /* of the FLOPs, "bf16" */
};

/* Of one rank, over steps; begins with zeros. */
struct pw_mfu {
    double flops;
    int64_t ns, steps;
};

/* A step of which both are known: else it does nothing. */
void pw_mfu_add(struct pw_mfu *mfu, double flops, int64_t ns);

/* FLOP/s; -1: there was no step. */
double pw_mfu_rate(const struct pw_mfu *mfu);

/* rate / peak; -1 where either is not known. */
double pw_mfu_share(double rate, double peak);

#endif
