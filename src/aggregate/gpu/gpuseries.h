/* Clocks, power and temperature of the GPUs that ranks used, over the run: what NVML said, as means
 * over stretches of it. */
#ifndef PW_AGGREGATE_GPU_GPUSERIES_H
#define PW_AGGREGATE_GPU_GPUSERIES_H

#include "aggregate/input/cursor.h"

/* Of all ranks of this process, by rank, device and time. */
struct pw_gpuseries {
    struct pw_row_c_gpu_series *rows;
    size_t n;
};

/* Adds one rank's, at most `points` of them where it used no more devices than that. 0, -ENOMEM, or
 * another -errno when the table ends early: what could be read is in then. */
int pw_gpuseries_read(struct pw_gpuseries *series, const struct pw_openfile *file, size_t points);

void pw_gpuseries_fini(struct pw_gpuseries *series);

#endif
