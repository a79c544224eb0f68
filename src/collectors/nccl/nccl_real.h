/* NCCL's own functions behind our wrappers. In-app code. */
#ifndef PW_NCCL_REAL_H
#define PW_NCCL_REAL_H

/* The function `name`, a literal, that the object with the address `caller` would have called
 * without us. NULL when there is none. */
void *pw_nccl_real(const char *name, const void *caller);

#endif
