/* What a rank's GPUs did, and its communication, in the order of their starts, from tables that are
 * nearly in order: kernels are recorded when they end. Called by gputrace.c, one rank at a time.
 * Memory does not grow with the tables. No MPI. */
#ifndef PW_AGGREGATE_GPU_GPUEVENTS_H
#define PW_AGGREGATE_GPU_GPUEVENTS_H

#include "aggregate/input/input.h"
#include "aggregate/input/spans.h"
#include "analysis/gputime.h"

/* The callbacks. Kernels and copies come in file order, before the activities that they are. */
struct pw_gpu_visitor {
    void *context;
    /* Answers whether the kernel is one of NCCL's, or -errno. */
    int (*kernel)(void *context, const struct pw_row_kernel *kernel);
    void (*copy)(void *context, const struct pw_row_memcpy *copy);
    void (*activity)(void *context, const struct pw_gpu_activity *activity);
};

/* Rows that may lie between an activity and those that began after it but come first in a file;
 * memory is for this many. */
enum { PW_GPU_DISORDER = 1 << 17 };

/* `wait`: joined spans in which the rank waited for others. 0, -ENOMEM, or another -errno when a
 * table ends early: the callbacks have then had what could be read. */
int pw_gpuevents_read(const struct pw_input *input, const struct pw_spans *wait,
                      const struct pw_gpu_visitor *visitor);

#endif
