/* Remembers which ranges the program's threads were in lately, so that a launch can be assigned to
 * one. Ranges are known when they have ended. Called by gpu_launches.c. Tool code; it keeps at
 * most MOST_ROOM ranges of a thread, and forgets the oldest. */
#ifndef PW_GPU_SPANS_H
#define PW_GPU_SPANS_H

#include <stdint.h>

struct pw_gpu_spans;

/* NULL when memory is short. */
struct pw_gpu_spans *pw_gpu_spans_create(void);

/* A range of lane `lane` has ended; those inside it came before. `name` is its row of /strings. */
void pw_gpu_spans_add(struct pw_gpu_spans *spans, uint16_t lane, int64_t start, int64_t end,
                      uint32_t name);

/* 1 and the name of the innermost range around `time`, of those that have ended; 0 when none of
 * them was. */
int pw_gpu_spans_find(const struct pw_gpu_spans *spans, uint16_t lane, int64_t time,
                      uint32_t *name);

void pw_gpu_spans_destroy(struct pw_gpu_spans *spans);

#endif
