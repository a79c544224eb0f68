/* What samples say of all ranks together, for advice and for the first screen; see nocpu.h. */
#include "analysis/advice/nocpu.h"

#include <stddef.h>

#define LEAST 0.25 /* of a rank's time */

struct pw_nocpu pw_nocpu_find(const struct pw_cluster *c)
{
    struct pw_nocpu found = {.worst = NULL};
    size_t known = 0, waiting = 0;
    for (size_t i = 0; i < c->nutilisation; i++) {
        const struct pw_row_c_utilisation *row = &c->utilisation[i];
        if (!(row->runq_share >= 0))
            continue;
        known++;
        found.share += row->runq_share;
        waiting += row->runq_share >= LEAST;
        if (!found.worst || row->runq_share > found.worst->runq_share)
            found.worst = row;
    }
    if (2 * waiting <= known)
        return (struct pw_nocpu){.worst = NULL};
    found.share /= (double)known;
    return found;
}
