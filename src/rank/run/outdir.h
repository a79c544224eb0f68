/* The output directory of a job, shared by its ranks. Called by `profwrap run` and the import.
 * Tool code; it prints nothing: the caller prints `problem`. */
#ifndef PW_RANK_RUN_OUTDIR_H
#define PW_RANK_RUN_OUTDIR_H

/* Others can write to the directory. */
enum { PW_OUTDIR_SHARED = 1 };

/* Creates `dir` and missing directories above it with mode 0700; does nothing when another rank of
 * the job has created it. Returns 0. On failure `problem` is one sentence, and the result is
 * -EEXIST when the directory has files of something else; PW_OUTDIR_SHARED when others can write to
 * it and `is_trusted` is 0; or another -errno. */
int pw_outdir_prepare(const char *dir, const char *job, int is_trusted, char *problem, int size);

/* Checks whether a new job may write into `dir`, before the job's name is known. Returns 0 when
 * `dir` does not exist, is empty, or has the mark of a job that is not merged (it may be this job);
 * else -EEXIST, with `problem` set. */
int pw_outdir_check_new(const char *dir, char *problem, int size);

#endif
