/* Turns rocprofiler's records into ours. rocprofiler calls it with full buffers, in a thread of
 * its own. In-app code: it waits only for room in the ring, and only for a limited time. */
#ifndef PW_ROCM_RECORDS_H
#define PW_ROCM_RECORDS_H

#include "collectors/rocm/rocm_state.h"

/* What rocprofiler calls with a buffer that is full, or that was asked for, on a thread of its own.
 * A program that fills the other buffer meanwhile waits for it. */
pw_rocp_on_buffer pw_rocm_take_buffer;

/* What rocprofiler calls when code is loaded, around a call that has a stream, and to ask what the
 * calling thread's stream is; in the program's threads. */
pw_rocp_on_call pw_rocm_take_code, pw_rocm_take_stream;
pw_rocp_on_asked pw_rocm_say_stream;

/* Gaps for what was lost. */
void pw_rocm_put_losses(struct pw_thread *thread);

#endif
