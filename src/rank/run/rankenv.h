/* Finds the rank of a process in its environment, and recognises launchers. Called by identity.c,
 * the commands, and the launch library (capture.c). Does not use the C library, because the launch
 * library has none. */
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

/* Returns the variable as a number of at most 2^24; -1 for any other text, and when it is not
 * set. */
int pw_env_number(char *const *environment, const char *name);

/* Returns the first row of rankvars.def whose variables are set; PW_RANK_NONE when there is none.
 * `had` lists the rank variables that the launcher's own environment had, each as "NAME=VALUE"
 * followed by PW_LAUNCH_BETWEEN. A row whose variables are still the same was not set by this
 * launcher and does not match. `had` is NULL when there is no `profwrap LAUNCHER`. */
enum pw_rank_row pw_rank_find(char *const *environment, const char *had);

/* Whether this command is a launcher: it starts ranks, and is not a rank itself. */
int pw_rank_is_launcher(char *const *argv);

/* The variable by which `profwrap LAUNCHER` passes values to the processes of the job. Its fields
 * are separated by PW_LAUNCH_FIELD: the name of this launch, the path of profwrap, `had` (see
 * pw_rank_find()), then the options of `profwrap run`, one field each. */
#define PW_LAUNCH_VARIABLE "PROFWRAP_LAUNCH"
/* The same for processes that mpirun starts by ssh: it passes on variables with the prefix
 * OMPI_MCA_. */
#define PW_LAUNCH_MCA_VARIABLE "OMPI_MCA_profwrap_launch"
#define PW_LAUNCH_LIBRARY "libprofwrap_launch.so"
enum { PW_LAUNCH_FIELD = '\x1f', PW_LAUNCH_BETWEEN = '\x1e' };

#endif
