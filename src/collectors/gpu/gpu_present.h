/* Whether the machine has a GPU of a vendor that a program could use, by the driver's device files.
 * Needed because the vendors' libraries also start on machines without a GPU. Called in-app and by
 * the collector; only looks at files. */
#ifndef PW_GPU_PRESENT_H
#define PW_GPU_PRESENT_H

#include <stdbool.h>

#include "rank/ring/record.h"

/* Also false when CUDA_VISIBLE_DEVICES hides all NVIDIA GPUs. */
bool pw_gpu_is_present(enum pw_gpu_make make);

#endif
