/* Stores the last ranges of each thread, so that a launch can be assigned to the range around it. A
 * range is added when it has ended. Called by gpu_launches.c. Tool code; it keeps at most MOST_ROOM
 * ranges of a thread, and forgets the oldest. */
#ifndef PW_GPU_SPANS_H
#define PW_GPU_SPANS_H

#include <stdint.h>

struct pw_gpu_spans;

/* Returns NULL when memory is short. */
struct pw_gpu_spans *pw_gpu_spans_create(void);

/* Adds a range of lane `lane`; ranges inside it must have been added before. `name` is a row of
 * /strings. */
void pw_gpu_spans_add(struct pw_gpu_spans *spans, uint16_t lane, int64_t start, int64_t end,
                      uint32_t name);

/* Returns 1 and sets *name to the innermost stored range around `time`; 0 when there is none. */
int pw_gpu_spans_find(const struct pw_gpu_spans *spans, uint16_t lane, int64_t time,
                      uint32_t *name);

void pw_gpu_spans_destroy(struct pw_gpu_spans *spans);

#endif
