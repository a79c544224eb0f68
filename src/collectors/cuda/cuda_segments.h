/* Tracks device memory that the program allocates by cuMemCreate() and maps itself, as PyTorch's
 * expandable segments and NCCL do. CUPTI has no memory records for it, but reports the calls. The
 * memory is freed when its handle was released and it is no longer mapped. Called by CUPTI and by
 * the worker. In-app code; takes no lock of the application. */
#ifndef PW_CUDA_SEGMENTS_H
#define PW_CUDA_SEGMENTS_H

#include <stdbool.h>

#include "collectors/cuda/cuda_state.h"

/* CUPTI's callback at entry and exit of functions, in the program's threads. */
void pw_cuda_segments_call(void *arg, int domain, uint32_t callback, const void *data);

/* Enables or disables the callback in the present subscription. Returns false when there is
 * none. */
bool pw_cuda_segments_watch(bool is_on);

/* Writes records of the changes since the last call. Called by the worker only. */
void pw_cuda_segments_put(struct pw_thread *thread);

#endif
