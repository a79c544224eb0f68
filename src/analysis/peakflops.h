/* What GPUs can compute at most, by the name that the driver gives them; docs/metrics.md has the
 * sources. */
#ifndef PW_ANALYSIS_PEAKFLOPS_H
#define PW_ANALYSIS_PEAKFLOPS_H

#include <stdint.h>

/* FLOP/s of dense products of matrices in a type: "fp64", "fp32", "tf32", "bf16", "fp16", "fp8" or
 * "fp4". -1: the GPU is not in the table, has not that type, or has not the multiprocessors of a
 * whole one (`multiprocessors` below 1: not known, which is taken for a whole one). */
double pw_peak_flops(const char *name, int32_t multiprocessors, const char *type);

#endif
