/* Between the files of the stand-in for libcupti: sizes of records, and queues of buffers. */
#ifndef STANDIN_INSIDE_H
#define STANDIN_INSIDE_H

#include "standin.h"

#define EXPORT __attribute__((visibility("default")))

#if STANDIN_CUDA >= 13
enum {
    VERSION = 130001,
    KERNEL = 216,
    COPY = 96,
    MEMORY = 128,
    SYNC = 56,
    OVERHEAD = 56,
    DEVICE = 184
};
#else
enum {
    VERSION = 18,
    KERNEL = 200,
    COPY = 88,
    MEMORY = 120,
    SYNC = 40,
    OVERHEAD = 40,
    DEVICE = 176
};
#endif
enum { PEER = 96, SET = 88, API = 40, QUEUES = 128 };

int standin_is_enabled(uint32_t kind);
int standin_is_call_enabled(int domain, uint32_t callback);

/* Writes a record of one of the sizes above into the queue's buffer. */
void standin_add(int queue, const uint8_t *record);

#endif
