/* Holds what ran on a device until it is known who launched it, and waits until their device is
 * known; then it writes the rows. gpu_tool.c calls it. Tool half: it holds no more than a fixed
 * number, and writes the oldest first. */
#ifndef PW_GPU_HELD_H
#define PW_GPU_HELD_H

#include "collectors/gpu/gpu_launches.h"
#include "rank/collect/collector.h"

struct pw_gpu_held;

/* The caller keeps both alive. NULL when memory is short. */
struct pw_gpu_held *pw_gpu_held_create(struct pw_rankfile *file, struct pw_gpu_launches *launches);

/* Whether calls that launch are recorded at all. */
void pw_gpu_held_expect(struct pw_gpu_held *held, bool calls);

/* A kernel, copy, memset or wait. */
void pw_gpu_held_add(struct pw_gpu_held *held, const struct pw_record *record,
                     const struct pw_origin *origin);

/* All that is left, as it is; and makes the names of kernels readable. */
void pw_gpu_held_finish(struct pw_gpu_held *held);

void pw_gpu_held_destroy(struct pw_gpu_held *held);

#endif
