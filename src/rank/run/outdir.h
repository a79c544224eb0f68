/* The output directory of a job, shared by its ranks. Called by `profwrap run` and the import.
 * Tool code; it prints nothing: the caller prints `problem`. */
#ifndef PW_RANK_RUN_OUTDIR_H
#define PW_RANK_RUN_OUTDIR_H

/* Others can write to the directory. */
enum { PW_OUTDIR_SHARED = 1 };

/* Makes `dir` and what is missing above it for the job, mode 0700, or joins the ranks of the
 * same job that made it. `problem` gets one sentence on failure: -EEXIST when it holds something
 * that is not this job's, PW_OUTDIR_SHARED when others could put something in the place of what is
 * written there, unless it `is_trusted`; else what the system said. */
int pw_outdir_prepare(const char *dir, const char *job, int is_trusted, char *problem, int size);

/* Whether a new job may write into `dir`, of which no more is known yet: it is not there, is empty,
 * or has the mark of a job that is not merged, which may be this one. 0, or -EEXIST and `problem`.
 */
int pw_outdir_check_new(const char *dir, char *problem, int size);

#endif
