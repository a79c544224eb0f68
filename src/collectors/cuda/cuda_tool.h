/* Detects whether the program uses CUDA when CUDA_INJECTION64_PATH names another tool, so that
 * profwrap cannot record it. Called by the collector process, because none of our CUDA code runs in
 * the program then. It only reads /proc/PID/maps. */
#ifndef PW_CUDA_TOOL_H
#define PW_CUDA_TOOL_H

#include <stdbool.h>
#include <sys/types.h>

#include "rank/file/rankfile.h"
#include "rank/ring/segment.h"

/* Detects whether the program uses CUDA when CUDA_INJECTION64_PATH names another tool, so that
 * profwrap cannot record it. It only reads /proc/PID/maps. */

struct pw_cuda_other {
    const char *tool;                  /* path of the other tool, borrowed; NULL: none */
    struct pw_segment_shared *segment; /* borrowed */
    int64_t since_ns, next_ns;
    bool is_used; /* a process of the rank has loaded libcuda */
};

/* To be called when CUDA should be recorded but will load this tool: makes NCCL record the times of
 * its kernels. */
void pw_cuda_other_begin(struct pw_cuda_other *other, struct pw_segment_shared *segment,
                         const char *tool);

/* Checks the program and the process that records for libcuda: often at first, seldom later, and no
 * longer once it was found. */
void pw_cuda_other_poll(struct pw_cuda_other *other, pid_t program);

/* To be called at the end: writes the attribute `gpu_unrecorded` when there is a GPU and CUDA was
 * used. */
void pw_cuda_other_finish(const struct pw_cuda_other *other, struct pw_rankfile *file);

#endif
