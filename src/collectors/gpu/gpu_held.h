/* Holds records of kernels, copies and memsets until the call that launched them is known, and
 * records of waits until their device is known. Then it writes their rows. Called by gpu_tool.c.
 * Tool half: it holds at most a fixed number, and writes the oldest first. */
#ifndef PW_GPU_HELD_H
#define PW_GPU_HELD_H

#include "collectors/gpu/gpu_launches.h"
#include "rank/collect/collector.h"

struct pw_gpu_held;

/* `file` and `launches` must outlive the result. Returns NULL when memory is short. */
struct pw_gpu_held *pw_gpu_held_create(struct pw_rankfile *file, struct pw_gpu_launches *launches);

/* Sets whether calls that launch work are recorded; if not, nothing is held for them. */
void pw_gpu_held_expect(struct pw_gpu_held *held, bool calls);

/* Adds a record of a kernel, copy, memset or wait. */
void pw_gpu_held_add(struct pw_gpu_held *held, const struct pw_record *record,
                     const struct pw_origin *origin);

/* Writes all held records with what is known of them, and demangles the kernels' names. */
void pw_gpu_held_finish(struct pw_gpu_held *held);

void pw_gpu_held_destroy(struct pw_gpu_held *held);

#endif
