/* Converts one CUPTI record to a ring record. Called by the in-app half for each full buffer, and
 * by the collector for buffers that were left when the program was killed. It has no state, and
 * reads names only through the functions in struct pw_cuda_names. */
#ifndef PW_CUDA_CONVERT_H
#define PW_CUDA_CONVERT_H

#include <stdbool.h>
#include <stddef.h>

#include "collectors/cuda/cupti_layout.h"
#include "rank/ring/record.h"

/* Functions that return ids of names. */
struct pw_cuda_names {
    /* Returns the id of the text at an address of the application; 0: not known. */
    uint32_t (*at)(void *arg, const char *address);
    /* Returns the id of the name of a runtime or driver function; *launches: whether it launches
     * work on a device. */
    uint32_t (*function)(void *arg, int domain, uint32_t callback, bool *launches);
    void *arg;
    bool keeps_calls; /* every call gets a row of its own */
};

enum pw_cuda_converted {
    PW_CUDA_NOT_RECORDED = 0, /* of another kind, or incomplete */
    PW_CUDA_RECORDED,         /* converted into *out */
    PW_CUDA_UNTIMED,          /* CUPTI could not measure its times */
};

/* Converts the record at `bytes`, of at most `room` bytes. */
enum pw_cuda_converted pw_cuda_convert(const void *bytes, size_t room,
                                       const struct pw_cuda_names *names, struct pw_record *out);

#endif
