/* Finds out whether a program uses CUDA although CUDA_INJECTION64_PATH names another tool, and this
 * collector therefore records nothing. It only reads /proc/PID/maps. The collector's process calls
 * it, because no code of ours runs in the program then. */
#ifndef PW_CUDA_OTHER_H
#define PW_CUDA_OTHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "rank/file/rankfile.h"

struct pw_cuda_other {
    const char *tool; /* borrowed; NULL: there is none */
    int64_t since_ns, next_ns;
    bool is_used; /* libcuda is in a process */
};

/* Looks into these processes (0: none) when it is time to: often at first, seldom later, and never
 * again once libcuda was found. */
void pw_cuda_other_poll(struct pw_cuda_other *other, const pid_t *pids, size_t n);

/* At the end: the attribute `gpu_unrecorded`, where there is a GPU and CUDA was used. */
void pw_cuda_other_finish(const struct pw_cuda_other *other, struct pw_rankfile *file);

#endif
