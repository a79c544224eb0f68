/* Finds what launched a GPU activity: the call by its correlation number, the thread by the call,
 * and the range by thread and time. The records come in any order: CUPTI has separate buffers for
 * calls and for kernels, and a range is recorded when it has ended. Called by gpu_tool.c. Tool
 * code; a value that is not known is -1 or 0, never a guess. */
#ifndef PW_GPU_LAUNCHES_H
#define PW_GPU_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

struct pw_gpu_launches;

struct pw_gpu_launch {
    int64_t time;  /* time at which the call was entered; -1 not known */
    int32_t lane;  /* of the thread; -1 not known */
    uint32_t name; /* of the range, row of /strings; 0 none known */
};

/* Returns NULL when memory is short. */
struct pw_gpu_launches *pw_gpu_launches_create(void);

/* The thread `tid` records as `lane` from now on. */
void pw_gpu_launches_thread(struct pw_gpu_launches *launches, int32_t tid, uint16_t lane);
int32_t pw_gpu_launches_lane(const struct pw_gpu_launches *launches, int32_t tid);

/* Adds a range that has ended. */
void pw_gpu_launches_range(struct pw_gpu_launches *launches, uint16_t lane, int64_t start,
                           int64_t end, uint32_t name);

/* Adds a phase of the program that has ended, of whatever thread. It is what a launch is assigned
 * to that has no range of its own thread: PyTorch's autograd launches the kernels of the backward
 * pass from threads of its own, while the main thread waits in the phase. */
void pw_gpu_launches_phase(struct pw_gpu_launches *launches, int64_t start, int64_t end,
                           uint32_t name);

/* Adds a call that launches, made by thread `tid` at `time`. */
void pw_gpu_launches_call(struct pw_gpu_launches *launches, uint32_t correlation, int32_t tid,
                          int64_t time);

/* Fills *out with what is known of the launch now. Returns true when no later record can add to
 * it. */
bool pw_gpu_launches_find(struct pw_gpu_launches *launches, uint32_t correlation,
                          struct pw_gpu_launch *out);

void pw_gpu_launches_destroy(struct pw_gpu_launches *launches);

#endif
