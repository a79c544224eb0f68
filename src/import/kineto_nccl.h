/* What Kineto's events say of NCCL operations. */
#ifndef PW_IMPORT_KINETO_NCCL_H
#define PW_IMPORT_KINETO_NCCL_H

#include "import/kineto_event.h"
#include "import/trace.h"

/* The number of the collective (traceops.h) that a kernel, a record_param_comms or a "nccl:…"
 * annotation tells of, with the elements that went in and came out (-1: not known); 0: none. */
uint32_t pw_kineto_collective(struct pw_trace *trace, const struct pw_kineto_event *event,
                              int64_t *count_in, int64_t *count_out);

#endif
