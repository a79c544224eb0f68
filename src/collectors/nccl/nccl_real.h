/* Finds the NCCL functions that our wrappers call. Only nccl_wrap.c calls it. In-app code: it may
 * not call NCCL. */
#ifndef PW_NCCL_REAL_H
#define PW_NCCL_REAL_H

/* Returns the function `name` (a string literal) that the object at address `caller` would get
 * without the probe; NULL when there is none. */
void *pw_nccl_real(const char *name, const void *caller);

#endif
