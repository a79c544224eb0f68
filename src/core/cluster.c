/* Frees what a cluster file was read into; see cluster.h. */
#include "core/cluster.h"

#include <stdlib.h>

void pw_cluster_destroy(struct pw_cluster *cluster)
{
    if (!cluster)
        return;
    free(cluster->ranks);
    free(cluster->steps);
    pw_cells_fini(&cluster->step_trace);
    pw_cells_fini(&cluster->phase_trace);
    free(cluster->part_trace);
    free(cluster->collectives);
    free(cluster->collective_stats);
    free(cluster->p2p);
    free(cluster->stragglers);
    free(cluster->efficiency);
    free(cluster->whatif);
    free(cluster->path);
    free(cluster->hosts_slow);
    free(cluster->links_slow);
    free(cluster->roles);
    free(cluster->imbalances);
    free(cluster->trends);
    free(cluster->network);
    free(cluster->completeness);
    free(cluster->windows);
    free(cluster->open_calls);
    free(cluster->endings);
    free(cluster->exceptions);
    free(cluster->epochs);
    free(cluster->clocks);
    free(cluster->operators);
    free(cluster->operator_types);
    free(cluster->operator_shapes);
    free(cluster->operator_stacks);
    free(cluster->operator_ranks);
    pw_cells_fini(&cluster->gpu_trace);
    free(cluster->gpu_ranks);
    free(cluster->gpu_devices);
    free(cluster->flops);
    free(cluster->step_flops);
    free(cluster->kernels);
    free(cluster->kernel_ranks);
    free(cluster->queues);
    free(cluster->queue_series);
    free(cluster->utilisation);
    free(cluster->utilisation_series);
    free(cluster->netcards);
    free(cluster->gpu_series);
    free(cluster->memory);
    free(cluster->hccl_ranks);
    free(cluster->hccl_links);
    free(cluster->msprof_steps);
    free(cluster->pipeline_cpu);
    free(cluster->mindinsight_sums);
    free(cluster);
}
