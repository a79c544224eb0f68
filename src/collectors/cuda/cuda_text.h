/* Reads texts at addresses from CUPTI's records. These may be unmapped by then, so the kernel
 * copies them and reports an error instead of a fault. Called by the worker for each name, once per
 * buffer. In-app code; never faults. */
#ifndef PW_CUDA_TEXT_H
#define PW_CUDA_TEXT_H

#include <stddef.h>

/* Returns the length of the text, at most size - 1; `out` ends with a NUL. 0: the address is not
 * readable. */
size_t pw_cuda_text_read(const char *address, char *out, size_t size);

#endif
