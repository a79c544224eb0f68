/* What process 0 concludes about the network: links, hosts and stretches of the run whose transfers
 * took longer than others like them, priced by the replay. */
#ifndef PW_AGGREGATE_FINDINGS_NETWORK_H
#define PW_AGGREGATE_FINDINGS_NETWORK_H

#include "aggregate/findings/graph.h"

enum { PW_MOST_NETWORK = 10 };

struct pw_network {
    struct pw_row_c_network rows[PW_MOST_NETWORK]; /* most gain first */
    size_t n;
};

/* Rows gain a hundredth of the replayed steps or more. 0 or -ENOMEM. */
int pw_network_find(struct pw_network *out, const struct pw_graph *graph, const struct pw_job *job,
                    const struct pw_instances *instances);

#endif
