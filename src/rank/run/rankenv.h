/* What an environment says about the rank of its process, and what is a launcher. Without the C
 * library: the launch library (capture.c), which has none, is asked the same. */
#ifndef PW_RANK_RUN_RANKENV_H
#define PW_RANK_RUN_RANKENV_H

enum pw_rank_row {
#define PW_RANK_ROW(id, rank, size, local, job, needs) PW_RANK_##id,
#include "rank/run/rankvars.def"
#undef PW_RANK_ROW
    PW_RANK_ROWS,
    PW_RANK_NONE = PW_RANK_ROWS
};

/* The names of a row's variables; "" for none. */
struct pw_rank_names {
    const char *rank, *size, *local, *job, *needs;
};

const struct pw_rank_names *pw_rank_names(enum pw_rank_row row);

/* The value of a variable, or NULL. */
const char *pw_env_value(char *const *environment, const char *name);

/* A number of at most 2^24, or -1 for anything else. */
int pw_env_number(char *const *environment, const char *name);

/* The first row that matches; PW_RANK_NONE without any. `had` are the variables of rows that the
 * launcher's own environment had, "NAME=VALUE" and PW_LAUNCH_BETWEEN each: a row that is as it was
 * there is not of this launcher, and does not match. NULL: nothing is known of a launcher. */
enum pw_rank_row pw_rank_find(char *const *environment, const char *had);

/* Whether this command starts the ranks of a job, and has none itself. */
int pw_rank_is_launcher(char *const *argv);

/* What `profwrap LAUNCHER` tells the processes of the job, in one variable: fields, each behind
 * PW_LAUNCH_FIELD but the first: the name of this launch, the path of profwrap, `had` above, and
 * options of `profwrap run`, a field each. */
#define PW_LAUNCH_VARIABLE "PROFWRAP_LAUNCH"
/* The same for processes that mpirun starts by ssh: it hands on what begins so. */
#define PW_LAUNCH_MCA_VARIABLE "OMPI_MCA_profwrap_launch"
#define PW_LAUNCH_LIBRARY "libprofwrap_launch.so"
enum { PW_LAUNCH_FIELD = '\x1f', PW_LAUNCH_BETWEEN = '\x1e' };

#endif
