/* The job that is merged: all its ranks, alike on every process (`world`), and this process's share
 * of their files (`inputs`). aggregate.c opens and closes it, and nearly all of the merge is given
 * it. What is collective must be called by all processes together. `world` must stay the same on
 * all of them. */
#ifndef PW_AGGREGATE_INPUT_JOB_H
#define PW_AGGREGATE_INPUT_JOB_H

#include <stddef.h>

#include "aggregate/input/input.h"
#include "aggregate/input/procs.h"
#include "core/tables.h"

/* ---- the job as a whole, without a look at a file ---- */

/* The run in bins of equal length; see steps/bins.h. */
struct pw_binning {
    int64_t start_ns, end_ns; /* of the run, cluster time; equal: not known */
    int64_t bin_ns;
    /* Whether all ranks' files have MPI_Init (MPI_Finalize), and the same first (last) step: then
     * what they did before it (after it) can be compared. */
    int is_start_known, is_setup_known, is_tail_known, is_end_known;
    size_t n;                               /* 0: there are none */
    int64_t last_init_ns, last_finalize_ns; /* when the last rank entered MPI_Init (MPI_Finalize),
                                               cluster time; INT64_MIN: not known */
};

/* Whether steps that were found are cut at one rank's times on all ranks; and, then, whether that
 * one had communicated before. */
enum pw_cut_by { PW_CUT_NOT, PW_CUT_LATER, PW_CUT_FIRST };

struct pw_world {
    int64_t nranks;              /* ranks expected: the world size */
    struct pw_row_c_rank *ranks; /* [nranks] */
    int64_t *step_numbers;       /* [nsteps] sorted: every step that some rank marked */
    size_t nsteps;
    int32_t *domains; /* [nranks] clock domain of each rank, -1: no file; 0 has rank 0 */
    int32_t ndomains;
    int has_pauses;     /* some rank did not record all the time */
    int is_snapshot;    /* some file was taken while the job ran */
    int infer_clocks;   /* 0: only what was measured during the run counts */
    int steps_inferred; /* no rank marked them; 1: found, 2: slices of equal length */
    enum pw_cut_by steps_cut;
    char steps_found[256]; /* how, where they are not marked */
    struct pw_binning bins;
    int64_t epoch_ns;           /* cluster time of the first thing known, to keep sums small */
    int64_t clock_error_max_ns; /* -1: some rank is not aligned */
    char job_id[64], command[512];
    int64_t start_unix_ns, end_unix_ns;
    int64_t nhosts;
};

/* Numbers the hosts in the order of their names: host_of[nranks]. A rank whose host is not known is
 * on one of its own; *nhosts is at most nranks. 0 or -ENOMEM. */
int pw_world_number_hosts(const struct pw_world *world, int64_t *host_of, size_t *nhosts);

/* Index of a step number, or -1. */
ptrdiff_t pw_world_step_index(const struct pw_world *world, int64_t step);

struct pw_job {
    struct pw_procs procs;
    struct pw_world world;
    struct pw_comm_rank *comm_ranks; /* that the inputs share */
    /* This process's own. */
    struct pw_input *inputs;
    struct pw_progress progress;
    size_t ninputs;
    struct pw_row_c_completeness *notes; /* what is missing or strange; on process 0, of all */
    size_t nnotes;
};

/* Finds the rank files of `dir`, shares them out and agrees on the job. Collective. 0, or -errno
 * after process 0 has said why. Unless `quiet`, process 0 shows the progress on a terminal. */
int pw_job_open(struct pw_job *job, MPI_Comm comm, const char *dir, int quiet);

void pw_job_close(struct pw_job *job);

/* Adds a row to this process's notes. */
void pw_job_note(struct pw_job *job, int64_t rank, const char *what, int64_t count,
                 const char *detail);

/* Brings all notes to every process, in an order that does not depend on their number.
 * Collective. */
void pw_job_gather_notes(struct pw_job *job);

/* Makes the inputs' steps those of the job. Collective. 0 or -ENOMEM, the same on all processes. */
int pw_job_agree_on_steps(struct pw_job *job);

/* Notes the inputs whose steps are not those of the job. */
void pw_job_note_steps(struct pw_job *job);

#endif
