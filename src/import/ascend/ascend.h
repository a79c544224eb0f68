/* The files that a profile of MindSpore or Ascend has beside its trace: what they say of operations
 * of HCCL, links and memory, which no event of the trace says. Called by ascend.c and msprof.c,
 * once for each profile. Files that are not read are only named. */
#ifndef PW_ASCEND_H
#define PW_ASCEND_H

#include "import/trace/trace.h"

/* The files that a profile of MindSpore or Ascend has beside its trace: what they say of operations
 * of HCCL, links and memory, which no event of the trace says. ascend.c calls it once for each
 * profile. Files that are not read are only named. */

/* The communicator of a group of HCCL, as for the events of a trace. Returns its row of /comms, or
 * -1. */
int32_t pw_ascend_comm_of(struct pw_trace *trace, const char *group);

#endif
