/* Converts rocprofiler's records to ring records. Called by rocprofiler with full buffers, in a
 * thread of its own. In-app code: it waits only for room in the ring, for a limited time. */
#ifndef PW_ROCM_RECORDS_H
#define PW_ROCM_RECORDS_H

#include "collectors/rocm/rocm_state.h"

/* rocprofiler's callback with a full or flushed buffer, in a thread of its own. If the program
 * fills the other buffer meanwhile, it waits for this function. */
pw_rocp_on_buffer pw_rocm_take_buffer;

/* rocprofiler's callbacks in the program's threads: when code is loaded, around a call that has a
 * stream, and to ask for the calling thread's stream. */
pw_rocp_on_call pw_rocm_take_code, pw_rocm_take_stream;
pw_rocp_on_asked pw_rocm_say_stream;

/* Writes gaps for losses. */
void pw_rocm_put_losses(struct pw_thread *thread);

#endif
