/* Whether most ranks wait for a CPU: then their hosts have more to run than cores, no rank is to
 * blame, and what takes long inside calls is not the network's. */
#ifndef PW_ANALYSIS_ADVICE_NOCPU_H
#define PW_ANALYSIS_ADVICE_NOCPU_H

#include "core/cluster.h"

struct pw_nocpu {
    double share; /* ready to run but without a CPU: mean of the ranks */
    const struct pw_row_c_utilisation *worst; /* NULL: it is not so, or not known */
};

/* Of more than half of the ranks that are known, a quarter of the time or more; what one rank waits
 * for a CPU is that rank's matter. */
struct pw_nocpu pw_nocpu_find(const struct pw_cluster *cluster);

#endif
