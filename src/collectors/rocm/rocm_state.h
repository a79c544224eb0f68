/* The state of rocprofiler's use in the application: one rocprofiler, one buffer of its own, one
 * thread of ours. The files of this folder share it. In-app code. */
#ifndef PW_ROCM_STATE_H
#define PW_ROCM_STATE_H

#include "collectors/gpu/gpu_inside.h"
#include "collectors/rocm/rocm_clock.h"
#include "collectors/rocm/rocm_library.h"

/* Why there is nothing of GPUs; other values are rocprofiler's own, which are smaller. */
enum pw_rocm_refusal {
    PW_ROCM_NO_LIBRARY = 1000,
    PW_ROCM_OTHER_VERSION,
    PW_ROCM_NO_HELPER,  /* our own library that rocprofiler is to find could not be loaded */
    PW_ROCM_NOT_CALLED, /* rocprofiler did not find it */
    PW_ROCM_NO_THREAD,  /* of ours, to ask for what is in the buffer */
};

struct pw_rocm {
    const struct pw_rocp *rocp;
    uint64_t context, buffer;
    uint32_t level, version;
    int result; /* of what kept it from recording */
    bool is_recording;
    struct pw_rocm_clock clock; /* added to by the thread that begins, then by ours */
    struct pw_gpu_loss dropped, untimed;
    _Atomic uint32_t wake; /* futex: our thread sleeps on it */
    _Atomic int stopping;
    _Atomic int is_asking; /* our thread is in rocprofiler */
};

extern struct pw_rocm pw_rocm __attribute__((visibility("hidden")));

/* Both clocks, now. */
struct pw_rocm_reading pw_rocm_read_clocks(void);

#endif
