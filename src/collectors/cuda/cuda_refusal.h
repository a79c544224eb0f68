/* Says in words why nothing of a rank's GPUs was recorded, and what to do. The collector calls it
 * at the end of the run. It looks at nothing but the result that the application reported. */
#ifndef PW_CUDA_REFUSAL_H
#define PW_CUDA_REFUSAL_H

#include <stddef.h>
#include <stdint.h>

/* Takes the result and version of struct pw_record's gpu_state. The text has no full stop, and is
 * cut to `size`. */
void pw_cuda_refusal_write(int32_t result, uint32_t version, char *out, size_t size);

#endif
