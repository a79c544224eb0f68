/* Scrap buffers, which CUPTI gets when no buffer of the pool is free. Their records are counted as
 * lost. They are needed because, before API version 27 (CUDA 12.9), libcupti crashes when it gets
 * NULL. Called by cuda_buffers.c. In-app code: no allocation, no lock. */
#ifndef PW_CUDA_SCRAP_H
#define PW_CUDA_SCRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns a buffer; never fails. */
void pw_scrap_take(uint8_t **buffer, size_t *size, size_t *most_records);

/* Returns whether the buffer is a scrap buffer; if so, frees it and sets *lost to the number of
 * records in it. */
bool pw_scrap_complete(uint8_t *buffer, size_t used, size_t *lost);

#endif
