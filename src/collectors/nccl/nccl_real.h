/* Finds NCCL's own functions behind our wrappers. Only nccl_wrap.c calls it. In-app code: it may
 * not call NCCL. */
#ifndef PW_NCCL_REAL_H
#define PW_NCCL_REAL_H

/* The function `name`, a literal, that the object with the address `caller` would have called
 * without us. NULL when there is none. */
void *pw_nccl_real(const char *name, const void *caller);

#endif
