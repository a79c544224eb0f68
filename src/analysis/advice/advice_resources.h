/* Whether most ranks lack a CPU: then their hosts have more to run than cores, no rank is to blame,
 * and what takes long inside calls is not the network's. */
#ifndef PW_ANALYSIS_ADVICE_ADVICE_RESOURCES_H
#define PW_ANALYSIS_ADVICE_ADVICE_RESOURCES_H

#include "core/cluster.h"

/* Shares of the run in which a rank was ready to run but without a CPU, at the least: a rank that
 * waits for others may look again and again whether a message has come, so of each part of the run
 * what it waited for them is subtracted. */
struct pw_nocpu {
    double share;       /* mean of the ranks */
    double worst_share; /* the largest */
    int32_t worst;      /* whose it is; -1: most ranks have their CPU, or it is not known */
};

/* Of more than half of the ranks that are known 15 % of the run or more; what one rank waits for a
 * CPU is that rank's matter. */
struct pw_nocpu pw_nocpu_find(const struct pw_cluster *cluster);

#endif
