/* The types and numbers of NVTX's headers, without its functions, which are in the application and
 * call the probe's. Included by nvtx_name.h. Nothing but the vendor's declarations. */
#ifndef PW_NVTX_API_H
#define PW_NVTX_API_H

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSync.h>

#endif
