/* The files that a profile of MindSpore or Ascend has beside its trace: what they say of operations
 * of HCCL, links and memory, which no event of the trace says. ascend.c calls it once for each
 * profile. Files that are not read are only named. */
#ifndef PW_IMPORT_ASCEND_BESIDE_H
#define PW_IMPORT_ASCEND_BESIDE_H

#include "import/trace/trace.h"

/* Reads the files in `directory`, an ASCEND_PROFILER_OUTPUT, but the one named `main_file`, which
 * has the events. 0 or -errno; for a file that is damaged 0, with a sentence in `problem`. */
int pw_ascend_sidefiles_read(const char *directory, const char *main_file,
                             struct pw_trace_window *window, char *problem, size_t size);

/* The communicator of a group of HCCL, as for the events of a trace. Returns its row of /comms, or
 * -1. */
int32_t pw_ascend_comm_of(struct pw_trace *trace, const char *group);

#endif
