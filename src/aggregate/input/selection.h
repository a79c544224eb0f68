/* Which of the rank files of a directory are merged: those of one job and world. Called by job.c.
 * All processes have the summaries of all files and decide alike; only pw_filelist_read() is for
 * process 0 alone. */
#ifndef PW_AGGREGATE_INPUT_SELECTION_H
#define PW_AGGREGATE_INPUT_SELECTION_H

#include "aggregate/input/job.h"

/* What every process must know of every file. */
struct pw_summary {
    int64_t rank, world_size, complete, dropped, exit_code, exit_signal, events;
    int64_t start_unix_ns, end_unix_ns, run_ns, overhead_ns, first_ns;
    int64_t keep;
    int32_t has_pauses, is_snapshot; /* see struct pw_job */
    char file[64];                   /* its name */
    char hostname[64], job[64], clock_domain[128], clock_sync[16], command[512];
};

void pw_summary_make(const struct pw_input *input, struct pw_summary *out);

/* The first file of the job and world that most files are of; of several such the one whose first
 * file comes first. NULL when memory is short. */
const struct pw_summary *pw_selection_world(const struct pw_summary *all, size_t n);

/* A world takes memory for every rank, also for those without a file: 0 when there are far too few
 * files for its size to be true. */
int pw_selection_is_believed(const struct pw_summary *world, size_t files);

/* Decides, alike on all processes, which files are used: those of one job and world, the first of
 * each rank. */
void pw_selection_mark(struct pw_job *job, struct pw_summary *all, size_t n,
                       const struct pw_summary *world);

/* Closes this process's inputs that are not used. */
void pw_selection_apply(struct pw_job *job, const struct pw_summary *mine);

/* The rank files of a directory. */

enum { PW_FILE_NAME = 320 };

/* Sorted names. A .part beside its finished file is left out, with a note; journals are reported to
 * the user. NULL with errno set when the directory cannot be read or memory is short; the caller
 * frees it. */
char (*pw_filelist_read(struct pw_job *job, const char *dir, size_t *count))[PW_FILE_NAME];

#endif
