/* Writes a text with the reason why no GPU activity of a rank was recorded, and what to do. Called
 * by the collector at the end of the run. Uses only the result that the application reported. */
#ifndef PW_CUDA_REFUSAL_H
#define PW_CUDA_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

/* Takes the result and version of struct pw_record's gpu_state. The text has no full stop, and is
 * cut to `size`. */
void pw_cuda_refusal_write(int32_t result, uint32_t version, char *out, size_t size);

#endif
