/* The job that is merged: its ranks, which are the same on every process (`world`), and this
 * process's share of their files (`inputs`). aggregate.c opens and closes it, and passes it to
 * nearly all of the merge. Collective functions must be called by all processes together. `world`
 * must remain equal on all of them. */
#ifndef PW_AGGREGATE_INPUT_JOB_H
#define PW_AGGREGATE_INPUT_JOB_H

#include <stddef.h>

#include "aggregate/input/input.h"
#include "aggregate/input/procs.h"
#include "core/tables.h"

/* ---- the job as a whole ---- */

/* The bins of the run, which have equal length; see steps/bins.h. */
struct pw_binning {
    int64_t start_ns, end_ns; /* of the run, cluster time; equal: not known */
    int64_t bin_ns;
    /* 1 when the ranks can be compared in these parts of the run: all files have MPI_Init
     * (MPI_Finalize), and all ranks have the same first (last) step. */
    int is_start_known, is_setup_known, is_tail_known, is_end_known;
    int init_source; /* enum pw_source: whose call all ranks began with, MPI's MPI_Init, gloo's
                        init_process_group or MCCL's init(); -1: none, or not the same */
    size_t n;        /* number of bins; 0: there are none */
    int64_t last_init_ns, last_finalize_ns; /* when the last rank entered MPI_Init (MPI_Finalize),
                                               cluster time; INT64_MIN: not known */
};

/* How inferred steps are cut. NOT: at each rank's own calls, or as slices. LATER, FIRST: on all
 * ranks at the times of one rank's calls. FIRST: that rank's first operation after MPI_Init was
 * less than a step before the first cut. */
enum pw_cut_by { PW_CUT_NOT, PW_CUT_LATER, PW_CUT_FIRST };

struct pw_world {
    int64_t nranks;              /* the world size */
    struct pw_row_c_rank *ranks; /* [nranks] */
    int64_t *step_numbers;       /* [nsteps] sorted: every step that some rank marked */
    size_t nsteps;
    int32_t *domains; /* [nranks] clock domain of each rank, -1: no file; 0 has rank 0 */
    int32_t ndomains;
    int is_silent;      /* 1: the waits of some rank are not known, see pw_input.is_silent */
    int has_pauses;     /* 1: recording was paused on some rank */
    int is_snapshot;    /* 1: some file was taken while the job ran */
    int infer_clocks;   /* 0: clocks are mapped by measurements only; 1: by the order of events, too
                         */
    int steps_inferred; /* 0: steps are marked; 1: they were found from calls; 2: they are slices of
                           equal length */
    enum pw_cut_by steps_cut;
    char steps_found[256]; /* how inferred steps were found, in words */
    struct pw_binning bins;
    int64_t epoch_ns; /* cluster time of the first event; other times are relative to it, so that
                         sums stay small */
    int64_t clock_error_max_ns; /* -1: some rank is not aligned */
    int64_t ended_ns;           /* cluster time at which the first rank ended that did not end well;
                                   INT64_MAX:           all did, or it is not known */
    int64_t cut_ns;             /* when the first step began that this end cut; else ended_ns */
    char job_id[64], command[512];
    char imported[16]; /* the format that the rank files were made of; "": they were recorded */
    int64_t start_unix_ns, end_unix_ns;
    int64_t nhosts;
};

/* Fills host_of[nranks] with the number of each rank's host, in the order of host names. A rank
 * with an unknown host gets a number of its own. Returns 0 or -ENOMEM. */
int pw_world_number_hosts(const struct pw_world *world, int64_t *host_of, size_t *nhosts);

/* Returns the index of a step number, or -1. */
ptrdiff_t pw_world_step_index(const struct pw_world *world, int64_t step);

struct pw_job {
    struct pw_procs procs;
    struct pw_world world;
    struct pw_comm_rank *comm_ranks; /* the table that the inputs point to */
    /* This process's share. */
    struct pw_input *inputs;
    struct pw_progress progress;
    size_t ninputs;
    /* rows of /completeness; after gathering, those of all processes */
    struct pw_row_c_completeness *notes;
    size_t nnotes;
};

/* Finds the rank files of `dir`, distributes them over the processes, and agrees on the job.
 * Collective. Returns 0, or -errno after process 0 has printed the reason. Unless `quiet`, process
 * 0 shows the progress on a terminal. */
int pw_job_open(struct pw_job *job, pw_ex_comm comm, const char *dir, int quiet);

void pw_job_close(struct pw_job *job);

/* Adds a row to this process's notes. */
void pw_job_note(struct pw_job *job, int64_t rank, const char *what, int64_t count,
                 const char *detail);

/* Gathers the notes of all processes on each process, in an order that does not depend on the
 * number of processes. Collective. */
void pw_job_gather_notes(struct pw_job *job);

/* Makes the list of the job's steps from the steps of all inputs. Collective. Returns 0 or -ENOMEM,
 * the same on all processes. */
int pw_job_agree_on_steps(struct pw_job *job);

/* Notes the inputs that lack steps of the job, or have steps twice. */
void pw_job_note_steps(struct pw_job *job);

#endif
