/* Loads table by table, and checks that they agree; see clusterload.h. */
#include "core/h5/clusterload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/h5/h5file.h"
#include "core/h5/h5types.h"

/* A table that is not in the file is loaded as empty: older files have fewer tables. */
static int load_table(const struct pw_h5_file *file, int table, void *rows, size_t *count)
{
    int err = pw_h5_file_read_all(file, table, rows, count);
    return err == -ENOENT ? 0 : err;
}

static int load_cells(const struct pw_h5_file *file, int table, const size_t dims[2],
                      struct pw_cells *cells)
{
    const int err = pw_h5_file_read_cells(file, table, dims, cells);
    return err == -ENOENT ? 0 : err;
}

static void load_text(const struct pw_h5_file *file, const char *name, char *value, size_t size)
{
    if (pw_h5_file_text(file, name, value, size))
        value[0] = '\0';
}

static void load_int(const struct pw_h5_file *file, const char *name, int64_t *value)
{
    if (pw_h5_file_int(file, name, value))
        *value = -1;
}

static void load_attributes(const struct pw_h5_file *file, struct pw_cluster *c)
{
    load_text(file, "profwrap_version", c->profwrap_version, sizeof(c->profwrap_version));
    load_text(file, "job_id", c->job_id, sizeof(c->job_id));
    load_text(file, "command", c->command, sizeof(c->command));
    load_int(file, "nranks", &c->nranks);
    load_int(file, "nhosts", &c->nhosts);
    load_int(file, "nsteps", &c->nsteps);
    load_int(file, "steps_inferred", &c->steps_inferred);
    load_int(file, "clock_error_max_ns", &c->clock_error_max_ns);
    load_int(file, "merge_processes", &c->merge_processes);
    load_int(file, "start_unix_ns", &c->start_unix_ns);
    load_int(file, "end_unix_ns", &c->end_unix_ns);
    load_int(file, "snapshot", &c->snapshot);
    load_int(file, "bins_start_ns", &c->bins_start_ns);
    load_int(file, "bin_ns", &c->bin_ns);
}

/* Returns 0 when every row number in the operators' tables exists. */
static int check_operators(const struct pw_cluster *c)
{
    int64_t n = (int64_t)c->noperators;
    int bad = 0;
    for (size_t i = 0; i < c->noperator_shapes; i++)
        bad |= c->operator_shapes[i].operator_row < 0 || c->operator_shapes[i].operator_row >= n;
    for (size_t i = 0; i < c->noperator_stacks; i++) {
        const struct pw_row_c_operator_stack *row = &c->operator_stacks[i];
        bad |= row->operator_row < 0 || row->operator_row >= n || row->parent < -1 ||
               row->parent >= (int64_t)i;
    }
    for (size_t i = 0; i < c->noperator_ranks; i++)
        bad |= c->operator_ranks[i].operator_row < -1 || c->operator_ranks[i].operator_row >= n;
    return bad ? -EINVAL : 0;
}

static int load_operators(const struct pw_h5_file *file, struct pw_cluster *c)
{
    int err = load_table(file, PW_TABLE_c_operator, &c->operators, &c->noperators);
    err = err ? err
              : load_table(file, PW_TABLE_c_operator_type, &c->operator_types, &c->noperator_types);
    err = err ? err
              : load_table(file, PW_TABLE_c_operator_shape, &c->operator_shapes,
                           &c->noperator_shapes);
    err = err ? err
              : load_table(file, PW_TABLE_c_operator_stack, &c->operator_stacks,
                           &c->noperator_stacks);
    err = err ? err
              : load_table(file, PW_TABLE_c_operator_rank, &c->operator_ranks, &c->noperator_ranks);
    return err ? err : check_operators(c);
}

static int load_parts(const struct pw_h5_file *file, struct pw_cluster *c)
{
    size_t n = 0;
    int err = load_table(file, PW_TABLE_c_part_trace, &c->part_trace, &n);
    if (err || (n && n != PW_PART_END * c->nrank_rows))
        return err ? err : -EINVAL;
    if (!n) {
        free(c->part_trace);
        c->part_trace = NULL;
    }
    return 0;
}

/* Loads the tables with a row for each rank in each step. */
static int load_traces(const struct pw_h5_file *file, struct pw_cluster *c)
{
    const size_t dims[2] = {c->nstep_rows, c->nrank_rows};
    int err = load_cells(file, PW_TABLE_c_step_trace, dims, &c->step_trace);
    err = err ? err : load_cells(file, PW_TABLE_c_phase_trace, dims, &c->phase_trace);
    err = err ? err : load_cells(file, PW_TABLE_c_gpu_trace, dims, &c->gpu_trace);
    const int is_complete = pw_cells_is_known(&c->step_trace) && pw_cells_is_known(&c->phase_trace);
    return err || is_complete || !dims[0] || !dims[1] ? err : -EINVAL;
}

static int load_gpus(const struct pw_h5_file *file, struct pw_cluster *c)
{
    int err = load_table(file, PW_TABLE_c_gpu_rank, &c->gpu_ranks, &c->ngpu_ranks);
    err = err ? err : load_table(file, PW_TABLE_c_gpu_device, &c->gpu_devices, &c->ngpu_devices);
    err = err ? err : load_table(file, PW_TABLE_c_kernel, &c->kernels, &c->nkernels);
    err = err ? err : load_table(file, PW_TABLE_c_kernel_rank, &c->kernel_ranks, &c->nkernel_ranks);
    err = err ? err : load_table(file, PW_TABLE_c_flops, &c->flops, &c->nflops);
    err = err ? err : load_table(file, PW_TABLE_c_step_flops, &c->step_flops, &c->nstep_flops);
    if (err)
        return err;
    int64_t n = (int64_t)c->nkernels;
    int bad = 0;
    for (size_t i = 0; i < c->ngpu_ranks; i++)
        bad |= c->gpu_ranks[i].kernel_row < -1 || c->gpu_ranks[i].kernel_row >= n;
    for (size_t i = 0; i < c->nkernel_ranks; i++)
        bad |= c->kernel_ranks[i].kernel_row < 0 || c->kernel_ranks[i].kernel_row >= n;
    return bad ? -EINVAL : 0;
}

