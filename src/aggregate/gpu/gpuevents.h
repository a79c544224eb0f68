/* Reads the activities of a rank's GPUs, and its communication, in the order of their starts. The
 * tables are nearly in that order: kernels are recorded when they end. Called by gputrace.c, one
 * rank at a time. Memory does not grow with the tables. No MPI. */
#ifndef PW_AGGREGATE_GPU_GPUEVENTS_H
#define PW_AGGREGATE_GPU_GPUEVENTS_H

#include "aggregate/input/input.h"
#include "aggregate/input/spans.h"
#include "analysis/gputime.h"

/* The callbacks. `kernel` and `copy` get rows in file order; `activity` gets the same as
 * activities, later and in the order of their starts. */
struct pw_gpu_visitor {
    void *context;
    /* Returns 1 when the kernel is one of NCCL's, 0 when not, or -errno. */
    int (*kernel)(void *context, const struct pw_row_kernel *kernel);
    void (*copy)(void *context, const struct pw_row_memcpy *copy);
    void (*activity)(void *context, const struct pw_gpu_activity *activity);
};

/* How far out of order a file may be: so many rows may be before an activity in the file although
 * they begin after it. The pool has room for this many. */
enum { PW_GPU_DISORDER = 1 << 17 };

/* Reads the events of `input`. `wait`: joined spans in which the rank waited for others. Returns 0,
 * -ENOMEM, or another -errno when a table is damaged; the callbacks got the rows before the
 * damage. */
int pw_gpuevents_read(const struct pw_input *input, const struct pw_spans *wait,
                      const struct pw_gpu_visitor *visitor);

#endif
