/* What Kineto's events say of operations of NCCL and Gloo: which one an event tells of, and what an
 * operator is to one of Gloo. kineto_take.c calls this for ranges of the host and for kernels;
 * it does not decide which events belong to one operation: rankwrite.c and gloo.h do. */
#ifndef PW_IMPORT_KINETO_OPS_H
#define PW_IMPORT_KINETO_OPS_H

#include "import/kineto_take.h"

/* The number of the collective (traceops.h) that a kernel, a record_param_comms or a "nccl:…"
 * or "gloo:…" annotation tells of, with the elements that went in and came out (-1: not known); 0:
 * none. */
uint32_t pw_kineto_collective(struct pw_trace *trace, const struct pw_kineto_event *event,
                              int64_t *count_in, int64_t *count_out);

/* Sets role, collective and sizes of a range: of what torch.distributed's operators,
 * record_param_comms and Gloo's annotations are to an operation of Gloo. NCCL's operations have
 * kernels instead. */
void pw_kineto_find_role(struct pw_kineto *k, struct pw_host_record *record);

#endif
