/* NVTX as a shared library (libnvToolsExt), as before version 3, whose functions are in the
 * header. */
#define NVTX_EXPORT_API
#include <nvtx3/nvToolsExt.h>
