/* What the parts of the run say of all ranks together, for advice and the first screen; see
 * advice_nocpu.h. */
#include "analysis/advice/advice_nocpu.h"

#include <stddef.h>

#define LEAST 0.15 /* of a rank's run */

/* -1: not known. In double: a damaged file must not overflow an integer. */
static double share_of(const struct pw_cluster *c, size_t rank)
{
    double ready = 0, total = 0;
    for (size_t part = 0; part < PW_PART_END; part++) {
        const struct pw_row_c_part_trace *row = &c->part_trace[part * c->nranks + rank];
        const double wait = row->wait_ns > 0 ? (double)row->wait_ns : 0;
        if (row->total_ns <= 0 || row->ready_ns < 0)
            continue;
        total += (double)row->total_ns;
        ready += (double)row->ready_ns > wait ? (double)row->ready_ns - wait : 0;
    }
    return total > 0 ? ready / total : -1;
}

struct pw_nocpu pw_nocpu_find(const struct pw_cluster *c)
{
    struct pw_nocpu found = {.worst = -1};
    size_t known = 0, waiting = 0;
    for (size_t r = 0; c->part_trace && r < (size_t)c->nranks; r++) {
        const double share = share_of(c, r);
        if (share < 0)
            continue;
        known++;
        found.share += share;
        waiting += share >= LEAST;
        if (found.worst < 0 || share > found.worst_share) {
            found.worst_share = share;
            found.worst = c->ranks[r].rank;
        }
    }
    if (2 * waiting <= known)
        return (struct pw_nocpu){.worst = -1};
    found.share /= (double)known;
    return found;
}
