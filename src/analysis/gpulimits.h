/* The limits of a GPU, and how near a run came to them: peak FLOP/s, MFU, the nearest roof, and
 * occupancy. Called by aggregate/findings, aggregate/gpu and report/content. Pure arithmetic: no
 * I/O, no allocation. docs/metrics.md has the formulas, docs/method.md the peaks. */
#ifndef PW_ANALYSIS_GPULIMITS_H
#define PW_ANALYSIS_GPULIMITS_H

#include <stdint.h>

#include "core/tables.h"

/* Peak FLOP/s of dense matrix products in a type: "fp64", "fp32", "tf32", "bf16", "fp16", "fp8" or
 * "fp4". -1 when the GPU is not in the table, lacks that type, or is a part of a GPU, with fewer
 * multiprocessors (`multiprocessors` below 1: not known; a whole GPU is assumed). */
double pw_peak_flops(const char *name, int32_t multiprocessors, const char *type);

/* ---- achieved FLOP/s, and their share of the peak (MFU) ---- */

/* The most FLOPs that a program may give for a step; larger numbers are ignored. */
#define PW_MOST_FLOPS 1e30

/* The options of the merge about the model and its GPUs; 0: not given. */
struct pw_flops_given {
    double peak;     /* FLOP/s of a GPU, or of a rank without one */
    double per_step; /* FLOPs that the model needs on each rank in a step */
    char type[8];    /* data type of the FLOPs, such as "bf16" */
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

/* Returns rate / peak; -1 when either is not known. */
double pw_mfu_share(double rate, double peak);

/* ---- the nearest roof: the limit of a unit of the GPU, or of its memory ---- */

/* Shares of the time, 0..1, as NVML measures them (GPM); -1: not known. */
struct pw_roofline_input {
    double engine; /* share of the time in which the GPU had work */
    double tensor, fp64, fp32, fp16, dram;
};

/* The nearest roof, and how near it is while the GPU has work, 0..1. */
struct pw_roof {
    const char *name; /* "tensor cores", "fp64", "fp32", "fp16" or "memory"; NULL: not known */
    double share;
};

/* Returns a name of NULL when the memory, or all units, are not known, or the GPU had no work. */
struct pw_roof pw_roofline_nearest(const struct pw_roofline_input *in);

/* ---- CUDA's theoretical occupancy: how much of a multiprocessor the blocks of a kernel can fill
 * ---- */

/* Returns the number of warps of the kernel that fit on a multiprocessor (limited by threads,
 * blocks, registers and shared memory) / the number that it can hold, 0..1. -1 when the limits, the
 * launch or the GPU's generation are not known, or no block fits. */
double pw_occupancy(const struct pw_row_device *device, const struct pw_row_kernel *kernel);

#endif
