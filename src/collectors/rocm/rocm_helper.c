/* libprofwrap_rocm.so, which defines the symbol by which rocprofiler finds tools. Loaded only by
 * the probe, when there is a rocprofiler (rocm_session.c). */
#include "collectors/rocm/rocm_layout.h"

#define EXPORT __attribute__((visibility("default")))

extern pw_rocp_configure profwrap_rocm_configure; /* in the probe */
EXPORT pw_rocp_configure rocprofiler_configure;

struct pw_rocp_tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                           struct pw_rocp_client *client)
{
    return profwrap_rocm_configure(version, text, priority, client);
}
