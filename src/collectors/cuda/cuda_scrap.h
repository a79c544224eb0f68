/* Where CUPTI writes when no buffer of the pool is free. Before API version 27 (CUDA 12.9) a
 * request that is answered by NULL crashes inside libcupti, so there is always an answer; what is
 * written there is counted, and lost. In-app code: no allocation, no lock. */
#ifndef PW_CUDA_SCRAP_H
#define PW_CUDA_SCRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer, always. */
void pw_scrap_take(uint8_t **buffer, size_t *size, size_t *most_records);

/* Whether the buffer is one of these. It may then be taken again; *lost is how many records were in
 * it. */
bool pw_scrap_complete(uint8_t *buffer, size_t used, size_t *lost);

#endif
