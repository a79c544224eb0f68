/* What a rank's GPU did in a straggler's steps, and what that says of the cause. */
#ifndef PW_AGGREGATE_FINDINGS_GPUEVIDENCE_H
#define PW_AGGREGATE_FINDINGS_GPUEVIDENCE_H

#include "aggregate/findings/findings.h"
#include "analysis/gpucause.h"

/* The steps' GPU time; unknown (-1) with the first step in which it is. */
void pw_gpuevidence_add(struct pw_gpu_usage *usage, const struct pw_row_c_step_trace *trace,
                        const struct pw_row_c_gpu_trace *gpu);

/* The samples taken from `start` to `end`. */
void pw_gpuevidence_clocks(struct pw_gpu_usage *usage, const struct pw_row_gpu *samples, size_t n,
                           int64_t start, int64_t end);

/* Enters the cause of a straggler, with its evidence: as it was over `steps` steps. `usage` is of
 * all ranks. For process 0. */
void pw_gpuevidence_enter(struct pw_row_c_straggler *row, struct pw_gpu_usage *usage, size_t nranks,
                          int64_t steps, const struct pw_kernels *kernels, int64_t *scratch);

#endif
