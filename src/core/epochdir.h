/* The directories of a job whose launcher started its ranks several times: DIR has the files of
 * epoch 0, DIR/epoch-N those of the Nth restart. Used by the commands that are given DIR, and by
 * the merge. Prints nothing. */
#ifndef PW_CORE_EPOCHDIR_H
#define PW_CORE_EPOCHDIR_H

#include <stddef.h>

/* The directory of an epoch of the job in `dir`. 0 or -ENAMETOOLONG. */
int pw_epochdir_of(const char *dir, int epoch, char *out, size_t size);

/* The last epoch of the job in `dir`; 0 when it has no others, or cannot be read. */
int pw_epochdir_last(const char *dir);

/* The directory of the job and the epoch that `dir` is: both for DIR itself, which is epoch 0, and
 * for DIR/epoch-N. 0, or -errno when there is no such directory. */
int pw_epochdir_split(const char *dir, char *job, size_t size, int *epoch);

enum { PW_EPOCHDIR_PROBLEM = 512 };

/* The directory that a command reads when it is given `given`, where `epoch` is the text of its
 * option, "" for none: that of the epoch, else that of the job's last. Anything but a directory is
 * left as it is. 0, or -EINVAL with one sentence in `problem`. */
int pw_epochdir_choose(const char *given, const char *epoch, char *out, size_t size,
                       char problem[PW_EPOCHDIR_PROBLEM]);

#endif
