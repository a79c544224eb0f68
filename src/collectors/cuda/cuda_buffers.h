/* Gives CUPTI buffers of the pool, and converts full buffers to ring records. CUPTI asks
 * for buffers and returns them in any thread; only the worker thread converts. In-app code: it
 * never waits in CUPTI's callbacks, and takes no lock. */
#ifndef PW_CUDA_BUFFERS_H
#define PW_CUDA_BUFFERS_H

#include "collectors/cuda/cuda_state.h"

/* Registers the callbacks by which CUPTI gets empty buffers and returns full ones, in threads of
 * its own and of the application. Both return at once. Returns CUPTI's result. */
int pw_cuda_offer_buffers(void);

/* Converts all complete buffers. Called by the worker only. */
void pw_cuda_convert_all(struct pw_thread *thread);

/* Whether the function of this name launches work on a device. */
bool pw_cuda_launches(const char *function);

#endif
