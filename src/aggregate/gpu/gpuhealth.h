/* What the driver and NVML told of GPUs that are not well, for /completeness. */
#ifndef PW_GPUHEALTH_H
#define PW_GPUHEALTH_H

#include "aggregate/input/job.h"

/* A row gpu_errors for each rank of whose GPUs an error was told: XIDs, uncorrectable ECC errors
 * and errors of NVLink in the run, and rows of memory that wait to be remapped or could not be. A
 * row gpu_slowed for each whose GPUs' clocks heat or the power brake lowered. */
void pw_gpuhealth_note(struct pw_job *job);

#endif
