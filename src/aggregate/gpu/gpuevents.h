/* Reads the activities of a rank's GPUs, and its communication, in the order of their starts. The
 * rows of the tables are only nearly in that order, because a kernel is recorded when it ends.
 * Called by gputrace.c, one rank at a time. Memory does not grow with the tables. No MPI. */
#ifndef PW_AGGREGATE_GPU_GPUEVENTS_H
#define PW_AGGREGATE_GPU_GPUEVENTS_H

#include "aggregate/input/input.h"
#include "aggregate/input/spans.h"
#include "analysis/gpu.h"

/* The callbacks. `kernel` and `copy` get rows in file order; `activity` gets the same rows
 * again, as struct pw_gpu_activity and in the order of their starts. */
struct pw_gpu_visitor {
    void *context;
    /* Returns 1 when the kernel is one of NCCL's, 0 when not, or -errno. */
    int (*kernel)(void *context, const struct pw_row_kernel *kernel);
    void (*copy)(void *context, const struct pw_row_memcpy *copy);
    void (*activity)(void *context, const struct pw_gpu_activity *activity);
};

/* The largest number of rows that may stand before an activity in the file although they begin
 * after it. This many are kept in memory for sorting. */
enum { PW_GPU_DISORDER = 1 << 17 };

/* Reads the events of `input`. `wait`: joined spans in which the rank waited for others. Returns 0,
 * -ENOMEM, or another -errno when a table is damaged; the callbacks got the rows before the
 * damage. */
int pw_gpuevents_read(const struct pw_input *input, const struct pw_spans *wait,
                      const struct pw_gpu_visitor *visitor);

#endif
