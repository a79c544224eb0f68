/* Reads texts at addresses in CUPTI's records, which may be unmapped by then: the kernel copies
 * them, and says so. Our thread calls it for each name, once in a buffer. In-app code. */
#ifndef PW_CUDA_TEXT_H
#define PW_CUDA_TEXT_H

#include <stddef.h>

/* The text's length, at most size - 1; `out` ends with a NUL. 0: nothing can be read there. */
size_t pw_cuda_text_read(const char *address, char *out, size_t size);

#endif
