/* What a GPU can do at most, and how near a run came to it: peak FLOP/s, MFU, the nearest roof, and
 * occupancy. Called by aggregate/findings, aggregate/gpu and report/content. Pure arithmetic: no
 * I/O, no allocation. docs/metrics.md has the formulas and the sources of the peaks. */
#ifndef PW_ANALYSIS_GPULIMITS_H
#define PW_ANALYSIS_GPULIMITS_H

#include <stdint.h>

#include "core/tables.h"

/* FLOP/s of dense products of matrices in a type: "fp64", "fp32", "tf32", "bf16", "fp16", "fp8" or
 * "fp4". -1 when the GPU is not in the table, lacks that type, or has fewer multiprocessors than a
 * whole one (`multiprocessors` below 1: not known; a whole one is assumed). */
double pw_peak_flops(const char *name, int32_t multiprocessors, const char *type);

/* Achieved FLOP/s, and the share of the peak that they are (MFU). */

/* The most FLOPs that a program may give for a step; larger numbers are ignored. */
#define PW_MOST_FLOPS 1e30

/* What the options of the merge say about the model and about GPUs; 0: nothing. */
struct pw_flops_given {
    double peak;     /* FLOP/s of a GPU, or of a rank without one */
    double per_step; /* FLOPs that the model needs on each rank in a step */
    char type[8];    /* of the FLOPs, "bf16" */
};

/* The sums of one rank over its steps; {0} to begin with. */
struct pw_mfu {
    double flops;
    int64_t ns, steps;
};

/* Adds a step; does nothing when either value is impossible. */
void pw_mfu_add(struct pw_mfu *mfu, double flops, int64_t ns);

/* FLOP/s; -1: there was no step. */
double pw_mfu_rate(const struct pw_mfu *mfu);

/* rate / peak; -1 where either is not known. */
double pw_mfu_share(double rate, double peak);

/* Which of a GPU's roofs is nearest: what its units can compute, or what its memory can move. */

/* Shares of the time, 0..1, as NVML measures them (GPM); -1: not known. */
struct pw_roofline_input {
    double engine; /* in which the GPU had work */
    double tensor, fp64, fp32, fp16, dram;
};

/* The nearest roof, and how near it is while the GPU has work, 0..1. */
struct pw_roof {
    const char *name; /* "tensor cores", "fp64", "fp32", "fp16" or "memory"; NULL: not known */
    double share;
};

/* Not known when the memory or all units are not known, or the GPU had no work. */
struct pw_roof pw_roofline_nearest(const struct pw_roofline_input *in);

/* How much of a multiprocessor the blocks of a kernel can fill: CUDA's theoretical occupancy. */

/* Warps that fit on a multiprocessor at a time, by threads, blocks, registers and shared memory,
 * over those that it can have, 0..1; -1 when the limits, the launch or the generation are not
 * known, or the kernel cannot have run like this. */
double pw_occupancy(const struct pw_row_device *device, const struct pw_row_kernel *kernel);

#endif
