/* Why nothing of a rank's GPUs was recorded, in words. Tool half. */
#ifndef PW_CUDA_REFUSAL_H
#define PW_CUDA_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the program could use a GPU here: CUDA's driver may be where there is none. */
bool pw_cuda_has_gpu(void);

/* Of struct pw_record's gpu_state. Without a full stop; `out` is cut to `size`. */
void pw_cuda_refusal_write(int32_t result, uint32_t version, char *out, size_t size);

#endif
