/* Why nothing of a rank's GPUs was recorded, in words. Tool half. */
#ifndef PW_CUDA_REFUSAL_H
#define PW_CUDA_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

/* Of struct pw_record's gpu_state. Without a full stop; `out` is cut to `size`. */
void pw_cuda_refusal_write(int32_t result, uint32_t version, char *out, size_t size);

#endif
