/* The devices of a rank and the samples of their clocks. */
#ifndef PW_AGGREGATE_GPU_CLOCKSAMPLES_H
#define PW_AGGREGATE_GPU_CLOCKSAMPLES_H

#include "aggregate/input/input.h"
#include "analysis/gpuclocks.h"

/* Fills in devices and clocks; what the file does not have stays 0, clocks -1. */
void pw_gpuclocks_read(const struct pw_input *input, struct pw_row_c_gpu_rank *row);

#endif
