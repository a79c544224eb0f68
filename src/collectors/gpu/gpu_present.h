/* Whether a program could use a GPU of a maker here, by the driver's device files: the makers'
 * libraries begin on machines without a GPU, too. In-app code; the collector calls it, too. */
#ifndef PW_GPU_PRESENT_H
#define PW_GPU_PRESENT_H

#include <stdbool.h>

#include "rank/ring/record.h"

/* False, too, where CUDA_VISIBLE_DEVICES hides all of NVIDIA's. */
bool pw_gpu_is_present(enum pw_gpu_make make);

#endif
