/* Finds out whether a program uses CUDA although CUDA_INJECTION64_PATH names another tool, and this
 * collector therefore records nothing. It only reads /proc/PID/maps. The collector's process calls
 * it, because no code of ours runs in the program then. */
#ifndef PW_CUDA_OTHER_H
#define PW_CUDA_OTHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "rank/file/rankfile.h"
#include "rank/ring/segment.h"

struct pw_cuda_other {
    const char *tool;                  /* borrowed; NULL: there is none */
    struct pw_segment_shared *segment; /* borrowed */
    int64_t since_ns, next_ns;
    bool is_used; /* libcuda is in a process */
};

/* CUDA is to be recorded, and will load this tool: NCCL is asked for the times of its kernels. */
void pw_cuda_other_begin(struct pw_cuda_other *other, struct pw_segment_shared *segment,
                         const char *tool);

/* Looks into the program, and into the process that records, when it is time to: often at first,
 * seldom later, and never again once libcuda was found. */
void pw_cuda_other_poll(struct pw_cuda_other *other, pid_t program);

/* At the end: the attribute `gpu_unrecorded`, where there is a GPU and CUDA was used. */
void pw_cuda_other_finish(const struct pw_cuda_other *other, struct pw_rankfile *file);

#endif
