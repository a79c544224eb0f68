/* What rocprofiler calls when it is set up and when it ends. In-app code. */
#ifndef PW_ROCM_SESSION_H
#define PW_ROCM_SESSION_H

#include "collectors/rocm/rocm_state.h"

/* As rocprofiler_configure(): answers our tool, or NULL where none is wanted. */
pw_rocp_configure pw_rocm_configure;

#endif
