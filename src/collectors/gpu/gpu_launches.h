/* Who launched what ran on the GPU: the call by its correlation number, the thread by the call,
 * the range by thread and time. The three come in any order: CUPTI hands over calls and kernels in
 * buffers of their own, a thread says who it is in its own records, and a range is known when it
 * has ended. Called by gpu_held.c and gpu_tool.c. Tool code; what is not known when it is asked
 * for is -1 or 0, never a guess. */
#ifndef PW_GPU_LAUNCHES_H
#define PW_GPU_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

struct pw_gpu_launches;

struct pw_gpu_launch {
    int64_t time;  /* when the call was entered; -1 not known */
    int32_t lane;  /* of the thread; -1 not known */
    uint32_t name; /* of the range, row of /strings; 0 none known */
};

/* NULL when memory is short. */
struct pw_gpu_launches *pw_gpu_launches_create(void);

/* The thread `tid` records as `lane` from now on. */
void pw_gpu_launches_thread(struct pw_gpu_launches *launches, int32_t tid, uint16_t lane);
int32_t pw_gpu_launches_lane(const struct pw_gpu_launches *launches, int32_t tid);

/* A range has ended. */
void pw_gpu_launches_range(struct pw_gpu_launches *launches, uint16_t lane, int64_t start,
                           int64_t end, uint32_t name);

/* A call that launches, by thread `tid` at `time`. */
void pw_gpu_launches_call(struct pw_gpu_launches *launches, uint32_t correlation, int32_t tid,
                          int64_t time);

/* What is known of the launch now. True when that is all that there will be. */
bool pw_gpu_launches_find(struct pw_gpu_launches *launches, uint32_t correlation,
                          struct pw_gpu_launch *out);

void pw_gpu_launches_destroy(struct pw_gpu_launches *launches);

#endif
