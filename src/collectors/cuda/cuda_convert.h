/* Turns one record of CUPTI into one of ours. The application's half calls it for each buffer that
 * CUPTI hands over, the collector for buffers that were left when the program was killed. It keeps
 * no state, and reads names only through the functions that it is given. */
#ifndef PW_CUDA_CONVERT_H
#define PW_CUDA_CONVERT_H

#include <stdbool.h>
#include <stddef.h>

#include "collectors/cuda/cupti_layout.h"
#include "rank/ring/record.h"

/* Ids of the process's names. */
struct pw_cuda_names {
    /* The id of the text at an address of the application; 0 when it is not known. */
    uint32_t (*at)(void *arg, const char *address);
    /* The id of a function of the runtime or driver; *launches: whether it starts something on a
     * device. */
    uint32_t (*function)(void *arg, int domain, uint32_t callback, bool *launches);
    void *arg;
    bool keeps_calls; /* each call is to have a row of its own */
};

enum pw_cuda_converted {
    PW_CUDA_NOT_RECORDED = 0, /* of another kind, or not whole */
    PW_CUDA_RECORDED,         /* what there is of it is in *out */
    PW_CUDA_UNTIMED,          /* it ran, and CUPTI does not know when */
};

/* What these `room` bytes are. */
enum pw_cuda_converted pw_cuda_convert(const void *bytes, size_t room,
                                       const struct pw_cuda_names *names, struct pw_record *out);

#endif
