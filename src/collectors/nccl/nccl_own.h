/* Finds a profiler plugin in the program's image. With NCCL_PROFILER_PLUGIN=STATIC_PLUGIN, NCCL
 * looks for a plugin there (PyTorch's CUPTI monitor has one, pytorch#187518). The probe is in that
 * image, too, and is found first: then it passes NCCL's events on to the program's plugin. Called
 * by nccl_plugin.c. In-app code; the decision never changes. */
#ifndef PW_NCCL_OWN_H
#define PW_NCCL_OWN_H

#include "collectors/nccl/nccl_abi.h"

/* Decides once whether events go to the program's plugin, so that an event ends where it began.
 * Returns that plugin's table for interface version `version`; NULL when there is none: then the
 * probe records the events. All functions after `init` are the same in all versions. */
const struct pw_nccl_plugin_v5 *pw_nccl_own_choose(int version);

/* Returns the table that pw_nccl_own_choose() has chosen, or NULL. */
const struct pw_nccl_plugin_v5 *pw_nccl_own(void);

#endif
