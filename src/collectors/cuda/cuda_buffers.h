/* CUPTI's buffers: it owns which buffer of the pool CUPTI gets, and turns full buffers into
 * records. CUPTI calls pw_cuda_request() and pw_cuda_complete() in any thread; only our worker
 * converts. In-app code: it never waits in CUPTI's callbacks, and takes no lock. */
#ifndef PW_CUDA_BUFFERS_H
#define PW_CUDA_BUFFERS_H

#include "collectors/cuda/cuda_state.h"

/* What CUPTI calls for a buffer, and with a full one, in threads of its own and of the application.
 * They hand over and return at once. */
void pw_cuda_request(uint8_t **buffer, size_t *size, size_t *most_records);
void pw_cuda_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t used);

/* So much of what CUPTI had for us is lost. */
void pw_cuda_lose(size_t n);

/* Makes records of all complete buffers; by the worker only. */
void pw_cuda_convert_all(struct pw_thread *thread);

/* The id of the name of a function of the runtime or driver, as in struct pw_cuda_names. */
uint32_t pw_cuda_function(struct pw_thread *thread, int domain, uint32_t callback, bool *launches);

/* Whether a function of this name starts something on a device. */
bool pw_cuda_launches(const char *function);

/* Writes one record, waiting for room a while: this thread is not the application's. */
void pw_cuda_put(struct pw_thread *thread, const struct pw_record *record);

#endif
