/* Which ranges the program's threads were in, lately: so that a launch can be said to be of one.
 * Ranges are known when they have ended. */
#ifndef PW_CUDA_SPANS_H
#define PW_CUDA_SPANS_H

#include <stdint.h>

struct pw_cuda_spans;

/* NULL when memory is short. */
struct pw_cuda_spans *pw_cuda_spans_create(void);

/* A range of lane `lane` has ended; those inside it came before. `name` is its row of /strings. */
void pw_cuda_spans_add(struct pw_cuda_spans *spans, uint16_t lane, int64_t start, int64_t end,
                       uint32_t name);

/* 1 and the name of the innermost range around `time`, of those that have ended; 0 when none of
 * them was. */
int pw_cuda_spans_find(const struct pw_cuda_spans *spans, uint16_t lane, int64_t time,
                       uint32_t *name);

void pw_cuda_spans_destroy(struct pw_cuda_spans *spans);

#endif
