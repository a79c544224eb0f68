/* Gives CUPTI buffers of the pool, and converts full buffers to ring records. CUPTI calls
 * pw_cuda_request() and pw_cuda_complete() in any thread; only the worker thread converts. In-app
 * code: it never waits in CUPTI's callbacks, and takes no lock. */
#ifndef PW_CUDA_BUFFERS_H
#define PW_CUDA_BUFFERS_H

#include "collectors/cuda/cuda_state.h"

/* CUPTI's callbacks: it calls the first for an empty buffer, the second with a full one, in threads
 * of its own and of the application. Both return at once. */
void pw_cuda_request(uint8_t **buffer, size_t *size, size_t *most_records);
void pw_cuda_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t used);

/* Counts `n` lost records of CUPTI. */
void pw_cuda_lose(size_t n);

/* Converts all complete buffers. Called by the worker only. */
void pw_cuda_convert_all(struct pw_thread *thread);

/* Returns the id of the name of a runtime or driver function; see struct pw_cuda_names. */
uint32_t pw_cuda_function(struct pw_thread *thread, int domain, uint32_t callback, bool *launches);

/* Whether the function of this name launches work on a device. */
bool pw_cuda_launches(const char *function);

/* Writes one record; waits for room for a limited time, so only the worker may call it. */
void pw_cuda_put(struct pw_thread *thread, const struct pw_record *record);

#endif
