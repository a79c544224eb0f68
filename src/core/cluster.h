/* A cluster file in memory. core/h5/clusterload.c fills it; reports, the timeline and the analyses
 * of cluster data read it. The arrays belong to the struct until pw_cluster_destroy(). This file
 * does not use HDF5, so the reports do not need it. */
#ifndef PW_CORE_CLUSTER_H
#define PW_CORE_CLUSTER_H

#include <stddef.h>
#include <stdint.h>

#include "core/cells.h"
#include "core/tables.h"

struct pw_cluster {
    /* Root attributes. One that the file lacks is "" or -1. */
    char profwrap_version[32];
    char job_id[64];
    char command[512];
    int64_t nranks, nhosts, nsteps, steps_inferred, clock_error_max_ns, merge_processes;
    int64_t start_unix_ns, end_unix_ns;
    int64_t snapshot;              /* 1: the job was still running */
    int64_t bins_start_ns, bin_ns; /* start and length of bins; cluster time; -1: no bin_trace */
    char restricted_to[128];       /* the steps that the report is limited to; "": all */

    struct pw_row_c_rank *ranks;
    size_t nrank_rows;
    struct pw_row_c_step *steps; /* S rows */
    size_t nstep_rows;
    struct pw_cells step_trace;             /* S steps, R ranks: rows of `steps` and `ranks` */
    struct pw_cells phase_trace;            /* as step_trace */
    struct pw_row_c_part_trace *part_trace; /* NULL in older files, else [PW_PART_END * R]: by
                                             * part */
    struct pw_row_c_collective *collectives;
    size_t ncollectives;
    struct pw_row_c_collective_stat *collective_stats;
    size_t ncollective_stats;
    struct pw_row_c_p2p *p2p;
    size_t np2p;
    struct pw_row_c_straggler *stragglers; /* worst first */
    size_t nstragglers;
    struct pw_row_c_efficiency *efficiency; /* 0 or 1 row */
    size_t nefficiency;
    struct pw_row_c_whatif *whatif;
    size_t nwhatif;
    struct pw_row_c_path *path; /* critical path */
    size_t npath;
    struct pw_row_c_host *hosts_slow;
    size_t nhosts_slow;
    struct pw_row_c_link *links_slow;
    size_t nlinks_slow;
    /* Roles and imbalances: none in older files, and none when all ranks have the same role. */
    struct pw_row_c_role *roles;
    size_t nroles;
    struct pw_row_c_imbalance *imbalances; /* largest gain first */
    size_t nimbalances;
    struct pw_row_c_trend *trends; /* none in older files */
    size_t ntrends;
    struct pw_row_c_network *network; /* most gain first; none in older files */
    size_t nnetwork;
    struct pw_row_c_completeness *completeness;
    size_t ncompleteness;
    struct pw_row_c_window *windows; /* none in older files */
    size_t nwindows;
    struct pw_row_c_open_call *open_calls; /* by rank; none in older files */
    size_t nopen_calls;
    struct pw_row_c_ending *endings; /* by rank; none in older files and of jobs that ended well */
    size_t nendings;
    struct pw_row_c_exception *exceptions; /* by rank and time */
    size_t nexceptions;
    struct pw_row_c_epoch *epochs; /* in order; none in older files and of jobs without restarts */
    size_t nepochs;
    struct pw_row_c_clock *clocks; /* none in older files */
    size_t nclocks;
    /* Operators: none in older files. Row numbers in them are checked when the file is loaded. */
    struct pw_row_c_operator *operators;
    size_t noperators;
    struct pw_row_c_operator_type *operator_types;
    size_t noperator_types;
    struct pw_row_c_operator_shape *operator_shapes;
    size_t noperator_shapes;
    struct pw_row_c_operator_stack *operator_stacks; /* a parent is an earlier row, or -1 */
    size_t noperator_stacks;
    struct pw_row_c_operator_rank *operator_ranks;
    size_t noperator_ranks;
    /* GPUs: none in older files, and none in jobs without GPUs. */
    struct pw_cells gpu_trace;           /* not known, or as step_trace */
    struct pw_row_c_gpu_rank *gpu_ranks; /* by rank */
    size_t ngpu_ranks;
    struct pw_row_c_gpu_device
        *gpu_devices; /* by rank and device; older files: only of ranks with several GPUs */
    size_t ngpu_devices;
    struct pw_row_c_kernel *kernels;
    size_t nkernels;
    struct pw_row_c_kernel_rank *kernel_ranks;
    size_t nkernel_ranks;
    struct pw_row_c_flops *flops; /* none when nothing is known; first the row of all ranks */
    size_t nflops;
    struct pw_row_c_step_flops *step_flops;
    size_t nstep_flops;
    /* The data pipeline, and the resources that processes used: none in older files. */
    struct pw_row_c_queue *queues; /* by place, then rank; first the row of all ranks */
    size_t nqueues;
    struct pw_row_c_queue_series *queue_series;
    size_t nqueue_series;
    struct pw_row_c_utilisation *utilisation; /* by rank */
    size_t nutilisation;
    struct pw_row_c_utilisation_series *utilisation_series;
    size_t nutilisation_series;
    struct pw_row_c_netcard *netcards; /* by host, then card */
    size_t nnetcards;
    struct pw_row_c_gpu_series *gpu_series; /* by rank, device and time */
    size_t ngpu_series;
    struct pw_row_c_memory *memory;
    size_t nmemory;
    struct pw_row_c_hccl_rank *hccl_ranks; /* by rank */
    size_t nhccl_ranks;
    struct pw_row_c_hccl_link *hccl_links; /* by source and destination */
    size_t nhccl_links;
    /* What other profilers added up, in imported jobs only. */
    struct pw_row_c_msprof_step *msprof_steps; /* by step and rank */
    size_t nmsprof_steps;
    struct pw_row_c_pipeline_cpu *pipeline_cpu; /* by rank, and by name */
    size_t npipeline_cpu;
    struct pw_row_c_mindinsight_sum *mindinsight_sums; /* types first, then operators */
    size_t nmindinsight_sums;
};

void pw_cluster_destroy(struct pw_cluster *cluster);

#endif
