/* Chooses the rank files of a directory that are merged: those of one job and world. Called by
 * job.c. All processes have the summaries of all files, and come to the same result; only
 * pw_filelist_read() is for process 0 alone. */
#ifndef PW_AGGREGATE_INPUT_SELECTION_H
#define PW_AGGREGATE_INPUT_SELECTION_H

#include "aggregate/input/job.h"

/* The data about a file that every process has. */
struct pw_summary {
    int64_t rank, world_size, complete, dropped, exit_code, exit_signal, events;
    int64_t start_unix_ns, end_unix_ns, run_ns, overhead_ns, first_ns;
    int64_t keep;
    int32_t has_pauses, is_snapshot; /* see struct pw_job */
    char file[64];                   /* name of the file */
    char hostname[64], job[64], clock_domain[128], clock_sync[16], command[512], imported[16];
};

void pw_summary_make(const struct pw_input *input, struct pw_summary *out);

/* Chooses the job and world that has most files, and returns the first of these files. If several
 * have as many, chooses the one whose first file comes first. NULL when memory is short. */
const struct pw_summary *pw_selection_world(const struct pw_summary *all, size_t n);

/* Returns 0 when the world size cannot be right, because there are far too few files, else 1. The
 * merge takes memory for every rank, also for one without a file. */
int pw_selection_is_believed(const struct pw_summary *world, size_t files);

/* Marks the files that are used: those of the job and world, and of these the first of each
 * rank. */
void pw_selection_mark(struct pw_job *job, struct pw_summary *all, size_t n,
                       const struct pw_summary *world);

/* Closes this process's inputs that are not used. */
void pw_selection_apply(struct pw_job *job, const struct pw_summary *mine);

/* ---- the rank files of a directory ---- */

enum { PW_FILE_NAME = 320 };

/* Returns the sorted names of the rank files; the caller frees them. A .part file beside the
 * finished file is ignored, with a note. If there are journals, a message says so. NULL with errno
 * set when the directory cannot be read or memory is short. */
char (*pw_filelist_read(struct pw_job *job, const char *dir, size_t *count))[PW_FILE_NAME];

#endif
