/* The directories of a job whose launcher started its ranks several times: DIR has the files of
 * epoch 0, DIR/epoch-N those of the Nth restart. Used by the commands whose argument is DIR, and by
 * the merge. Prints nothing. */
#ifndef PW_CORE_EPOCHDIR_H
#define PW_CORE_EPOCHDIR_H

#include <stddef.h>

/* Writes the directory of an epoch of the job in `dir`. Returns 0 or -ENAMETOOLONG. */
int pw_epochdir_of(const char *dir, int epoch, char *out, size_t size);

/* Returns the number of the last epoch of the job in `dir`; 0 when there was no restart, or `dir`
 * cannot be read. */
int pw_epochdir_last(const char *dir);

/* Returns the number of the first epoch after `epoch` that has a directory in `dir`; -1: none. So a
 * loop over epochs takes as long as there are directories, whatever numbers their names have. */
int pw_epochdir_next(const char *dir, int epoch);

/* Splits `dir` into the job's directory and the epoch: DIR itself is epoch 0, DIR/epoch-N is epoch
 * N. Returns 0, or -errno when there is no such directory. */
int pw_epochdir_split(const char *dir, char *job, size_t size, int *epoch);

enum { PW_EPOCHDIR_PROBLEM = 512 };

/* Chooses the directory that a command reads for its argument `given`. `epoch` is the text of the
 * option --epoch; "" means the job's last epoch. A path that is no directory is copied unchanged.
 * Returns 0, or -EINVAL with one sentence in `problem`. */
int pw_epochdir_choose(const char *given, const char *epoch, char *out, size_t size,
                       char problem[PW_EPOCHDIR_PROBLEM]);

#endif
