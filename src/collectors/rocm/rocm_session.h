/* Sets rocprofiler up and ends it. rocprofiler calls each function once; rocm_register.c passes on
 * the first call. In-app code: after a failure the program runs as without the probe, and the
 * report has the reason. */
#ifndef PW_ROCM_SESSION_H
#define PW_ROCM_SESSION_H

#include "collectors/rocm/rocm_state.h"

/* As rocprofiler_configure(): returns our tool, or NULL when nothing is to be recorded. */
pw_rocp_configure pw_rocm_configure;

#endif
