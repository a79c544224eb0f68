/* The state of recording by rocprofiler in the application: one rocprofiler, one buffer, one thread
 * of ours. Used by the files of this folder. In-app code; only they may change it. */
#ifndef PW_ROCM_RECORDS_H
#define PW_ROCM_RECORDS_H

#include "collectors/gpu/gpu_inside.h"
#include "collectors/rocm/rocm_clock.h"
#include "collectors/rocm/rocm_layout.h"

/* Why no GPU activity was recorded; smaller values are rocprofiler's own results. */
enum pw_rocm_refusal {
    PW_ROCM_NO_LIBRARY = 1000,
    PW_ROCM_OTHER_VERSION,
    PW_ROCM_NO_HELPER,  /* libprofwrap_rocm.so could not be loaded */
    PW_ROCM_NOT_CALLED, /* rocprofiler did not find it */
    PW_ROCM_NO_THREAD,  /* our thread, which flushes the buffer, could not be started */
};

struct pw_rocm {
    const struct pw_rocp *rocp;
    uint64_t context, buffer;
    uint32_t level, version;
    int result; /* result of the call because of which nothing is recorded */
    bool is_recording;
    struct pw_rocm_clock clock; /* readings are added by the thread that starts ROCm, then by
                                 * ours */
    struct pw_gpu_loss dropped, untimed;
    _Atomic uint32_t wake; /* futex on which our thread sleeps */
    _Atomic int stopping;
    _Atomic int is_asking; /* 1 while our thread is in rocprofiler */
};

extern struct pw_rocm pw_rocm __attribute__((visibility("hidden")));

/* Reads both clocks at the same moment. */
struct pw_rocm_reading pw_rocm_read_clocks(void);

/* As rocprofiler_configure() (rocm_session.c): returns our tool, or NULL when nothing is to be
 * recorded. */
pw_rocp_configure pw_rocm_configure;

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
