/* The job that is merged: all its ranks, known to every merge process, and this process's share of
 * their files. */
#ifndef PW_AGGREGATE_INPUT_JOB_H
#define PW_AGGREGATE_INPUT_JOB_H

#include "aggregate/input/input.h"
#include "aggregate/input/procs.h"
#include "aggregate/input/world.h"

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
