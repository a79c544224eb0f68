/* Sets rocprofiler up and ends it. rocprofiler calls it, once each; rocm_register.c passes the
 * first call on. In-app code: what fails leaves the program as it is without us, and is said in
 * the report. */
#ifndef PW_ROCM_SESSION_H
#define PW_ROCM_SESSION_H

#include "collectors/rocm/rocm_state.h"

/* As rocprofiler_configure(): answers our tool, or NULL where none is wanted. */
pw_rocp_configure pw_rocm_configure;

#endif
