/* Replays the run with unequal work shared out evenly; see whatif.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/findings/whatif.h"
#include "analysis/sharing.h"

static int change_nodes(const struct pw_replay_graph *graph, const int64_t *works,
                        const struct pw_whatif_change *change, struct pw_replay_node *nodes)
{
    if (!change->role_of && change->phases) {
        pw_share_cells(graph, works, change->more_ns, change->phases, nodes);
        return 0;
    }
    int64_t *scratch = malloc(sizeof(*scratch) * (pw_share_scratch(graph, change->nroles) + 1));
    if (scratch && change->role_of)
        pw_share_roles(graph, works, change->role_of, change->nroles, change->is_slow, nodes,
                       scratch);
    else if (scratch)
        pw_share_amounts(graph, works, change->more_ns, nodes, scratch);
    free(scratch);
    return scratch ? 0 : -ENOMEM;
}

int64_t pw_whatif_share(const struct pw_graph *graph, const struct pw_instances *in,
                        const int64_t *works, const struct pw_whatif_change *change)
{
    struct pw_replay_graph changed = graph->replay;
    struct pw_replay_node *nodes = malloc(sizeof(*nodes) * (changed.nnodes + 1));
    int64_t *scratch = malloc(sizeof(*scratch) * (changed.nranks + changed.ngates + 1));
    int64_t end = -ENOMEM;
    if (nodes && scratch) {
        memcpy(nodes, graph->replay.nodes, sizeof(*nodes) * changed.nnodes);
        changed.nodes = nodes;
        int err = change_nodes(&graph->replay, works, change, nodes);
        err = err || !change->parts ? err : pw_whatif_share_parts(graph, in, nodes);
        end = err ? err : pw_replay_run(&changed, graph->order, NULL, 1, scratch) - graph->first_ns;
    }
    free(nodes);
    free(scratch);
    return end;
}
