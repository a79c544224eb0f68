/* NVTX as a shared library, as it was before its functions came with the header: libnvToolsExt. */
#define NVTX_EXPORT_API
#include <nvtx3/nvToolsExt.h>
