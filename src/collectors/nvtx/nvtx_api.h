/* The types and numbers of NVTX, without its functions: the application has those, we are what they
 * call. */
#ifndef PW_NVTX_API_H
#define PW_NVTX_API_H

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>

#endif
