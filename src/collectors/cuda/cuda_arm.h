/* Begins and ends our use of CUPTI. A process has only one set of callbacks, kinds and clocks. So
 * when the application begins to use CUPTI itself, the probe stops, and continues when the
 * application has disabled all its kinds. Called by cuda_probe.c. In-app code; the application
 * always comes first. */
#ifndef PW_CUDA_ARM_H
#define PW_CUDA_ARM_H

#include <stdbool.h>

/* Enables recording by CUPTI. Returns false when CUPTI refuses. Called by the worker, and the first
 * time by the thread that starts CUDA. */
bool pw_cuda_arm(void);

/* Ends a subscription that could not be ended when the application began to use CUPTI. Called by
 * the worker while it is not in CUPTI. */
void pw_cuda_end_left(void);

/* Ends our use of CUPTI when a profiler was loaded whose calls the probe cannot see. Called by the
 * worker. */
void pw_cuda_look(void);

#endif