static int load_samples(const struct pw_h5_file *file, struct pw_cluster *c)
{
    int err = load_table(file, PW_TABLE_c_queue, &c->queues, &c->nqueues);
    err =
        err ? err : load_table(file, PW_TABLE_c_queue_series, &c->queue_series, &c->nqueue_series);
    err = err ? err : load_table(file, PW_TABLE_c_utilisation, &c->utilisation, &c->nutilisation);
    err = err ? err
              : load_table(file, PW_TABLE_c_utilisation_series, &c->utilisation_series,
                           &c->nutilisation_series);
    err = err ? err : load_table(file, PW_TABLE_c_netcard, &c->netcards, &c->nnetcards);
    err = err ? err : load_table(file, PW_TABLE_c_gpu_series, &c->gpu_series, &c->ngpu_series);
    err = err ? err : load_table(file, PW_TABLE_c_hccl_rank, &c->hccl_ranks, &c->nhccl_ranks);
    err = err ? err : load_table(file, PW_TABLE_c_hccl_link, &c->hccl_links, &c->nhccl_links);
    err = err ? err : load_table(file, PW_TABLE_c_msprof_step, &c->msprof_steps, &c->nmsprof_steps);
    err =
        err ? err : load_table(file, PW_TABLE_c_pipeline_cpu, &c->pipeline_cpu, &c->npipeline_cpu);
    err = err ? err
              : load_table(file, PW_TABLE_c_mindinsight_sum, &c->mindinsight_sums,
                           &c->nmindinsight_sums);
    return err ? err : load_table(file, PW_TABLE_c_memory, &c->memory, &c->nmemory);
}

static int load_tables(const struct pw_h5_file *file, struct pw_cluster *c)
{
    int err = load_table(file, PW_TABLE_c_rank, &c->ranks, &c->nrank_rows);
    err = err ? err : load_table(file, PW_TABLE_c_step, &c->steps, &c->nstep_rows);
    err = err ? err : load_traces(file, c);
    err = err ? err : load_table(file, PW_TABLE_c_collective, &c->collectives, &c->ncollectives);
    err = err ? err
              : load_table(file, PW_TABLE_c_collective_stat, &c->collective_stats,
                           &c->ncollective_stats);
    err = err ? err : load_table(file, PW_TABLE_c_p2p, &c->p2p, &c->np2p);
    err = err ? err : load_table(file, PW_TABLE_c_straggler, &c->stragglers, &c->nstragglers);
    err = err ? err : load_table(file, PW_TABLE_c_efficiency, &c->efficiency, &c->nefficiency);
    err = err ? err : load_table(file, PW_TABLE_c_whatif, &c->whatif, &c->nwhatif);
    err = err ? err : load_table(file, PW_TABLE_c_path, &c->path, &c->npath);
    err = err ? err : load_table(file, PW_TABLE_c_host, &c->hosts_slow, &c->nhosts_slow);
    err = err ? err : load_table(file, PW_TABLE_c_link, &c->links_slow, &c->nlinks_slow);
    err = err ? err : load_table(file, PW_TABLE_c_role, &c->roles, &c->nroles);
    err = err ? err : load_table(file, PW_TABLE_c_imbalance, &c->imbalances, &c->nimbalances);
    err = err ? err : load_table(file, PW_TABLE_c_trend, &c->trends, &c->ntrends);
    err = err ? err : load_table(file, PW_TABLE_c_network, &c->network, &c->nnetwork);
    err =
        err ? err : load_table(file, PW_TABLE_c_completeness, &c->completeness, &c->ncompleteness);
    err = err ? err : load_table(file, PW_TABLE_c_window, &c->windows, &c->nwindows);
    err = err ? err : load_table(file, PW_TABLE_c_open_call, &c->open_calls, &c->nopen_calls);
    err = err ? err : load_table(file, PW_TABLE_c_ending, &c->endings, &c->nendings);
    err = err ? err : load_table(file, PW_TABLE_c_exception, &c->exceptions, &c->nexceptions);
    err = err ? err : load_table(file, PW_TABLE_c_epoch, &c->epochs, &c->nepochs);
    err = err ? err : load_table(file, PW_TABLE_c_clock, &c->clocks, &c->nclocks);
    err = err ? err : load_operators(file, c);
    err = err ? err : load_samples(file, c);
    err = err ? err : load_parts(file, c);
    return err ? err : load_gpus(file, c);
}

int pw_cluster_load(const char *path, struct pw_cluster **out)
{
    struct pw_h5_file *file;
    int err = pw_h5_file_open(NULL, path, &file); /* types are needed for places only */
    if (err)
        return err;
    err = pw_h5_file_check(file, PW_FORMAT_CLUSTER);
    struct pw_cluster *cluster = err ? NULL : calloc(1, sizeof(*cluster));
    if (!err && !cluster)
        err = -ENOMEM;
    if (!err) {
        load_attributes(file, cluster);
        err = load_tables(file, cluster);
    }
    pw_h5_file_close(file);
    if (err) {
        pw_cluster_destroy(cluster);
        return err;
    }
    *out = cluster;
    return 0;
}
