/* A profiler plugin in the program's own image, which NCCL_PROFILER_PLUGIN=STATIC_PLUGIN has NCCL
 * look for there (PyTorch's CUPTI monitor has one, pytorch#187518). The probe is in that image,
 * too, and comes first: what NCCL tells it then is the program's, and goes on to that. Called by
 * nccl_plugin.c. In-app code; what was decided never changes. */
#ifndef PW_NCCL_OWN_H
#define PW_NCCL_OWN_H

#include "collectors/nccl/nccl_abi.h"

/* The program's plugin, that NCCL speaks version `version` with; NULL: there is none, and events
 * are the probe's. Decided once: events that are begun are ended where they began. Behind `init`
 * the functions of all versions are alike. */
const struct pw_nccl_plugin_v5 *pw_nccl_own_choose(int version);

/* What was decided. */
const struct pw_nccl_plugin_v5 *pw_nccl_own(void);

#endif
