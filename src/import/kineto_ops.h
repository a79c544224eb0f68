/* Finds the NCCL or Gloo operation that a Kineto event describes, and the role of a host range in a
 * Gloo operation. kineto_take.c calls this for ranges of the host and for kernels. It does not join
 * the events of one operation: rankwrite.c and gloo.c do. */
#ifndef PW_IMPORT_KINETO_OPS_H
#define PW_IMPORT_KINETO_OPS_H

#include "import/kineto_take.h"

/* Returns the number (traceops.h) of the operation that a kernel, a record_param_comms or a
 * "nccl:…" or "gloo:…" annotation describes, or 0: none. Sets *count_in and *count_out to its
 * elements of input and output; -1: not known. */
uint32_t pw_kineto_collective(struct pw_trace *trace, const struct pw_kineto_event *event,
                              int64_t *count_in, int64_t *count_out);

/* Sets the record's role in a Gloo operation, and for an operator that begins one also `collective`
 * and `count_in`. Operations of NCCL need no role: they are imported from their kernels. */
void pw_kineto_find_role(struct pw_kineto *k, struct pw_host_record *record);

#endif
