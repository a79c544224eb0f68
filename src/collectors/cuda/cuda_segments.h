/* Memory of devices that the program takes by cuMemCreate() and maps itself, as PyTorch's
 * expandable segments and NCCL do: CUPTI has no records of it, but tells of the calls. It is there
 * until it is released and no longer mapped. In-app code. */
#ifndef PW_CUDA_SEGMENTS_H
#define PW_CUDA_SEGMENTS_H

#include <stdbool.h>

#include "collectors/cuda/cuda_state.h"

/* What CUPTI calls on entering and leaving functions, in the program's threads. */
void pw_cuda_segments_call(void *arg, int domain, uint32_t callback, const void *data);

/* Has it do so, or not, by the subscription that there is. False: there is none. */
bool pw_cuda_segments_watch(bool is_on);

/* Makes records of what has come since; by the worker only. */
void pw_cuda_segments_put(struct pw_thread *thread);

#endif
