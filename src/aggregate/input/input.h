/* One rank file as the merge sees it: what must be known of it at all times, read and checked when
 * it is opened. job.c opens it; the file is closed again at once, because a process may have more
 * rank files than it may have files open. Tables are read later, by the places that are kept here.
 * No MPI. */
#ifndef PW_AGGREGATE_INPUT_INPUT_H
#define PW_AGGREGATE_INPUT_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "aggregate/input/progress.h"
#include "aggregate/input/startindex.h"
#include "core/h5/h5table.h"
#include "core/tables.h"

/* Which rank of the job a rank of one of NCCL's communicators is. */
struct pw_comm_rank {
    uint64_t uid;
    int32_t rank, world_rank;
};

struct pw_input {
    char *path;
    struct pw_h5_place event_rows, range_rows, gap_rows, memory_rows, work_rows, flops_rows;
    struct pw_h5_place kernel_rows, memcpy_rows, memset_rows;
    struct pw_h5_place process_rows, host_rows, cpus_rows; /* of samples */
    /* What the first pass finds (events.h). Earliest start of an event in block b or after it, NULL
     * before; how many of its events are sends and receives, and where they begin. */
    int64_t *starts_after;
    int64_t messages;
    int communicates;   /* an event of it reaches other ranks */
    int64_t impossible; /* rows that cannot be true and are left out */
    struct pw_start_index start_index;
    struct pw_progress *progress; /* counts the rows that are read */
    uint8_t *phases;              /* [nphases] enum pw_phase of a text of /strings */
    size_t nphases;
    int64_t snapshot; /* 1: taken while the job ran */
    int64_t rank, world_size, complete, dropped, exit_code, exit_signal;
    int64_t start_unix_ns, end_unix_ns;
    char role[64]; /* as the program gave it, "" when it did not */
    char hostname[64], job[64], clock_domain[128], clock_sync[16], command[512];
    char gpu_lacking[192];      /* what of GPUs was not recorded though kernels were; "" nothing */
    int64_t gpu_processes;      /* that used GPUs, and were not recorded */
    int64_t nccl_unplaced;      /* kernels of NCCL in replayed graphs without an operation */
    char gpu_unrecorded[192];   /* why; "" when GPUs were recorded, or there was none */
    char cupti_taken_by[192];   /* what else used CUPTI, so that it was left to that; "" nothing */
    struct pw_row_clock *knots; /* empty until the merge relates the domain to the cluster */
    size_t nknots;
    int32_t domain;            /* its clock's, as the job numbers them */
    int aligned;               /* its clock is known relative to the cluster clock */
    struct pw_row_step *steps; /* sorted by start */
    size_t nsteps;
    struct pw_row_window *windows; /* of recording, in order; none in older files */
    size_t nwindows;
    struct pw_row_comms *comms;
    size_t ncomms;
    const struct pw_comm_rank *comm_ranks; /* the job's, of all; see ncclranks.h */
    size_t ncomm_ranks;
    int64_t uncounted; /* of them, those that claim more collectives than can be believed */
    struct pw_row_c_open_call *open_calls; /* their times are still local */
    size_t nopen_calls;
    struct pw_row_unrecorded
        *unrecorded; /* MPI calls that are not in the file; in most there are none */
    size_t nunrecorded;
    int32_t *groups; /* [ncomms] the job's communicator (instances.h), -1: of one rank, or unused */
    /* Local times: where the first operation began (INT64_MAX: there is none) and ended, and where
     * the last one ended. */
    int64_t begin_ns, first_ns, last_ns;
    /* Local times, INT64_MAX where there are none: when it entered MPI_Init and left
     * MPI_Finalize, as the first and last event of its file; its first and last sample. */
    int64_t init_ns, finalize_ns, finalized_ns, sampled_from, sampled_until;
    int64_t begun_ns; /* where an operation after MPI_Init began first; INT64_MAX: none did */
    int64_t events;   /* rows of /events/comm and /events/range */
    double event_cost_ns, sync_ns;
};

/* Opens and checks a rank file, and closes it: a process may have more of them than it may have
 * files open. 0, or -errno with one sentence in `problem`. */
int pw_input_open(struct pw_h5_types *types, const char *path, struct pw_input *out, char *problem,
                  size_t size);

void pw_input_close(struct pw_input *input);

/* Cluster time of a local time of this rank. */
int64_t pw_input_time(const struct pw_input *input, int64_t local_ns);

/* Where the rank's clock shows a cluster time, searched from `near`. */
int64_t pw_input_local(const struct pw_input *input, int64_t cluster_ns, int64_t near);

/* Error bound over the whole run, ns; -1 when the clock is not aligned. */
int64_t pw_input_clock_error(const struct pw_input *input);

/* Row of `steps` in which `local_ns` lies, or -1. */
ptrdiff_t pw_input_step_at(const struct pw_input *input, int64_t local_ns);

/* The same, beginning with the step *hint and the one after it; the answer is the next hint. */
ptrdiff_t pw_input_step_near(const struct pw_input *input, int64_t local_ns, ptrdiff_t *hint);

/* 1 when the rank's file says what a GPU did. */
int pw_input_has_gpu(const struct pw_input *input);

/* The phase that a range with this name is, or PW_PHASE_NONE. */
int pw_input_phase(const struct pw_input *input, uint32_t name);

#endif
