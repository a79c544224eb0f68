/* How much of a multiprocessor the blocks of a kernel can fill: CUDA's theoretical occupancy. */
#ifndef PW_ANALYSIS_OCCUPANCY_H
#define PW_ANALYSIS_OCCUPANCY_H

#include "core/tables.h"

/* Warps that fit on a multiprocessor at a time, by threads, blocks, registers and shared memory,
 * over those that it can have, 0..1; -1 where the limits, the launch or its generation are not
 * known. Of a kernel that can't have run so, too. */
double pw_occupancy(const struct pw_row_device *device, const struct pw_row_kernel *kernel);

#endif
